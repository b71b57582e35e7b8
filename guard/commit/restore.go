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

// errNoSwap: the directory knows neither exchange nor hard links.
var errNoSwap = errors.New("names cannot be exchanged here")

// maxRestores bounds the restore loop: so many newer versions in a row, each
// arriving within the microseconds of one exchange, are not seen in practice.
const maxRestores = 64

// swap puts what is at temp at base. Afterwards what was at base is at the
// returned name. Where names cannot be exchanged, the inode at base gets a second
// name first (recorded in the intent), and temp is then renamed over base.
func (e *Engine) swap(d *dir, temp, base string, in *intent) (out string, exchanged bool, err error) {
	// In this order: watchers then end on "base moved to"; the other order makes
	// some believe that the file is gone.
	err = d.exchange(base, temp)
	if err == nil || !unsupported(err) {
		return temp, err == nil, err
	}
	second := tempPrefix + newID()
	in.Temps = append(in.Temps, second)
	if err := in.ready(); err != nil {
		return temp, false, err
	}
	if err := d.link(base, d, second); err != nil {
		if noSecondName(err) {
			err = errNoSwap
		}
		return temp, false, err
	}
	if err := d.rename(temp, d, base); err != nil {
		d.unlink(second)
		return temp, false, err
	}
	return second, false, nil
}

// version is one inode that passes through the engine's hands.
type version struct {
	id fileID
	f  *os.File // read-only; keeps the bytes reachable whatever happens to the name
	// f is nil for what holds no bytes, such as a link put over the file.
	// known is what it holds as long as nobody writes to it: the candidate's or
	// the base's digest. Empty for a version of somebody else's.
	known Digest
}

// restoring is the loop that puts a version of somebody else's back at the path.
type restoring struct {
	e    *Engine
	d    *dir
	base string
	temp string
	in   *intent
	path string
	// put is what we put at the path last: what should come out.
	put version
	// hands are the versions of others that passed through, oldest first.
	hands []version
}

// run exchanges until what comes out is what we put there last. At its end the
// newest version of others is at the path, and r.put is at r.temp.
// first is the version at r.temp.
func (r *restoring) run(ctx context.Context, first version) (atPath version, err error) {
	atPath = first
	for range maxRestores {
		r.take(atPath)
		r.e.hook("before-restore")
		if r.temp, _, err = r.e.swap(r.d, r.temp, r.base, r.in); err != nil {
			if !errors.Is(err, fs.ErrNotExist) {
				return atPath, err
			}
			// The path is gone: somebody deleted what we had put there. Theirs goes back to a free name.
			if err = r.e.placeNew(r.d, r.temp, r.d, r.base); err != nil {
				return atPath, err
			}
			return atPath, nil
		}
		r.e.hook("restored")
		out, err := r.d.lstat(r.temp)
		if err != nil {
			return atPath, nil // what came out was cleaned away: it was not ours to keep
		}
		if out.id == r.put.id && r.untouched(ctx) {
			return atPath, nil
		}
		// A newer version came out. It goes back; the one we just put there comes out next.
		newer := version{id: out.id, f: r.put.f} // ours, written to by somebody
		if out.id != r.put.id {
			if newer, err = r.e.open(r.d, r.temp); err != nil {
				return atPath, err
			}
		}
		r.put, atPath = atPath, newer
	}
	r.take(atPath)
	return atPath, nil
}

// take remembers a version of others.
func (r *restoring) take(v version) {
	if v.known != "" {
		return
	}
	for _, h := range r.hands {
		if h.id == v.id {
			return
		}
	}
	r.hands = append(r.hands, v)
}

// untouched reports whether what came out still holds what we put in. A version
// of others is read later, whatever it holds then.
func (r *restoring) untouched(ctx context.Context) bool {
	if r.put.known == "" {
		return true
	}
	if err := leaseWithin(ctx, r.put.f, readLease, leaseWait); err != nil && !errors.Is(err, errNoLease) {
		return false
	}
	_, digest, err := readAll(r.put.f)
	return err == nil && digest == r.put.known
}

// storeHands puts every version of others that passed through into the
// displaced store and returns the entries and the digests that are safe there.
func (r *restoring) storeHands(ctx context.Context, why string) (entries []Entry, safe []Digest, err error) {
	for _, v := range r.hands {
		if v.f == nil {
			continue
		}
		en, e := r.e.storeVersion(ctx, r.path, why, v.f)
		if e != nil {
			err = errors.Join(err, e)
			continue
		}
		entries, safe = append(entries, en), append(safe, en.Digest)
	}
	return entries, safe, err
}

// closeBut closes the versions of others and what is left over, except for keep.
func (r *restoring) closeBut(keep ...*os.File) {
	for _, v := range append(r.hands, r.put) {
		if v.f != nil && !slices.Contains(keep, v.f) {
			dropLease(v.f)
			v.f.Close()
		}
	}
}

// storeVersion stores what an open file holds, after giving a writer a moment to finish.
func (e *Engine) storeVersion(ctx context.Context, path, why string, f *os.File) (Entry, error) {
	if leaseWithin(ctx, f, readLease, leaseWait) == nil {
		defer dropLease(f)
	}
	content, _, err := readAll(f)
	if err != nil {
		return Entry{}, err
	}
	i, err := fstat(f)
	if err != nil {
		return Entry{}, err
	}
	return e.store.Add(path, why, content, fs.FileMode(i.mode&0o777))
}

// undo takes a commit back whose exchange met somebody else's write.
func (t *attempt) undo(ctx context.Context) error {
	t.handed = true
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel() // once names moved, putting them back does not depend on the caller's patience
	r := &restoring{e: t.e, d: t.d, base: t.base, temp: t.temp, in: t.in, path: t.req.Path,
		put: version{t.newInfo.id, t.new, t.digest}}
	first, err := t.cameOut()
	if err == nil {
		first, err = r.run(ctx, first)
	}
	if err == nil {
		t.d.sync()
	}
	dropLease(t.old) // whoever waits to write to it finds it at the path again
	entries, safe, storeErr := r.storeHands(ctx, "written during a commit")
	t.e.hook("hands-stored")
	t.parkPut(r, safe, errors.Join(err, storeErr))
	if err != nil {
		return fmt.Errorf("putting the other program's version back: %v", err) // %v: no "does not exist" of ours means that the file is gone
	}
	if len(r.hands) == 0 && storeErr == nil {
		t.closeAll(r)
		return errAgain // nobody had written yet
	}
	stale := StaleError{Path: t.req.Path, Expect: t.req.Expect}
	var readErr error
	if first.f != nil {
		stale.Bytes, stale.Now, readErr = readAll(first.f)
	}
	t.closeAll(r)
	if err := errors.Join(storeErr, readErr); err != nil {
		return err
	}
	return &RacedError{stale, entries}
}

// cameOut is the version that the exchange brought out.
func (t *attempt) cameOut() (version, error) {
	i, err := t.d.lstat(t.temp)
	if err != nil {
		return version{}, err
	}
	if i.id == t.oldInfo.id {
		v := version{id: i.id, f: t.old}
		if t.lease { // held back by the lease until now, so it still is the base
			v.known = t.req.Expect
		}
		return v, nil
	}
	return t.e.open(t.d, t.temp)
}

// open opens a version of somebody else's.
func (e *Engine) open(d *dir, name string) (version, error) {
	i, err := d.lstat(name)
	if err != nil || !i.regular {
		return version{id: i.id}, err
	}
	f, err := d.open(name, false)
	return version{id: i.id, f: f}, err
}

// parkPut parks what the restore loop left at the temporary name.
func (t *attempt) parkPut(r *restoring, safe []Digest, failed error) {
	safe = append(safe, t.digest, t.req.Expect)
	d, err := t.d.dup()
	if failed != nil || err != nil {
		// Leave the name and the intent: the next start looks at both.
		t.e.opt.Tell("stella-ls could not finish putting " + t.req.Path + " back; it is looked at again at the next start")
		<-t.e.slots
		return
	}
	p := &parked{e: t.e, d: d, base: t.base, temp: r.temp, root: t.req.Root, path: t.req.Path, safe: safe, in: t.in, kind: parkStored}
	if p.f, err = d.open(r.temp, false); err != nil && !errors.Is(err, fs.ErrNotExist) {
		d.close()
		<-t.e.slots
		return
	}
	t.e.startPark(p)
}

// closeAll closes every version once. Parked files have a descriptor of their own.
func (t *attempt) closeAll(r *restoring) {
	seen := map[*os.File]bool{}
	for _, f := range []*os.File{t.old, t.new, r.put.f} {
		if f != nil {
			seen[f] = true
		}
	}
	for _, v := range r.hands {
		if v.f != nil {
			seen[v.f] = true
		}
	}
	for f := range seen {
		dropLease(f)
		f.Close()
	}
	t.old, t.new = nil, nil
}
