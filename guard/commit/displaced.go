package commit

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/stella-ls/stella-ls/internal/workspace"
)

const (
	keepDisplaced = 90 * 24 * time.Hour // entries younger than this are never pruned
	indexName     = "index.jsonl"
	lockWait      = 20 * time.Second // additions take milliseconds, a prune of a large index a second
)

// Displaced is the store of file versions that were pushed aside: one file of
// bytes per distinct content, one index line per event, all owner-only. Several
// processes may add to it at once. Entries leave it only by Prune, after 90 days.
type Displaced struct {
	dir   string
	clock func() time.Time
	mu    sync.Mutex // serialises this process's additions
}

// OpenDisplaced opens the store in dir, which is created if needed.
func OpenDisplaced(dir string, clock func() time.Time) (*Displaced, error) {
	if clock == nil {
		clock = time.Now
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("displaced store: %w", err)
	}
	return &Displaced{dir: dir, clock: clock}, nil
}

// Add stores content as a version of path. It is durable when Add returns.
func (s *Displaced) Add(path, why string, content []byte, mode fs.FileMode) (Entry, error) {
	e := Entry{
		ID: newID(), Path: path, When: s.clock().UTC(), Why: why,
		Digest: workspace.DigestOf(content), Size: int64(len(content)), Mode: mode.Perm(),
	}
	unlock, err := s.lock()
	if err != nil {
		return Entry{}, fmt.Errorf("displaced store: %w", err)
	}
	defer unlock()
	if err := s.putBlob(e.Digest, content); err != nil {
		return Entry{}, fmt.Errorf("displaced store: %w", err)
	}
	line, err := json.Marshal(e)
	if err != nil {
		return Entry{}, err
	}
	if err := appendSynced(filepath.Join(s.dir, indexName), append(line, '\n')); err != nil {
		return Entry{}, fmt.Errorf("displaced store: %w", err)
	}
	return e, nil
}

// lock keeps other threads and other processes out: a Prune rewrites the index
// that an Add appends to.
func (s *Displaced) lock() (unlock func(), err error) {
	s.mu.Lock()
	f, err := os.OpenFile(filepath.Join(s.dir, lockName), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		s.mu.Unlock()
		return nil, err
	}
	for end := time.Now().Add(lockWait); lockFile(f) != nil; time.Sleep(2 * time.Millisecond) {
		if time.Now().After(end) {
			f.Close()
			s.mu.Unlock()
			return nil, fmt.Errorf("another process has kept %s locked for %s", f.Name(), lockWait)
		}
	}
	return func() { f.Close(); s.mu.Unlock() }, nil
}

func (s *Displaced) blob(d Digest) string {
	return filepath.Join(s.dir, string(bytes.TrimPrefix([]byte(d), []byte("sha256:"))))
}

func (s *Displaced) putBlob(d Digest, content []byte) error {
	name := s.blob(d)
	if old, err := os.ReadFile(name); err == nil && workspace.DigestOf(old) == d {
		return nil
	}
	return writeSynced(name, content)
}

// List returns the entries, oldest first. A torn last line (a crash) is skipped.
func (s *Displaced) List() ([]Entry, error) {
	f, err := os.Open(filepath.Join(s.dir, indexName))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var out []Entry
	sc := bufio.NewScanner(f)
	sc.Buffer(nil, 1<<20)
	for sc.Scan() {
		var e Entry
		if json.Unmarshal(sc.Bytes(), &e) == nil && e.ID != "" {
			out = append(out, e)
		}
	}
	return out, sc.Err()
}

// Get returns an entry and its bytes, checked against their digest.
func (s *Displaced) Get(id string) (Entry, []byte, error) {
	all, err := s.List()
	if err != nil {
		return Entry{}, nil, err
	}
	for _, e := range all {
		if e.ID != id {
			continue
		}
		b, err := s.Read(e)
		return e, b, err
	}
	return Entry{}, nil, fmt.Errorf("no displaced version %q: %w", id, fs.ErrNotExist)
}

// Read returns the bytes of an entry of List, checked against their digest.
func (s *Displaced) Read(e Entry) ([]byte, error) {
	b, err := os.ReadFile(s.blob(e.Digest))
	if err != nil {
		return nil, err
	}
	if workspace.DigestOf(b) != e.Digest {
		return nil, fmt.Errorf("displaced version %s of %s is damaged on disk", e.ID, e.Path)
	}
	return b, nil
}

// Prune forgets entries older than 90 days and returns how many.
func (s *Displaced) Prune() (int, error) {
	unlock, err := s.lock()
	if err != nil {
		return 0, err
	}
	defer unlock()
	all, err := s.List()
	if err != nil {
		return 0, err
	}
	limit := s.clock().Add(-keepDisplaced)
	var keep bytes.Buffer
	used := map[Digest]bool{}
	var old []Entry
	for _, e := range all {
		if e.When.Before(limit) {
			old = append(old, e)
			continue
		}
		used[e.Digest] = true
		line, _ := json.Marshal(e)
		keep.Write(append(line, '\n'))
	}
	if len(old) == 0 {
		return 0, nil
	}
	if err := writeSynced(filepath.Join(s.dir, indexName), keep.Bytes()); err != nil {
		return 0, err
	}
	for _, e := range old {
		if !used[e.Digest] {
			os.Remove(s.blob(e.Digest))
		}
	}
	return len(old), nil
}

// writeSynced replaces a file of the state directory, whole and durable.
func writeSynced(name string, content []byte) error {
	tmp := name + "." + newID()
	f, err := os.OpenFile(tmp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(content)
	err = errors.Join(err, f.Sync(), f.Close())
	if err == nil {
		err = os.Rename(tmp, name)
	}
	if err != nil {
		os.Remove(tmp)
		return err
	}
	return syncDir(filepath.Dir(name))
}

func appendSynced(name string, line []byte) error {
	_, statErr := os.Stat(name)
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(line)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	if statErr != nil {
		return syncDir(filepath.Dir(name))
	}
	return nil
}
