package agent

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stella-ls/stella-ls/agent/model"
	"github.com/stella-ls/stella-ls/agent/tools"
	"github.com/stella-ls/stella-ls/guard"
	"github.com/stella-ls/stella-ls/internal/config"
	"github.com/stella-ls/stella-ls/internal/workspace"
)

// bench is a workspace on a temporary disk with one session whose model plays
// functions.
type bench struct {
	t      *testing.T
	root   string
	ws     *workspace.Workspace
	guard  *guard.Guard
	m      *Manager
	client *recorder
	brain  *fakeModel
	id     string
}

// soon bounds a cancel in these tests. The promise is 200 ms; that is measured in
// virtual time by the tests of the gate, and here a busy machine has its say.
const soon = 2 * time.Second

// step answers one request.
type step func(ctx context.Context, r model.Request, on func(model.Event)) (model.Response, error)

// fakeModel plays steps in order and keeps the requests.
type fakeModel struct {
	mu       sync.Mutex
	steps    []step
	requests []model.Request
}

func (f *fakeModel) Name() string { return "fake/model" }

func (f *fakeModel) Stream(ctx context.Context, r model.Request, on func(model.Event)) (model.Response, error) {
	f.mu.Lock()
	f.requests = append(f.requests, r)
	if len(f.steps) == 0 {
		f.mu.Unlock()
		return say("nothing left to say")(ctx, r, on)
	}
	next := f.steps[0]
	f.steps = f.steps[1:]
	f.mu.Unlock()
	return next(ctx, r, on)
}

func (f *fakeModel) play(steps ...step) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.steps = append(f.steps, steps...)
}

func (f *fakeModel) request(i int) model.Request {
	f.mu.Lock()
	defer f.mu.Unlock()
	if i < 0 {
		i += len(f.requests)
	}
	return f.requests[i]
}

func (f *fakeModel) asked() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.requests)
}

// say is a step that answers with text.
func say(text string) step {
	return func(_ context.Context, _ model.Request, on func(model.Event)) (model.Response, error) {
		on(model.Event{Kind: model.EventText, Text: text})
		return model.Response{Stop: model.StopEnd, Message: model.Message{Role: model.Assistant,
			Parts: []model.Part{{Kind: model.TextPart, Text: text}}}, Usage: used(100, 10)}, nil
	}
}

func used(in, out int64) model.Usage { return model.Usage{Input: &in, Output: &out} }

type callSpec struct {
	tool  string
	input any
}

func call(tool string, input map[string]any) callSpec { return callSpec{tool, input} }

// do is a step that makes calls; an input that is a string is broken JSON.
func do(calls ...callSpec) step {
	return doLate(func(model.Request) []callSpec { return calls })
}

var callCount int
var callMu sync.Mutex

// doLate makes calls that depend on the request.
func doLate(f func(model.Request) []callSpec) step {
	return func(_ context.Context, r model.Request, _ func(model.Event)) (model.Response, error) {
		resp := model.Response{Stop: model.StopTools, Message: model.Message{Role: model.Assistant}, Usage: used(100, 10)}
		for _, c := range f(r) {
			callMu.Lock()
			callCount++
			p := model.Part{Kind: model.ToolCallPart, CallID: fmt.Sprintf("c%d", callCount), Tool: c.tool}
			callMu.Unlock()
			if s, bad := c.input.(string); bad {
				p.BadInput = s
			} else {
				p.Input, _ = json.Marshal(c.input)
			}
			resp.Message.Parts = append(resp.Message.Parts, p)
		}
		return resp, nil
	}
}

// recorder is a client that keeps what it is told.
type recorder struct {
	mu      sync.Mutex
	updates []Update
	answer  func(q tools.Question) tools.Answer
	asked   []tools.Question
}

func (r *recorder) Update(u Update) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.updates = append(r.updates, u)
}

func (r *recorder) Ask(ctx context.Context, _ string, q tools.Question) (tools.Answer, error) {
	r.mu.Lock()
	r.asked = append(r.asked, q)
	f := r.answer
	r.mu.Unlock()
	if f == nil {
		return tools.Answer{}, nil
	}
	return f(q), nil
}

func (r *recorder) Diagnostics(context.Context, string) ([]Diagnostic, bool) { return nil, false }

// of are the updates of one kind so far.
func (r *recorder) of(kind UpdateKind) []Update {
	r.mu.Lock()
	defer r.mu.Unlock()
	var out []Update
	for _, u := range r.updates {
		if u.Kind == kind {
			out = append(out, u)
		}
	}
	return out
}

func (r *recorder) notices() string {
	var out []string
	for _, u := range r.of(UpdateNotice) {
		out = append(out, u.Text)
	}
	return strings.Join(out, "\n")
}

func newBench(t *testing.T, opts ...func(*Options)) *bench {
	t.Helper()
	b := &bench{t: t, root: t.TempDir(), client: &recorder{}, brain: &fakeModel{}}
	b.ws = workspace.New(workspace.Options{Roots: []string{b.root}})
	b.root = b.ws.Roots()[0]
	var err error
	b.guard, err = guard.New(guard.Options{Workspace: b.ws, StateDir: t.TempDir(),
		Settings: func() config.Guard { return config.Default().Guard }})
	if err != nil {
		t.Fatal(err)
	}
	o := Options{Workspace: b.ws, Guard: b.guard, Client: b.client, Trusted: func() bool { return true },
		Model: func(string) (model.Model, error) { return b.brain, nil }}
	for _, f := range opts {
		f(&o)
	}
	b.m = NewManager(o)
	if b.id, err = b.m.Start(context.Background(), StartOptions{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		defer cancel()
		if err := b.m.Close(ctx); err != nil {
			t.Error(err)
		}
		if err := b.guard.Close(ctx); err != nil {
			t.Error(err)
		}
	})
	return b
}

func settings(f func(*config.Settings)) func(*Options) {
	return func(o *Options) {
		s := config.Default()
		s.Permissions.Command = "allow"
		f(&s)
		o.Settings = func() config.Settings { return s }
	}
}

func (b *bench) write(name, text string) {
	b.t.Helper()
	p := filepath.Join(b.root, name)
	if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
		b.t.Fatal(err)
	}
	if err := os.WriteFile(p, []byte(text), 0o644); err != nil {
		b.t.Fatal(err)
	}
}

func (b *bench) disk(name string) string {
	raw, err := os.ReadFile(filepath.Join(b.root, name))
	if err != nil {
		return "(" + err.Error() + ")"
	}
	return string(raw)
}

func (b *bench) prompt(text string) Outcome {
	b.t.Helper()
	o, err := b.m.Prompt(context.Background(), Prompt{Session: b.id, Text: text})
	if err != nil {
		b.t.Fatal(err)
	}
	return o
}

// results are all tool results of the transcript, in order.
func (b *bench) results() []model.Part {
	b.t.Helper()
	tr, err := b.m.Get(b.id)
	if err != nil {
		b.t.Fatal(err)
	}
	return resultsIn(tr.Messages)
}

func resultsIn(messages []model.Message) []model.Part {
	var out []model.Part
	for _, m := range messages {
		for _, p := range m.Parts {
			if p.Kind == model.ToolResultPart {
				out = append(out, p)
			}
		}
	}
	return out
}

// lastBase is the base in the newest result of a request that has one for path.
func lastBase(r model.Request, path string) string {
	base := ""
	for _, p := range resultsIn(r.Messages) {
		o := object(p.Text)
		if o["path"] == path && o["base"] != nil {
			base = o["base"].(string)
		}
	}
	return base
}

// object is line 2 of a result.
func object(text string) map[string]any {
	lines := strings.SplitN(text, "\n", 3)
	var o map[string]any
	if len(lines) > 1 {
		_ = json.Unmarshal([]byte(lines[1]), &o)
	}
	return o
}

// valid fails when a transcript could not be sent to a model.
func valid(t *testing.T, messages []model.Message) {
	t.Helper()
	var open []string
	for i, m := range messages {
		if len(m.Parts) == 0 {
			t.Errorf("message %d is empty", i)
		}
		var closed []string
		for _, p := range m.Parts {
			if p.Kind == model.ToolResultPart {
				closed = append(closed, p.CallID)
			}
		}
		if strings.Join(open, " ") != strings.Join(closed, " ") {
			t.Errorf("message %d closes %v, open were %v", i, closed, open)
		}
		open = nil
		for _, p := range m.Parts {
			if p.Kind == model.ToolCallPart {
				open = append(open, p.CallID)
			}
		}
	}
	if len(open) > 0 {
		t.Errorf("calls without a result: %v", open)
	}
}

func (b *bench) transcript() []model.Message {
	b.t.Helper()
	tr, err := b.m.Get(b.id)
	if err != nil {
		b.t.Fatal(err)
	}
	return tr.Messages
}
