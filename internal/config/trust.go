package config

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sort"
	"time"
)

// Trust is what the user said about directories. It lies in the user's own
// state, owner-only: nothing in a workspace can make that workspace trusted.
type Trust struct {
	path string
	now  func() time.Time
}

// NewTrust opens the store below home; it need not exist.
func NewTrust(home string) *Trust {
	return &Trust{path: filepath.Join(home, "trust.json"), now: time.Now}
}

type trustFile struct {
	Version int                   `json:"version"`
	Dirs    map[string]trustEntry `json:"directories"`
}

type trustEntry struct {
	Trusted bool      `json:"trusted"`
	At      time.Time `json:"at"`
}

// Trusted reports whether dir is trusted: the nearest directory at or above it
// that the user decided about counts. decided is false when there is none.
// A store that cannot be relied on trusts nothing, and says why.
func (t *Trust) Trusted(dir string) (trusted, decided bool, err error) {
	f, err := t.read()
	if err != nil {
		return false, false, err
	}
	dir, err = realDir(dir)
	if err != nil {
		return false, false, err
	}
	for {
		if e, ok := f.Dirs[dir]; ok {
			return e.Trusted, true, nil
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return false, false, nil
		}
		dir = parent
	}
}

// Set remembers the user's decision about dir and everything below it.
func (t *Trust) Set(dir string, trusted bool) error {
	dir, err := realDir(dir)
	if err != nil {
		return err
	}
	if _, err := t.read(); err != nil {
		return err
	}
	return update(t.path, func(old string) (string, error) {
		f, err := parseTrust(t.path, []byte(old))
		if err != nil {
			return "", err
		}
		if f.Dirs == nil {
			f.Dirs = map[string]trustEntry{}
		}
		f.Dirs[dir] = trustEntry{trusted, t.now().UTC().Truncate(time.Second)}
		b, err := json.MarshalIndent(f, "", "  ")
		return string(b) + "\n", err
	})
}

// List is every directory that was decided about, in order, with the decision.
func (t *Trust) List() (dirs []string, trusted []bool, err error) {
	f, err := t.read()
	for d := range f.Dirs {
		dirs = append(dirs, d)
	}
	sort.Strings(dirs)
	for _, d := range dirs {
		trusted = append(trusted, f.Dirs[d].Trusted)
	}
	return dirs, trusted, err
}

func (t *Trust) read() (trustFile, error) {
	info, err := os.Lstat(t.path)
	if errors.Is(err, fs.ErrNotExist) {
		return trustFile{}, nil
	}
	if err == nil {
		err = onlyOurs(t.path, info)
	}
	if err != nil {
		return trustFile{}, err
	}
	b, err := os.ReadFile(t.path)
	if err != nil {
		return trustFile{}, err
	}
	return parseTrust(t.path, b)
}

func parseTrust(path string, b []byte) (trustFile, error) {
	f := trustFile{Version: 1}
	if len(b) == 0 {
		return f, nil
	}
	if err := json.Unmarshal(b, &f); err != nil {
		return trustFile{}, fmt.Errorf("%s is damaged (%w); nothing is trusted until it is mended or removed", path, err)
	}
	if f.Version != 1 {
		return trustFile{}, fmt.Errorf("%s was written by a newer stella-ls (version %d); nothing is trusted until that one is used", path, f.Version)
	}
	return f, nil
}

// realDir is the identity of a directory: absolute, links resolved.
func realDir(dir string) (string, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	real, err := filepath.EvalSymlinks(abs)
	if err != nil {
		return "", fmt.Errorf("cannot tell which directory %s is: %w", dir, err)
	}
	info, err := os.Stat(real)
	if err != nil {
		return "", err
	}
	if !info.IsDir() {
		return "", fmt.Errorf("%s is not a directory", dir)
	}
	return real, nil
}
