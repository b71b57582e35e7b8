//go:build linux

package agent

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/stella-ls/stella-ls/agent/model"
	"github.com/stella-ls/stella-ls/internal/workspace"
)

// The tests below kill a process (this test binary, asked by its environment) at
// every point between two effects on the disk of a whole turn: the record's, the
// pre-images', the writes'. A run without a kill lists them, so that a new one is
// killed at as well, and their names are compared with those in the sources.

const killEnv = "STELLA_TEST_KILL" // POINT|K|root|home: dies at the K-th time it comes to POINT; without one it lives and says what it comes to

func TestMain(m *testing.M) {
	if args := os.Getenv(killEnv); args != "" {
		killChild(args)
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// files is a tree by relative name.
type files map[string]string

func (f files) with(set files, gone ...string) files {
	out := maps.Clone(f)
	maps.Copy(out, set)
	for _, name := range gone {
		delete(out, name)
	}
	return out
}

// The turn of the child: what the tree and the beliefs are after each step.
var (
	treeAt0 = files{"a.txt": "one\n", "keep.txt": "keep\n", "gone.txt": "gone\n", "from.txt": "from\n", "linked.txt": "in place\n"}
	treeAt  = []files{
		treeAt0, treeAt0,
		treeAt0.with(files{"a.txt": "two\n"}),
		treeAt0.with(files{"a.txt": "two\n", "sub/new.txt": "new\n"}),
		treeAt0.with(files{"a.txt": "two\n", "sub/new.txt": "new\n"}, "gone.txt"),
		treeAt0.with(files{"a.txt": "two\n", "sub/new.txt": "new\n", "to.txt": "from\n"}, "gone.txt", "from.txt"),
		treeAt0.with(files{"a.txt": "two\n", "sub/new.txt": "new\n", "to.txt": "from\n", "linked.txt": "in its place\n"}, "gone.txt", "from.txt"),
	}
	// Everything is read in the first step, so the beliefs are the tree then.
	beliefsAt = append([]files{{}}, treeAt[1:]...)
)

// killTurn is the model of the child; it says when it is asked: all before is
// recorded then.
func killTurn() (steps []step) {
	base := func(path string) string { return string(workspace.DigestOfString(treeAt0[path])) }
	reads := []callSpec{}
	for _, name := range []string{"a.txt", "keep.txt", "gone.txt", "from.txt", "linked.txt"} {
		reads = append(reads, call("read_file", map[string]any{"path": name}))
	}
	edit := func(path, old, new string) map[string]any {
		return map[string]any{"path": path, "base": base(path), "edits": []map[string]any{{"old": old, "new": new}}}
	}
	for _, s := range []step{
		do(reads...),
		do(call("edit_file", edit("a.txt", "one", "two"))),
		do(call("write_file", map[string]any{"path": "sub/new.txt", "content": "new\n"})),
		do(call("delete_file", map[string]any{"path": "gone.txt", "base": base("gone.txt")})),
		do(call("move_file", map[string]any{"path": "from.txt", "to": "to.txt", "base": base("from.txt")})),
		do(call("edit_file", edit("linked.txt", "in place", "in its place"))),
		say("done"),
	} {
		steps = append(steps, func(ctx context.Context, r model.Request, on func(model.Event)) (model.Response, error) {
			fmt.Println("asked")
			return s(ctx, r, on)
		})
	}
	return steps
}

// pointAt is the k-th time that a process comes to a point. Points are counted by
// their names, since what is parked ends at a time of its own.
type pointAt struct {
	name string
	k    int
}

// killChild plays the turn and dies.
func killChild(args string) {
	f := strings.Split(args, "|")
	at := pointAt{name: f[0]}
	at.k, _ = strconv.Atoi(f[1])
	var mu sync.Mutex
	came := map[string]int{}
	l, err := openLife(f[2], f[3], func(point string) error {
		mu.Lock()
		defer mu.Unlock()
		came[point]++
		if at.name == "" {
			fmt.Println("point:", point)
		} else if point == at.name && came[point] == at.k {
			fmt.Println("died at:", point)
			_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
			select {}
		}
		return nil
	})
	if err != nil {
		fmt.Println("open:", err)
		return
	}
	l.brain.play(killTurn()...)
	if l.id, err = l.m.Start(context.Background(), StartOptions{Title: "work"}); err == nil {
		var o Outcome
		o, err = l.m.Prompt(context.Background(), Prompt{Session: l.id, Text: "change everything"})
		fmt.Println("outcome:", o.Stop, o.Error)
	}
	fmt.Println("closed:", errors.Join(append(l.close(), err)...))
}

// killed is one run of the child.
type killed struct {
	*testing.T
	root, home string
	said       string
	asked      int
	point      string // empty: it lived
}

func runKilled(t *testing.T, at pointAt) *killed {
	base := memDir(t)
	k := &killed{T: t, root: filepath.Join(base, "w"), home: filepath.Join(base, "home")}
	for _, dir := range []string{k.root, k.home} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	k.lay(treeAt0)
	if err := os.Link(filepath.Join(k.root, "linked.txt"), filepath.Join(k.home, "second-name")); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%s|%d|%s|%s", killEnv, at.name, at.k, k.root, k.home), "GORACE=atexit_sleep_ms=0")
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	k.said = string(out)
	k.asked = strings.Count(k.said, "asked\n")
	_, k.point, _ = strings.Cut(k.said, "died at: ")
	k.point = strings.TrimSpace(k.point)
	if (err == nil) != (k.point == "") {
		t.Fatalf("%v\n%s", err, k.said)
	}
	return k
}

// memDir is a directory in memory where there is such a thing: a process's death
// leaves there what it leaves on a disk, and a turn syncs a hundred times.
func memDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "stella-kill-")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

func (k *killed) lay(f files) {
	k.Helper()
	for name, text := range f {
		if err := os.WriteFile(filepath.Join(k.root, name), []byte(text), 0o644); err != nil {
			k.Fatal(err)
		}
	}
}

// tree is what lies in the workspace, temporaries and all.
func (k *killed) tree() files {
	out := files{}
	err := filepath.WalkDir(k.root, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		raw, err := os.ReadFile(path)
		rel, _ := filepath.Rel(k.root, path)
		out[rel] = string(raw)
		return err
	})
	if err != nil {
		k.Fatal(err)
	}
	return out
}

// TestKillAtEveryPoint kills the child at each point and resumes.
func TestKillAtEveryPoint(t *testing.T) {
	lived := runKilled(t, pointAt{})
	if !strings.Contains(lived.said, "outcome: end_turn \n") || !strings.Contains(lived.said, "closed: <nil>\n") {
		t.Fatalf("without a kill:\n%s", lived.said)
	}
	lived.check()
	wanted, points := wantedPoints(lived.said)
	if points < 150 {
		t.Fatalf("only %d points:\n%s", points, lived.said)
	}
	var mu sync.Mutex
	names := map[string]int{}
	var next atomic.Int64
	var workers sync.WaitGroup
	for range killsAtOnce {
		workers.Go(func() {
			for i := next.Add(1) - 1; i < int64(len(wanted)); i = next.Add(1) - 1 {
				t.Run(fmt.Sprintf("%s/%d", wanted[i].name, wanted[i].k), func(t *testing.T) {
					k := runKilled(t, wanted[i])
					mu.Lock()
					names[k.point]++
					mu.Unlock()
					defer func() {
						if t.Failed() {
							t.Errorf("killed at %q\n%s", k.point, k.said)
						}
					}()
					k.check()
				})
			}
		})
	}
	workers.Wait()
	t.Logf("%d of %d points, %d names", len(wanted), points, len(names))
	for _, name := range append(pointsIn(t, "../guard/commit", `hook\("([^"]+)"`), pointsIn(t, "../internal/record", `fault\.at\("([^"]+)"`)...) {
		if !elsewhere[name] && !anyPrefix(names, name) {
			t.Errorf("no kill at %q, which the sources name", name)
		}
	}
}

// wantedPoints are all that the child came to. With the race detector, which
// makes a run several times as long, what repeats itself is left out: of the
// commits to the record (opening, steps, images and their outcome, of each edit
// again and again) it takes the first few and the last ones; of the rest all.
func wantedPoints(said string) (wanted []pointAt, points int) {
	came := map[string]int{}
	for line := range strings.Lines(said) {
		if name, ok := strings.CutPrefix(line, "point: "); ok {
			came[strings.TrimSpace(name)]++
			points++
		}
	}
	commits := came["ref renamed"]
	for name, n := range came {
		for k := 1; k <= n; k++ {
			commit := k
			if strings.HasPrefix(name, "temporary ") { // a pack and its index
				commit = (k + 1) / 2
			}
			inRecord := strings.HasPrefix(name, "temporary ") || strings.HasPrefix(name, "renamed ") || strings.HasPrefix(name, "pack ") || strings.HasPrefix(name, "ref ")
			if !raceDetector || !inRecord || commit <= 6 || commit >= commits-1 {
				wanted = append(wanted, pointAt{name, k})
			}
		}
	}
	return wanted, points
}

// killsAtOnce: a run mostly waits for what is parked.
const killsAtOnce = 24

// elsewhere are points that need another program's write, a weaker file system
// or old sessions; guard/commit and internal/record kill there.
var elsewhere = map[string]bool{
	"before-restore": true, "restored": true, "hands-stored": true, "late": true, "linked": true,
	"removed ": true, "reserved": true, "placed": true,
}

func pointsIn(t *testing.T, dir, pattern string) (out []string) {
	t.Helper()
	sources, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil || len(sources) == 0 {
		t.Fatal(dir, err)
	}
	for _, path := range sources {
		raw, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		for _, m := range regexp.MustCompile(pattern).FindAllStringSubmatch(string(raw), -1) {
			out = append(out, m[1])
		}
	}
	if len(out) < 10 {
		t.Fatalf("only %d points in %s", len(out), dir)
	}
	return out
}

func anyPrefix(names map[string]int, name string) bool {
	for n := range names {
		if strings.HasPrefix(n, name) {
			return true
		}
	}
	return false
}

// check resumes after the kill and asks for everything that was promised.
func (k *killed) check() {
	k.Helper()
	if k.asked > 0 {
		k.lay(files{"keep.txt": "changed meanwhile\n"})
	}
	l := newLife(k.T, k.root, k.home)
	now := k.tree()
	step := k.step(now)
	k.session(l, now, step)
	l.end()
	k.leftovers()
}

// step is how many steps of the turn the tree shows; it must be the last that
// was acknowledged, or the one that was under way.
func (k *killed) step(now files) int {
	k.Helper()
	for _, n := range []int{max(k.asked-1, 0), min(k.asked, len(treeAt)-1)} {
		want := treeAt[n]
		if k.asked > 0 {
			want = want.with(files{"keep.txt": "changed meanwhile\n"})
		}
		if maps.Equal(now, want) {
			return n
		}
	}
	k.Fatalf("after %d requests the tree is %q", k.asked, now)
	return 0
}

// session looks at what was recorded, and goes on with it.
func (k *killed) session(l *life, now files, step int) {
	k.Helper()
	list := l.m.List()
	if len(list) == 0 {
		if k.asked > 0 {
			k.Fatal("the session is lost")
		}
		l.start(k.T)
		k.undoAll(l, k.goOn(l, now, files{}), step)
		return
	}
	over := strings.Contains(k.said, "outcome:")
	if s := list[0]; len(list) != 1 || over && s.State != Idle || k.asked > 0 && k.asked < len(treeAt) && s.State != Interrupted {
		k.Errorf("list %+v", list)
	}
	l.id = list[0].ID
	if _, err := l.m.Resume(context.Background(), l.id, false); err != nil {
		k.Fatal(err)
	}
	guarded, err := l.m.Files(context.Background(), l.id, false)
	if err != nil {
		k.Fatal(err)
	}
	s, err := l.m.get(l.id)
	if err != nil {
		k.Fatal(err)
	}
	believed := files{}
	for _, b := range s.guard.Snapshot() {
		believed[b.Display] = string(b.Blob)
	}
	if len(guarded) != len(believed) {
		k.Errorf("%d files are shown, %d are believed", len(guarded), len(believed))
	}
	if !maps.Equal(believed, beliefsAt[max(k.asked-1, 0)]) && !maps.Equal(believed, beliefsAt[min(k.asked, len(beliefsAt)-1)]) {
		k.Errorf("after %d requests it believes %q", k.asked, believed)
	}
	k.undoAll(l, k.goOn(l, now, believed), step)
}

// goOn makes a turn with a stale write, one that is fresh if what the session
// believes is what is there, and one after a read.
func (k *killed) goOn(l *life, now, believed files) (turn string) {
	k.Helper()
	edit := func(path, base, old, new string) step {
		return do(call("edit_file", map[string]any{"path": path, "base": base, "edits": []map[string]any{{"old": old, "new": new}}}))
	}
	var want []string
	if text, ok := believed["keep.txt"]; ok {
		l.brain.play(edit("keep.txt", string(workspace.DigestOfString(text)), "e", "E"))
		want = append(want, "stale_base")
	}
	text, ok := believed["a.txt"]
	if ok {
		l.brain.play(edit("a.txt", string(workspace.DigestOfString(text)), strings.TrimSpace(text), "fresh"))
		if text == now["a.txt"] {
			want = append(want, "applied")
			now = now.with(files{"a.txt": "fresh\n"})
		} else {
			want = append(want, "stale_base")
		}
	}
	l.brain.play(readCall("a.txt"), editOn(func() string { return lastBase(l.brain.request(-1), "a.txt") }, strings.TrimSpace(now["a.txt"]), "last"), say("ok"))
	want = append(want, "ok", "applied")
	o := l.prompt("and now")
	if o.Stop != StopEndTurn {
		k.Fatalf("%+v", o)
	}
	valid(k.T, l.transcript())
	var got []string
	for _, r := range resultsIn(l.brain.request(-1).Messages) {
		got = append(got, r.Status)
	}
	if len(got) < len(want) || strings.Join(got[len(got)-len(want):], " ") != strings.Join(want, " ") {
		k.Errorf("statuses %v, want %v at the end", got, want)
	}
	if l.disk("a.txt") != "last\n" {
		k.Errorf("the file holds %q", l.disk("a.txt"))
	}
	return o.TurnID
}

// undoAll takes back both turns: what was there at the beginning is there again,
// so nothing was lost on the way.
func (k *killed) undoAll(l *life, last string, step int) {
	k.Helper()
	for _, turn := range []string{last, "t1"} {
		undone, err := l.m.Undo(context.Background(), l.id, turn, "")
		if turn == "t1" && (step < 2 || turn == last) && errors.Is(err, ErrNoEdits) {
			continue
		}
		if err != nil {
			k.Errorf("undo of %s: %v", turn, err)
		}
		for _, u := range undone {
			if !u.Result.OK() {
				k.Errorf("undo of %s: %+v", turn, u)
			}
		}
	}
	want := treeAt0
	if k.asked > 0 {
		want = want.with(files{"keep.txt": "changed meanwhile\n"})
	}
	l.end() // removes what is parked
	if now := k.tree(); !maps.Equal(now, want) {
		k.Errorf("everything undone, the tree is %q", now)
	}
}

// leftovers are temporaries, locks and intents of anybody, and what git's own
// check of the record finds.
func (k *killed) leftovers() {
	k.Helper()
	left, _ := filepath.Glob(filepath.Join(k.home, "intents", "*"))
	_ = filepath.WalkDir(filepath.Join(k.home, "work"), func(path string, d os.DirEntry, err error) error {
		name := filepath.Base(path)
		if strings.HasPrefix(name, "tmp_") || strings.HasPrefix(name, ".tmp-") || strings.HasSuffix(name, ".lock") && strings.Contains(path, "/refs/") {
			left = append(left, path)
		}
		return err
	})
	if len(left) > 0 {
		k.Errorf("left over: %v", left)
	}
	stores, _ := filepath.Glob(filepath.Join(k.home, "work", "*.git"))
	if _, err := exec.LookPath("git"); err != nil || len(stores) == 0 {
		return
	}
	out, err := exec.Command("git", "--git-dir", stores[0], "fsck", "--strict", "--full", "--no-dangling").CombinedOutput()
	text := strings.NewReplacer("notice: HEAD points to an unborn branch (none)", "", "notice: No default references", "").Replace(string(out))
	if err != nil || strings.TrimSpace(text) != "" {
		k.Errorf("git fsck: %v\n%s", err, out)
	}
}
