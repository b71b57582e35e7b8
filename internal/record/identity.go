package record

import (
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/gofrs/flock"
)

// identity tells a directory from every other one: device, inode, and the time
// it was made, where the file system keeps that, since inodes are used again.
type identity struct {
	Dev  uint64 `json:"dev"`
	Ino  uint64 `json:"ino"`
	Born int64  `json:"born,omitempty"` // nanoseconds; 0 is not known
}

// same compares two identities. Devices are renumbered at a restart on some
// systems, so a known time of birth stands in for the device.
func (a identity) same(b identity) bool {
	if a.Ino != b.Ino || a.Ino == 0 {
		return false
	}
	if a.Born != 0 && b.Born != 0 {
		return a.Born == b.Born
	}
	return a.Dev == b.Dev
}

// workspaces is the list of known workspaces, $STELLA_HOME/work/workspaces.json.
type workspaces struct {
	Version int              `json:"version"`
	Known   map[string]place `json:"workspaces"` // by id
}

type place struct {
	Root string `json:"root"` // links resolved
	identity
}

// workspaceID finds or makes the id of root. A workspace that was moved keeps
// its id; a copy gets its own, since it has another inode at another place; a
// directory put in the place of a known one (restored, cloned again) takes over
// that one's id, since the place is what people mean. prepare is called with the
// id while no other process can be in here.
func workspaceID(home, root string, prepare func(id string) error) (string, error) {
	real, err := filepath.EvalSymlinks(root)
	if err != nil {
		return "", err
	}
	me, err := identify(real)
	if err != nil {
		return "", err
	}
	dir := filepath.Join(home, "work")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", fmt.Errorf("cannot make the state directory: %w; set STELLA_HOME to one that can be written", err)
	}
	lock := flock.New(filepath.Join(dir, "workspaces.lock"))
	if err := lock.Lock(); err != nil {
		return "", err
	}
	defer func() { _ = lock.Unlock() }() // the file is closed either way
	if err := removeTemps(dir); err != nil {
		return "", err
	}
	path := filepath.Join(dir, "workspaces.json")
	list, err := readWorkspaces(path)
	if err != nil {
		return "", err
	}
	if err := list.removeUnborn(dir); err != nil {
		return "", err
	}
	id := list.find(real, me)
	if id == "" {
		id = newID(real)
	}
	if err := prepare(id); err != nil {
		return "", err
	}
	entry := place{real, me}
	if list.Known[id] == entry {
		return id, nil
	}
	list.Known[id] = entry
	b, err := json.MarshalIndent(list, "", "  ")
	if err != nil {
		return "", err
	}
	return id, writeFile(path, append(b, '\n'))
}

// removeUnborn removes stores whose process died before it could put them on the
// list: nobody can find them again, and they hold no session. One that does is
// of a list that was lost, and stays.
func (w workspaces) removeUnborn(dir string) error {
	stores, err := filepath.Glob(filepath.Join(dir, "*.git"))
	if err != nil {
		return err
	}
	for _, store := range stores {
		if _, known := w.Known[strings.TrimSuffix(filepath.Base(store), ".git")]; known {
			continue
		}
		sessions, err := refs{dir: store}.list()
		if err != nil {
			return err
		}
		if len(sessions) == 0 {
			if err := os.RemoveAll(store); err != nil {
				return err
			}
		}
	}
	return nil
}

// find is the id of a directory; "" when it is new.
func (w workspaces) find(real string, me identity) string {
	byPlace := ""
	for id, k := range w.Known {
		if k.Root == real {
			byPlace = id
		}
	}
	for id, k := range w.Known {
		if !k.same(me) {
			continue
		}
		if k.Root == real {
			return id
		}
		// Moved, unless the old place still is that directory (a mount).
		if now, err := identify(k.Root); err != nil || !now.same(k.identity) || now.same(me) {
			return id
		}
	}
	return byPlace
}

var notPlain = regexp.MustCompile(`[^a-z0-9]+`)

// newID is made to be told apart by people too.
func newID(root string) string {
	b := make([]byte, 6)
	_, _ = rand.Read(b) // never fails
	name := strings.Trim(notPlain.ReplaceAllString(strings.ToLower(filepath.Base(root)), "-"), "-")
	if len(name) > 40 {
		name = name[:40]
	}
	if name == "" {
		name = "workspace"
	}
	return name + "-" + hex.EncodeToString(b)
}

func readWorkspaces(path string) (workspaces, error) {
	list := workspaces{Version: Version, Known: map[string]place{}}
	b, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return list, nil
	}
	if err == nil {
		err = json.Unmarshal(b, &list)
		if err != nil {
			err = damaged("%s: %v", path, err)
		}
	}
	if err == nil && list.Version > Version {
		err = fmt.Errorf("%w (%s has version %d, this program knows %d)", ErrNewer, path, list.Version, Version)
	}
	if list.Known == nil {
		list.Known = map[string]place{}
	}
	return list, err
}

// removeTemps removes what a writeFile left whose process died.
func removeTemps(dir string) error {
	list, err := filepath.Glob(filepath.Join(dir, ".tmp-*"))
	for _, t := range list {
		err = errors.Join(err, os.Remove(t))
	}
	return err
}

// writeFile replaces a file durably.
func writeFile(path string, b []byte) error {
	f, err := os.CreateTemp(filepath.Dir(path), ".tmp-*")
	if err != nil {
		return err
	}
	_, err = f.Write(b)
	if err = errors.Join(err, f.Sync(), f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		_ = os.Remove(f.Name()) // the error below is the one that matters
		return err
	}
	return syncDir(filepath.Dir(path))
}
