package agent

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stella-ls/stella-ls/agent/model"
	"github.com/stella-ls/stella-ls/guard"
	"github.com/stella-ls/stella-ls/internal/config"
	"github.com/stella-ls/stella-ls/internal/record"
	"github.com/stella-ls/stella-ls/internal/workspace"
)

// life is one process: everything but the disk is its own.
type life struct {
	*bench
	store *record.Set
	end   func()

	mu   sync.Mutex // guards told
	told []string
}

func (l *life) tell(m string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.told = append(l.told, m)
}

func newLife(t *testing.T, root, home string, more ...string) *life {
	t.Helper()
	l, err := openLife(root, home, nil, more...)
	if err != nil {
		t.Fatal(err)
	}
	l.t = t
	l.end = func() {
		for _, err := range l.close() {
			t.Error(err)
		}
	}
	return l
}

// openLife starts as a server does. fault is called at every point between two
// effects on the disk.
func openLife(root, home string, fault func(point string) error, more ...string) (*life, error) {
	b := &bench{client: &recorder{}, brain: &fakeModel{}}
	b.ws = workspace.New(workspace.Options{Roots: append([]string{root}, more...)})
	b.root = b.ws.Roots()[0]
	store := record.NewSet(record.SetOptions{Home: home, Roots: b.ws.Roots, Fault: fault})
	l := &life{bench: b, store: store}
	var err error
	b.guard, err = guard.New(guard.Options{Workspace: b.ws, StateDir: home, Recorder: store, Settings: func() config.Guard { return config.Default().Guard },
		Tell: l.tell,
		Fault: func(point string) {
			if fault != nil {
				_ = fault(point) // a write has no place to fail at
			}
		}})
	if err != nil {
		return nil, err
	}
	if _, err := b.guard.Recover(context.Background()); err != nil {
		return nil, err
	}
	b.m = NewManager(Options{Workspace: b.ws, Guard: b.guard, Client: b.client, Trusted: func() bool { return true },
		Model: func(string) (model.Model, error) { return b.brain, nil }, Record: store,
		Tell: l.tell})
	return l, nil
}

func (l *life) close() (errs []error) {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	for _, err := range []error{l.m.Close(ctx), l.guard.Close(ctx), l.store.Close()} {
		if err != nil {
			errs = append(errs, err)
		}
	}
	return errs
}

func (l *life) start(t *testing.T) {
	t.Helper()
	var err error
	if l.id, err = l.m.Start(context.Background(), StartOptions{Title: "work"}); err != nil {
		t.Fatal(err)
	}
}

func readCall(path string) step { return do(call("read_file", map[string]any{"path": path})) }

func editOn(base func() string, old, new string) step {
	return doLate(func(model.Request) []callSpec {
		return []callSpec{call("edit_file", map[string]any{"path": "a.txt", "base": base(), "edits": []map[string]any{{"old": old, "new": new}}})}
	})
}

// A session of an earlier process has its transcript, prefix, beliefs, edits
// and budget: a stale write is refused, a fresh one goes through.
func TestResumeFinishedSession(t *testing.T) {
	root, home := t.TempDir(), t.TempDir()
	one := newLife(t, root, home)
	one.write("a.txt", "one\n")
	one.write("b.txt", "b\n")
	one.start(t)
	if list := one.m.List(); len(list) != 1 {
		t.Errorf("list %+v", list)
	}
	base := ""
	one.brain.play(readCall("a.txt"), editOn(func() string { return lastBase(one.brain.request(-1), "a.txt") }, "one", "two"), readCall("b.txt"), say("done"))
	if o := one.prompt("change it"); o.Stop != StopEndTurn {
		t.Fatalf("outcome %+v", o)
	}
	before := one.transcript()
	prefix := one.brain.request(0).System
	base = object(one.results()[1].Text)["base"].(string)
	one.end()

	two := newLife(t, root, home)
	defer two.end()
	two.write("b.txt", "b changed\n")
	list := two.m.List()
	if len(list) != 1 || list[0].ID != one.id || list[0].State != Idle || list[0].Title != "work" || list[0].Turns != 1 || list[0].Guarded != 2 {
		t.Fatalf("list %+v", list)
	}
	two.id = one.id
	if interrupted, err := two.m.Resume(context.Background(), two.id, false); interrupted || err != nil {
		t.Fatalf("resume: %v %v", interrupted, err)
	}
	if got := two.transcript(); len(got) != len(before) || got[3].Parts[0].Text != before[3].Parts[0].Text {
		t.Errorf("transcript: %d messages of %d", len(got), len(before))
	}
	two.brain.play(editOn(func() string { return base }, "two", "three"), say("ok"))
	two.prompt("and again")
	r := two.results()
	if last := r[len(r)-1]; last.Status != "applied" || two.disk("a.txt") != "three\n" {
		t.Errorf("a fresh write: %s", last.Text)
	}
	if !strings.Contains(two.client.notices(), "b.txt changed") || count(two.brain.request(0), "b.txt (changed by:") != 1 {
		t.Errorf("the drift was not told: %q", two.client.notices())
	}
	if two.brain.request(0).System != prefix {
		t.Error("another prefix")
	}
	edits, _ := two.m.Edits(two.id)
	if len(edits) != 2 || edits[0].ID != "e1" || edits[1].ID != "e2" {
		t.Errorf("edits %+v", edits)
	}
	if b, a, ok := two.m.Content(two.id + "/e1"); !ok || string(b) != "one\n" || string(a) != "two\n" {
		t.Errorf("content %q %q %v", b, a, ok)
	}
	if tr, _ := two.m.Get(two.id); *tr.Usage.Input != 600 || tr.Info.Turns != 2 {
		t.Errorf("usage %d, %+v", *tr.Usage.Input, tr.Info)
	}
}

// A turn that was running is offered, goes on when asked, and its stale write
// is refused.
func TestResumeInterruptedTurn(t *testing.T) {
	root, home := t.TempDir(), t.TempDir()
	one := newLife(t, root, home)
	one.write("a.txt", "one\n")
	one.start(t)
	thinking := make(chan struct{})
	one.brain.play(readCall("a.txt"), func(ctx context.Context, _ model.Request, _ func(model.Event)) (model.Response, error) {
		close(thinking)
		<-ctx.Done()
		return model.Response{}, ctx.Err()
	})
	ended := make(chan struct{})
	go func() { one.prompt("raise the number"); close(ended) }()
	<-thinking
	one.end()
	<-ended

	two := newLife(t, root, home)
	defer two.end()
	two.id = one.id
	if list := two.m.List(); len(list) != 1 || list[0].State != Interrupted {
		t.Fatalf("list %+v", list)
	}
	two.write("a.txt", "one\nmore\n")
	// Opened and looked at, it is still to be continued.
	if err := two.m.Cancel(two.id); err != nil {
		t.Error(err)
	}
	if files, err := two.m.Files(context.Background(), two.id, false); err != nil || len(files) != 1 {
		t.Errorf("%+v %v", files, err)
	}
	if interrupted, err := two.m.Resume(context.Background(), two.id, false); !interrupted || err != nil || two.m.List()[0].State != Interrupted {
		t.Fatalf("resume: %v %v", interrupted, err)
	}
	var base string
	answered := make(chan struct{})
	two.brain.play(editOn(func() string {
		base = lastBase(two.brain.request(0), "a.txt")
		return base
	}, "one", "two"), func(ctx context.Context, r model.Request, on func(model.Event)) (model.Response, error) {
		close(answered)
		return say("stopped")(ctx, r, on)
	})
	if interrupted, err := two.m.Resume(context.Background(), two.id, true); !interrupted || err != nil {
		t.Fatalf("resume: %v %v", interrupted, err)
	}
	<-answered
	for two.m.List()[0].State != Idle {
		time.Sleep(time.Millisecond)
	}
	valid(t, two.transcript())
	r := two.results()
	if last := r[len(r)-1]; base == "" || last.Status != "stale_base" || two.disk("a.txt") != "one\nmore\n" {
		t.Errorf("a stale write: %s", last.Text)
	}
	if count(two.brain.request(0), "raise the number") != 1 || count(two.brain.request(0), "in the middle of this turn") != 1 {
		t.Error("the model does not know where it is")
	}
	if u := two.client.of(UpdateToolResult); len(u) != 1 || u[0].TurnID != "t1" {
		t.Errorf("updates %+v", u)
	}
	if info := two.m.List()[0]; info.Turns != 1 {
		t.Errorf("%+v", info)
	}
}

func TestRepairedTranscript(t *testing.T) {
	c := func(id string) model.Part { return model.Part{Kind: model.ToolCallPart, CallID: id, Tool: "read_file"} }
	r := func(id string) model.Part { return model.Part{Kind: model.ToolResultPart, CallID: id, Text: "x"} }
	log := repaired([]entry{
		{kind: fromHuman, msg: userText("go")},
		{kind: fromModel, msg: model.Message{Role: model.Assistant, Parts: []model.Part{c("1"), c("2")}}},
		{kind: toolResults, msg: model.Message{Role: model.User, Parts: []model.Part{r("1")}}},
		{kind: fromModel, msg: model.Message{Role: model.Assistant, Parts: []model.Part{c("3")}}},
	})
	var messages []model.Message
	for _, e := range log {
		messages = append(messages, e.msg)
	}
	valid(t, messages)
}
