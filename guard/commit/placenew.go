package commit

import (
	"context"
	"errors"
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
		return d.unlink(from)
	case noSecondName(err):
		return e.placeReserved(d, from, to, name)
	}
	return err
}

// noSecondName: Linux answers EPERM where a file system has no hard links.
func noSecondName(err error) bool {
	return unsupported(err) || errors.Is(err, fs.ErrPermission)
}

// placeReserved makes an empty file of that name, which fails if there is one,
// and renames over it. Whoever opened the empty file in between and wrote to it
// finds the bytes in the displaced store.
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
	return e.keepWritten(f, filepath.Join(to.path, name))
}

// keepWritten puts what f holds, if anything, into the displaced store.
func (e *Engine) keepWritten(f *os.File, path string) error {
	if i, err := fstat(f); err != nil || i.size == 0 {
		return nil
	}
	_, err := e.storeVersion(context.Background(), path, "written while the file was made", f)
	return err
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
