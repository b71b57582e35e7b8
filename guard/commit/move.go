package commit

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"time"
)

// Move renames the directory entry req.Path (a link itself) to req.To, which must
// be free (ErrExists). A regular file must hold bytes of digest req.Expect.
// Missing directories are made. Between file systems the file is copied, with its
// metadata, and then deleted.
func (e *Engine) Move(ctx context.Context, req Request) (Result, error) {
	if req.ToRoot == "" {
		req.ToRoot = req.Root
	}
	if req.To == req.Path {
		return Result{}, &PathError{"move", req.Path, ErrExists}
	}
	first, second := min(req.Path, req.To), max(req.Path, req.To)
	endFirst, err := e.begin(ctx, "move", first)
	if err != nil {
		return Result{}, err
	}
	defer endFirst()
	endSecond, err := e.begin(ctx, "move", second)
	if err != nil {
		return Result{}, err
	}
	defer endSecond()
	res, err := e.move(ctx, req)
	return res, wrap("move", req, err)
}

func (e *Engine) move(ctx context.Context, req Request) (res Result, err error) {
	src, base, _, err := openDir(req.Root, req.Path, false)
	if err != nil {
		return Result{}, err
	}
	defer src.close()
	if _, err := src.lstat(base); err != nil {
		return Result{}, err
	}
	dst, name, made, err := openDir(req.ToRoot, req.To, true)
	defer func() {
		if err != nil {
			removeDirs(req.ToRoot, made)
		}
	}()
	if err != nil {
		return Result{}, &PathError{"move", req.To, err}
	}
	defer dst.close()
	deadline := time.Now().Add(leaseWait)
	for try := 1; ; try++ {
		res, err := e.moveOnce(ctx, req, src, base, dst, name)
		res.CreatedDirs = made
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

func (e *Engine) moveOnce(ctx context.Context, req Request, src *dir, base string, dst *dir, name string) (Result, error) {
	i, err := src.lstat(base)
	if err != nil {
		return Result{}, err
	}
	if i.link {
		err := destination(e.placeNew(src, base, dst, name))
		src.sync()
		dst.sync()
		return Result{Mode: ModeLink}, err
	}
	t := &attempt{e: e, req: req, d: src, base: base}
	defer t.cleanup()
	if err := t.openOld(); err != nil {
		return Result{}, err
	}
	if err := t.compare(ctx); err != nil {
		return Result{}, err
	}
	err = src.renameNew(base, dst, name)
	if unsupported(err) {
		return t.moveByLink(dst, name)
	}
	if isCrossDevice(err) {
		return t.moveByCopy(ctx)
	}
	if err != nil {
		return Result{}, destination(err)
	}
	e.hook("moved")
	return t.moved(dst, name)
}

// destination makes "exists" an ErrExists of the destination.
func destination(err error) error {
	if errors.Is(err, fs.ErrExist) {
		return ErrExists
	}
	return err
}

// moved checks what arrived. A writer that had found the old name before writes
// to the same inode at its new name, so nothing needs to be parked.
func (t *attempt) moved(dst *dir, name string) (Result, error) {
	out, err := dst.lstat(name)
	if err == nil && out.id == t.oldInfo.id && (!t.lease || leaseHolds(t.old, readLease)) {
		t.d.sync()
		dst.sync()
		return Result{Mode: t.mode(true), Digest: t.req.Expect}, nil
	}
	dropLease(t.old)
	// Another version was renamed to the old name in this moment, or somebody
	// waits to write: back with it, then compare again. If the old name was
	// taken once more, both stay where they are.
	if err := t.e.placeNew(dst, name, t.d, t.base); err != nil {
		now, digest, _, readErr := t.readBase()
		if readErr != nil {
			return Result{}, readErr
		}
		return Result{}, &RacedError{StaleError{Path: t.req.Path, Expect: t.req.Expect, Now: digest, Bytes: now}, nil}
	}
	return Result{}, errAgain
}

// moveByLink is the move without an exclusive rename: a second name, then the
// first removed; or a reserved name, renamed over. The intent lets the next start
// finish what a crash left half done.
func (t *attempt) moveByLink(dst *dir, name string) (Result, error) {
	t.in = &intent{Op: "move", Root: t.req.Root, Path: t.req.Path, To: t.req.To, ToRoot: t.req.ToRoot, Base: t.req.Expect}
	if err := t.e.intents.prepare(t.in); err != nil {
		return Result{}, err
	}
	if err := t.in.ready(); err != nil {
		return Result{}, err
	}
	if err := t.d.link(t.base, dst, name); err != nil {
		if !noSecondName(err) {
			return Result{}, destination(err)
		}
		if err := t.e.placeReserved(t.d, t.base, dst, name); err != nil {
			return Result{}, destination(err)
		}
		return t.moved(dst, name)
	}
	t.e.hook("linked")
	if err := t.named(); err != nil { // another version has the old name: it stays there
		dst.unlink(name)
		return Result{}, err
	}
	if err := t.d.unlink(t.base); err != nil {
		dst.unlink(name)
		return Result{}, err
	}
	return t.moved(dst, name)
}

func (t *attempt) moveByCopy(ctx context.Context) (Result, error) {
	content, _, err := readAll(t.old)
	if err != nil {
		return Result{}, err
	}
	var warnings []string
	res, err := t.e.create(Request{Path: t.req.To, Root: t.req.ToRoot, Candidate: content}, func(f *os.File) (err error) {
		warnings, err = copyMeta(f, t.old, t.oldInfo)
		return err
	})
	if err != nil {
		return Result{}, destination(err)
	}
	t.release()
	if _, err := t.e.delete(ctx, Request{Path: t.req.Path, Root: t.req.Root, Expect: t.req.Expect}); err != nil {
		t.e.delete(ctx, Request{Path: t.req.To, Root: t.req.ToRoot, Expect: t.req.Expect})
		return Result{}, err
	}
	return Result{Mode: ModeExclusive, Digest: res.Digest, Warnings: warnings}, nil
}
