//go:build linux

package commit

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"
)

func TestRestoreEntry(t *testing.T) {
	b := newBench(t)
	path := b.write("a.go", "now\n")
	en, err := b.store.Add(path, "test", []byte("then\n"), 0o600)
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := b.Restore(bg, en.ID); err != nil {
		t.Fatal(err)
	}
	b.want("a.go", "then\n")
	if !b.stored("a.go", "now\n") {
		t.Error("what the restore replaced is not kept")
	}
	os.Remove(path)
	if _, _, err := b.Restore(bg, en.ID); err != nil {
		t.Fatal(err)
	}
	b.want("a.go", "then\n")
	if _, _, err := b.Restore(bg, "nonsense"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v", err)
	}
}

// TestDisplacedIsShared: two processes' stores add and prune at once.
func TestDisplacedIsShared(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "displaced")
	old, _ := OpenDisplaced(dir, func() time.Time { return time.Now().Add(-2 * keepDisplaced) })
	a, _ := OpenDisplaced(dir, nil)
	b, _ := OpenDisplaced(dir, nil)
	done := make(chan error)
	go func() {
		var err error
		for i := range 30 {
			_, e := a.Add("/w/a", "test", fmt.Append(nil, i), 0o644)
			err = errors.Join(err, e)
		}
		done <- err
	}()
	for i := range 30 {
		_, errA := old.Add("/w/old", "test", fmt.Append(nil, i), 0o644)
		_, errB := b.Prune()
		if err := errors.Join(errA, errB); err != nil {
			t.Error(err)
		}
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
	all, err := b.List()
	kept := 0
	for _, e := range all {
		if e.Path == "/w/a" {
			kept++
			if _, err := b.Read(e); err != nil {
				t.Error(err)
			}
		}
	}
	if err != nil || kept != 30 {
		t.Errorf("%d of 30 entries are there, %v", kept, err)
	}
}

func TestDisplacedIsPrivateAndPruned(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	dir := filepath.Join(t.TempDir(), "displaced")
	s, err := OpenDisplaced(dir, func() time.Time { return now })
	if err != nil {
		t.Fatal(err)
	}
	old, _ := s.Add("/w/a", "test", []byte("old"), 0o644)
	shared, _ := s.Add("/w/b", "test", []byte("shared"), 0o644)
	now = now.Add(keepDisplaced + time.Hour)
	again, _ := s.Add("/w/c", "test", []byte("shared"), 0o644)
	filepath.WalkDir(dir, func(p string, d os.DirEntry, _ error) error {
		if st, _ := os.Stat(p); st.Mode()&0o077 != 0 {
			t.Errorf("%s has mode %v", p, st.Mode())
		}
		return nil
	})
	if n, err := s.Prune(); n != 2 || err != nil {
		t.Errorf("pruned %d, %v", n, err)
	}
	for _, id := range []string{old.ID, shared.ID} {
		if _, _, err := s.Get(id); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("got %v", err)
		}
	}
	if _, c, err := s.Get(again.ID); err != nil || string(c) != "shared" {
		t.Errorf("got %q, %v", c, err)
	}
	os.WriteFile(s.blob(again.Digest), []byte("damaged"), 0o600)
	if _, _, err := s.Get(again.ID); err == nil {
		t.Error("a damaged version was returned")
	}
}
