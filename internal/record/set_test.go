package record

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stella-ls/stella-ls/guard"
)

func openSet(t *testing.T, home string, roots *[]string) (*Set, *[]string) {
	t.Helper()
	told := &[]string{}
	s := NewSet(SetOptions{Home: home, Roots: func() []string { return *roots }, Failed: func(root string, err error) { *told = append(*told, filepath.Base(root)+": "+err.Error()) }})
	t.Cleanup(func() { s.Close() })
	return s, told
}

// Each root's sessions are in that root's own record, however the roots were
// opened together; edits go where their session is.
func TestSetOfRoots(t *testing.T) {
	home, base := t.TempDir(), t.TempDir()
	a, b := mkdir(t, filepath.Join(base, "a")), mkdir(t, filepath.Join(base, "b"))
	inner := mkdir(t, filepath.Join(b, "inner", "deep"))
	roots := []string{a, b, filepath.Join(b, "inner")}
	s, _ := openSet(t, home, &roots)
	for id, root := range map[string]string{"s-a": a, "s-b": b, "s-inner": inner, "s-else": t.TempDir()} {
		n, err := s.Create(t.Context(), Header{Session: id, Root: root})
		must(t, err)
		must(t, n.Step(t.Context(), Step{Turn: 1, Beliefs: []guard.Belief{belief(root+"/x", id, 1)}}))
	}
	// A file of another root, changed by s-b: the record is the session's.
	e := guard.EditRecord{ID: "e1", Session: "s-b", Path: "/elsewhere/x", Before: []byte("1"), After: []byte("2")}
	must(t, s.PreImage(t.Context(), e))
	must(t, s.Applied(t.Context(), e))
	if got, err := s.Images(t.Context(), "s-b", "e1"); err != nil || string(got.Before) != "1" || string(got.After) != "2" {
		t.Errorf("%+v %v", got, err)
	}
	// Without a session: the record of the root that the file lies in.
	must(t, s.PreImage(t.Context(), guard.EditRecord{ID: "e1", Session: "n-1", Path: "", Before: []byte("1")}))
	list, err := s.Sessions(t.Context())
	if len(list) != 5 || err != nil {
		t.Fatalf("%+v %v", list, err)
	}
	must(t, s.Close())

	for root, want := range map[string]string{a: "n-1 s-a s-else", b: "s-b", roots[2]: "s-inner"} {
		one := openStore(t, home, root)
		infos, err := one.Sessions(t.Context())
		must(t, err)
		var ids []string
		for _, i := range infos {
			ids = append(ids, i.Session)
		}
		for _, id := range strings.Fields(want) {
			if !strings.Contains(strings.Join(ids, " "), id) || len(ids) != len(strings.Fields(want)) {
				t.Errorf("%s has %v, want %s", filepath.Base(root), ids, want)
			}
		}
		fsck(t, one.Dir())
	}

	// Opened in the other order, and with a folder added and one taken away later.
	roots = []string{b}
	s, _ = openSet(t, home, &roots)
	if _, _, err := s.Resume(t.Context(), "s-a"); !errors.Is(err, ErrNotFound) {
		t.Errorf("%v", err)
	}
	roots = []string{b, a}
	n, l, err := s.Resume(t.Context(), "s-a")
	must(t, err)
	roots = []string{b}
	if len(l.Beliefs) != 1 || string(l.Beliefs[0].Blob) != "s-a" {
		t.Errorf("%+v", l)
	}
	must(t, n.Step(t.Context(), Step{Turn: 2})) // its root is not open any more
	if l, err = s.Load(t.Context(), "s-a"); err != nil || l.Turn != 2 {
		t.Errorf("%+v %v", l, err)
	}
}

// A root whose record cannot be opened is told once, and the others go on. When
// it can be again, it is.
func TestSetWithABadRoot(t *testing.T) {
	home, good, bad := t.TempDir(), t.TempDir(), t.TempDir()
	roots := []string{good}
	s, told := openSet(t, home, &roots)
	_, err := s.Create(t.Context(), Header{Session: "s-good", Root: good})
	must(t, err)
	known := filepath.Join(home, "work", "workspaces.json")
	was, err := os.ReadFile(known)
	must(t, err)
	must(t, os.WriteFile(known, []byte(`{"version": 7}`), 0o600))
	roots = append(roots, bad)
	for range 2 {
		if _, err := s.Create(t.Context(), Header{Session: "s-bad", Root: bad}); !errors.Is(err, ErrNewer) {
			t.Errorf("%v", err)
		}
	}
	if err := s.PreImage(t.Context(), guard.EditRecord{ID: "e1", Session: "s-bad", Path: "x"}); err != nil {
		t.Error(err) // the first root takes it
	}
	if list, err := s.Sessions(t.Context()); len(list) != 2 || !errors.Is(err, ErrNewer) {
		t.Errorf("%+v %v", list, err)
	}
	if len(*told) != 1 || !strings.Contains((*told)[0], "newer stella-ls") {
		t.Errorf("told %q", *told)
	}
	must(t, os.WriteFile(known, was, 0o600))
	if _, err := s.Create(t.Context(), Header{Session: "s-bad2", Root: bad}); err != nil {
		t.Errorf("mended: %v", err)
	}
	roots = nil
	s, _ = openSet(t, home, &roots)
	if err := s.PreImage(t.Context(), guard.EditRecord{ID: "e1", Session: "s"}); !errors.Is(err, guard.ErrNoRecord) {
		t.Errorf("%v", err)
	}
}

// A session that cannot be read goes on beside its record, which stays.
func TestContinueAndSalvage(t *testing.T) {
	home, root := t.TempDir(), t.TempDir()
	s := openStore(t, home, root)
	n, err := s.Create(t.Context(), Header{Session: "s", Title: "work"})
	must(t, err)
	for i := range 3 {
		must(t, n.Step(t.Context(), Step{Turn: 1, Entry: json.RawMessage{'1' + byte(i)}, Beliefs: []guard.Belief{belief("/w/a", "a", 1)}}))
	}
	must(t, s.Close())
	damageBlob(t, s, "content-") // all steps share this one
	s = openStore(t, home, root)
	if _, _, err := s.Resume(t.Context(), "s"); !errors.Is(err, ErrDamaged) {
		t.Fatalf("%v", err)
	}
	l := s.Salvage(t.Context(), "s")
	if l.Title != "work" || len(l.Transcript) != 3 || string(l.Transcript[0]) != "1" || l.Beliefs != nil {
		t.Errorf("%+v", l)
	}
	ref, err := os.ReadFile(s.refs.path("s"))
	must(t, err)
	for _, want := range []string{"s.2", "s.3"} {
		n, err := s.Continue(t.Context(), "s", Header{Session: "s", Title: "again"})
		must(t, err)
		must(t, s.PreImage(t.Context(), guard.EditRecord{ID: "e9", Session: "s", Path: "/w/a", Before: []byte("x"), After: []byte("y")}))
		if n.ID() != want {
			t.Errorf("it is called %s, not %s", n.ID(), want)
		}
		must(t, n.Close())
		if l, err := s.Load(t.Context(), want); err != nil || len(l.Edits) != 1 {
			t.Errorf("%+v %v", l, err)
		}
	}
	if now, _ := os.ReadFile(s.refs.path("s")); string(now) != string(ref) {
		t.Error("the damaged record was touched")
	}
	if l := s.Salvage(t.Context(), "s-none"); l.Session != "s-none" || l.Transcript != nil {
		t.Errorf("%+v", l)
	}
}

// damageBlob alters the content of the first object of a session "s" whose name
// in a tree begins with prefix.
func damageBlob(t *testing.T, s *Store, prefix string) {
	t.Helper()
	for at, err := s.refs.read("s"); !at.IsZero(); {
		must(t, err)
		root, parent, err := s.readCommit(at)
		must(t, err)
		files, err := s.readTree(root)
		must(t, err)
		for name, h := range files {
			if strings.HasPrefix(name, prefix) {
				for _, x := range s.objects.indexes() {
					if offset, _, ok := x.find(h); ok {
						path := filepath.Join(s.objects.dir, x.name+".pack")
						raw, err := os.ReadFile(path)
						must(t, err)
						raw[offset+3] ^= 0x55
						must(t, os.Chmod(path, 0o600))
						must(t, os.WriteFile(path, raw, 0o600))
						return
					}
				}
			}
		}
		at = parent
	}
	t.Fatalf("no %s*", prefix)
}

// A session whose beginning could not be recorded, but whose first edit could,
// goes on in the record that the edit made.
func TestOrphanIsAdopted(t *testing.T) {
	s := openStore(t, t.TempDir(), t.TempDir())
	must(t, s.PreImage(t.Context(), guard.EditRecord{ID: "e1", Session: "s", Path: "/w/a", Before: []byte("x"), After: []byte("y")}))
	n, err := s.Create(t.Context(), Header{Session: "s", Title: "real", Root: "/w"})
	must(t, err)
	if _, err := s.Create(t.Context(), Header{Session: "s"}); !errors.Is(err, ErrBusy) {
		t.Errorf("taken over twice: %v", err)
	}
	must(t, n.Step(t.Context(), Step{Turn: 1}))
	if l, err := s.Load(t.Context(), "s"); err != nil || l.Title != "real" || len(l.Edits) != 1 {
		t.Errorf("%+v %v", l, err)
	}
}

// Prune takes no session that another process has, and none that is young.
func TestPruneSparesTheLiving(t *testing.T) {
	home, root := t.TempDir(), t.TempDir()
	old := openStore(t, home, root)
	for _, id := range []string{"done", "running"} {
		n, err := old.Create(t.Context(), Header{Session: id})
		must(t, err)
		must(t, n.Step(t.Context(), Step{Turn: 1, Beliefs: []guard.Belief{belief("/w/a", "content of "+id, 1)}}))
		if id == "done" {
			must(t, n.Close())
		}
	}
	other, err := Open(Options{Home: home, Root: root, Now: func() time.Time { return time.Unix(1_900_000_000, 0) }}) // as another process: the lock is per open file
	must(t, err)
	defer other.Close()
	young, err := other.Create(t.Context(), Header{Session: "young"})
	must(t, err)
	must(t, young.Close())
	other.grace = -time.Hour
	gone, err := other.Prune(t.Context(), time.Unix(1_800_000_001, 0))
	if err != nil || len(gone) != 1 || gone[0] != "done" {
		t.Errorf("%v %v", gone, err)
	}
	fsck(t, old.Dir())
	l, err := other.Load(t.Context(), "running")
	if err != nil || len(l.Beliefs) != 1 {
		t.Errorf("%+v %v", l, err)
	}
	must(t, old.opened("running").Step(t.Context(), Step{Turn: 2}))
	if list, _ := other.Sessions(t.Context()); len(list) != 2 {
		t.Errorf("%+v", list)
	}
}

// A store whose process died before it was put on the list is nobody's.
func TestUnbornStoresGo(t *testing.T) {
	home := t.TempDir()
	unborn := mkdir(t, filepath.Join(home, "work", "x-0123.git", "refs"))
	lost := openStore(t, home, t.TempDir())
	n, err := lost.Create(t.Context(), Header{Session: "s"})
	must(t, err)
	must(t, n.Close())
	must(t, os.Remove(filepath.Join(home, "work", "workspaces.json")))
	openStore(t, home, t.TempDir())
	if _, err := os.Stat(filepath.Dir(unborn)); err == nil {
		t.Error("the unborn store is still there")
	}
	if _, err := lost.Load(t.Context(), "s"); err != nil {
		t.Errorf("a store with sessions is gone with the list: %v", err)
	}
}
