package commit

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"sync"
	"time"
)

type parkKind int

const (
	parkReplaced parkKind = iota // the base of a commit: a late version goes back to the path
	parkDeleted                  // a deleted file: a late version goes back if the name is free
	parkStored                   // undone or stored already: a late version goes to the store
)

// parked is a file that was taken from the path and is kept under its lease for
// a while, because a writer that resolved the name before the exchange opens it
// only now. It owns its descriptors, its intent and one of the engine's slots.
type parked struct {
	e          *Engine
	kind       parkKind
	d          *dir
	base, temp string
	root, path string
	f          *os.File // nil: the name is gone
	id         fileID
	lease      bool     // leases can be had; false where they cannot
	unchecked  bool     // it was not under a lease all the time since its content was known
	safe       []Digest // contents that are known elsewhere: the base, the candidate, stored versions
	ours       fileID   // what the commit put at the path
	oursDigest Digest
	in         *intent
}

// slot waits for room for one more parked file.
func (e *Engine) slot(ctx context.Context) error {
	select {
	case e.slots <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-e.abort:
		return ErrClosed
	}
}

// Quiet returns when no parked file stands beside its target, or when ctx ends:
// a program that lists a directory just now would take one for a file.
func (e *Engine) Quiet(ctx context.Context) { e.beside.none(ctx) }

// tally counts what is there and lets others wait until nothing is.
type tally struct {
	mu    sync.Mutex // guards what follows
	n     int
	empty chan struct{} // closed when n is 0 again
}

func (t *tally) add() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.n++; t.n == 1 {
		t.empty = make(chan struct{})
	}
}

func (t *tally) done() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.n--; t.n == 0 {
		close(t.empty)
	}
}

func (t *tally) none(ctx context.Context) {
	t.mu.Lock()
	n, empty := t.n, t.empty
	t.mu.Unlock()
	if n == 0 {
		return
	}
	select {
	case <-empty:
	case <-ctx.Done():
	}
}

// parkOld parks the displaced base after a commit.
func (t *attempt) parkOld() {
	t.handed = true
	t.new.Close()
	d, err := t.d.dup()
	if err != nil { // no descriptor left: leave it to the next start
		dropLease(t.old)
		t.old.Close()
		<-t.e.slots
		return
	}
	t.e.startPark(&parked{e: t.e, kind: parkReplaced, d: d, base: t.base, temp: t.temp,
		root: t.req.Root, path: t.req.Path, f: t.old, lease: t.lease,
		safe: []Digest{t.req.Expect, t.digest}, ours: t.newInfo.id, oursDigest: t.digest, in: t.in})
}

// startPark takes p over. If p does not come with a lease, somebody may have
// written to it before one is had: it is compared first.
func (e *Engine) startPark(p *parked) {
	broken, stop := breaks.watch()
	p.unchecked = !p.lease
	if p.f != nil {
		if i, err := fstat(p.f); err == nil {
			p.id = i.id
		}
		if !p.lease {
			p.lease = takeLease(p.f, readLease) != errNoLease // busy: it is taken when the writer is done
		}
	}
	e.wg.Add(1)
	e.beside.add()
	go func() {
		defer e.wg.Done()
		defer e.beside.done()
		defer func() { <-e.slots }()
		defer stop()
		defer p.d.close()
		if p.f == nil || p.wait(broken) {
			p.in.done()
		}
		if p.f != nil {
			dropLease(p.f)
			p.f.Close()
		}
	}()
}

// outcome is what became of a parked file when somebody had a look at it.
type outcome int

const (
	stays outcome = iota // it is parked as before
	moved                // another inode is parked now and has its own time to wait
	ended                // nothing is left to do
	left                 // name and intent are left to the next start
)

// wait keeps the file until its time is over and removes it. It reports whether
// nothing is left to do: false leaves name and intent to the next start.
func (p *parked) wait(broken <-chan struct{}) bool {
	p.e.hook("parked")
	timer := time.NewTimer(p.e.park)
	defer timer.Stop()
	for {
		o := stays
		if p.unchecked || p.lease && !leaseHolds(p.f, readLease) {
			o = p.late()
		} else {
			select {
			case <-p.e.abort:
				o = left
			case <-broken: // perhaps another file's: look again
			case <-timer.C:
				o = p.retire()
			}
		}
		switch o {
		case ended:
			return true
		case left:
			return false
		case moved:
			timer.Reset(p.e.park)
		}
	}
}

// retire removes the file. A writer that comes while it is being removed is let
// in, and what it wrote is read through the descriptor that is still open.
func (p *parked) retire() outcome {
	p.e.hook("before-retire")
	for {
		if p.unchecked || !p.lease || !leaseHolds(p.f, readLease) {
			if o := p.late(); o != stays {
				return o
			}
		}
		i, err := p.d.lstat(p.temp)
		if errors.Is(err, fs.ErrNotExist) || err == nil && i.id != p.id {
			return ended
		}
		if err == nil {
			err = p.d.unlink(p.temp)
		}
		if err != nil {
			return left
		}
		p.e.hook("unlinked") // and look once more, now that nobody can find it by name
	}
}

// late lets writers in, waits until they are done, and saves what they wrote.
func (p *parked) late() outcome {
	p.e.hook("late")
	p.unchecked = false
	settled := p.settle()
	content, digest, err := readAll(p.f)
	if err != nil {
		return left
	}
	if slices.Contains(p.safe, digest) {
		if settled {
			return stays
		}
		return left
	}
	i, err := fstat(p.f)
	if err != nil {
		return left
	}
	entry, err := p.e.store.Add(p.path, "written after a commit had taken its place", content, fs.FileMode(i.mode&0o777))
	if err != nil {
		p.e.opt.Tell(fmt.Sprintf("stella-ls kept another program's version of %s in %s: %v", p.path, p.temp, err))
		return left
	}
	p.safe = append(p.safe, digest)
	race := Race{Path: p.path, Theirs: digest, Ours: p.oursDigest, Displaced: []Entry{entry}}
	o := left
	if settled {
		o = p.giveBack(digest)
	}
	race.Restored = o == moved || o == ended
	p.tell(race, entry)
	return o
}

// settle waits until the lease can be had again. Without leases it waits a grace.
func (p *parked) settle() bool {
	if !p.lease {
		return true
	}
	dropLease(p.f)
	end := time.Now().Add(settleWait)
	for pause := time.Millisecond; ; pause = min(2*pause, 50*time.Millisecond) {
		switch err := takeLease(p.f, readLease); {
		case err == nil:
			return true
		case errors.Is(err, errNoLease):
			p.lease = false
			return true
		case time.Now().After(end):
			p.e.opt.Tell(fmt.Sprintf("another program still writes to the former file of %s; it is left as %s and looked at again at the next start", p.path, p.temp))
			return false
		}
		select {
		case <-time.After(pause):
		case <-p.e.abort:
			return false
		}
	}
}

func (p *parked) tell(r Race, en Entry) {
	where := "its version is kept as " + en.ID + " (stella-ls recover restore " + en.ID + ")"
	if r.Restored {
		where = "its version is back at the path and the commit was undone"
	}
	p.e.opt.Tell(fmt.Sprintf("%s was written by another program just after a commit: %s", p.path, where))
	p.e.opt.OnRace(r)
}

// giveBack puts the late version, which was just stored, at the path, if the path
// still holds what the commit put there.
func (p *parked) giveBack(theirs Digest) outcome {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	if p.kind == parkStored {
		return stays
	}
	unlock, err := p.e.locks.lock(ctx, p.path)
	if err != nil {
		return stays
	}
	defer unlock()
	if i, err := p.d.lstat(p.temp); err != nil || i.id != p.id {
		return stays
	}
	if p.kind == parkReplaced {
		return p.swapBack(ctx, theirs)
	}
	if p.e.placeNew(p.d, p.temp, p.d, p.base) != nil {
		p.kind = parkStored // the name is taken
		return stays
	}
	p.d.sync()
	return ended
}

// swapBack leaves parked what it takes from the path.
func (p *parked) swapBack(ctx context.Context, theirs Digest) outcome {
	ours, ok := p.openOurs(ctx)
	if !ok {
		return stays
	}
	r := &restoring{e: p.e, d: p.d, base: p.base, temp: p.temp, in: p.in, path: p.path, put: ours}
	_, err := r.run(ctx, version{id: p.id, f: p.f, known: theirs})
	_, safe, storeErr := r.storeHands(ctx, "written while a late version was put back")
	p.d.sync()
	r.closeBut(p.f, r.put.f)
	if err = errors.Join(err, storeErr); err != nil {
		// Leave what there is under the temporary's name to the next start.
		p.e.opt.Tell(fmt.Sprintf("stella-ls could not put %s back: %v", p.path, err))
		r.closeBut(p.f)
		return left
	}
	if r.put.f != p.f {
		dropLease(p.f)
		p.f.Close()
	}
	p.f, p.id, p.temp, p.kind = r.put.f, r.put.id, r.temp, parkStored
	p.safe = append(p.safe, append(safe, p.oursDigest)...)
	if p.f == nil {
		return ended // a link or the like: its bytes, if any, are elsewhere
	}
	p.unchecked = true
	return moved
}

// openOurs opens what is at the path, if that still is what the commit put there.
func (p *parked) openOurs(ctx context.Context) (version, bool) {
	f, err := p.d.open(p.base, false)
	if err != nil {
		return version{}, false
	}
	i, err := fstat(f)
	if err == nil && i.id == p.ours && i.links == 1 {
		if err = leaseWithin(ctx, f, readLease, leaseWait); err == nil || errors.Is(err, errNoLease) {
			if _, digest, err := readAll(f); err == nil && digest == p.oursDigest {
				return version{i.id, f, digest}, true
			}
		}
	}
	dropLease(f)
	f.Close()
	return version{}, false
}
