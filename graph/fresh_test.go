package graph

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/fsnotify/fsnotify"
	"github.com/stella-ls/stella-ls/internal/workspace"
)

// watched opens a graph with a watcher over dir. step is closed and renewed after
// every batch.
type watched struct {
	*Graph
	mu      sync.Mutex
	step    chan struct{}
	batches int
	notices []string
}

func watch(t *testing.T, dir string, limit int) *watched {
	t.Helper()
	w := &watched{step: make(chan struct{})}
	g, err := Open(Options{Workspace: workspace.New(workspace.Options{Roots: []string{dir}}), Notice: func(s string) {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.notices = append(w.notices, s)
	}})
	if err != nil {
		t.Fatal(err)
	}
	if limit > 0 {
		g.newNotifier = func() (notifier, error) {
			n, err := newInotify()
			return &limited{notifier: n, left: limit}, err
		}
	}
	w.Graph = g
	g.indexer.after = func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.batches++
		close(w.step)
		w.step = make(chan struct{})
	}
	t.Cleanup(func() { g.Close() })
	g.Start(context.Background())
	if err := g.Wait(context.Background()); err != nil {
		t.Fatal(err)
	}
	return w
}

// limited has no more than a number of watches.
type limited struct {
	notifier
	left int
}

func (l *limited) Add(dir string) error {
	if l.left == 0 {
		return &os.PathError{Op: "inotify_add_watch", Path: dir, Err: syscall.ENOSPC}
	}
	l.left--
	return l.notifier.Add(dir)
}

// until waits for a batch after which ok holds.
func (w *watched) until(t *testing.T, what string, ok func() bool) {
	t.Helper()
	deadline := time.After(30 * time.Second)
	for {
		w.mu.Lock()
		step := w.step
		w.mu.Unlock()
		if ok() {
			return
		}
		select {
		case <-step:
		case <-deadline:
			t.Fatalf("%s: never happened", what)
		}
	}
}

func (w *watched) has(t *testing.T, op Op, target string, lines ...string) func() bool {
	return func() bool {
		a, err := w.Query(context.Background(), Query{Op: op, Target: target})
		return err == nil && brief(a) == strings.Join(lines, "\n")
	}
}

func TestWatching(t *testing.T) {
	dir := tree(t, map[string]string{"a.py": "from sub.b import two\ntwo()\n", "sub/b.py": "def one(): pass\n", ".gitignore": "skip/\n*.tmp.py\n!keep.tmp.py\n"})
	w := watch(t, dir, 0)
	if n := w.Status().Watches; n != 2 {
		t.Errorf("%d directories are watched", n)
	}
	write(t, dir+"/sub/b.py", "def two(): pass\n")
	w.until(t, "changed file", w.has(t, OpReferences, "two", "a.py:1 import two import", "a.py:2 call two import"))

	// I01: three saves by renaming a temporary over the file.
	for i := range 3 {
		write(t, dir+"/sub/b.py~", fmt.Sprintf("def two(): pass\ndef v%d(): pass\n", i))
		if err := os.Rename(dir+"/sub/b.py~", dir+"/sub/b.py"); err != nil {
			t.Fatal(err)
		}
		w.until(t, "atomic save", w.has(t, OpDefinitions, fmt.Sprintf("v%d", i), fmt.Sprintf("sub/b.py:2 function v%d name", i)))
	}

	// A whole new tree, made at once.
	write(t, dir+"/new/x/y/c.py", "def three(): pass\n")
	write(t, dir+"/skip/d.py", "def hidden(): pass\n")
	write(t, dir+"/h.tmp.py", "def hidden(): pass\n")
	write(t, dir+"/keep.tmp.py", "def kept(): pass\n")
	w.until(t, "new tree", w.has(t, OpDefinitions, "three", "new/x/y/c.py:1 function three name"))
	w.until(t, "negated rule", w.has(t, OpDefinitions, "kept", "keep.tmp.py:1 function kept name"))
	write(t, dir+"/new/x/y/e.py", "def four(): pass\n")
	w.until(t, "file in a new folder", w.has(t, OpDefinitions, "four", "new/x/y/e.py:1 function four name"))
	wantAnswer(t, w.Graph, OpDefinitions, "hidden", "nothing")

	// A directory renamed: nothing is left under the old name, events come under the new one.
	if err := os.Rename(dir+"/new", dir+"/moved"); err != nil {
		t.Fatal(err)
	}
	w.until(t, "renamed folder", w.has(t, OpDefinitions, "three", "moved/x/y/c.py:1 function three name"))
	write(t, dir+"/moved/x/y/c.py", "def five(): pass\n")
	w.until(t, "file in a renamed folder", w.has(t, OpDefinitions, "five", "moved/x/y/c.py:1 function five name"))

	// A directory deleted, with its watches.
	if err := os.RemoveAll(dir + "/moved"); err != nil {
		t.Fatal(err)
	}
	w.until(t, "deleted folder", w.has(t, OpDefinitions, "five", "nothing"))
	w.until(t, "watches of the deleted folder", func() bool { return w.Status().Watches == 2 })

	// The rules change.
	write(t, dir+"/.gitignore", "*.tmp.py\n")
	w.until(t, "un-ignored folder", w.has(t, OpDefinitions, "hidden", "skip/d.py:1 function hidden name"))
}

// Creating, deleting or renaming a file re-resolves the imports that name it,
// and only those.
func TestDependents(t *testing.T) {
	dir := tree(t, map[string]string{
		"a.ts": "import { x } from './b';\nx();\n",
		"c.ts": "import { y } from './d';\n",
		"d.ts": "export const y = 1;\n",
	})
	w := watch(t, dir, 0)
	wantAnswer(t, w.Graph, OpImports, "a.ts", "./b -> - unresolved")
	wantAnswer(t, w.Graph, OpImports, "c.ts", "./d -> d.ts resolved")
	memo := func(p string) *linked {
		w.linker.mu.Lock()
		defer w.linker.mu.Unlock()
		return w.linker.memo[filepath.Join(dir, p)]
	}
	a, c := memo("a.ts"), memo("c.ts")
	write(t, dir+"/b.ts", "export function x() {}\n")
	w.until(t, "created target", w.has(t, OpImports, "a.ts", "./b -> b.ts resolved"))
	if memo("a.ts") == a || memo("c.ts") != c {
		t.Error("not exactly the import that names the file was resolved again")
	}
	if err := os.Rename(dir+"/b.ts", dir+"/b2.ts"); err != nil {
		t.Fatal(err)
	}
	w.until(t, "renamed target", w.has(t, OpImports, "a.ts", "./b -> - unresolved"))
	write(t, dir+"/b/index.ts", "export function x() {}\n")
	w.until(t, "folder as target", w.has(t, OpImports, "a.ts", "./b -> b/index.ts resolved"))
	// A manifest changes what specifiers mean.
	write(t, dir+"/tsconfig.json", `{"compilerOptions": {"paths": {"@z": ["./d"]}}}`)
	write(t, dir+"/e.ts", "import { y } from '@z';\n")
	w.until(t, "new manifest", w.has(t, OpImports, "e.ts", "@z -> d.ts resolved"))
	if memo("c.ts") == c {
		wantAnswer(t, w.Graph, OpImports, "c.ts", "./d -> d.ts resolved")
	}
}

func git(t *testing.T, dir string, args ...string) {
	t.Helper()
	cmd := exec.Command("git", append([]string{"-c", "user.name=t", "-c", "user.email=t@example.com", "-c", "commit.gpgsign=false"}, args...)...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("git %v: %v\n%s", args, err, out)
	}
}

// A branch switch is one pass, not thousands of events; what both branches hold
// is not parsed again.
func TestBranchSwitch(t *testing.T) {
	files := map[string]string{}
	for i := range 300 {
		files[fmt.Sprintf("p%d/m.py", i%20)+fmt.Sprint(i)+".py"] = fmt.Sprintf("def main%d(): pass\n", i)
	}
	dir := tree(t, files)
	git(t, dir, "init", "-q", "-b", "one")
	git(t, dir, "add", "-A")
	git(t, dir, "commit", "-q", "-m", "one")
	git(t, dir, "checkout", "-q", "-b", "two")
	for i := range 300 {
		write(t, dir+"/"+fmt.Sprintf("p%d/m.py", i%20)+fmt.Sprint(i)+".py", fmt.Sprintf("def other%d(): pass\n", i))
	}
	git(t, dir, "commit", "-q", "-a", "-m", "two")
	w := watch(t, dir, 0)
	wantAnswer(t, w.Graph, OpDefinitions, "main7", "nothing")
	w.mu.Lock()
	before := w.batches
	w.mu.Unlock()
	git(t, dir, "checkout", "-q", "one")
	w.until(t, "the other branch", func() bool {
		for i := range 300 {
			if len(w.definers(fmt.Sprintf("main%d", i))) != 1 || len(w.definers(fmt.Sprintf("other%d", i))) != 0 {
				return false
			}
		}
		return true
	})
	w.mu.Lock()
	n := w.batches - before
	w.mu.Unlock()
	if n > 4 {
		t.Errorf("%d batches for one switch", n)
	}
}

// I03: over the limit on watches it says so once, and still finds changes when
// it looks again.
func TestWatchLimit(t *testing.T) { watchInPart(t, 100) }

// watchInPart watches 300 folders where 100 can be watched at most: by limit, or by
// the kernel when that is 0.
func watchInPart(t *testing.T, limit int) {
	t.Helper()
	files := map[string]string{}
	for i := range 300 {
		files[fmt.Sprintf("d%d/f.py", i)] = "def f(): pass\n"
	}
	dir := tree(t, files)
	w := watch(t, dir, limit)
	st := w.Status()
	if st.Watches == 0 || st.Watches > 100 || !strings.Contains(st.Watching, "part") || st.Files != 300 {
		t.Errorf("%+v", st)
	}
	w.mu.Lock()
	notices := strings.Join(w.notices, "\n")
	w.mu.Unlock()
	if strings.Count(notices, "max_user_watches") != 1 {
		t.Errorf("notices: %s", notices)
	}
	// What is watched is seen, what is not is found by the next look.
	write(t, dir+"/d0/f.py", "def early(): pass\n")
	w.until(t, "a watched folder", w.has(t, OpDefinitions, "early", "d0/f.py:1 function early name"))
	write(t, dir+"/d299/f.py", "def late(): pass\n")
	w.Reindex()
	if err := w.Wait(context.Background()); err != nil {
		t.Fatal(err)
	}
	wantAnswer(t, w.Graph, OpDefinitions, "late", "d299/f.py:1 function late name")
}

// I04: what is installed, built or ignored is neither watched nor indexed, however
// much of it there is, also when it comes later.
func TestIgnoredFoldersAreNotWatched(t *testing.T) {
	files := map[string]string{".gitignore": "/out/\n", "src/a.py": "def f(): pass\n"}
	ignored := func(i int) []string {
		return []string{fmt.Sprintf("node_modules/p%d/lib/m.js", i), fmt.Sprintf("target/debug/d%d/m.rs", i),
			fmt.Sprintf(".venv/lib/p%d/m.py", i), fmt.Sprintf("out/d%d/m.py", i)}
	}
	for i := range 50 {
		for _, p := range ignored(i) {
			files[p] = "let hidden = 1\n"
		}
	}
	dir := tree(t, files)
	w := watch(t, dir, 0)
	for _, p := range ignored(50) {
		write(t, dir+"/"+p, "let hidden = 1\n")
	}
	write(t, dir+"/src/sub/b.py", "def late(): pass\n")
	w.until(t, "new folder", w.has(t, OpDefinitions, "late", "src/sub/b.py:1 function late name"))
	if st := w.Status(); st.Watches != 3 || st.Files != 2 {
		t.Errorf("%d directories watched, %d files indexed", st.Watches, st.Files)
	}
	if n, whole := Folders(context.Background(), workspace.New(workspace.Options{Roots: []string{dir}})); n != 3 || !whole {
		t.Errorf("%d directories are counted, whole %v", n, whole)
	}
}

// Events that were lost lead to a pass.
func TestOverflow(t *testing.T) {
	dir := tree(t, map[string]string{"a.py": "x = 1\n"})
	g, err := Open(Options{Workspace: workspace.New(workspace.Options{Roots: []string{dir}})})
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	fake := &silent{ev: make(chan fsnotify.Event), er: make(chan error)}
	g.newNotifier = func() (notifier, error) { return fake, nil }
	steps := make(chan struct{}, 100)
	g.indexer.after = func() { steps <- struct{}{} }
	g.Start(context.Background())
	if err := g.Wait(context.Background()); err != nil {
		t.Fatal(err)
	}
	write(t, dir+"/b.py", "def unseen(): pass\n")
	fake.er <- fsnotify.ErrEventOverflow
	deadline := time.After(20 * time.Second)
	for len(g.definers("unseen")) == 0 {
		select {
		case <-steps:
		case <-deadline:
			t.Fatal("the lost event was never made up for")
		}
	}
}

type silent struct {
	ev chan fsnotify.Event
	er chan error
}

func (s *silent) Add(string) error              { return nil }
func (s *silent) Remove(string) error           { return nil }
func (s *silent) Close() error                  { return nil }
func (s *silent) events() <-chan fsnotify.Event { return s.ev }
func (s *silent) errors() <-chan error          { return s.er }

// A stored index answers at once and says how old it is; the pass then finds
// what changed meanwhile. Worktrees share what they have in common.
func TestStoredIndex(t *testing.T) {
	cache := t.TempDir()
	dir := tree(t, map[string]string{"a.py": "def one(): pass\n", "b.py": "from a import one\none()\n"})
	git(t, dir, "init", "-q", "-b", "main")
	git(t, dir, "add", "-A")
	git(t, dir, "commit", "-q", "-m", "x")
	g := indexed(t, Options{CacheDir: cache, NoWatch: true}, dir)
	g.Close()
	write(t, dir+"/c.py", "def fresh(): pass\n")
	clock := time.Now().Add(time.Hour)
	g2, err := Open(Options{Workspace: workspace.New(workspace.Options{Roots: []string{dir}}), CacheDir: cache, NoWatch: true, Clock: func() time.Time { return clock }})
	if err != nil {
		t.Fatal(err)
	}
	defer g2.Close()
	g2.load(context.Background()) // as Start does, without the pass
	select {
	case <-g2.Ready():
	default:
		t.Error("a stored index is not ready at once")
	}
	a := ask(t, g2, OpReferences, "one")
	if brief(a) != "b.py:1 import one import\nb.py:2 call one import" || a.Complete || a.AgeMS < 3500_000 {
		t.Errorf("%s complete %v age %d", brief(a), a.Complete, a.AgeMS)
	}
	wantAnswer(t, g2, OpDefinitions, "fresh", "nothing")
	g2.Start(context.Background())
	if err := g2.Wait(context.Background()); err != nil {
		t.Fatal(err)
	}
	wantAnswer(t, g2, OpDefinitions, "fresh", "c.py:1 function fresh name")
	if a := ask(t, g2, OpDefinitions, "fresh"); !a.Complete || a.AgeMS != 0 {
		t.Errorf("complete %v age %d after the pass", a.Complete, a.AgeMS)
	}

	// K06: a second worktree finds every text parsed already.
	other := filepath.Join(filepath.Dir(dir), "wt")
	git(t, dir, "worktree", "add", "-q", other)
	g3, err := Open(Options{Workspace: workspace.New(workspace.Options{Roots: []string{other}}), CacheDir: cache, NoWatch: true})
	if err != nil {
		t.Fatal(err)
	}
	defer g3.Close()
	var parsed int
	g3.workers.parsed = func() { parsed++ }
	g3.Start(context.Background())
	if err := g3.Wait(context.Background()); err != nil {
		t.Fatal(err)
	}
	wantAnswer(t, g3, OpReferences, "one", "b.py:1 import one import", "b.py:2 call one import")
	if parsed != 0 {
		t.Errorf("%d texts were parsed again", parsed)
	}
	if dbs, _ := filepath.Glob(cache + "/*.db"); len(dbs) != 1 {
		t.Errorf("databases: %v", dbs)
	}
}

// N03: a damaged index is set aside, said, and built again; answers are right.
func TestDamagedIndex(t *testing.T) {
	for _, how := range []string{"cut", "garbage", "empty", "not a database"} {
		t.Run(how, func(t *testing.T) {
			cache := t.TempDir()
			files := map[string]string{}
			for i := range 60 {
				files[fmt.Sprintf("f%d.py", i)] = fmt.Sprintf("def fn%d(): return fn%d()\n", i, i)
			}
			dir := tree(t, files)
			indexed(t, Options{CacheDir: cache, NoWatch: true}, dir).Close()
			dbs, _ := filepath.Glob(cache + "/*.db")
			b, err := os.ReadFile(dbs[0])
			if err != nil {
				t.Fatal(err)
			}
			switch how {
			case "cut":
				b = b[:len(b)/2]
			case "garbage":
				for i := 4096; i < 3*4096; i++ {
					b[i] ^= 0x5A
				}
			case "empty":
				b = nil
			case "not a database":
				b = []byte(strings.Repeat("hello ", 1000))
			}
			if err := os.WriteFile(dbs[0], b, 0o600); err != nil {
				t.Fatal(err)
			}
			var heard notices
			g := indexed(t, Options{CacheDir: cache, NoWatch: true, Notice: heard.add}, dir)
			for i := range 60 {
				wantAnswer(t, g, OpDefinitions, fmt.Sprintf("fn%d", i), fmt.Sprintf("f%d.py:1 function fn%d name", i, i))
			}
			notices := heard.all()
			if how != "empty" && len(notices) != 1 {
				t.Errorf("notices: %q", notices)
			}
		})
	}
}
