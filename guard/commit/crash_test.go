//go:build linux

package commit

import (
	"context"
	"errors"
	"fmt"
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
)

// crashOps are calls that a child process starts and dies in. Each returns when
// it is through; base and want say which contents of its files are whole.
var crashOps = map[string]struct {
	run func(b *Engine, dir string, n func(string))
	// whole lists, per file, what it may hold afterwards; "" means it may be absent.
	whole  map[string][]string
	theirs bool // another program wrote within the call: its version must be found
}{
	"replace": {run: func(e *Engine, dir string, _ func(string)) {
		res, err := e.Replace(bg, Request{Path: dir + "/a.go", Root: dir, Expect: digest(baseText), Candidate: []byte(oursText)})
		fmt.Printf("mode=%s %q %v\n", res.Mode, res.Warnings, err)
	}, whole: map[string][]string{"a.go": {baseText, oursText}}},
	"replace-raced": {run: func(e *Engine, dir string, inner func(string)) {
		var once atomic.Bool
		e.hook = func(p string) {
			if p == "checked" && !once.Swap(true) {
				writeAs("rename", dir+"/a.go", theirs, nil)
			}
			inner(p)
		}
		e.Replace(bg, Request{Path: dir + "/a.go", Root: dir, Expect: digest(baseText), Candidate: []byte(oursText)})
	}, whole: map[string][]string{"a.go": {baseText, oursText, theirs}}, theirs: true},
	"create": {run: func(e *Engine, dir string, _ func(string)) {
		e.Create(bg, Request{Path: dir + "/n.go", Root: dir, Candidate: []byte(oursText)})
	}, whole: map[string][]string{"a.go": {baseText}, "n.go": {"", oursText}}},
	"delete": {run: func(e *Engine, dir string, _ func(string)) {
		e.Delete(bg, Request{Path: dir + "/a.go", Root: dir, Expect: digest(baseText)})
	}, whole: map[string][]string{"a.go": {"", baseText}}},
	"delete-link": {run: func(e *Engine, dir string, _ func(string)) {
		os.Symlink("a.go", dir+"/link.go")
		e.Delete(bg, Request{Path: dir + "/link.go", Root: dir})
	}, whole: map[string][]string{"a.go": {baseText}, "link.go": {"", baseText}}},
	"move-by-link": {run: func(e *Engine, dir string, _ func(string)) {
		lacking.exclusive.Store(true)
		e.Move(bg, Request{Path: dir + "/a.go", To: dir + "/m.go", Root: dir, Expect: digest(baseText)})
	}, whole: map[string][]string{"a.go": {"", baseText}, "m.go": {"", baseText}}},
	"create-reserved": {run: func(e *Engine, dir string, _ func(string)) {
		lacking.exclusive.Store(true)
		lacking.links.Store(true)
		e.Create(bg, Request{Path: dir + "/n.go", Root: dir, Candidate: []byte(oursText)})
	}, whole: map[string][]string{"a.go": {baseText}, "n.go": {"", oursText}}},
	"move-reserved": {run: func(e *Engine, dir string, _ func(string)) {
		lacking.exclusive.Store(true)
		lacking.links.Store(true)
		e.Move(bg, Request{Path: dir + "/a.go", To: dir + "/m.go", Root: dir, Expect: digest(baseText)})
	}, whole: map[string][]string{"a.go": {"", baseText}, "m.go": {"", baseText}}},
	"move": {run: func(e *Engine, dir string, _ func(string)) {
		e.Move(bg, Request{Path: dir + "/a.go", To: dir + "/m.go", Root: dir, Expect: digest(baseText)})
	}, whole: map[string][]string{"a.go": {"", baseText}, "m.go": {"", baseText}}},
	"in-place": {run: func(e *Engine, dir string, _ func(string)) {
		os.Link(dir+"/a.go", dir+"/link.go")
		e.Replace(bg, Request{Path: dir + "/a.go", Root: dir, Expect: digest(baseText), Candidate: []byte(oursText)})
	}, whole: map[string][]string{"a.go": {baseText, oursText}, "link.go": {"", baseText, oursText}}},
}

var (
	baseText = strings.Repeat("base line\n", 3000)
	oursText = strings.Repeat("ours is another line\n", 2000)
)

// crashMain is the child: it dies at the n-th point of its call.
func crashMain() {
	f := strings.Split(os.Getenv(crashEnv), "|") // op, n, dir, state
	at, _ := strconv.Atoi(f[1])
	e, err := newEngine(Options{StateDir: f[3]}, testPark)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	var n atomic.Int32
	die := func(p string) {
		if int(n.Add(1)) == at {
			fmt.Printf("died at=%s\n", p)
			syscall.Kill(os.Getpid(), syscall.SIGKILL)
			select {}
		}
	}
	e.hook = die
	crashOps[f[0]].run(e, f[2], die)
	e.Close(bg)
}

// TestCrash kills a process at every point of every call and starts again:
// no torn file, no temporary, no intent, and nothing of anybody's lost.
func TestCrash(t *testing.T) {
	var mu sync.Mutex
	died := map[string]bool{}
	t.Run("ops", func(t *testing.T) {
		for op := range crashOps {
			t.Run(op, func(t *testing.T) {
				t.Parallel()
				for n := 1; ; n++ {
					if n > 100 {
						t.Fatal("the call never ends")
					}
					point, done := crashOnce(t, op, n)
					mu.Lock()
					died[point] = true
					mu.Unlock()
					if done {
						if n < 3 {
							t.Fatalf("only %d points", n-1)
						}
						return
					}
				}
			})
		}
	})
	// A point that the sources gained must not be forgotten here.
	named := 0
	sources, _ := filepath.Glob("*.go")
	for _, path := range sources {
		raw, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range regexp.MustCompile(`[^a-z]hook\("([^"]+)"`).FindAllStringSubmatch(string(raw), -1) {
			if named++; !died[m[1]] {
				t.Errorf("no process died at %q", m[1])
			}
		}
	}
	if named < 25 {
		t.Errorf("only %d points are named in the sources", named)
	}
}

func crashOnce(t *testing.T, op string, n int) (point string, done bool) {
	dir, state := t.TempDir(), t.TempDir()
	if err := os.WriteFile(dir+"/a.go", []byte(baseText), 0o644); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(childEnv(), crashEnv+"="+strings.Join([]string{op, strconv.Itoa(n), dir, state}, "|"))
	cmd.Stderr = os.Stderr
	said, err := cmd.Output()
	point = diedAt(said)
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
		t.Fatalf("the child ended with %v", err)
	}
	e, newErr := newEngine(Options{StateDir: state}, testPark)
	if newErr != nil {
		t.Fatal(newErr)
	}
	if _, err := e.Recover(bg); err != nil {
		t.Errorf("%s at %s: %v", op, point, err)
	}
	checkWhole(t, e, op, point, dir)
	if err := e.Close(bg); err != nil {
		t.Error(err)
	}
	if left, _ := os.ReadDir(filepath.Join(state, "intents")); len(left) > 0 {
		t.Errorf("%s at %s: intents are left: %v", op, point, left)
	}
	return point, err == nil
}

// diedAt is the point that the child named before it died; empty if it lived.
func diedAt(said []byte) string {
	_, point, _ := strings.Cut(string(said), "died at=")
	return strings.TrimSpace(point)
}

func checkWhole(t *testing.T, e *Engine, op, point, dir string) {
	t.Helper()
	found := 0
	for name, may := range crashOps[op].whole {
		content, _ := os.ReadFile(filepath.Join(dir, name))
		ok := false
		for _, m := range may {
			ok = ok || m == string(content)
		}
		if !ok {
			t.Errorf("%s at %s: %s holds neither the old nor the new content (%d bytes)", op, point, name, len(content))
		}
		if len(content) > 0 {
			found++
		}
	}
	if found == 0 && op != "delete" {
		t.Errorf("%s at %s: the file is gone", op, point)
	}
	all, _ := os.ReadDir(dir)
	for _, f := range all {
		if IsTemporary(f.Name()) {
			t.Errorf("%s at %s: a temporary is left", op, point)
		}
	}
	if !crashOps[op].theirs || !afterRace(point) {
		return
	}
	content, _ := os.ReadFile(filepath.Join(dir, "a.go"))
	entries, _ := e.store.List()
	stored := false
	for _, en := range entries {
		stored = stored || en.Digest == digest(theirs)
	}
	if string(content) != theirs && !stored {
		t.Errorf("%s at %s: the other program's version is lost", op, point)
	}
}

// afterRace: the other program writes at "checked", just before the child dies there.
func afterRace(point string) bool {
	switch point {
	case "checked", "exchanged", "before-restore", "restored", "parked", "before-retire", "unlinked", "":
		return true
	}
	return false
}

// TestCrashWhileParked: the lease ends with the process, so a late writer gets
// in afterwards. Its version is found at the next start.
func TestCrashWhileParked(t *testing.T) {
	dir, state := t.TempDir(), t.TempDir()
	os.WriteFile(dir+"/a.go", []byte(baseText), 0o644)
	for n := 1; ; n++ {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(childEnv(), crashEnv+"="+strings.Join([]string{"replace", strconv.Itoa(n), dir, state}, "|"))
		said, err := cmd.Output()
		if err == nil {
			t.Fatal("no point called parked")
		}
		if diedAt(said) == "parked" {
			break
		}
		os.WriteFile(dir+"/a.go", []byte(baseText), 0o644)
		for _, f := range temporaries(dir) {
			os.Remove(f)
		}
	}
	if err := writeAs("late-append", dir+"/a.go", theirs, nil); err != nil {
		t.Fatal(err)
	}
	e, err := newEngine(Options{StateDir: state}, testPark)
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close(bg)
	got, err := e.Recover(bg)
	if err != nil || len(got) != 1 || got[0].Entry == nil || got[0].Entry.Digest != digest(baseText+theirs) {
		t.Fatalf("got %+v, %v", got, err)
	}
	if left := temporaries(dir); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

// TestCloseWithoutWaiting leaves parked files to the next start.
func TestCloseWithoutWaiting(t *testing.T) {
	dir, state := t.TempDir(), t.TempDir()
	os.WriteFile(dir+"/a.go", []byte("base\n"), 0o644)
	e, err := newEngine(Options{StateDir: state}, defaultPark)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := e.Replace(bg, Request{Path: dir + "/a.go", Expect: digest("base\n"), Candidate: []byte("ours\n")}); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(bg)
	cancel()
	if err := e.Close(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if _, err := e.Replace(bg, Request{Path: dir + "/a.go"}); !errors.Is(err, ErrClosed) {
		t.Errorf("after Close: %v", err)
	}
	if len(temporaries(dir)) != 1 {
		t.Error("the parked file was not left")
	}
	next, err := newEngine(Options{StateDir: state}, testPark)
	if err != nil {
		t.Fatal(err)
	}
	defer next.Close(bg)
	if got, err := next.Recover(bg); err != nil || len(got) > 0 {
		t.Errorf("got %v, %v", got, err)
	}
	if left := temporaries(dir); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

func temporaries(dir string) []string {
	all, _ := filepath.Glob(filepath.Join(dir, tempPrefix+"*"))
	return all
}

// TestRecoverLeavesTheLiving: another process's intents are its own while it lives.
func TestRecoverLeavesTheLiving(t *testing.T) {
	state, dir := t.TempDir(), t.TempDir()
	os.WriteFile(dir+"/a.go", []byte("base\n"), 0o644)
	first, err := newEngine(Options{StateDir: state}, testPark*20)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := first.Replace(bg, Request{Path: dir + "/a.go", Expect: digest("base\n"), Candidate: []byte("ours\n")}); err != nil {
		t.Fatal(err)
	}
	second, err := newEngine(Options{StateDir: state}, testPark)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := second.Recover(bg); err != nil || len(got) != 0 {
		t.Fatalf("got %v, %v", got, err)
	}
	if len(temporaries(dir)) != 1 {
		t.Error("the parked file of a living process was taken")
	}
	second.Close(bg)
	first.Close(bg)
}

// FuzzTorn: wherever a write in place is cut off, the file is told from an edited one.
func FuzzTorn(f *testing.F) {
	f.Add([]byte("one\ntwo\n"), []byte("three"), 3)
	f.Add([]byte(baseText[:2000]), []byte(oursText[:900]), 600)
	f.Add([]byte{}, []byte("x"), 0)
	f.Fuzz(func(t *testing.T, before, after []byte, cut int) {
		if cut < 0 || cut > len(after) {
			t.Skip()
		}
		now := append([]byte{}, after[:cut]...)
		if cut < len(before) {
			now = append(now, before[cut:]...)
		}
		if !torn(now, before, after) {
			t.Errorf("cut at %d of %d over %d is not seen as torn", cut, len(after), len(before))
		}
	})
}

func TestRecoverTornInPlace(t *testing.T) {
	for name, c := range map[string]struct{ now, want string }{
		"killed half way":     {oursText[:20000] + baseText[20000:], baseText},
		"longer, not cut yet": {oursText, oursText},
		"blocks out of order": {baseText[:512] + oursText[512:4096] + baseText[4096:], baseText},
		"edited afterwards":   {"a person rewrote it\n", "a person rewrote it\n"},
		"edited on top":       {oursText[:20000] + "typed" + baseText[20000:], oursText[:20000] + "typed" + baseText[20000:]},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			dead := filepath.Join(b.intents.parent, "1-dead")
			os.Mkdir(dead, 0o700)
			os.WriteFile(filepath.Join(dead, lockName), nil, 0o600)
			in := &intent{Op: "in-place", Root: b.dir, Path: b.path("a.go"), Base: digest(baseText), Candidate: digest(oursText)}
			if err := in.inPlace(&intents{parent: b.intents.parent, dir: dead}, []byte(baseText), []byte(oursText)); err != nil {
				t.Fatal(err)
			}
			b.write("a.go", c.now)
			if _, err := b.Recover(bg); err != nil {
				t.Fatal(err)
			}
			got, _ := os.ReadFile(b.path("a.go"))
			if string(got) != c.want {
				t.Errorf("it holds %d bytes, want %d", len(got), len(c.want))
			}
			if strings.HasPrefix(name, "edited") && !b.stored("a.go", baseText) {
				t.Error("the former content is not kept")
			}
		})
	}
}
