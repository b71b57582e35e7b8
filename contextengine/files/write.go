package files

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/stella-ls/stella-ls/internal/workspace"
)

// ErrChanged: the file does not hold what the write was made from.
var ErrChanged = errors.New("the file was changed by somebody else")

// Create writes a new file, whole or not at all; it fails with fs.ErrExist when
// the name is taken.
func Create(path string, data []byte) error {
	tmp, err := temporary(path, data)
	if err != nil {
		return err
	}
	defer os.Remove(tmp)
	// A hard link takes the name only if it is free, and shows whole content.
	if err := os.Link(tmp, path); err == nil {
		return syncDir(filepath.Dir(path))
	} else if errors.Is(err, fs.ErrExist) {
		return &fs.PathError{Op: "create", Path: path, Err: fs.ErrExist}
	}
	// No hard links here: an exclusive create, which a crash may leave short.
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	return errors.Join(err, f.Sync(), f.Close(), syncDir(filepath.Dir(path)))
}

// Replace writes data over a file that still has the digest base.
func Replace(path string, data []byte, base workspace.Digest) error {
	if now, err := digestOf(path); err != nil || now != base {
		return errors.Join(err, changed(path, err))
	}
	tmp, err := temporary(path, data)
	if err != nil {
		return err
	}
	defer os.Remove(tmp)
	// Where names can be exchanged, what was there is looked at once more after
	// the exchange, and put back when it is not what was expected.
	if err := exchange(tmp, path); err != nil {
		if err := os.Rename(tmp, path); err != nil {
			return err
		}
		return syncDir(filepath.Dir(path))
	}
	if was, err := digestOf(tmp); err != nil || was != base {
		return errors.Join(exchange(tmp, path), changed(path, nil))
	}
	return syncDir(filepath.Dir(path))
}

// Remove takes away a file that still has the digest base.
func Remove(path string, base workspace.Digest) error {
	tmp := tempName(path)
	if now, err := digestOf(path); err != nil || now != base {
		return errors.Join(err, changed(path, err))
	}
	if err := os.Rename(path, tmp); err != nil {
		return err
	}
	if was, err := digestOf(tmp); err != nil || was != base {
		// Somebody wrote in between: theirs goes back, unless the name is taken again.
		if err := os.Link(tmp, path); err == nil {
			_ = os.Remove(tmp)
		}
		return changed(path, nil)
	}
	return errors.Join(os.Remove(tmp), syncDir(filepath.Dir(path)))
}

func changed(path string, err error) error {
	if err != nil {
		return nil
	}
	return fmt.Errorf("%s: %w", path, ErrChanged)
}

func digestOf(path string) (workspace.Digest, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	return workspace.DigestOf(b), nil
}

// temporary writes data to a fresh sibling of path, owner only, and syncs it.
func temporary(path string, data []byte) (string, error) {
	if err := makeDirs(filepath.Dir(path)); err != nil {
		return "", err
	}
	name := tempName(path)
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return "", err
	}
	_, err = f.Write(data)
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		_ = os.Remove(name)
		return "", err
	}
	return name, nil
}

func tempName(path string) string {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails
	return filepath.Join(filepath.Dir(path), "."+filepath.Base(path)+".tmp-"+hex.EncodeToString(b[:]))
}

func syncDir(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := f.Sync(); err != nil && !errors.Is(err, errors.ErrUnsupported) && !errors.Is(err, fs.ErrInvalid) {
		return nil // some file systems cannot sync a directory; the file itself is synced
	}
	return nil
}
