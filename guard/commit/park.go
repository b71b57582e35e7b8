package commit

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
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
	lease      bool
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

func (e *Engine) startPark(p *parked) {
	if p.f != nil {
		if i, err := fstat(p.f); err == nil {
			p.id = i.id
		}
		if !p.lease {
			p.lease = takeLease(p.f, readLease) == nil
		}
	}
	e.wg.Add(1)
	broken, stop := breaks.watch()
	go func() {
		defer e.wg.Done()
		defer func() { <-e.slots }()
		defer stop()
		defer p.d.close()
		if p.f == nil {
			p.in.done()
			return
		}
		if p.wait(broken) {
			p.in.done()
		}
		dropLease(p.f)
		p.f.Close()
	}()
}

// wait keeps the file until its time is over and removes it. It reports whether
// nothing is left to do: false leaves name and intent to the next start.
func (p *parked) wait(broken <-chan struct{}) bool {
	p.e.hook("parked")
	timer := time.NewTimer(p.e.park)
	defer timer.Stop()
	for {
		select {
		case <-p.e.abort:
			return false
		case <-broken:
			if !p.lease || leaseHolds(p.f, readLease) {
				continue // another file's signal
			}
			if moved, ok := p.late(); !ok {
				return false
			} else if moved {
				timer.Reset(p.e.park)
			}
		case <-timer.C:
			moved, ok := p.retire()
			if !moved {
				return ok
			}
			timer.Reset(p.e.park)
		}
	}
}

// retire removes the file. A writer that comes while it is being removed is let
// in, and what it wrote is read through the descriptor that is still open.
// moved: another inode is parked now and has its own time to wait.
func (p *parked) retire() (moved, ok bool) {
	p.e.hook("before-retire")
	for {
		if !p.lease || !leaseHolds(p.f, readLease) {
			if moved, ok := p.late(); moved || !ok {
				return moved, ok
			}
		}
		i, err := p.d.lstat(p.temp)
		if errors.Is(err, fs.ErrNotExist) || err == nil && i.id != p.id {
			return false, true
		}
		if err == nil {
			err = p.d.unlink(p.temp)
		}
		if err != nil {
			return false, false
		}
		p.e.hook("unlinked") // and look once more, now that nobody can find it by name
	}
}

// late lets writers in, waits until they are done, and saves what they wrote.
// moved: another inode is parked now. ok is false when the file must be left.
func (p *parked) late() (moved, ok bool) {
	p.e.hook("late")
	settled := p.settle()
	content, digest, err := readAll(p.f)
	if err != nil {
		return false, false
	}
	if slices.Contains(p.safe, digest) {
		return false, settled
	}
	i, err := fstat(p.f)
	if err != nil {
		return false, false
	}
	entry, err := p.e.store.Add(p.path, "written after a commit had taken its place", content, fs.FileMode(i.mode&0o777))
	if err != nil {
		p.e.opt.Tell(fmt.Sprintf("stella-ls kept another program's version of %s in %s: %v", p.path, p.temp, err))
		return false, false
	}
	p.safe = append(p.safe, digest)
	race := Race{Path: p.path, Theirs: digest, Ours: p.oursDigest, Displaced: []Entry{entry}}
	if settled {
		race.Restored = p.giveBack()
	}
	p.tell(race, entry)
	return race.Restored && p.f != nil, settled
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

// giveBack puts the late version at the path, if the path still holds what the
// commit put there. It leaves the other one parked.
func (p *parked) giveBack() bool {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	if p.kind == parkStored {
		return false
	}
	unlock, err := p.e.locks.lock(ctx, p.path)
	if err != nil {
		return false
	}
	defer unlock()
	if i, err := p.d.lstat(p.temp); err != nil || i.id != p.id {
		return false
	}
	if p.kind == parkDeleted {
		ok := placeNew(p.d, p.temp, p.d, p.base) == nil
		p.kind = parkStored
		return ok
	}
	return p.swapBack(ctx)
}

func (p *parked) swapBack(ctx context.Context) bool {
	ours, ok := p.openOurs(ctx)
	if !ok {
		return false
	}
	r := &restoring{e: p.e, d: p.d, base: p.base, temp: p.temp, in: p.in, path: p.path, put: ours}
	theirs := version{id: p.id, f: p.f, known: p.safe[len(p.safe)-1]} // late has just stored it
	_, err := r.run(ctx, theirs)
	_, safe, storeErr := r.storeHands(ctx, "written while a late version was put back")
	p.d.sync()
	for _, v := range r.hands {
		if v.f != nil && v.f != p.f && v.f != r.put.f {
			v.f.Close()
		}
	}
	if r.put.f == nil { // what is left over holds no bytes: nothing to park
		err = errors.Join(err, ErrNotRegular)
		r.put = version{p.id, p.f, ""}
	}
	if err != nil || storeErr != nil {
		p.e.opt.Tell(fmt.Sprintf("stella-ls could not put %s back: %v", p.path, errors.Join(err, storeErr)))
	}
	if r.put.f != p.f {
		dropLease(p.f)
		p.f.Close()
	}
	p.f, p.id, p.temp, p.kind = r.put.f, r.put.id, r.temp, parkStored
	p.safe = append(p.safe, safe...)
	p.lease = takeLease(p.f, readLease) == nil
	return err == nil
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
