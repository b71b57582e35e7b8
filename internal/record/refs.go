package record

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"sort"
	"strings"
	"time"

	"github.com/go-git/go-git/v5/plumbing"
)

// refPrefix is where sessions are; below it a ref is a file.
const refPrefix = "refs/stella/sessions"

// refs reads and moves the sessions' refs with git's own protocol: the lock
// file next to a ref, made exclusively, becomes the ref.
type refs struct {
	dir   string // the repository
	fault faultFunc
}

var validName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$`)

// checkName refuses what git would not take as the last part of a ref.
func checkName(id string) error {
	if !validName.MatchString(id) || strings.Contains(id, "..") || strings.HasSuffix(id, ".") || strings.HasSuffix(id, ".lock") {
		return fmt.Errorf("%w: %q (letters, digits, . _ - are)", ErrName, id)
	}
	return nil
}

func (r refs) path(id string) string {
	return filepath.Join(r.dir, filepath.FromSlash(refPrefix), id)
}

// read is a ref's commit; zero when there is none.
func (r refs) read(id string) (plumbing.Hash, error) {
	b, err := os.ReadFile(r.path(id))
	if errors.Is(err, fs.ErrNotExist) {
		return r.packed()[id], nil
	}
	if err != nil {
		return plumbing.ZeroHash, err
	}
	s := strings.TrimSuffix(string(b), "\n")
	if !plumbing.IsHash(s) || len(s) != 40 {
		return plumbing.ZeroHash, damaged("the ref %s/%s is cut off or altered (%d bytes)", refPrefix, id, len(b))
	}
	return plumbing.NewHash(s), nil
}

// packed are the refs that git moved into one file; a person may have run gc.
func (r refs) packed() map[string]plumbing.Hash {
	out := map[string]plumbing.Hash{}
	b, err := os.ReadFile(filepath.Join(r.dir, "packed-refs"))
	if err != nil {
		return out
	}
	for line := range strings.Lines(string(b)) {
		hash, name, ok := strings.Cut(strings.TrimSpace(line), " ")
		if id, is := strings.CutPrefix(name, refPrefix+"/"); ok && is && plumbing.IsHash(hash) {
			out[id] = plumbing.NewHash(hash)
		}
	}
	return out
}

// list is the ids of all sessions, in order.
func (r refs) list() ([]string, error) {
	ids := map[string]bool{}
	for id := range r.packed() {
		ids[id] = true
	}
	entries, err := os.ReadDir(filepath.Join(r.dir, filepath.FromSlash(refPrefix)))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	for _, e := range entries {
		if checkName(e.Name()) == nil {
			ids[e.Name()] = true
		}
	}
	out := make([]string, 0, len(ids))
	for id := range ids {
		out = append(out, id)
	}
	sort.Strings(out)
	return out, nil
}

// swap moves a ref from old to next, durably. A zero old creates it, and fails
// when it is there; anything else fails when it is not at old. check is asked
// while the ref is locked.
func (r refs) swap(id string, old, next plumbing.Hash, check func() error) error {
	return r.locked(id, func(lock *os.File) (bool, error) {
		now, err := r.read(id)
		if err != nil {
			return false, err
		}
		switch {
		case old.IsZero() && !now.IsZero():
			return false, ErrExists
		case now != old:
			return false, fmt.Errorf("%w: it is at %.8s, not at %.8s", ErrConflict, now, old)
		}
		if err := check(); err != nil {
			return false, err
		}
		if _, err := lock.WriteString(next.String() + "\n"); err != nil {
			return false, err
		}
		if err := r.fault.at("ref written"); err != nil {
			return false, err
		}
		return true, errors.Join(lock.Sync(), r.fault.at("ref synced"))
	})
}

// remove deletes a ref if it is at old.
func (r refs) remove(id string, old plumbing.Hash) error {
	return r.locked(id, func(*os.File) (bool, error) {
		now, err := r.read(id)
		if err != nil {
			return false, err
		}
		if now != old {
			return false, ErrConflict
		}
		if err := r.unpack(id); err != nil {
			return false, err
		}
		err = os.Remove(r.path(id))
		if errors.Is(err, fs.ErrNotExist) {
			err = nil
		}
		return false, errors.Join(err, syncDir(filepath.Dir(r.path(id))))
	})
}

// removeDamaged deletes a ref that says nothing.
func (r refs) removeDamaged(id string) error {
	return r.locked(id, func(*os.File) (bool, error) {
		if err := r.unpack(id); err != nil {
			return false, err
		}
		return false, errors.Join(os.Remove(r.path(id)), syncDir(filepath.Dir(r.path(id))))
	})
}

// unpack takes a ref out of packed-refs.
func (r refs) unpack(id string) error {
	path := filepath.Join(r.dir, "packed-refs")
	if _, ok := r.packed()[id]; !ok {
		return nil
	}
	b, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	var keep strings.Builder
	for line := range strings.Lines(string(b)) {
		if !strings.HasSuffix(strings.TrimSpace(line), " "+refPrefix+"/"+id) {
			keep.WriteString(line)
		}
	}
	lock, err := os.OpenFile(path+".lock", os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = lock.WriteString(keep.String())
	if err = errors.Join(err, lock.Sync(), lock.Close()); err == nil {
		err = os.Rename(path+".lock", path)
	}
	if err != nil {
		_ = os.Remove(path + ".lock") // the error below is the one that matters
		return err
	}
	return syncDir(r.dir)
}

// locked runs f with the ref's lock file; when f says so, that file becomes the ref.
func (r refs) locked(id string, f func(*os.File) (commit bool, err error)) error {
	path := r.path(id) + ".lock"
	lock, err := openExclusive(path)
	if errors.Is(err, fs.ErrNotExist) { // git removes directories that it emptied
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return err
		}
		if err := errors.Join(syncDir(filepath.Join(r.dir, "refs", "stella")), syncDir(filepath.Join(r.dir, "refs"))); err != nil {
			return err
		}
		lock, err = openExclusive(path)
	}
	if err != nil {
		return err
	}
	err = r.fault.at("ref locked")
	commit := false
	if err == nil {
		commit, err = f(lock)
	}
	err = errors.Join(err, lock.Close())
	if err == nil && commit {
		err = os.Rename(path, r.path(id))
		if err == nil {
			return errors.Join(r.fault.at("ref renamed"), syncDir(filepath.Dir(path)), r.fault.at("ref directory synced"))
		}
	}
	_ = os.Remove(path) // the error below is the one that matters
	return err
}

// openExclusive waits a moment for a lock that somebody holds right now, as a
// git command may. Who holds the session's lock has removed what a dead process
// left; see Store.Open.
func openExclusive(path string) (*os.File, error) {
	for n := 0; ; n++ {
		f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
		if !errors.Is(err, fs.ErrExist) || n == 20 {
			return f, err
		}
		time.Sleep(25 * time.Millisecond)
	}
}

// clearLock removes a lock file that a dead process left. Only the holder of
// the session's own lock may call it.
func (r refs) clearLock(id string) error {
	err := os.Remove(r.path(id) + ".lock")
	if _, there := os.Lstat(r.path(id) + ".lock"); errors.Is(there, fs.ErrNotExist) {
		return nil // a file system that cannot be written says another thing
	}
	return err
}
