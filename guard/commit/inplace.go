package commit

import (
	"context"
	"errors"
	"fmt"
	"os"
)

// replaceInPlace writes into the inode itself: the way for a file with several
// hard links, whose other names must see the change, and for a path that cannot
// be renamed over. A write lease holds back readers and writers meanwhile; both
// contents are durable beside the intent first, so that a torn file can be
// told from an edited one and repaired at the next start.
func (e *Engine) replaceInPlace(ctx context.Context, t *attempt) (Result, error) {
	if t.old == nil {
		if err := t.openOld(); err != nil {
			return Result{}, err
		}
	}
	before, digest, err := readAll(t.old)
	if err != nil {
		return Result{}, err
	}
	if digest != t.req.Expect {
		if err := t.named(); err != nil {
			return Result{}, err
		}
		return Result{}, &StaleError{Path: t.req.Path, Expect: t.req.Expect, Now: digest, Bytes: before}
	}
	t.old.Close() // a write lease wants to be the only descriptor
	t.old = nil
	in := &intent{Op: "in-place", Root: t.req.Root, Path: t.req.Path, Base: digest, Candidate: t.digest}
	if err := in.inPlace(e.intents, before, t.req.Candidate); err != nil {
		return Result{}, err
	}
	e.hook("in-place-ready")
	return e.overwrite(ctx, t, in, before)
}

// inPlace makes both contents and then the intent durable.
func (in *intent) inPlace(box *intents, before, after []byte) (err error) {
	if err := box.prepare(in); err != nil {
		return err
	}
	if in.Before, err = in.side(".before", before); err == nil {
		in.After, err = in.side(".after", after)
	}
	if err == nil {
		err = in.ready()
	}
	if err != nil {
		in.done()
	}
	return err
}

func (e *Engine) overwrite(ctx context.Context, t *attempt, in *intent, before []byte) (Result, error) {
	untouched := true
	defer func() {
		if untouched {
			in.done()
		}
	}()
	f, err := t.d.open(t.base, true)
	if errors.Is(err, ErrBusy) {
		return Result{}, t.waitFree()
	}
	if err != nil {
		return Result{}, err
	}
	defer f.Close()
	if i, err := fstat(f); err != nil || i.id != t.oldInfo.id {
		return Result{}, errors.Join(err, errAgain)
	}
	res := Result{Mode: ModeInPlace, Digest: t.digest}
	switch err := leaseWithin(ctx, f, writeLease, leaseWait); {
	case err == nil:
		res.Mode = ModeLeaseInPlace
		defer dropLease(f)
	case !errors.Is(err, errNoLease):
		return Result{}, err
	}
	now, digest, err := readAll(f)
	if err != nil {
		return Result{}, err
	}
	if digest != t.req.Expect {
		return Result{}, &StaleError{Path: t.req.Path, Expect: t.req.Expect, Now: digest, Bytes: now}
	}
	if err := t.named(); err != nil {
		return Result{}, err
	}
	e.hook("in-place-compared")
	if err := e.fill(f, t.req.Candidate); err != nil {
		if back := e.fill(f, before); back != nil {
			untouched = false
			e.opt.Tell(fmt.Sprintf("%s is half written and could not be put back (%v); its former content is restored at the next start", t.req.Path, back))
		}
		return Result{}, err
	}
	e.hook("in-place-written")
	return res, nil
}

// fill makes content the whole content of f, durably.
func (e *Engine) fill(f *os.File, content []byte) error {
	half := len(content) / 2
	if _, err := f.WriteAt(content[:half], 0); err != nil {
		return err
	}
	e.hook("in-place-half")
	if _, err := f.WriteAt(content[half:], int64(half)); err != nil {
		return err
	}
	if err := f.Truncate(int64(len(content))); err != nil {
		return err
	}
	return f.Sync()
}
