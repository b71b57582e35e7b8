//go:build unix

package record

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stella-ls/stella-ls/guard"
)

// The tests below start this test binary again as a child that dies.
func TestMain(m *testing.M) {
	switch os.Getenv("RECORD_CHILD") {
	case "":
		os.Exit(m.Run())
	case "play":
		playChild()
	case "append":
		appendChild()
	}
	os.Exit(0)
}

// op is one call on the record; the model below says what must hold after it.
type op struct {
	name string
	do   func(context.Context, *Store, *Session) error
	then func(*state)
}

// state is what a record must hold.
type state struct {
	exists  bool
	beliefs []guard.Belief
	entries int
	resume  string
	edits   map[string]EditState
	turn    int
	pruned  bool // the old session is gone
}

func (s *state) clone() *state {
	c := *s
	c.edits = map[string]EditState{}
	for k, v := range s.edits {
		c.edits[k] = v
	}
	return &c
}

// ops are two turns with edits, a compaction of packs and a removal: every kind
// of effect that the package has.
func ops() []op {
	step := func(turn int, resume string, beliefs ...guard.Belief) op {
		return op{"step", func(ctx context.Context, _ *Store, n *Session) error {
			s := Step{Turn: turn, Beliefs: beliefs, Entry: json.RawMessage(`{"turn":` + strconv.Itoa(turn) + `}`)}
			if resume != "" {
				s.Resume = json.RawMessage(resume)
			}
			return n.Step(ctx, s)
		}, func(s *state) { s.beliefs, s.entries, s.resume, s.turn = beliefs, s.entries+1, resume, turn }}
	}
	edit := func(id string, to EditState) op {
		e := guard.EditRecord{ID: id, Session: "s", Kind: guard.ChangeEdit, Path: "/w/a", Before: []byte("before " + id), After: []byte("after " + id)}
		return op{"edit", func(ctx context.Context, s *Store, _ *Session) error {
			switch to {
			case EditPending:
				return s.PreImage(ctx, e)
			case EditApplied:
				return s.Applied(ctx, e)
			}
			return s.Abandoned(ctx, "s", id)
		}, func(s *state) { s.edits[id] = to }}
	}
	a1, a2, b := belief("/w/a", "one\n", 1), belief("/w/a", "two\n", 2), belief("/w/b", "b\n", 1)
	return []op{
		{"create", nil, func(s *state) { s.exists = true }},
		step(1, `{"at":1}`, a1, b),
		edit("e1", EditPending), edit("e1", EditApplied),
		step(1, `{"at":2}`, a2, b),
		edit("e2", EditPending), edit("e2", EditAbandoned),
		step(1, "", a2, b),
		{"join", func(_ context.Context, s *Store, _ *Session) error { return s.Join() }, func(*state) {}},
		step(2, `{"at":3}`, a2),
		edit("e3", EditPending),
		{"prune", func(ctx context.Context, s *Store, _ *Session) error {
			_, err := s.Prune(ctx, time.Unix(1_700_000_100, 0))
			return err
		}, func(s *state) { s.pruned = true }},
		edit("e3", EditApplied),
		step(2, ""),
	}
}

// playChild plays the operations and says which are done. It dies at the
// RECORD_AT-th fault point, or fails there when RECORD_FAIL is set.
func playChild() {
	at, _ := strconv.ParseInt(os.Getenv("RECORD_AT"), 10, 64)
	var count atomic.Int64
	fault := func(point string) error {
		if count.Add(1) != at {
			return nil
		}
		if os.Getenv("RECORD_FAIL") != "" {
			fmt.Println("fails at", point)
			return fmt.Errorf("%s: %w", point, syscall.ENOSPC)
		}
		fmt.Println("dies at", point)
		syscall.Kill(os.Getpid(), syscall.SIGKILL)
		select {}
	}
	s, err := Open(Options{Home: os.Getenv("RECORD_HOME"), Root: os.Getenv("RECORD_ROOT"), Now: func() time.Time { return time.Unix(1_800_000_000, 0) }, fault: fault})
	if err != nil {
		fmt.Println("open:", err)
		return
	}
	s.objects.joinAt, s.grace = 4, -time.Hour
	ctx := context.Background()
	var n *Session
	for i, o := range ops() {
		if o.do == nil {
			n, err = s.Create(ctx, Header{Session: "s"})
		} else {
			err = o.do(ctx, s, n)
		}
		if err != nil {
			fmt.Println("failed", i, err)
			if n == nil {
				return
			}
			continue // the session must go on
		}
		fmt.Println("done", i, "at", count.Load())
	}
	fmt.Println("points", count.Load())
}

func child(t *testing.T, kind, home, root string, env ...string) *exec.Cmd {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), append(env, "GORACE=atexit_sleep_ms=0", "RECORD_CHILD="+kind, "RECORD_HOME="+home, "RECORD_ROOT="+root)...)
	cmd.Stderr = os.Stderr
	return cmd
}

// oldSession is one that the prune removes.
func oldSession(t *testing.T, home, root string) {
	s, err := Open(Options{Home: home, Root: root, Now: func() time.Time { return time.Unix(1_700_000_000, 0) }})
	must(t, err)
	n, err := s.Create(t.Context(), Header{Session: "old"})
	must(t, err)
	must(t, n.Step(t.Context(), Step{Turn: 1, Beliefs: []guard.Belief{belief("/w/old", "old", 1)}}))
	must(t, s.Close())
}

// TestKillEverywhere kills a process at every point between two effects on the
// disk, and then resumes.
func TestKillEverywhere(t *testing.T) {
	everyPoint(t, 1, func(t *testing.T, home, root string, at int, old bool) string {
		out, _ := child(t, "play", home, root, "RECORD_AT="+strconv.Itoa(at)).Output()
		defer func() {
			if t.Failed() {
				t.Errorf("%s", out)
			}
		}()
		_, point, _ := strings.Cut(string(out), "dies at ") // joins behind its back make it a few points more or less: then it lives
		checkAfterCrash(t, old, home, root, strings.Count(string(out), "done "), string(out))
		return point
	})
}

// checkAfterCrash compares with the model after the acknowledged operations, or
// with the one under way as well.
func checkAfterCrash(t *testing.T, old bool, home, root string, done int, out string) {
	t.Helper()
	s := openStore(t, home, root)
	if left := leftovers(home); len(left) > 0 {
		t.Errorf("left over: %v", left)
	}
	want := &state{edits: map[string]EditState{}}
	list := ops()
	for _, o := range list[:done] {
		o.then(want)
	}
	maybe := want.clone()
	if done < len(list) {
		list[done].then(maybe)
	}
	n, l, err := s.Resume(t.Context(), "s")
	if errors.Is(err, ErrNotFound) && !want.exists {
		if n, err = s.Create(t.Context(), Header{Session: "s"}); err != nil {
			t.Fatal(err)
		}
	} else if err != nil {
		t.Fatal(err)
	} else if why := differs(l, want); why != "" {
		if why2 := differs(l, maybe); why2 != "" {
			t.Errorf("neither before (%s) nor after (%s)", why, why2)
		}
	}
	must(t, n.Step(t.Context(), Step{Turn: 9, Beliefs: []guard.Belief{belief("/w/z", "z", 9)}}))
	if _, err := s.Load(t.Context(), "old"); err != nil && !(errors.Is(err, ErrNotFound) && (maybe.pruned || !old)) {
		t.Errorf("the old session: %v", err)
	}
	fsck(t, s.Dir())
	must(t, s.Close())
}

func differs(l *Loaded, want *state) string {
	switch {
	case len(l.Transcript) != want.entries:
		return fmt.Sprintf("%d entries, want %d", len(l.Transcript), want.entries)
	case string(l.Resume) != want.resume:
		return fmt.Sprintf("resume %q, want %q", l.Resume, want.resume)
	case l.Turn != want.turn:
		return fmt.Sprintf("turn %d, want %d", l.Turn, want.turn)
	case fmt.Sprintf("%+v", l.Beliefs) != fmt.Sprintf("%+v", want.beliefs):
		return fmt.Sprintf("beliefs %+v", l.Beliefs)
	case len(l.Edits) != len(want.edits):
		return fmt.Sprintf("%d edits, want %d", len(l.Edits), len(want.edits))
	}
	for _, e := range l.Edits {
		if e.State != want.edits[e.ID] {
			return fmt.Sprintf("edit %s is %s", e.ID, e.State)
		}
		r, err := l.Record(e.ID)
		if err != nil || string(r.Before) != "before "+e.ID || string(r.After) != "after "+e.ID {
			return fmt.Sprintf("edit %s: %+v %v", e.ID, r, err)
		}
	}
	return ""
}

// leftovers are temporaries, and lock files of refs.
func leftovers(dir string) []string {
	var out []string
	filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if name := filepath.Base(path); strings.HasPrefix(name, "tmp_") || strings.HasPrefix(name, ".tmp-") || (strings.HasSuffix(name, ".lock") && strings.Contains(path, "/refs/")) {
			out = append(out, path)
		}
		return err
	})
	return out
}

// TestFullDiskEverywhere fails every effect on the disk once. The process
// lives: the call says what is wrong, and the session goes on.
func TestFullDiskEverywhere(t *testing.T) {
	everyPoint(t, everyNth, func(t *testing.T, home, root string, at int, _ bool) string {
		out, err := child(t, "play", home, root, "RECORD_AT="+strconv.Itoa(at), "RECORD_FAIL=1").Output()
		if err != nil {
			t.Fatal(err)
		}
		text := string(out)
		if !strings.Contains(text, "no space left on device") && strings.Count(text, "done ") < len(ops()) { // a join that fails behind its back loses nothing
			t.Errorf("nobody was told: %s", text)
		}
		s := openStore(t, home, root)
		fsck(t, s.Dir())
		l, err := s.Load(t.Context(), "s")
		switch {
		case errors.Is(err, ErrNotFound) && !strings.Contains(text, "done 0"):
		case err != nil:
			t.Fatalf("%v\n%s", err, text)
		case strings.Contains(text, "done 13") && (len(l.Beliefs) != 0 || l.Resume != nil || l.Turn != 2):
			t.Fatalf("the last step does not hold: %+v\n%s", l, text)
		}
		must(t, s.Close())
		_, point, _ := strings.Cut(text, "fails at ")
		point, _, _ = strings.Cut(point, "\n")
		return point
	})
}

// TestKillAtRandom kills a process that writes as fast as it can.
func TestKillAtRandom(t *testing.T) {
	runs := 12
	if v, err := strconv.Atoi(os.Getenv("STELLA_KILLS")); err == nil {
		runs = v
	}
	home, root := memDir(t), memDir(t)
	acknowledged, steps := 0, 0
	for k := range runs {
		id := fmt.Sprint("s", k/25)
		if k%25 == 0 { // each resume reads its whole session
			acknowledged = 0
		}
		before := acknowledged
		cmd := child(t, "append", home, root, "RECORD_SESSION="+id, "RECORD_COUNT=1000000")
		out, err := cmd.StdoutPipe()
		must(t, err)
		must(t, cmd.Start())
		lines := bufio.NewScanner(out)
		for stop := rand.IntN(12); lines.Scan(); stop-- {
			fmt.Sscanf(lines.Text(), "done %d", &acknowledged)
			if stop == 0 {
				time.AfterFunc(time.Duration(rand.IntN(15_000))*time.Microsecond, func() { cmd.Process.Kill() })
			}
		}
		cmd.Wait()
		s := openStore(t, home, root)
		if left := leftovers(home); len(left) > 0 {
			t.Fatalf("left over: %v", left)
		}
		l, err := s.Load(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		if got := len(l.Transcript); got < acknowledged || got > acknowledged+1 {
			t.Fatalf("%d entries, %d acknowledged", got, acknowledged)
		}
		if len(l.Beliefs) != 1 || string(l.Beliefs[0].Blob) != fmt.Sprintf("content %d", len(l.Transcript)) {
			t.Fatalf("after %d entries: %+v", len(l.Transcript), l.Beliefs)
		}
		steps += len(l.Transcript) - before
		acknowledged = len(l.Transcript)
		must(t, s.Close())
		if k%25 == 24 || k == runs-1 {
			fsck(t, s.Dir())
		}
	}
	t.Logf("%d kills, %d steps recorded", runs, steps)
}

// appendChild appends steps to a session and says which are done.
func appendChild() {
	s, err := Open(Options{Home: os.Getenv("RECORD_HOME"), Root: os.Getenv("RECORD_ROOT")})
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	ctx, id := context.Background(), os.Getenv("RECORD_SESSION")
	n, l, err := s.Resume(ctx, id)
	k := 0
	if errors.Is(err, ErrNotFound) {
		n, err = s.Create(ctx, Header{Session: id})
	} else if err == nil {
		k = len(l.Transcript)
	}
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	s.objects.joinAt = 6
	count, _ := strconv.Atoi(os.Getenv("RECORD_COUNT"))
	for range count {
		k++
		err := n.Step(ctx, Step{Turn: k, Entry: json.RawMessage(strconv.Itoa(k)), Beliefs: []guard.Belief{belief("/w/a", fmt.Sprintf("content %d", k), k)}})
		if err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		fmt.Println("done", k)
	}
	if err := s.Close(); err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
}

// Two processes write one store, each its own session, and a third wants one of
// the two and is told that it is taken.
func TestTwoProcesses(t *testing.T) {
	home, root := t.TempDir(), t.TempDir()
	const steps = 60
	var cmds []*exec.Cmd
	var outs []*bytes.Buffer
	for _, id := range []string{"s-a", "s-b"} {
		cmd := child(t, "append", home, root, "RECORD_SESSION="+id, "RECORD_COUNT="+strconv.Itoa(steps))
		var out bytes.Buffer
		cmd.Stdout = &out
		must(t, cmd.Start())
		cmds, outs = append(cmds, cmd), append(outs, &out)
	}
	for i, cmd := range cmds {
		if err := cmd.Wait(); err != nil {
			t.Fatalf("%v\n%s", err, outs[i])
		}
	}
	s := openStore(t, home, root)
	infos, err := s.Sessions(t.Context())
	must(t, err)
	if len(infos) != 2 {
		t.Fatalf("%+v", infos)
	}
	for _, id := range []string{"s-a", "s-b"} {
		l, err := s.Load(t.Context(), id)
		if err != nil || len(l.Transcript) != steps {
			t.Fatalf("%s: %v", id, err)
		}
	}
	fsck(t, s.Dir())
	_, _, err = s.Resume(t.Context(), "s-a")
	must(t, err)
	out, err := child(t, "append", home, root, "RECORD_SESSION=s-a", "RECORD_COUNT=1").Output()
	if err == nil || !strings.Contains(string(out), "open in another process") {
		t.Errorf("%v %s", err, out)
	}
	packs, _ := s.objects.packs()
	if len(packs) > 40 {
		t.Errorf("%d packs are left of %d steps", len(packs), 2*steps)
	}
}
