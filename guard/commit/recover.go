package commit

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// Recover looks at what processes that ended without finishing left behind. It
// is called at start, before anything is written. A temporary is removed only
// when it holds the base or the candidate of its intent; anything else may be
// the only copy of somebody's save and goes to the displaced store. What cannot
// be looked at now (still being written, unreadable) stays for the next start.
func (e *Engine) Recover(ctx context.Context) ([]Rescued, error) {
	if err := e.enter(); err != nil {
		return nil, err
	}
	defer e.leave()
	boxes, err := os.ReadDir(e.intents.parent)
	if err != nil {
		return nil, err
	}
	var out []Rescued
	var errs error
	for _, b := range boxes {
		dir := filepath.Join(e.intents.parent, b.Name())
		if dir == e.intents.dir || !b.IsDir() {
			continue
		}
		got, err := e.recoverBox(ctx, dir)
		out, errs = append(out, got...), errors.Join(errs, err)
	}
	if n, err := e.store.Prune(); err != nil {
		errs = errors.Join(errs, err)
	} else if n > 0 {
		e.opt.Tell(fmt.Sprintf("%d displaced versions older than 90 days were removed", n))
	}
	return out, errs
}

// recoverBox handles one process's directory, if that process is gone.
func (e *Engine) recoverBox(ctx context.Context, dir string) ([]Rescued, error) {
	lock, err := os.OpenFile(filepath.Join(dir, lockName), os.O_RDWR, 0o600)
	if err != nil {
		// No lock yet: a process that is just starting, or died while it was.
		if st, err := os.Stat(dir); err == nil && time.Since(st.ModTime()) > time.Hour {
			os.RemoveAll(dir)
		}
		return nil, nil
	}
	defer lock.Close()
	if lockFile(lock) != nil {
		return nil, nil // alive
	}
	names, err := filepath.Glob(filepath.Join(dir, "*.intent"))
	if err != nil {
		return nil, err
	}
	box := &intents{parent: e.intents.parent, dir: dir}
	var out []Rescued
	var errs error
	left := 0
	for _, name := range names {
		if ctx.Err() != nil {
			return out, ctx.Err()
		}
		got, err := e.recoverIntent(ctx, box, name)
		out = append(out, got...)
		if err != nil {
			left++
			errs = errors.Join(errs, err)
		}
	}
	if left == 0 {
		lock.Close() // first: Windows removes no open file
		errs = errors.Join(errs, os.RemoveAll(dir))
	}
	return out, errs
}

func (e *Engine) recoverIntent(ctx context.Context, box *intents, name string) ([]Rescued, error) {
	in, err := readIntent(name)
	if in == nil || err != nil {
		return nil, err
	}
	in.box, in.slot = box, filepath.Base(name)
	var out []Rescued
	switch in.Op {
	case "in-place":
		out, err = e.recoverInPlace(ctx, in)
	case "move":
		var r *Rescued
		if r, err = recoverMove(in); r != nil {
			out = append(out, *r)
		}
	default:
		out, err = e.recoverTemps(ctx, in)
	}
	if err != nil {
		return out, fmt.Errorf("what a crash left of a change to %s: %w", in.Path, err)
	}
	in.done()
	return out, nil
}

func (e *Engine) recoverTemps(ctx context.Context, in *intent) ([]Rescued, error) {
	d, _, _, err := openDir(in.Root, in.Path, false)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, ErrSwapped) {
			return nil, nil // the directory is gone, and with it the temporary
		}
		return nil, err
	}
	defer d.close()
	var out []Rescued
	for _, temp := range in.Temps {
		if !strings.HasPrefix(temp, tempPrefix) || strings.ContainsAny(temp, `/\`) {
			return out, fmt.Errorf("the intent names %q, which is no temporary", temp)
		}
		got, err := e.recoverTemp(ctx, d, in, temp)
		if got != nil {
			out = append(out, *got)
		}
		if err != nil {
			return out, err
		}
	}
	return out, nil
}

func (e *Engine) recoverTemp(ctx context.Context, d *dir, in *intent, temp string) (*Rescued, error) {
	entry, err := d.lstat(temp)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if !in.Ready || entry.link { // half-filled by us and never at the path; or a link that was being removed
		return nil, d.unlink(temp)
	}
	f, err := d.open(temp, false)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	i, err := fstat(f)
	if err != nil {
		return nil, err
	}
	if err := leaseWithin(ctx, f, readLease, leaseWait); err != nil && !errors.Is(err, errNoLease) {
		return nil, err
	}
	defer dropLease(f)
	content, digest, err := readAll(f)
	if err != nil {
		return nil, err
	}
	if digest == in.Base || digest == in.Candidate {
		var r *Rescued
		if in.Op == "create" && len(content) > 0 { // else the rename was done, whatever is at the path now
			r = reservedEmpty(in.Path)
		}
		return r, d.unlink(temp)
	}
	kept, err := e.store.Add(in.Path, "found after a crash", content, fs.FileMode(i.mode&0o777))
	if err != nil {
		return nil, err
	}
	r := &Rescued{Path: in.Path, Entry: &kept,
		What: fmt.Sprintf("another program had written %s while a commit was interrupted; that version is kept as %s", in.Path, kept.ID)}
	return r, d.unlink(temp)
}

// recoverMove undoes a move that made the second name and not more.
func recoverMove(in *intent) (*Rescued, error) {
	src, base, _, err := openDir(in.Root, in.Path, false)
	if err != nil {
		return nil, nil // the old place is gone: the file is at the new one, or nowhere of ours
	}
	defer src.close()
	dst, name, _, err := openDir(in.ToRoot, in.To, false)
	if err != nil {
		return nil, nil
	}
	defer dst.close()
	a, errA := src.lstat(base)
	b, errB := dst.lstat(name)
	switch {
	case errA != nil || errB != nil:
		return nil, nil
	case a.id == b.id:
		return nil, dst.unlink(name)
	}
	return reservedEmpty(in.To), nil
}

// recoverInPlace looks whether a file was left torn. Torn means: block by block
// it holds either the former or the new content. Then the former one is put
// back. Anything else was written by somebody later and is left alone.
func (e *Engine) recoverInPlace(ctx context.Context, in *intent) ([]Rescued, error) {
	if !in.Ready {
		return nil, nil
	}
	before, errB := os.ReadFile(filepath.Join(in.box.dir, in.Before))
	after, errA := os.ReadFile(filepath.Join(in.box.dir, in.After))
	if err := errors.Join(errB, errA); err != nil {
		return nil, err
	}
	d, base, _, err := openDir(in.Root, in.Path, false)
	if err != nil {
		return nil, nil
	}
	defer d.close()
	f, err := d.open(base, true)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if err := leaseWithin(ctx, f, writeLease, leaseWait); err != nil && !errors.Is(err, errNoLease) {
		return nil, err
	}
	defer dropLease(f)
	now, digest, err := readAll(f)
	if err != nil {
		return nil, err
	}
	if digest == in.Base || digest == in.Candidate {
		return nil, nil
	}
	if torn(now, before, after) {
		kept, err := e.store.Add(in.Path, "half written when the program ended", now, 0o600)
		if err != nil {
			return nil, err
		}
		return []Rescued{{Path: in.Path, Entry: &kept,
			What: fmt.Sprintf("%s was half written; its former content is back, the half is kept as %s", in.Path, kept.ID)}}, e.fill(f, before)
	}
	entry, err := e.store.Add(in.Path, "former content of an interrupted write", before, 0o600)
	if err != nil {
		return nil, err
	}
	return []Rescued{{Path: in.Path, Entry: &entry,
		What: fmt.Sprintf("%s was changed after an interrupted write and is left as it is; its former content is kept as %s", in.Path, entry.ID)}}, nil
}

// torn reports whether now can be what a crash left of writing after over before.
// A process that is killed tears at a byte, a machine that stops at blocks.
func torn(now, before, after []byte) bool {
	// A file is extended as the write goes: any length in between can be met.
	if len(now) < min(len(before), len(after)) || len(now) > max(len(before), len(after)) {
		return false
	}
	const block = 512
	for at := 0; at < len(now); at += block {
		end := min(at+block, len(now))
		if !tornBlock(now[at:end], part(before, at, end), part(after, at, end)) {
			return false
		}
	}
	return true
}

// tornBlock: a head of the new content and a tail of the former one, or zeroes
// where a block was allotted and never written.
func tornBlock(now, before, after []byte) bool {
	n := 0
	for n < len(now) && n < len(after) && now[n] == after[n] {
		n++
	}
	rest := now[n:]
	return bytes.Equal(rest, part(before, n, len(now))) || len(bytes.Trim(rest, "\x00")) == 0
}

// part is b[from:to] as far as b goes.
func part(b []byte, from, to int) []byte {
	return b[min(from, len(b)):min(to, len(b))]
}
