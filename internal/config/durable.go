package config

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/gofrs/flock"
)

// update rewrites one of our own files under a lock that other processes honour
// too: change gets the present text ("" when there is none). The new text is on
// disk, or the old one still is; a mode that a person set is kept.
func update(path string, change func(old string) (string, error)) error {
	if err := EnsureHome(filepath.Dir(path)); err != nil {
		return err
	}
	lock := flock.New(path + ".lock")
	if err := lock.Lock(); err != nil {
		return err
	}
	defer func() { _ = lock.Unlock() }() // the file is closed either way
	mode := fs.FileMode(0o600)
	old, err := os.ReadFile(path)
	switch {
	case err == nil:
		if info, err := os.Stat(path); err == nil {
			mode = info.Mode().Perm()
		}
	case !errors.Is(err, fs.ErrNotExist):
		return err
	}
	text, err := change(string(old))
	if err != nil || text == string(old) {
		return err
	}
	return replace(path, text, mode)
}

func replace(path, text string, mode fs.FileMode) error {
	// A settings file is often a link into somebody's dotfiles: the link stays.
	if target, err := filepath.EvalSymlinks(path); err == nil {
		path = target
	}
	tmp, err := os.CreateTemp(filepath.Dir(path), ".tmp-*")
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(tmp.Name()) }() // gone after the rename
	_, werr := tmp.WriteString(text)
	err = errors.Join(werr, tmp.Chmod(mode), tmp.Sync(), tmp.Close())
	if err != nil {
		return err
	}
	if err := os.Rename(tmp.Name(), path); err != nil {
		return err
	}
	return syncDir(filepath.Dir(path))
}
