package guard

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stella-ls/stella-ls/internal/workspace"
)

func TestLocks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l pathLocks
		ctx := context.Background()
		unlock, err := l.lock(ctx, time.Second, "b", "a", "b")
		if err != nil {
			t.Fatal(err)
		}
		start := time.Now()
		if _, err := l.lock(ctx, time.Second, "c", "a"); err != errLockTimeout || time.Since(start) != time.Second {
			t.Errorf("%v after %s", err, time.Since(start))
		}
		cancelled, cancel := context.WithCancel(ctx)
		time.AfterFunc(time.Minute, cancel)
		if _, err := l.lock(cancelled, time.Hour, "b"); err != context.Canceled {
			t.Error(err)
		}
		got := make(chan struct{})
		go func() {
			u, err := l.lock(ctx, time.Hour, "a", "b")
			if err != nil {
				t.Error(err)
			}
			close(got)
			u()
		}()
		synctest.Wait()
		select {
		case <-got:
			t.Fatal("two hold one lock")
		default:
		}
		unlock()
		unlock() // once is enough
		<-got
		synctest.Wait()
		if len(l.m) != 0 {
			t.Errorf("%d locks are left", len(l.m))
		}
	})
}

// Sessions that count up in one file, closed: every applied edit stays.
func TestNoLostUpdateClosed(t *testing.T) {
	e := newEnv(t, realDisk)
	e.disk("n", "count 0;\n")
	var applied, refused atomic.Int64
	var wg sync.WaitGroup
	for i := range 4 {
		s := e.g.Session("s-"+strconv.Itoa(i), e.dir)
		wg.Go(func() {
			for range 15 {
				countUp(t, e, s, &applied, &refused)
			}
		})
	}
	wg.Wait()
	e.wantDisk("n", fmt.Sprintf("count %d;\n", applied.Load()))
	t.Logf("%d applied, %d refused", applied.Load(), refused.Load())
}

func countUp(t *testing.T, e *env, s *Session, applied, refused *atomic.Int64) {
	n, err := e.ws.Resolve(e.dir, "n")
	if err != nil {
		t.Error(err)
		return
	}
	f, err := e.ws.View(context.Background(), n)
	if err != nil {
		t.Error(err)
		return
	}
	s.Deliver(Observation{File: f, First: 1, Last: CountLines(f.Truth())})
	line, _, _ := strings.Cut(string(f.Truth()), "\n")
	k, err := strconv.Atoi(strings.TrimSuffix(strings.TrimPrefix(line, "count "), ";"))
	if err != nil {
		t.Errorf("torn: %q", f.Truth())
		return
	}
	r := s.Apply(context.Background(), nil, false, []Change{edit("n", f.Base(), line, fmt.Sprintf("count %d;", k+1))})[0]
	switch r.Status {
	case StatusApplied:
		applied.Add(1)
	case StatusStale, StatusBusy:
		refused.Add(1)
	default:
		t.Errorf("%s: %s", r.Status, r.Message)
	}
}

// The same in the editor, while a person types below.
func TestNoLostUpdateOpen(t *testing.T) {
	e := newEnv(t)
	e.disk("n", "count 0;\n")
	e.ed.load("n")
	var applied, refused atomic.Int64
	var wg sync.WaitGroup
	done := make(chan struct{})
	for i := range 3 {
		s := e.g.Session("s-"+strconv.Itoa(i), e.dir)
		wg.Go(func() {
			for range 60 {
				countUp(t, e, s, &applied, &refused)
			}
		})
	}
	typed := 0
	var person sync.WaitGroup
	person.Go(func() {
		for typed < 200 {
			select {
			case <-done:
				return
			default:
			}
			e.ed.mu.Lock()
			b := e.ed.buf("n")
			typed++
			b.text += fmt.Sprintf("mine %d\n", typed)
			b.version++
			e.ws.DidChange(e.uri("n"), b.version, []workspace.ContentChange{{Text: b.text}})
			e.ed.mu.Unlock()
			time.Sleep(time.Millisecond) // a fast typist; nothing waits for this
		}
	})
	wg.Wait()
	close(done)
	person.Wait()
	want := fmt.Sprintf("count %d;\n", applied.Load())
	for i := 1; i <= typed; i++ {
		want += fmt.Sprintf("mine %d\n", i)
	}
	e.ed.wantText("n", want)
	t.Logf("%d applied, %d refused, %d typed", applied.Load(), refused.Load(), typed)
}

// The disk changes beneath a clean buffer, and the editor tells only then that the
// person has typed: they hear that a save would overwrite.
func TestDiskBeneathTypingToldLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newEnv(t)
		e.ed.can = EditorAbilities{}
		e.disk("a", "one\n")
		e.ed.load("a")
		e.ok(e.apply(edit("a", e.read("a"), "one", "1")))
		synctest.Wait()
		if len(e.told) != 0 {
			t.Fatalf("told %q", e.told)
		}
		e.ed.typed("a", "mine\none\n")
		synctest.Wait()
		time.Sleep(saveTime)
		synctest.Wait()
		if len(e.told) != 1 || !strings.Contains(e.told[0], "unsaved changes") {
			t.Errorf("told %q", e.told)
		}
		e.g.Close(context.Background())
	})
}

// The states that the editor shows follow what happens, without being asked.
func TestAnnouncements(t *testing.T) {
	var mu sync.Mutex
	var log []string
	synctest.Test(t, func(t *testing.T) {
		e := newEnv(t, func(o *Options) {
			o.Changed = func(session string, files []Guarded) {
				mu.Lock()
				defer mu.Unlock()
				for _, f := range files {
					log = append(log, fmt.Sprintf("%s %s %v", f.Display, f.State, f.ChangedBy))
				}
			}
		})
		want := func(lines ...string) {
			t.Helper()
			synctest.Wait()
			mu.Lock()
			defer mu.Unlock()
			if fmt.Sprint(log) != fmt.Sprint(lines) {
				t.Errorf("announced %q, want %q", log, lines)
			}
			log = nil
		}
		e.disk("a", "one\n")
		e.ed.load("a")
		base := e.read("a")
		want("a fresh []")
		e.ed.typed("a", "one!\n")
		want("a stale [you, typing in the editor (unsaved)]")
		e.ed.typed("a", "one\n")
		want("a fresh []")
		r := e.ok(e.apply(edit("a", base, "one", "1")))
		want("a writing []", "a fresh []")
		e.ed.typed("a", "1\nmine\n")
		want("a stale [you, typing in the editor (unsaved)]")
		e.disk("a", "theirs\n")
		e.ws.DiskEvent(e.name("a").Path, workspace.Cause{Kind: workspace.Outside})
		synctest.Wait()
		time.Sleep(saveTime) // virtual: a save of the editor's own would be announced by then
		synctest.Wait()
		if len(e.told) != 1 || !strings.Contains(e.told[0], "unsaved changes") {
			t.Errorf("told %q", e.told)
		}
		rows := e.s.Files(context.Background(), true)
		if len(rows) != 1 || rows[0].State != Stale || rows[0].Diff == "" || rows[0].Session != "s-1" {
			t.Errorf("%+v", rows)
		}
		e.stale(e.apply(edit("a", r.Base, "1", "2")))
		e.g.Close(context.Background())
	})
}

func TestMoveOntoSomething(t *testing.T) {
	e := newEnv(t)
	e.disk("a", "one\n")
	e.disk("b", "two\n")
	base := e.read("a")
	move := func(to string) []Result {
		return e.apply(Change{Kind: ChangeMove, Path: "a", Base: base, To: to})
	}
	e.no(move("b"), StatusExists)
	e.ed.open("unsaved", "text", 1)
	e.no(move("unsaved"), StatusExists)
	e.read("b")
	e.remove("b")
	e.stale(move("b")) // somebody removed it
	e.read("b")
	e.ok(move("b"))
	e.wantDisk("b", "one\n")
	e.ed.load("b")
	e.ed.typed("b", "mine\n")
	base = e.read("b")
	e.no(e.apply(Change{Kind: ChangeMove, Path: "b", Base: base, To: "c"}), StatusDenied)
	e.no(e.apply(Change{Kind: ChangeDelete, Path: "b", Base: base}), StatusDenied)
	e.ed.wantText("b", "mine\n")
}

// A write by another program that lands in the commit: theirs stays, and the
// model and the human hear of it.
func TestRacedCommit(t *testing.T) {
	e := newEnv(t, realDisk)
	e.disk("a", "one\n")
	base := e.read("a")
	rec := &fakeRecorder{disk: func() string { return "" }}
	e.g.o.Recorder = recorderFunc{rec, func() { e.disk("a", "theirs\n") }} // under the lock, before the exchange
	r := e.stale(e.apply(edit("a", base, "one", "1")))
	if !strings.Contains(r.Diff, "+theirs") {
		t.Errorf("%+v", r)
	}
	e.wantDisk("a", "theirs\n")
	if fmt.Sprint(rec.log) != "[pre e1 one\n disk  abandoned e1]" {
		t.Errorf("log %q", rec.log)
	}
	if list, _ := os.ReadDir(e.dir); len(list) != 1 {
		t.Errorf("left behind: %v", list)
	}
}

type recorderFunc struct {
	*fakeRecorder
	before func()
}

func (r recorderFunc) PreImage(ctx context.Context, e EditRecord) error {
	r.before()
	return r.fakeRecorder.PreImage(ctx, e)
}
