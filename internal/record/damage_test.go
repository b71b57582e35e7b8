package record

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stella-ls/stella-ls/guard"
)

// small makes a store with two sessions and returns its directory.
func small(t *testing.T) (home, root string) {
	home, root = memDir(t), memDir(t)
	s := openStore(t, home, root)
	for _, id := range []string{"s", "other"} {
		n, err := s.Create(t.Context(), Header{Session: id})
		must(t, err)
		must(t, n.Step(t.Context(), Step{Turn: 1, Beliefs: []guard.Belief{belief("/w/"+id, "content of "+id, 1)}, Entry: json.RawMessage(`"` + id + `"`)}))
		must(t, s.PreImage(t.Context(), guard.EditRecord{ID: "e1", Session: id, Path: "/w/a", Before: []byte("b " + id), After: []byte("a " + id)}))
	}
	must(t, s.Close())
	return home, root
}

// loadAll is what a reader gets, or why not. It panics on nothing.
func loadAll(t *testing.T, home, root, id string) (string, error) {
	s, err := Open(Options{Home: home, Root: root})
	if err != nil {
		return "", err
	}
	defer s.Close()
	l, err := s.Load(t.Context(), id)
	if err != nil {
		return "", err
	}
	r, err := l.Record("e1")
	return fmt.Sprintf("%+v %s %+v", l.Beliefs, l.Transcript, r), err
}

// TestTruncated cuts every file of the record at every byte: the answer is the
// whole session, or an error in clear words, and never a part of it.
func TestTruncated(t *testing.T) {
	home, root := small(t)
	s := openStore(t, home, root)
	want, err := loadAll(t, home, root, "s")
	must(t, err)
	var files []string
	must(t, filepath.WalkDir(s.Dir(), func(path string, d fs.DirEntry, err error) error {
		if d.Type().IsRegular() && !strings.Contains(path, "/stella/") {
			files = append(files, path)
		}
		return err
	}))
	damagedOnes := 0
	for _, path := range files {
		whole, err := os.ReadFile(path)
		must(t, err)
		must(t, os.Chmod(path, 0o600))
		step := max(1, len(whole)/60) // every byte of what is small; 60 places of an index
		for n := 0; n < len(whole); n += step {
			must(t, os.WriteFile(path, whole[:n], 0o600))
			got, err := loadAll(t, home, root, "s")
			switch {
			case err != nil:
				damagedOnes++
				if !errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), "nothing of your files is lost") {
					t.Errorf("%s cut to %d: %v", filepath.Base(path), n, err)
				}
			case got != want:
				t.Errorf("%s cut to %d gives something else", filepath.Base(path), n)
			}
		}
		// One byte altered, everywhere.
		for n := 0; n < len(whole); n += step {
			bent := append([]byte(nil), whole...)
			bent[n] ^= 0x20
			must(t, os.WriteFile(path, bent, 0o600))
			if got, err := loadAll(t, home, root, "s"); err == nil && got != want {
				t.Errorf("%s bent at %d gives something else", filepath.Base(path), n)
			}
		}
		must(t, os.WriteFile(path, whole, 0o600))
	}
	if damagedOnes < 100 {
		t.Errorf("only %d damages were noticed", damagedOnes)
	}
	got, err := loadAll(t, home, root, "s")
	if err != nil || got != want {
		t.Errorf("mended: %v", err)
	}
}

// One damaged session leaves the list and the other sessions alone.
func TestDamagedSessionInList(t *testing.T) {
	home, root := small(t)
	s := openStore(t, home, root)
	must(t, os.WriteFile(s.refs.path("s"), []byte("0123"), 0o600))
	infos, err := s.Sessions(t.Context())
	must(t, err)
	bad := 0
	for _, i := range infos {
		if i.Session == "s" && errors.Is(i.Err, ErrDamaged) {
			bad++
		} else if i.Err != nil {
			t.Errorf("%+v", i)
		}
	}
	if bad != 1 || len(infos) != 2 {
		t.Errorf("%+v", infos)
	}
	if _, err := s.Create(t.Context(), Header{Session: "s"}); err == nil {
		t.Error("a damaged session was overwritten")
	}
	// Young, it holds up the removal of packs; old, it goes like the others.
	must(t, os.Chtimes(s.refs.path("s"), time.Time{}, time.Now().Add(20*365*24*time.Hour)))
	if gone, err := s.Prune(t.Context(), time.Now().Add(10*365*24*time.Hour)); len(gone) != 1 || gone[0] != "other" || !errors.Is(err, ErrDamaged) {
		t.Errorf("pruned %v, %v", gone, err)
	}
	must(t, os.Chtimes(s.refs.path("s"), time.Time{}, time.Now()))
	if gone, err := s.Prune(t.Context(), time.Now().Add(10*365*24*time.Hour)); len(gone) != 1 || gone[0] != "s" || err != nil {
		t.Errorf("pruned %v, %v", gone, err)
	}
	if left, _ := os.ReadDir(filepath.Join(s.Dir(), "stella", "locks")); len(left) != 0 {
		t.Errorf("locks of nobody are left: %v", left)
	}
}

func TestNewerVersion(t *testing.T) {
	home, root := t.TempDir(), t.TempDir()
	s := openStore(t, home, root)
	n, err := s.Create(t.Context(), Header{Session: "s"})
	must(t, err)
	n.mu.Lock()
	c := change{meta: n.meta, beliefs: n.beliefs}
	text, _ := json.Marshal(map[string]any{"version": 7, "session": map[string]any{"not": "as now"}})
	c.add("meta.json", encoded(3, text))
	root7 := tree(c.entries)
	made := commit(root7.hash, n.head, s.now(), "from the future")
	pack, err := s.objects.put("s", append(c.objects, root7, made))
	must(t, err)
	must(t, s.refs.swap("s", n.head, made.hash, func() error { return s.objects.still(pack, made.hash) }))
	n.mu.Unlock()
	must(t, n.Close())
	for _, try := range []func() error{
		func() error { _, err := s.Load(t.Context(), "s"); return err },
		func() error { _, _, err := s.Resume(t.Context(), "s"); return err },
	} {
		if err := try(); !errors.Is(err, ErrNewer) || !strings.Contains(err.Error(), "it has version 7, this program knows 1") {
			t.Errorf("%v", err)
		}
	}
	infos, _ := s.Sessions(t.Context())
	if !errors.Is(infos[0].Err, ErrNewer) {
		t.Errorf("%+v", infos)
	}
}

// A person may run git's own clean-up on the record.
func TestAfterGitGC(t *testing.T) {
	home, root := small(t)
	s := openStore(t, home, root)
	want, err := loadAll(t, home, root, "s")
	must(t, err)
	out, err := exec.Command("git", "--git-dir", s.Dir(), "gc", "--aggressive", "--prune=now").CombinedOutput()
	if err != nil {
		t.Skipf("git gc: %v %s", err, out)
	}
	if _, err := os.Stat(s.refs.path("s")); err == nil {
		t.Error("git gc packed no refs; this test shows nothing")
	}
	got, err := loadAll(t, home, root, "s")
	if err != nil || got != want {
		t.Fatalf("%v\n%s\n%s", err, got, want)
	}
	n, _, err := s.Resume(t.Context(), "s")
	must(t, err)
	must(t, n.Step(t.Context(), Step{Turn: 2, Entry: json.RawMessage("2")}))
	must(t, n.Close())
	fsck(t, s.Dir())
	infos, err := s.Sessions(t.Context())
	if len(infos) != 2 || err != nil {
		t.Errorf("%+v %v", infos, err)
	}
	s.grace = -time.Hour
	gone, err := s.Prune(t.Context(), time.Now().Add(10*365*24*time.Hour))
	if len(gone) != 2 || err != nil {
		t.Errorf("%v %v", gone, err)
	}
	fsck(t, s.Dir())
	if infos, _ := s.Sessions(t.Context()); len(infos) != 0 {
		t.Errorf("%+v", infos)
	}
}

func TestReadOnly(t *testing.T) {
	if os.Getuid() == 0 {
		t.Skip("nothing is read-only for root")
	}
	home, root := t.TempDir(), t.TempDir()
	must(t, os.Chmod(home, 0o500))
	if _, err := Open(Options{Home: home, Root: root}); err == nil || !strings.Contains(err.Error(), "STELLA_HOME") {
		t.Errorf("%v", err)
	}
}
