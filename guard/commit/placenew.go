package commit

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// placeNew renames to a name that must be free (fs.ErrExist). Without such a
// rename a second name is made and the first removed; where files have one name
// only (exFAT, many FUSE and network volumes) the name is reserved first.
func (e *Engine) placeNew(d *dir, from string, to *dir, name string) error {
	err := d.renameNew(from, to, name)
	if !unsupported(err) {
		return err
	}
	err = d.link(from, to, name)
	switch {
	case err == nil:
		if err = d.unlink(from); err != nil {
			e.unplace(d, from, to, name)
		}
		return err
	case noSecondName(err):
		return e.placeReserved(d, from, to, name)
	}
	return err
}

// unplace takes a second name away again whose first could not be removed, so that
// a failure is one. Somebody else's file of that name stays.
func (e *Engine) unplace(d *dir, from string, to *dir, name string) {
	first, err := d.lstat(from)
	if err != nil {
		return
	}
	if second, err := to.lstat(name); err == nil && second.id == first.id {
		_ = to.unlink(name)
	}
}

// noSecondName: Linux answers EPERM where a file system has no hard links.
func noSecondName(err error) bool {
	return unsupported(err) || errors.Is(err, fs.ErrPermission)
}

// placeReserved makes an empty file of that name, which fails if there is one,
// and renames over it. Whoever opened the empty file in between and wrote to it
// finds the bytes in the displaced store. Once renamed it is done: trouble with
// those bytes is told to people and is no error of the write.
func (e *Engine) placeReserved(d *dir, from string, to *dir, name string) error {
	f, err := to.create(name, 0o600)
	if err != nil {
		return err
	}
	defer f.Close()
	e.hook("reserved")
	reserved, err := fstat(f)
	if err != nil {
		return err
	}
	if now, err := to.lstat(name); err != nil || now.id != reserved.id || now.size != 0 {
		return fs.ErrExist // somebody took the name since
	}
	if err := d.rename(from, to, name); err != nil {
		if now, statErr := to.lstat(name); statErr == nil && now.id == reserved.id && now.size == 0 {
			to.unlink(name)
		}
		return err
	}
	e.hook("placed")
	e.keepWritten(f, to, name)
	return nil
}

// keepWritten puts what f holds, if anything, into the displaced store, or where
// that fails beside the file: it has no name any more, and closing f ends it.
func (e *Engine) keepWritten(f *os.File, to *dir, name string) {
	i, err := fstat(f)
	if err == nil && i.size == 0 {
		return
	}
	path := filepath.Join(to.path, name)
	entry, err := e.storeVersion(context.Background(), path, "written while the file was made", f)
	if err == nil {
		e.opt.Tell(fmt.Sprintf("another program wrote to %s while it was made: its version is kept as %s (stella-ls recover restore %s)", path, entry.ID, entry.ID))
		return
	}
	beside := name + ".kept-" + newID()
	if besideErr := copyTo(to, beside, f); besideErr != nil {
		e.opt.Tell(fmt.Sprintf("another program wrote to %s while it was made, and its version could not be kept: %v; %v", path, err, besideErr))
		return
	}
	e.opt.Tell(fmt.Sprintf("another program wrote to %s while it was made: its version is kept beside it as %s, since the store failed: %v", path, beside, err))
}

// copyTo makes a new file with what f holds.
func copyTo(d *dir, name string, f *os.File) error {
	content, _, err := readAll(f)
	if err != nil {
		return err
	}
	out, err := d.create(name, 0o600)
	if err != nil {
		return err
	}
	_, err = out.Write(content)
	return errors.Join(err, out.Sync(), out.Close())
}

// reservedEmpty reports what a crash between the reservation of a name and the
// rename left: an empty file, which may as well be somebody's. It stays.
func reservedEmpty(path string) *Rescued {
	fi, err := os.Lstat(path)
	if err != nil || !fi.Mode().IsRegular() || fi.Size() != 0 {
		return nil
	}
	return &Rescued{Path: path, What: path + " is empty: it was about to be written when the program ended; remove it unless it is wanted"}
}
