package memory

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stella-ls/stella-ls/agent/tools"
	"github.com/stella-ls/stella-ls/guard"
	"github.com/stella-ls/stella-ls/internal/config"
	"github.com/stella-ls/stella-ls/internal/workspace"
)

// save_memory passes the same gate as every tool that changes a file: an update
// planned against a memory that a person edited since is refused.
func TestSaveMemoryIsGuarded(t *testing.T) {
	ws := workspace.New(workspace.Options{Roots: []string{t.TempDir()}})
	root := ws.Roots()[0]
	g, err := guard.New(guard.Options{Workspace: ws, StateDir: t.TempDir(), Settings: func() config.Guard { return config.Default().Guard }})
	if err != nil {
		t.Fatal(err)
	}
	m := New(Options{Workspace: ws})
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		defer cancel()
		if err := g.Close(ctx); err != nil {
			t.Error(err)
		}
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	})
	session := g.Session("s-1", root)
	allow := config.Permissions{Write: "allow", Command: "ask", Network: "ask", MCP: "ask"}
	gate := tools.NewRegistry(tools.Options{Permissions: &tools.Permissions{Settings: func() config.Permissions { return allow }}})
	for _, tool := range append(m.Tools("s-1"), tools.Builtin(tools.BuiltinOptions{Workspace: ws})...) {
		if err := gate.Add(tool); err != nil {
			t.Fatal(err)
		}
	}
	call := func(tool string, input map[string]any) tools.Result {
		t.Helper()
		raw, _ := json.Marshal(input)
		var out tools.Result
		gate.Execute(t.Context(), tools.Env{Session: "s-1", Guard: session, Root: root}, []tools.Call{{ID: "c", Tool: tool, Input: raw}}, func(_ int, r tools.Result) {
			session.Deliver(r.Observed...)
			out = r
		})
		return out
	}
	first := call("save_memory", map[string]any{"slug": "build", "memory": "make test takes eight minutes"})
	if first.Status != "applied" || !strings.Contains(first.Text(), "nod_") {
		t.Fatalf("%s", first.Text())
	}
	path := filepath.Join(root, ".stella", "memories", "build.md")
	if r := call("save_memory", map[string]any{"slug": "build", "memory": "else"}); r.Status != "exists" || !r.IsError {
		t.Errorf("an update without a base: %s", r.Text())
	}
	read := call("read_file", map[string]any{"path": ".stella/memories/build.md"})
	_, after, _ := strings.Cut(read.Text(), `"base":"`)
	base, _, _ := strings.Cut(after, `"`)
	if err := os.WriteFile(path, []byte("a person's words\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	r := call("save_memory", map[string]any{"slug": "build", "memory": "else", "base": base})
	if r.Status != "stale_base" || !r.IsError {
		t.Errorf("a stale update: %s", r.Text())
	}
	if got, _ := os.ReadFile(path); string(got) != "a person's words\n" {
		t.Errorf("the file holds %q", got)
	}
}
