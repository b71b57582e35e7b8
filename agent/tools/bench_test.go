package tools

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

	"github.com/stella-ls/stella-ls/guard"
	"github.com/stella-ls/stella-ls/internal/config"
	"github.com/stella-ls/stella-ls/internal/workspace"
)

// bench is a workspace, a guarded session and the gate with all built-in tools.
type bench struct {
	t     testing.TB
	root  string
	ws    *workspace.Workspace
	guard *guard.Session
	reg   *Registry
	env   Env
	perm  config.Permissions
	ask   func(Question) Answer
	asked []Question
	mu    sync.Mutex
	calls int
	step  int
}

func (b *bench) Ask(_ context.Context, _ string, q Question) (Answer, error) {
	b.mu.Lock()
	b.asked = append(b.asked, q)
	f := b.ask
	b.mu.Unlock()
	if f == nil {
		return Answer{}, nil
	}
	return f(q), nil
}

func newBench(t testing.TB, change ...func(*Options)) *bench {
	t.Helper()
	b := &bench{t: t, perm: config.Permissions{Write: "allow", Command: "allow", Network: "allow", MCP: "allow"}}
	b.ws = workspace.New(workspace.Options{Roots: []string{t.TempDir()}})
	b.root = b.ws.Roots()[0]
	g, err := guard.New(guard.Options{Workspace: b.ws, StateDir: t.TempDir(), Settings: func() config.Guard { return config.Default().Guard }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		defer cancel()
		if err := g.Close(ctx); err != nil {
			t.Error(err)
		}
	})
	b.guard = g.Session("s-1", b.root)
	o := Options{Permissions: &Permissions{
		Settings: func() config.Permissions { return b.perm },
		Trusted:  func() bool { return true },
	}}
	for _, f := range change {
		f(&o)
	}
	b.reg = NewRegistry(o)
	for _, tool := range Builtin(BuiltinOptions{Workspace: b.ws}) {
		if err := b.reg.Add(tool); err != nil {
			t.Fatal(err)
		}
	}
	b.env = Env{Session: "s-1", Guard: b.guard, Root: b.root, Ask: b}
	return b
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
		return "(absent)"
	}
	return string(raw)
}

type in map[string]any

// mk makes a call.
func (b *bench) mk(tool string, input in) Call {
	raw, err := json.Marshal(input)
	if err != nil {
		b.t.Fatal(err)
	}
	b.calls++
	return Call{ID: fmt.Sprintf("c%d", b.calls), Tool: tool, Input: raw, Turn: 1, Step: b.step}
}

// message runs the calls of one model message and delivers what they showed.
func (b *bench) message(calls ...Call) []Result {
	b.t.Helper()
	return b.messageIn(context.Background(), calls...)
}

func (b *bench) messageIn(ctx context.Context, calls ...Call) []Result {
	b.t.Helper()
	b.step++
	for i := range calls {
		calls[i].Step = b.step
	}
	var out []Result
	b.reg.Execute(ctx, b.env, calls, func(i int, res Result) {
		if i != len(out) {
			b.t.Errorf("result %d came after %d results", i, len(out))
		}
		b.guard.Deliver(res.Observed...)
		out = append(out, res)
	})
	if len(out) != len(calls) {
		b.t.Fatalf("%d results of %d calls", len(out), len(calls))
	}
	return out
}

func (b *bench) call(tool string, input in) Result {
	b.t.Helper()
	return b.message(b.mk(tool, input))[0]
}

// read reads a file whole and returns its base.
func (b *bench) read(name string) string {
	b.t.Helper()
	r := b.call("read_file", in{"path": name})
	o, ok := r.Object.(readObject)
	if !ok {
		b.t.Fatalf("read %s: %s", name, r.Text())
	}
	return string(o.Base)
}

func want(t testing.TB, r Result, status string, parts ...string) {
	t.Helper()
	if r.Status != status {
		t.Errorf("status %q, want %q: %s", r.Status, status, r.Text())
	}
	wire := strings.SplitN(r.Text(), "\n", 4)
	var o struct{ Status string }
	if len(wire) < 2 || wire[0] == "" || json.Unmarshal([]byte(wire[1]), &o) != nil || o.Status != status {
		t.Errorf("the wire form is not head, object, body: %q", r.Text())
	}
	if len(wire) > 2 && wire[2] != "" {
		t.Errorf("no empty line before the body: %q", r.Text())
	}
	for _, p := range parts {
		if !strings.Contains(r.Text(), p) {
			t.Errorf("no %q in: %s", p, r.Text())
		}
	}
}

// resultBase is the base that a mutation returned.
func resultBase(r Result) string {
	if g, ok := r.Object.(guard.Result); ok {
		return string(g.Base)
	}
	return ""
}
