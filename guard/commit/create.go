package commit

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/stella-ls/stella-ls/internal/workspace"
)

// Create makes a new file with req.Candidate. It appears whole or not at all,
// and only if nothing has that name (ErrExists). Missing directories are made
// and named in the result; they are removed again when the file cannot be made.
func (e *Engine) Create(ctx context.Context, req Request) (Result, error) {
	end, err := e.begin(ctx, "create", req.Path)
	if err != nil {
		return Result{}, err
	}
	defer end()
	res, err := e.create(req, nil)
	if err != nil {
		return Result{}, &PathError{"create", req.Path, err}
	}
	return res, nil
}

func (e *Engine) create(req Request, meta func(*os.File) error) (res Result, err error) {
	d, base, made, err := openDir(req.Root, req.Path, true)
	defer func() {
		if err != nil {
			removeDirs(req.Root, made)
		}
	}()
	if err != nil {
		return Result{}, err
	}
	defer d.close()
	if _, err := d.lstat(base); err == nil {
		return Result{}, ErrExists
	}
	perm := req.Perm
	if perm == 0 {
		perm = 0o666
	}
	temp, digest := tempPrefix+newID(), workspace.DigestOf(req.Candidate)
	in := &intent{Op: "create", Root: req.Root, Path: req.Path, Temps: []string{temp}, Candidate: digest}
	if err := e.intents.prepare(in); err != nil {
		return Result{}, err
	}
	defer in.done()
	f, err := e.writeTemp(d, in, req.Candidate, perm, meta)
	if err != nil {
		return Result{}, err
	}
	defer f.Close()
	e.hook("create-ready")
	if err := e.placeNew(d, temp, d, base); err != nil {
		d.unlink(temp)
		return Result{}, err
	}
	e.hook("created")
	res = Result{Mode: ModeExclusive, Digest: digest, CreatedDirs: made}
	if err := d.sync(); err != nil {
		res.Warnings = append(res.Warnings, "the directory could not be synced: "+err.Error())
	}
	return res, nil
}

// removeDirs removes directories that a failed call made, if they are still empty.
func removeDirs(root string, made []string) {
	for i := len(made) - 1; i >= 0; i-- {
		d, base, _, err := openDir(root, made[i], false)
		if err != nil {
			return
		}
		err = d.rmdir(base)
		d.close()
		if err != nil {
			return
		}
	}
}

// Restore puts a version of the displaced store back at its path. What is there
// now goes to the store first, so that a restore can be taken back.
func (e *Engine) Restore(ctx context.Context, id string) (Entry, Result, error) {
	entry, content, err := e.store.Get(id)
	if err != nil {
		return entry, Result{}, err
	}
	req := Request{Path: entry.Path, Candidate: content, Perm: entry.Mode}
	if dir, err := filepath.EvalSymlinks(filepath.Dir(entry.Path)); err == nil {
		req.Path = filepath.Join(dir, filepath.Base(entry.Path))
	}
	now, digest, mode, err := readPath(req.Path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		res, err := e.Create(ctx, req)
		return entry, res, err
	case err != nil:
		return entry, Result{}, &PathError{"restore", req.Path, err}
	case digest == entry.Digest:
		return entry, Result{Digest: digest}, nil
	}
	if _, err := e.store.Add(req.Path, "replaced by recover restore "+id, now, mode); err != nil {
		return entry, Result{}, err
	}
	req.Expect = digest
	res, err := e.Replace(ctx, req)
	return entry, res, err
}

func readPath(path string) ([]byte, Digest, fs.FileMode, error) {
	d, base, _, err := openDir("", path, false)
	if err != nil {
		return nil, "", 0, err
	}
	defer d.close()
	f, err := d.open(base, false)
	if err != nil {
		return nil, "", 0, err
	}
	defer f.Close()
	i, err := fstat(f)
	if err == nil && !i.regular {
		err = ErrNotRegular
	}
	if err != nil {
		return nil, "", 0, err
	}
	b, digest, err := readAll(f)
	return b, digest, fs.FileMode(i.mode & 0o777), err
}
