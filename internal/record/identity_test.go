package record

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stella-ls/stella-ls/guard"
	"github.com/stella-ls/stella-ls/internal/workspace"
)

func mkdir(t *testing.T, path string) string {
	t.Helper()
	must(t, os.MkdirAll(path, 0o755))
	return path
}

func TestWorkspaceIdentity(t *testing.T) {
	home, base := t.TempDir(), t.TempDir()
	id := func(root string) string {
		t.Helper()
		s, err := Open(Options{Home: home, Root: root})
		must(t, err)
		defer s.Close()
		return s.ID()
	}
	a := mkdir(t, filepath.Join(base, "My Project"))
	first := id(a)
	if !strings.HasPrefix(first, "my-project-") || id(a) != first {
		t.Errorf("id %q, then %q", first, id(a))
	}
	link := filepath.Join(base, "link")
	must(t, os.Symlink(a, link))
	if id(link) != first {
		t.Error("a link to it is another workspace")
	}
	// A copy gets its own, whichever is opened first.
	if out, err := exec.Command("cp", "-a", a, filepath.Join(base, "copy")).CombinedOutput(); err != nil {
		t.Fatalf("%s", out)
	}
	copied := id(filepath.Join(base, "copy"))
	if copied == first || id(a) != first || id(filepath.Join(base, "copy")) != copied {
		t.Error("a copy shares the id")
	}
	// A move keeps it; what is put at the old place is new.
	b := filepath.Join(base, "moved")
	must(t, os.Rename(a, b))
	if id(b) != first {
		t.Error("a move loses the id")
	}
	mkdir(t, a)
	if other := id(a); other == first || id(b) != first {
		t.Error("a new directory at the old place takes the id of the moved one")
	}
	// Restored at the same place: the place is what people mean.
	must(t, os.RemoveAll(b))
	mkdir(t, b)
	if id(b) != first {
		t.Error("a restored directory loses its record")
	}
	if _, err := Open(Options{Home: home, Root: filepath.Join(base, "missing")}); err == nil {
		t.Error("a missing root has a record")
	}
}

func TestIdentitySame(t *testing.T) {
	for _, c := range []struct {
		a, b identity
		want bool
	}{
		{identity{1, 2, 3}, identity{1, 2, 3}, true},
		{identity{1, 2, 3}, identity{9, 2, 3}, true},  // the device got another number
		{identity{1, 2, 3}, identity{1, 2, 4}, false}, // the inode was used again
		{identity{1, 2, 0}, identity{1, 2, 3}, true},
		{identity{1, 2, 0}, identity{9, 2, 0}, false},
		{identity{1, 2, 3}, identity{1, 5, 3}, false},
		{identity{}, identity{}, false},
	} {
		if c.a.same(c.b) != c.want || c.b.same(c.a) != c.want {
			t.Errorf("%+v %+v: want %v", c.a, c.b, c.want)
		}
	}
}

func TestWorkspacesFile(t *testing.T) {
	home, root := t.TempDir(), t.TempDir()
	var wg sync.WaitGroup
	ids := make([]string, 8)
	for i := range ids {
		wg.Go(func() {
			s, err := Open(Options{Home: home, Root: root})
			if err != nil {
				t.Error(err)
				return
			}
			ids[i] = s.ID()
			s.Close()
		})
	}
	wg.Wait()
	for _, id := range ids {
		if id != ids[0] {
			t.Fatalf("ids differ: %v", ids)
		}
	}
	path := filepath.Join(home, "work", "workspaces.json")
	must(t, os.WriteFile(path, []byte(`{"version": 2}`), 0o600))
	if _, err := Open(Options{Home: home, Root: root}); !errors.Is(err, ErrNewer) {
		t.Error(err)
	}
	must(t, os.WriteFile(path, []byte(`{"ver`), 0o600))
	if _, err := Open(Options{Home: home, Root: root}); !errors.Is(err, ErrDamaged) {
		t.Error(err)
	}
}

// Joins keep everything, prunes keep what others need.
func TestJoinAndPrune(t *testing.T) {
	home, root := t.TempDir(), t.TempDir()
	now := time.Unix(1_700_000_000, 0)
	s, err := Open(Options{Home: home, Root: root, Now: func() time.Time { return now }})
	must(t, err)
	s.grace = -time.Hour
	old, err := s.Create(t.Context(), Header{Session: "old"})
	must(t, err)
	young, err := s.Create(t.Context(), Header{Session: "young"})
	must(t, err)
	shared := belief("/w/shared", "the same in both\n", 1)
	big := guard.Belief{Path: "/w/big", Blob: []byte(strings.Repeat("only the old one has this. ", 5000))}
	for i := range 40 {
		must(t, old.Step(t.Context(), Step{Turn: i, Beliefs: []guard.Belief{big, shared}}))
		must(t, young.Step(t.Context(), Step{Turn: i, Beliefs: []guard.Belief{shared}}))
	}
	must(t, s.Join())
	s.background.Wait()
	fsck(t, s.Dir())
	if packs, _ := s.objects.packs(); len(packs) >= 2*packsPerSize {
		t.Errorf("%d packs are left", len(packs))
	}
	must(t, old.Close())
	now = now.Add(100 * 24 * time.Hour)
	must(t, young.Step(t.Context(), Step{Turn: 41, Beliefs: []guard.Belief{shared}}))
	if gone, err := s.Prune(t.Context(), now.Add(200*24*time.Hour)); len(gone) != 1 || gone[0] != "old" || err != nil {
		t.Fatalf("pruned %v %v; young is open and must stay", gone, err)
	}
	fsck(t, s.Dir())
	l, err := s.Load(t.Context(), "young")
	if err != nil || len(l.Beliefs) != 1 || string(l.Beliefs[0].Blob) != "the same in both\n" || l.Turn != 41 {
		t.Fatalf("%+v %v", l, err)
	}
	if _, err := s.Load(t.Context(), "old"); !errors.Is(err, ErrNotFound) {
		t.Error(err)
	}
	if _, _, err := s.objects.get(hashOf(3, big.Blob)); err == nil {
		t.Error("what only the old session held is still there")
	}
	must(t, young.Step(t.Context(), Step{Turn: 42, Beliefs: []guard.Belief{shared, big}}))
	must(t, s.Close())
	s2 := openStore(t, home, root)
	l, err = s2.Load(t.Context(), "young")
	if err != nil || len(l.Beliefs) != 2 {
		t.Errorf("%+v %v", l, err)
	}
	fsck(t, s2.Dir())
}

// What a session saw and changed is named where it is now, however often the
// workspace was moved meanwhile.
func TestMovedSession(t *testing.T) {
	home, base := t.TempDir(), resolved(t.TempDir())
	var places []string
	for _, name := range []string{"first", "second", "third"} {
		places = append(places, filepath.Join(base, name))
	}
	elsewhere := belief("/other/root/x", "x", 1)
	mkdir(t, places[0])
	for i, place := range places {
		if i > 0 {
			must(t, os.Rename(places[i-1], place))
		}
		s, err := Open(Options{Home: home, Root: place})
		must(t, err)
		var n *Session
		if i == 0 {
			n, err = s.Create(t.Context(), Header{Session: "s", Root: filepath.Join(place, "sub")})
			must(t, err)
		} else {
			var l *Loaded
			n, l, err = s.Resume(t.Context(), "s")
			must(t, err)
			if l.Root != filepath.Join(place, "sub") || len(l.Beliefs) != 2 || string(l.Beliefs[1].Path) != filepath.Join(place, "a") && string(l.Beliefs[0].Path) != filepath.Join(place, "a") {
				t.Errorf("at %s: %+v", place, l)
			}
			if len(l.Edits) != i || string(l.Edits[0].Path) != filepath.Join(place, "a") || l.Edits[0].To != filepath.Join(place, "b") || l.Edits[0].CreatedDirs[0] != filepath.Join(place, "d") {
				t.Errorf("at %s: %+v", place, l.Edits)
			}
			full, err := n.Record("e1")
			if err != nil || string(full.Path) != filepath.Join(place, "a") || string(full.Before) != "1" {
				t.Errorf("at %s: %+v %v", place, full, err)
			}
		}
		must(t, n.Step(t.Context(), Step{Turn: 1, Beliefs: []guard.Belief{elsewhere, belief(filepath.Join(place, "a"), "a", 1)}}))
		must(t, s.PreImage(t.Context(), guard.EditRecord{ID: "e" + string(rune('1'+i)), Session: "s", Path: workspace.Path(filepath.Join(place, "a")), To: filepath.Join(place, "b"), CreatedDirs: []string{filepath.Join(place, "d")}, Before: []byte("1"), After: []byte("2")}))
		must(t, s.Close())
	}
}
