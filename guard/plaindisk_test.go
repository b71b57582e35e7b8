package guard

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/stella-ls/stella-ls/internal/workspace"
)

// plainDisk compares, then renames: a stand-in for the engine where tests need
// speed and nobody races.
type plainDisk struct{}

func (plainDisk) holds(path string, expect workspace.Digest) error {
	b, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return &staleDisk{}
	}
	if err != nil {
		return err
	}
	if workspace.DigestOf(b) != expect {
		return &staleDisk{}
	}
	return nil
}

func (d plainDisk) replace(_ context.Context, n workspace.Name, expect workspace.Digest, candidate []byte) (committed, error) {
	path := string(n.Path)
	if err := d.holds(path, expect); err != nil {
		return committed{}, err
	}
	fi, err := os.Stat(path)
	if err != nil {
		return committed{}, err
	}
	temp := filepath.Join(filepath.Dir(path), ".stella-tmp-x")
	if err := os.WriteFile(temp, candidate, fi.Mode()); err != nil {
		return committed{}, err
	}
	return committed{mode: "rename"}, os.Rename(temp, path)
}

func (d plainDisk) create(_ context.Context, n workspace.Name, content []byte) (committed, error) {
	path := string(n.Path)
	made := missingDirs(path)
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		return committed{}, err
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if errors.Is(err, fs.ErrExist) {
		return committed{}, errExists
	}
	if err != nil {
		return committed{}, err
	}
	_, err = f.Write(content)
	return committed{mode: "exclusive", createdDirs: made}, errors.Join(err, f.Close())
}

func missingDirs(path string) (made []string) {
	for dir := filepath.Dir(path); ; dir = filepath.Dir(dir) {
		if _, err := os.Stat(dir); err == nil {
			return made
		}
		made = append([]string{dir}, made...)
	}
}

func (d plainDisk) remove(_ context.Context, n workspace.Name, expect workspace.Digest) (committed, error) {
	if n.Link == string(n.Path) {
		if err := d.holds(n.Link, expect); err != nil {
			return committed{}, err
		}
	}
	return committed{mode: "unlink"}, os.Remove(n.Link)
}

func (d plainDisk) move(_ context.Context, n workspace.Name, expect workspace.Digest, to workspace.Name) (committed, error) {
	if n.Link == string(n.Path) {
		if err := d.holds(n.Link, expect); err != nil {
			return committed{}, err
		}
	}
	if _, err := os.Lstat(to.Link); err == nil {
		return committed{}, errExists
	}
	made := missingDirs(to.Link)
	if err := os.MkdirAll(filepath.Dir(to.Link), 0o777); err != nil {
		return committed{}, err
	}
	return committed{mode: "rename", createdDirs: made}, os.Rename(n.Link, to.Link)
}

func (plainDisk) keep(workspace.Name, string, []byte, fs.FileMode) error { return nil }
func (plainDisk) recover(context.Context) ([]string, error)              { return nil, nil }
func (plainDisk) quiet(context.Context)                                  {}
func (plainDisk) close(context.Context) error                            { return nil }
