package commit

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Delete removes the directory entry req.Path: a symbolic link itself, never its
// target. A regular file must hold bytes of digest req.Expect. Errors as Replace.
func (e *Engine) Delete(ctx context.Context, req Request) (Result, error) {
	end, err := e.begin(ctx, "delete", req.Path)
	if err != nil {
		return Result{}, err
	}
	defer end()
	res, err := e.delete(ctx, req)
	return res, wrap("delete", req, err)
}

func (e *Engine) delete(ctx context.Context, req Request) (Result, error) {
	d, base, _, err := openDir(req.Root, req.Path, false)
	if err != nil {
		return Result{}, err
	}
	defer d.close()
	deadline := time.Now().Add(leaseWait)
	for try := 1; ; try++ {
		i, err := d.lstat(base)
		if err != nil {
			return Result{}, err
		}
		var res Result
		if i.link {
			res, err = e.deleteLink(req, d, base, i)
		} else {
			res, err = e.deleteOnce(ctx, req, d, base)
		}
		if !errors.Is(err, errAgain) {
			return res, err
		}
		if try >= maxAttempts && time.Now().After(deadline) {
			return Result{}, ErrBusy
		}
		if err := ctx.Err(); err != nil {
			return Result{}, err
		}
	}
}

// deleteLink moves the entry aside first: a file that somebody renamed over the
// link in this moment is put back, not removed.
func (e *Engine) deleteLink(req Request, d *dir, base string, i info) (Result, error) {
	temp := tempPrefix + newID()
	in := &intent{Op: "delete", Root: req.Root, Path: req.Path, Temps: []string{temp}}
	if err := e.intents.prepare(in); err != nil {
		return Result{}, err
	}
	if err := in.ready(); err != nil {
		return Result{}, err
	}
	defer in.done()
	e.hook("delete-ready")
	if err := d.rename(base, d, temp); err != nil {
		return Result{}, err
	}
	if out, err := d.lstat(temp); err != nil || out.id != i.id {
		if err := e.placeNew(d, temp, d, base); err != nil {
			return Result{}, fmt.Errorf("%w; what was there is kept as %s", err, temp)
		}
		return Result{}, errAgain
	}
	e.hook("moved-aside")
	if err := d.unlink(temp); err != nil {
		return Result{}, err
	}
	d.sync()
	return Result{Mode: ModeLink}, nil
}

func (e *Engine) deleteOnce(ctx context.Context, req Request, d *dir, base string) (Result, error) {
	t := &attempt{e: e, req: req, d: d, base: base, temp: tempPrefix + newID()}
	defer t.cleanup()
	if err := t.openOld(); err != nil {
		return Result{}, err
	}
	t.in = &intent{Op: "delete", Root: req.Root, Path: req.Path, Temps: []string{t.temp}, Base: req.Expect}
	if err := e.intents.prepare(t.in); err != nil {
		return Result{}, err
	}
	if err := t.in.ready(); err != nil {
		return Result{}, err
	}
	e.hook("delete-ready")
	if err := e.slot(ctx); err != nil {
		return Result{}, err
	}
	res, err := t.remove(ctx)
	if !t.handed {
		<-e.slots
	}
	return res, err
}

// remove compares under the lease, moves the entry aside, and parks it.
func (t *attempt) remove(ctx context.Context) (Result, error) {
	if err := t.compare(ctx); err != nil {
		return Result{}, err
	}
	if err := t.d.rename(t.base, t.d, t.temp); err != nil { // temp is a fresh random name
		return Result{}, err
	}
	t.e.hook("moved-aside")
	if !t.clean() {
		return Result{}, t.putAside(ctx)
	}
	t.d.sync()
	t.e.hook("deleted")
	t.res.Mode = ModeExchange
	if t.lease {
		t.res.Mode = ModeLease
	}
	if t.oldInfo.links > 1 {
		return t.res, nil // its other names keep it: there is nothing to park
	}
	t.handed = true
	dup, err := t.d.dup()
	if err != nil {
		<-t.e.slots
		dropLease(t.old)
		t.old.Close()
		return t.res, nil
	}
	t.e.startPark(&parked{e: t.e, kind: parkDeleted, d: dup, base: t.base, temp: t.temp, root: t.req.Root, path: t.req.Path,
		f: t.old, lease: t.lease, safe: []Digest{t.req.Expect}, in: t.in})
	return t.res, nil
}

// putAside puts the entry back after a race. If the name was taken meanwhile,
// that newer file stays and ours to put back goes to the displaced store.
func (t *attempt) putAside(ctx context.Context) error {
	dropLease(t.old)
	err := t.e.placeNew(t.d, t.temp, t.d, t.base)
	if err == nil {
		t.d.sync()
		return errAgain // the compare finds what was written
	}
	f, openErr := t.d.open(t.temp, false)
	if openErr != nil {
		t.handed = true // leave the name and the intent to the next start
		<-t.e.slots
		return errors.Join(err, openErr)
	}
	defer f.Close()
	entry, storeErr := t.e.storeVersion(ctx, t.req.Path, "written during a delete", f)
	if storeErr != nil {
		t.handed = true
		<-t.e.slots
		return errors.Join(err, storeErr)
	}
	now, digest, _, readErr := t.readBase()
	if readErr != nil {
		return readErr
	}
	return &RacedError{StaleError{Path: t.req.Path, Expect: t.req.Expect, Now: digest, Bytes: now}, []Entry{entry}}
}
