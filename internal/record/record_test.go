package record

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stella-ls/stella-ls/guard"
	"github.com/stella-ls/stella-ls/internal/workspace"
)

func openStore(t testing.TB, home, root string) *Store {
	t.Helper()
	s, err := Open(Options{Home: home, Root: root, Now: func() time.Time { return time.Unix(1_800_000_000, 0) }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// memDir is a directory in memory where there is such a thing: what these tests
// ask does not depend on the disk, and they sync thousands of times.
func memDir(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "stella-record-")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// fsck proves that plain git finds nothing to complain about.
func fsck(t testing.TB, dir string) {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed")
	}
	out, err := exec.Command("git", "--git-dir", dir, "fsck", "--strict", "--full", "--no-dangling").CombinedOutput()
	text := strings.TrimSpace(strings.ReplaceAll(string(out), "notice: HEAD points to an unborn branch (none)", ""))
	text = strings.TrimSpace(strings.ReplaceAll(text, "notice: No default references", ""))
	if err != nil || text != "" {
		t.Fatalf("git fsck: %v\n%s", err, out)
	}
}

func belief(path, content string, step int) guard.Belief {
	return guard.Belief{Path: workspace.Path(path), Display: filepath.Base(path), Text: workspace.DigestOfString(content), Disk: workspace.DigestOfString(content),
		Source: "disk", Blob: []byte(content), Lines: strings.Count(content, "\n"), Seen: [][2]int{{1, 3}}, Step: step, Tool: "read_file", SeenAt: time.Unix(int64(step), 0).UTC()}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func sameBeliefs(t testing.TB, got, want []guard.Belief) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%d beliefs, want %d", len(got), len(want))
	}
	for i := range want {
		if !reflect.DeepEqual(got[i], want[i]) {
			t.Errorf("belief %d\ngot  %+v\nwant %+v", i, got[i], want[i])
		}
	}
}

func TestSteps(t *testing.T) {
	home, root := t.TempDir(), t.TempDir()
	s := openStore(t, home, root)
	n, err := s.Create(t.Context(), Header{Session: "s-1", Title: "first"})
	must(t, err)
	if _, err := s.Create(t.Context(), Header{Session: "s-1"}); !errors.Is(err, ErrBusy) {
		t.Errorf("a second: %v", err)
	}
	bs := []guard.Belief{belief("/w/a", "a\nb\n", 1), belief("/w/\xff\xfe", "", 1)}
	bs[1].Display, bs[1].Blob = "\xff\xfe", []byte{}
	must(t, n.Step(t.Context(), Step{Turn: 1, Beliefs: bs, Entry: json.RawMessage(`{"n":1}`), State: json.RawMessage(`{"spent":5}`), Resume: json.RawMessage(`{"at":"tools"}`)}))
	fsck(t, s.Dir())

	e := guard.EditRecord{ID: "e1", Session: "s-1", Origin: guard.Origin{Turn: 1, Step: 2, Tool: "edit_file", CallID: "c"}, Kind: guard.ChangeEdit, Path: "/w/\xffa", Display: "a", Before: []byte("a\nb\n"), After: []byte("a\nB\n"), CreatedDirs: []string{"/w/\xfed"}}
	must(t, s.PreImage(t.Context(), e))
	applied := e
	applied.After = []byte("a\nB\n\n")
	must(t, s.Applied(t.Context(), applied))
	gone := guard.EditRecord{ID: "e2", Session: "s-1", Kind: guard.ChangeWrite, Path: "/w/new", BeforeAbsent: true, After: []byte{}}
	must(t, s.PreImage(t.Context(), gone))
	must(t, s.Abandoned(t.Context(), "s-1", "e2"))
	must(t, s.PreImage(t.Context(), guard.EditRecord{ID: "e3", Session: "s-1", Kind: guard.ChangeDelete, Path: "/w/x", Before: []byte("x"), AfterAbsent: true}))
	fsck(t, s.Dir())

	infos, err := s.Sessions(t.Context())
	if len(infos) != 1 || infos[0].Interrupted || !infos[0].Live || infos[0].Title != "first" || infos[0].Turn != 1 || infos[0].Guarded != 2 || err != nil {
		t.Errorf("list %+v %v", infos, err)
	}
	if _, _, err := s.Resume(t.Context(), "s-1"); !errors.Is(err, ErrBusy) {
		t.Errorf("resume while open: %v", err)
	}
	must(t, n.Close())
	infos, _ = s.Sessions(t.Context())
	if !infos[0].Interrupted || infos[0].Live {
		t.Errorf("after close: %+v", infos[0])
	}

	s2 := openStore(t, home, root)
	n, l, err := s2.Resume(t.Context(), "s-1")
	must(t, err)
	want := []guard.Belief{bs[0], bs[1]}
	sameBeliefs(t, l.Beliefs, want)
	if len(l.Transcript) != 1 || string(l.Transcript[0]) != `{"n":1}` || string(l.State) != `{"spent":5}` || string(l.Resume) != `{"at":"tools"}` {
		t.Errorf("%s %s %s", l.Transcript, l.State, l.Resume)
	}
	if len(l.Edits) != 3 || l.Edits[0].State != EditApplied || l.Edits[1].State != EditAbandoned || l.Edits[2].State != EditPending || l.Header.Edits != 1 {
		t.Fatalf("edits %+v", l.Edits)
	}
	got, err := l.Record("e1")
	if err != nil || !reflect.DeepEqual(got, applied) {
		t.Errorf("e1\ngot  %+v\nwant %+v (%v)", got, applied, err)
	}
	if got, err = n.Record("e2"); err != nil || got.Before != nil || got.After == nil || len(got.After) != 0 {
		t.Errorf("e2: %+v %v", got, err)
	}
	// Going on: a belief goes, one changes, the turn ends.
	next := []guard.Belief{belief("/w/a", "other\n", 2)}
	must(t, n.Step(t.Context(), Step{Turn: 1, Beliefs: next, Entry: json.RawMessage(`{"n":2}`)}))
	must(t, n.Step(t.Context(), Step{Turn: 2}))
	must(t, n.Step(t.Context(), Step{Turn: 2, Beliefs: next, Title: "renamed"}))
	l, err = s.Load(t.Context(), "s-1")
	must(t, err)
	sameBeliefs(t, l.Beliefs, next)
	if len(l.Transcript) != 2 || string(l.State) != `{"spent":5}` || l.Resume != nil || l.Title != "renamed" || l.Turn != 2 || l.Step != 4 {
		t.Errorf("%s %s %s %+v", l.Transcript, l.State, l.Resume, l.Header)
	}
	fsck(t, s.Dir())
	if info, err := os.Stat(s.Dir()); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("%v %v", info.Mode(), err)
	}
}

func TestNames(t *testing.T) {
	s := openStore(t, t.TempDir(), t.TempDir())
	for _, id := range []string{"", ".", "..", "a/b", "a..b", "x.lock", "-x", "a b", "a.", strings.Repeat("x", 101), "\x00"} {
		if _, err := s.Create(t.Context(), Header{Session: id}); !errors.Is(err, ErrName) {
			t.Errorf("create %q: %v", id, err)
		}
		if _, err := s.Load(t.Context(), id); !errors.Is(err, ErrName) {
			t.Errorf("load %q: %v", id, err)
		}
	}
	if _, err := s.Load(t.Context(), "s-404"); !errors.Is(err, ErrNotFound) {
		t.Error(err)
	}
}

// Somebody moves the ref behind our back: the step fails and says so.
func TestConflict(t *testing.T) {
	s := openStore(t, t.TempDir(), t.TempDir())
	n, err := s.Create(t.Context(), Header{Session: "s"})
	must(t, err)
	first, err := os.ReadFile(s.refs.path("s"))
	must(t, err)
	must(t, n.Step(t.Context(), Step{Turn: 1}))
	must(t, os.WriteFile(s.refs.path("s"), first, 0o600))
	if err := n.Step(t.Context(), Step{Turn: 1}); !errors.Is(err, ErrConflict) {
		t.Errorf("%v", err)
	}
}

func TestCancelledStep(t *testing.T) {
	s := openStore(t, t.TempDir(), t.TempDir())
	n, err := s.Create(t.Context(), Header{Session: "s"})
	must(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := n.Step(ctx, Step{Turn: 1}); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	must(t, n.Step(t.Context(), Step{Turn: 1}))
}

// Edits through the guard of a client without a session get a record, too.
func TestEditsWithoutSession(t *testing.T) {
	s := openStore(t, t.TempDir(), t.TempDir())
	must(t, s.PreImage(t.Context(), guard.EditRecord{ID: "e1", Session: "mcp-1", Path: "/w/a", Before: []byte("x"), After: []byte("y")}))
	l, err := s.Load(t.Context(), "mcp-1")
	if err != nil || len(l.Edits) != 1 || l.Edits[0].State != EditPending {
		t.Errorf("%+v %v", l, err)
	}
}

func manyBeliefs(n int) []guard.Belief {
	var out []guard.Belief
	for i := range n {
		out = append(out, belief(fmt.Sprintf("/work/space/src/package%02d/file_%03d.go", i%20, i), strings.Repeat(fmt.Sprintf("line of file %d\n", i), 250), 1))
	}
	return out
}

// BenchmarkStep is a durable step with 500 beliefs of which two changed, as a
// turn's steps are: a transcript entry of 8 KB, state, resume point. Beside it
// runs the floor: three files made, synced and renamed, which no durable record
// in git's format can do without.
func BenchmarkStep(b *testing.B) {
	s := openStore(b, b.TempDir(), b.TempDir())
	n, err := s.Create(b.Context(), Header{Session: "s"})
	must(b, err)
	beliefs := manyBeliefs(500)
	entry, _ := json.Marshal(map[string]string{"text": strings.Repeat("some text of a tool result; ", 300)})
	must(b, n.Step(b.Context(), Step{Turn: 1, Beliefs: beliefs}))
	floor := b.TempDir()
	var took, least []time.Duration
	for i := 0; b.Loop(); i++ {
		for k := range 2 {
			j := (i*7 + k*250) % 500
			beliefs[j] = belief(string(beliefs[j].Path), fmt.Sprintf("%s%d\n", beliefs[j].Blob[:4000], i), i)
		}
		began := time.Now()
		must(b, n.Step(b.Context(), Step{Turn: 1, Beliefs: beliefs, Entry: entry, State: json.RawMessage(`{"spent":1}`), Resume: json.RawMessage(fmt.Sprintf(`{"step":%d}`, i))}))
		took = append(took, time.Since(began))
		began = time.Now()
		for k := range 3 {
			must(b, writeFile(filepath.Join(floor, fmt.Sprintf("%d-%d", i, k)), entry[:2000]))
		}
		least = append(least, time.Since(began))
	}
	b.ReportMetric(0, "ns/op") // the floor is in it
	report(b, "step", took)
	report(b, "floor", least)
}

func report(b *testing.B, name string, took []time.Duration) {
	b.Helper()
	slices.Sort(took)
	for what, d := range map[string]time.Duration{"min": took[0], "median": took[len(took)/2], "max": took[len(took)-1]} {
		b.ReportMetric(float64(d.Microseconds())/1000, name+"-"+what+"-ms")
	}
}
