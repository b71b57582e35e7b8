package agent

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stella-ls/stella-ls/agent/model"
	"github.com/stella-ls/stella-ls/agent/tools"
	"github.com/stella-ls/stella-ls/internal/config"
)

// fakeEngine is a context engine.
type fakeEngine struct {
	mu      sync.Mutex
	block   RecallBlock
	err     error
	wait    chan struct{}
	queries []RecallQuery
	ended   []TurnSummary
	told    chan struct{}
}

func (f *fakeEngine) Prefix(_ context.Context, session, base, root string) (string, error) {
	return base + "\n# Memories of " + session + "\n", nil
}

func (f *fakeEngine) Recall(ctx context.Context, q RecallQuery) (RecallBlock, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.queries = append(f.queries, q)
	if f.wait != nil {
		<-f.wait
	}
	return f.block, f.err
}

func (f *fakeEngine) TurnEnded(_ context.Context, t TurnSummary) {
	f.mu.Lock()
	f.ended = append(f.ended, t)
	f.mu.Unlock()
	f.told <- struct{}{}
}

func (f *fakeEngine) Tools(string) []tools.Tool { return nil }

func TestPrefixAndRecallPlacement(t *testing.T) {
	e := &fakeEngine{told: make(chan struct{}, 100), block: RecallBlock{Text: "[auto-recalled context] x", Frames: []Frame{{ID: "nod_1", Kind: "memory", Label: "x"}}}}
	b := newBench(t, func(o *Options) { o.Context = e })
	b.write("a.txt", "x\n")
	look := do(call("read_file", map[string]any{"path": "a.txt"}))
	b.brain.play(say("one"), look, say("two"))
	b.prompt("first")
	b.prompt("second")
	for i, r := range b.brain.requests {
		if r.Messages[0].Parts[0].Text != e.block.Text {
			t.Errorf("request %d begins with %q", i, r.Messages[0].Parts[0].Text)
		}
		if n := count(r, e.block.Text); n != 1 {
			t.Errorf("request %d has %d blocks", i, n)
		}
	}
	if len(e.queries) != 2 || e.queries[1].Turn != 2 || e.queries[1].Prompt != "second" {
		t.Errorf("queries %+v", e.queries)
	}
	if got := b.client.of(UpdateRecall); len(got) != 2 || got[0].Frames[0].ID != "nod_1" {
		t.Errorf("updates %+v", got)
	}

	e.block.BeforePrompt = true
	b.brain.play(look, say("three"))
	b.prompt("third")
	for _, i := range []int{-2, -1} {
		r := b.brain.request(i)
		at := 0
		for k, m := range r.Messages {
			if m.Parts[0].Text == e.block.Text {
				at = k
			}
		}
		if n := count(r, e.block.Text); n != 1 || at == 0 || r.Messages[at+1].Parts[0].Text != "third" {
			t.Errorf("request %d: %d blocks, at %d", i, n, at)
		}
	}

	if e.queries[1].Symbol != "" || e.queries[1].OpenFile != "" {
		t.Errorf("a prompt without a selection asks by %+v", e.queries[1])
	}

	e.block, e.err = RecallBlock{}, errors.New("the store is locked")
	b.brain.play(say("four"))
	if o := b.prompt("fourth"); o.Stop != StopEndTurn || !strings.Contains(b.client.notices(), "the store is locked") {
		t.Errorf("%+v, notices %q", o, b.client.notices())
	}
	if n := count(b.brain.request(-1), "[auto-recalled context]"); n != 0 {
		t.Errorf("%d blocks", n)
	}
	for range 4 {
		<-e.told
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if s := e.ended[1]; s.Stop != StopEndTurn || s.ToolCalls != 1 || s.Prompt != "second" || s.Answer != "two" || s.Model == nil {
		t.Errorf("summary %+v", s)
	}
}

func count(r model.Request, text string) (n int) {
	for _, m := range r.Messages {
		for _, p := range m.Parts {
			if strings.Contains(p.Text, text) {
				n++
			}
		}
	}
	return n
}

// Every request of 50 turns starts with the same bytes, and repeats the
// messages of the one before it.
// Recall goes by the definition that the person's selection stands in.
func TestRecallBySelection(t *testing.T) {
	e := &fakeEngine{told: make(chan struct{}, 100)}
	b := newBench(t, func(o *Options) {
		o.Context = e
		o.Around = func(_ context.Context, path string, line int) string {
			return fmt.Sprintf("%s:%d", path[strings.LastIndex(path, "/")+1:], line)
		}
	})
	b.write("a.py", "def f():\n    return 1\n")
	path := b.root + "/a.py"
	for _, c := range []struct {
		at   []Attachment
		want string
	}{
		{[]Attachment{{Path: path, First: 2, Last: 2}}, "a.py:2"},
		{[]Attachment{{Path: path}}, ""}, // the file as a whole
		{nil, ""},
	} {
		b.brain.play(say("done"))
		if _, err := b.m.Prompt(context.Background(), Prompt{Session: b.id, Text: "look", Context: c.at}); err != nil {
			t.Fatal(err)
		}
		if q := e.queries[len(e.queries)-1]; q.Symbol != c.want {
			t.Errorf("%+v asks by %q, want %q", c.at, q.Symbol, c.want)
		}
	}
}

func TestPrefixIsByteIdentical(t *testing.T) {
	clock := time.Unix(1_700_000_000, 0)
	b := newBench(t, func(o *Options) { o.Clock = func() time.Time { clock = clock.Add(47 * time.Second); return clock } })
	b.write("a.txt", "x\n")
	for i := range 50 {
		b.brain.play(do(call("read_file", map[string]any{"path": "a.txt"})), say(fmt.Sprint("answer ", i)))
		b.prompt(fmt.Sprint("prompt ", i))
	}
	for i := 1; i < b.brain.asked(); i++ {
		was, now := b.brain.request(i-1), b.brain.request(i)
		if now.System != was.System || now.CacheKey != was.CacheKey || fmt.Sprint(now.Tools) != fmt.Sprint(was.Tools) {
			t.Fatalf("request %d: another prefix", i)
		}
		if fmt.Sprint(now.Messages[:len(was.Messages)]) != fmt.Sprint(was.Messages) {
			t.Fatalf("request %d: the beginning changed", i)
		}
	}
}

// fakeGraph becomes ready in the middle of a session.
type fakeGraph struct{ ready bool }

func (g *fakeGraph) Ready() bool { return g.ready }

func (g *fakeGraph) Query(_ context.Context, q tools.GraphQuery) (tools.GraphAnswer, error) {
	return tools.GraphAnswer{Status: "ok", Complete: true, Count: 1, Text: "a.go:3 function " + q.Target}, nil
}

func TestGraphAppearsWhenReady(t *testing.T) {
	g := &fakeGraph{}
	b := newBench(t, func(o *Options) { o.Graph = g })
	has := func(r model.Request) bool {
		for _, tool := range r.Tools {
			if tool.Name == "graph_query" {
				return true
			}
		}
		return false
	}
	b.brain.play(do(call("list_files", map[string]any{})), func(ctx context.Context, r model.Request, on func(model.Event)) (model.Response, error) {
		g.ready = true
		return do(call("list_files", map[string]any{"limit": 1}))(ctx, r, on)
	}, do(call("graph_query", map[string]any{"op": "definitions", "target": "f"})), say("ok"))
	b.prompt("go")
	for i, want := range []bool{false, false, true, true} {
		if has(b.brain.request(i)) != want {
			t.Errorf("request %d: graph_query %v", i, !want)
		}
	}
	if r := b.results()[2]; r.Status != "ok" || !strings.Contains(r.Text, "function f") {
		t.Errorf("%+v", r)
	}
}

func TestCompaction(t *testing.T) {
	b := newBench(t)
	b.m.compactAt, b.m.compactTo = 3000, 1500
	for i := range 6 {
		b.write(fmt.Sprintf("f%d.txt", i), strings.Repeat("some text of a file\n", 120))
	}
	read := func(i int) step { return do(call("read_file", map[string]any{"path": fmt.Sprintf("f%d.txt", i)})) }
	noUsage := func(s step) step {
		return func(ctx context.Context, r model.Request, on func(model.Event)) (model.Response, error) {
			resp, err := s(ctx, r, on)
			resp.Usage = model.Usage{}
			return resp, err
		}
	}
	b.brain.play(noUsage(read(0)), noUsage(read(1)), noUsage(say("seen")))
	b.prompt("look at the first ones")
	for i := 2; i < 6; i++ {
		b.brain.play(noUsage(read(i)))
	}
	b.brain.play(noUsage(doLate(func(model.Request) []callSpec {
		base := object(b.results()[0].Text)["base"]
		return []callSpec{call("edit_file", map[string]any{"path": "f0.txt", "base": base, "edits": []map[string]any{{"old": "some text of a file\n", "new": "x\n", "all": true}}})}
	})), noUsage(say("done")))
	if o := b.prompt("look at the others"); o.Stop != StopEndTurn {
		t.Fatalf("outcome %+v", o)
	}
	last := b.brain.request(-1)
	valid(t, append(last.Messages, model.Message{Role: model.Assistant, Parts: []model.Part{{Kind: model.TextPart, Text: "x"}}}))
	if last.Messages[0].Role != model.User {
		t.Error("the context begins with the model")
	}
	total := 0
	for _, m := range last.Messages {
		for _, p := range m.Parts {
			total += len(p.Text)
		}
	}
	if total > 4*3000 {
		t.Errorf("%d bytes in the context", total)
	}
	if n := count(last, "look at the others"); n != 1 {
		t.Errorf("the running prompt is there %d times", n)
	}
	if count(last, "left your context") == 0 || count(last, "f0.txt") == 0 {
		t.Error("the model is not told what left")
	}
	if !strings.Contains(b.client.notices(), "left the model's context") {
		t.Errorf("notices %q", b.client.notices())
	}
	// C08: the guard's map is independent of the transcript.
	if r := b.results()[6]; r.Status != "applied" {
		t.Errorf("edit after compaction: %s", r.Text)
	}
	// The transcript is complete.
	if got := b.results()[0].Text; strings.Count(got, "some text") != 120 {
		t.Error("the transcript lost something")
	}
}

// Two sessions of one server: the later writer is refused and the other named.
func TestTwoSessions(t *testing.T) {
	b := newBench(t)
	b.write("a.txt", "one\n")
	first := b.id
	second, err := b.m.Start(context.Background(), StartOptions{Title: "second"})
	if err != nil {
		t.Fatal(err)
	}
	run := func(id string, steps ...step) {
		t.Helper()
		b.id = id
		b.brain.play(steps...)
		b.brain.play(say("ok"))
		b.prompt("go")
	}
	edit := func(new string) step {
		return doLate(func(r model.Request) []callSpec {
			return []callSpec{call("edit_file", map[string]any{"path": "a.txt", "base": lastBase(r, "a.txt"), "edits": []map[string]any{{"old": "one", "new": new}}})}
		})
	}
	read := do(call("read_file", map[string]any{"path": "a.txt"}))
	run(first, read)
	run(second, read, edit("two"))
	run(first, edit("three"))
	r := b.results()
	if last := r[len(r)-1]; last.Status != "stale_base" || !strings.Contains(last.Text, "session "+second) {
		t.Errorf("%s", last.Text)
	}
	if b.disk("a.txt") != "two\n" {
		t.Errorf("disk %q", b.disk("a.txt"))
	}
	if list := b.m.List(); len(list) != 2 || list[0].ID != first || list[1].Title != "second" {
		t.Errorf("list %+v", list)
	}
	if files, err := b.m.Files(context.Background(), "", false); err != nil || len(files) != 2 {
		t.Errorf("files %+v %v", files, err)
	}
}

func TestAttachments(t *testing.T) {
	b := newBench(t)
	b.write("a.txt", "one\ntwo\nthree\n")
	b.brain.play(doLate(func(r model.Request) []callSpec {
		text := r.Messages[0].Parts[0].Text
		_, after, _ := strings.Cut(text, `"base":"`)
		base, _, _ := strings.Cut(after, `"`)
		return []callSpec{call("edit_file", map[string]any{"path": "a.txt", "base": base, "edits": []map[string]any{{"old": "two", "new": "2"}}})}
	}), say("ok"))
	_, err := b.m.Prompt(context.Background(), Prompt{Session: b.id, Text: "change this", Context: []Attachment{{Path: b.root + "/a.txt", First: 2, Last: 2}, {Path: b.root + "/gone.txt"}}})
	if err != nil {
		t.Fatal(err)
	}
	text := b.transcript()[0].Parts[0].Text
	if !strings.HasPrefix(text, "change this\n") || !strings.Contains(text, "     2\ttwo\n") || strings.Contains(text, "three") || !strings.Contains(text, "gone.txt does not exist") {
		t.Errorf("prompt: %s", text)
	}
	if b.disk("a.txt") != "one\n2\nthree\n" {
		t.Errorf("disk %q, %s", b.disk("a.txt"), b.results()[0].Text)
	}
}

func TestCloseEndsTurns(t *testing.T) {
	b := newBench(t, settings(func(*config.Settings) {}))
	b.brain.play(do(call("run_command", map[string]any{"command": "touch ready; sleep 300"})))
	ended := make(chan Outcome)
	go func() { ended <- b.prompt("go") }()
	for strings.Contains(b.disk("ready"), "no such file") {
		time.Sleep(2 * time.Millisecond)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	if err := b.m.Close(ctx); err != nil {
		t.Error(err)
	}
	if o := <-ended; o.Stop != StopCancelled {
		t.Errorf("outcome %+v", o)
	}
	if _, err := b.m.Prompt(context.Background(), Prompt{Session: b.id, Text: "x"}); !errors.Is(err, ErrClosed) {
		t.Errorf("after close: %v", err)
	}
}

// A panicking or stuck engine costs its part only.
func TestStuckRecallIsCancelled(t *testing.T) {
	e := &fakeEngine{told: make(chan struct{}, 10), wait: make(chan struct{})}
	b := newBench(t, func(o *Options) { o.Context = e })
	ended := make(chan Outcome)
	go func() { ended <- b.prompt("go") }()
	for {
		if list := b.m.List(); list[0].State == Running {
			break
		}
		time.Sleep(time.Millisecond)
	}
	at := time.Now()
	_ = b.m.Cancel(b.id)
	if o := <-ended; o.Stop != StopCancelled || time.Since(at) > soon {
		t.Errorf("outcome %+v after %s", o, time.Since(at))
	}
	close(e.wait)
}
