package commit

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"time"

	"github.com/stella-ls/stella-ls/internal/workspace"
)

// errAgain asks for a fresh start: the path names another inode than the one
// that was opened, or somebody is about to open it for writing.
var errAgain = errors.New("start again")

// Replace puts req.Candidate at req.Path if and only if the file holds bytes of
// digest req.Expect at the moment of the exchange. Errors: *StaleError,
// *RacedError (a StaleError too), ErrBusy, ErrReadOnly, ErrSwapped, ErrOutside,
// ErrNotRegular, or the system's, all within a *PathError except the first two.
// On an error nothing of the candidate is at the path, unless another program
// found it there for the moment before it was taken back and built on it: then
// that is the newest version of others (RacedError.Now) and stays.
func (e *Engine) Replace(ctx context.Context, req Request) (Result, error) {
	end, err := e.begin(ctx, "replace", req.Path)
	if err != nil {
		return Result{}, err
	}
	defer end()
	d, base, _, err := openDir(req.Root, req.Path, false)
	if err != nil {
		return Result{}, goneOr("replace", req, err)
	}
	defer d.close()
	deadline := time.Now().Add(leaseWait)
	for try := 1; ; try++ {
		res, err := e.replaceOnce(ctx, req, d, base)
		if !errors.Is(err, errAgain) {
			return res, wrap("replace", req, err)
		}
		if try >= maxAttempts && time.Now().After(deadline) {
			return Result{}, wrap("replace", req, ErrBusy)
		}
		if err := ctx.Err(); err != nil {
			return Result{}, wrap("replace", req, err)
		}
	}
}

// wrap gives an error its place, unless it already says it.
func wrap(op string, req Request, err error) error {
	var stale *StaleError
	if err == nil || errors.As(err, &stale) {
		return err
	}
	return goneOr(op, req, err)
}

// goneOr turns "no such file" into a StaleError: the path existed once, or
// nobody would expect bytes there.
func goneOr(op string, req Request, err error) error {
	if errors.Is(err, fs.ErrNotExist) && req.Expect != "" {
		return &StaleError{Path: req.Path, Expect: req.Expect}
	}
	return &PathError{op, req.Path, err}
}

// attempt is one try at one file, from its opening to its parking.
type attempt struct {
	e    *Engine
	req  Request
	d    *dir
	base string // the file's name in d
	temp string // the sibling's

	old     *os.File // the target, read-only, leased if lease
	oldInfo info
	lease   bool
	new     *os.File // the candidate, read-only
	newInfo info
	digest  Digest // of the candidate
	in      *intent
	res     Result
	handed  bool // old, new and the intent belong to a parked file or the restore loop now
}

func (e *Engine) replaceOnce(ctx context.Context, req Request, d *dir, base string) (Result, error) {
	t := &attempt{e: e, req: req, d: d, base: base, temp: tempPrefix + newID(), digest: workspace.DigestOf(req.Candidate)}
	defer t.cleanup()
	if err := t.openOld(); err != nil {
		return Result{}, err
	}
	if t.oldInfo.links > 1 {
		return e.replaceInPlace(ctx, t)
	}
	if err := t.makeCandidate(); err != nil {
		return Result{}, err
	}
	if err := e.slot(ctx); err != nil {
		return Result{}, err
	}
	res, err := t.commit(ctx)
	if !t.handed {
		<-e.slots
	}
	if cannotSwap(err) {
		t.release()
		return e.replaceInPlace(ctx, t)
	}
	return res, err
}

func (t *attempt) openOld() (err error) {
	if t.old, err = t.d.open(t.base, false); err != nil {
		if errors.Is(err, ErrBusy) {
			return t.waitFree()
		}
		return err
	}
	if t.oldInfo, err = fstat(t.old); err != nil {
		return err
	}
	if !t.oldInfo.regular {
		return ErrNotRegular
	}
	if !t.d.writable(t.base, t.oldInfo) {
		return ErrReadOnly
	}
	return nil
}

// waitFree lets a holder of a write lease finish, then asks for a fresh start.
func (t *attempt) waitFree() error {
	time.Sleep(5 * time.Millisecond)
	return errAgain
}

// makeCandidate fills the sibling, gives it the target's metadata, makes it
// durable, and then the intent.
func (t *attempt) makeCandidate() error {
	t.in = &intent{Op: "replace", Root: t.req.Root, Path: t.req.Path, Temps: []string{t.temp},
		Base: t.req.Expect, Candidate: t.digest}
	if err := t.e.intents.prepare(t.in); err != nil {
		return err
	}
	t.e.hook("intent-prepared")
	var err error
	if t.new, err = t.e.writeTemp(t.d, t.in, t.req.Candidate, 0o600, func(f *os.File) (err error) {
		t.res.Warnings, err = copyMeta(f, t.old, t.oldInfo)
		return err
	}); err != nil {
		return err
	}
	if t.newInfo, err = fstat(t.new); err != nil {
		return err
	}
	t.e.hook("intent-ready")
	return nil
}

// writeTemp makes the sibling that in names, and both of them durable at the same
// time. It returns the sibling open for reading only: a file that is open for
// writing here could not be leased here.
func (e *Engine) writeTemp(d *dir, in *intent, content []byte, perm fs.FileMode, meta func(*os.File) error) (*os.File, error) {
	name := in.Temps[0]
	w, err := d.create(name, perm)
	if err != nil {
		return nil, err
	}
	e.hook("temp-created")
	_, err = w.Write(content)
	if err == nil && meta != nil {
		err = meta(w)
	}
	e.hook("temp-filled")
	if err == nil {
		synced := make(chan error, 1)
		go func() { synced <- w.Sync() }()
		err = errors.Join(in.ready(), <-synced)
	}
	i, statErr := fstat(w)
	err = errors.Join(err, statErr, w.Close())
	var r *os.File
	if err == nil {
		r, err = d.openSame(name, i.id)
	}
	if err != nil {
		d.unlink(name)
		return nil, err
	}
	e.hook("temp-written")
	return r, nil
}

// commit leases, compares, exchanges, judges what came out, and parks it.
func (t *attempt) commit(ctx context.Context) (Result, error) {
	if err := t.compare(ctx); err != nil {
		return Result{}, err
	}
	if err := t.freshMeta(); err != nil {
		return Result{}, err
	}
	t.e.hook("checked")
	temp, exchanged, err := t.e.swap(t.d, t.temp, t.base, t.in)
	if err != nil {
		return Result{}, err
	}
	t.temp = temp
	t.e.hook("exchanged")
	if !t.clean() {
		return Result{}, t.undo(ctx)
	}
	if err := t.d.sync(); err != nil {
		t.res.Warnings = append(t.res.Warnings, "the directory could not be synced: "+err.Error())
	}
	t.e.hook("dir-synced")
	t.res.Mode, t.res.Digest = t.mode(exchanged), t.digest
	t.parkOld()
	return t.res, nil
}

// compare takes the lease and compares what the target holds under it. On
// success the path names the leased inode and nobody waits to write to it.
func (t *attempt) compare(ctx context.Context) error {
	if err := t.leaseOld(ctx); err != nil {
		return err
	}
	now, digest, err := readAll(t.old)
	if err != nil {
		return err
	}
	t.e.hook("compared")
	if err := t.named(); err != nil {
		return err
	}
	if digest != t.req.Expect {
		return &StaleError{Path: t.req.Path, Expect: t.req.Expect, Now: digest, Bytes: now}
	}
	if t.lease && !leaseHolds(t.old, readLease) {
		return errAgain // somebody waits to write: let them
	}
	return nil
}

// readBase reads what is at the path now, for a refusal.
func (t *attempt) readBase() (content []byte, digest Digest, i info, err error) {
	f, err := t.d.open(t.base, false)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, "", info{}, nil
	}
	if err != nil {
		return nil, "", info{}, err
	}
	defer f.Close()
	if i, err = fstat(f); err != nil {
		return nil, "", i, err
	}
	content, digest, err = readAll(f)
	return content, digest, i, err
}

func (t *attempt) leaseOld(ctx context.Context) error {
	err := leaseWithin(ctx, t.old, readLease, leaseWait)
	switch {
	case err == nil:
		t.lease = true
	case errors.Is(err, errNoLease):
	default:
		return err
	}
	t.e.hook("leased")
	return nil
}

// freshMeta copies the metadata again if it changed since the candidate was made.
func (t *attempt) freshMeta() error {
	i, err := fstat(t.old)
	if err != nil {
		return err
	}
	if i.links > 1 {
		return errAgain // a hard link was made meanwhile
	}
	if i.changed == t.oldInfo.changed {
		return nil
	}
	t.oldInfo = i
	if !t.d.writable(t.base, i) {
		return ErrReadOnly
	}
	if t.res.Warnings, err = copyMeta(t.new, t.old, i); err != nil {
		return err
	}
	return t.new.Sync()
}

// named checks that the path still names the inode that was opened.
func (t *attempt) named() error {
	i, err := t.d.lstat(t.base)
	if err != nil {
		return err
	}
	if i.id != t.oldInfo.id {
		return errAgain
	}
	return nil
}

// clean reports whether what came out is what was compared, untouched.
func (t *attempt) clean() bool {
	out, err := t.d.lstat(t.temp)
	if errors.Is(err, fs.ErrNotExist) {
		// Somebody cleans up hidden files. Nothing can be put back; a late writer
		// is still met through the descriptor.
		return true
	}
	if err != nil || out.id != t.oldInfo.id {
		return false
	}
	if t.lease {
		return leaseHolds(t.old, readLease)
	}
	_, digest, err := readAll(t.old)
	return err == nil && digest == t.req.Expect
}

func (t *attempt) mode(exchanged bool) string {
	switch {
	case t.lease && exchanged:
		return ModeLease
	case exchanged:
		return ModeExchange
	case t.lease:
		return ModeLeaseRename
	}
	return modeWithoutBoth
}

// cannotSwap: neither exchange nor link and rename work here, as for a
// single-file bind mount, which cannot be renamed over.
func cannotSwap(err error) bool {
	return isMountPoint(err) || isCrossDevice(err) || errors.Is(err, errNoSwap)
}

// release ends the lease and closes what the attempt opened.
func (t *attempt) release() {
	if t.old != nil {
		dropLease(t.old)
		t.old.Close()
		t.old = nil
	}
	if t.new != nil {
		t.new.Close()
		t.new = nil
	}
	if t.in != nil {
		for _, n := range t.in.Temps {
			t.d.unlink(n)
		}
		t.in.done()
		t.in = nil
	}
	t.lease = false
}

func (t *attempt) cleanup() {
	if !t.handed {
		t.release()
	}
}
