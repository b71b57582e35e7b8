package lsp

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stella-ls/stella-ls/agent/memory"
	"github.com/stella-ls/stella-ls/guard"
	"github.com/stella-ls/stella-ls/internal/config"
	"github.com/stella-ls/stella-ls/internal/workspace"
)

// stellaClient is a client of a server with a context engine over root.
func stellaClient(t *testing.T, root string) *testClient {
	t.Helper()
	var m *memory.Memory
	caps := map[string]any{"textDocument": map[string]any{"codeAction": map[string]any{
		"codeActionLiteralSupport": map[string]any{"codeActionKind": map[string]any{"valueSet": []string{"quickfix"}}}}}}
	c := startClient(t, testSetup{root: root, caps: caps, open: func(o Opening) { m = memory.New(memory.Options{Workspace: o.Workspace}) }})
	c.call("stella/session/list", nil)
	c.server.backend.Memory = m
	c.server.backend.Problems = func(string) []config.Problem {
		return []config.Problem{{File: filepath.Join(root, ".stella", "settings.toml"), Line: 2, Key: "guard.sav", Message: "is unknown"}}
	}
	t.Cleanup(func() { _ = m.Close() })
	return c
}

func openDocument(c *testClient, path, text string) string {
	uri := "file://" + path
	c.notify("textDocument/didOpen", map[string]any{"textDocument": map[string]any{"uri": uri, "languageId": "x", "version": 1, "text": text}})
	return uri
}

func TestDeadAnchorsAndSettingsAreDiagnosed(t *testing.T) {
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(root, ".stella", "memories"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(root, "src"), 0o755); err != nil { // a path is meant as one when its first directory is there
		t.Fatal(err)
	}
	c := stellaClient(t, root)
	text := "The rates are in `src/gone.py`.\n"
	uri := openDocument(c, filepath.Join(root, ".stella", "memories", "rates.md"), text)
	published := func(what string) string {
		return string(c.wait(what, func(m wireMessage) bool {
			return m.Method == "textDocument/publishDiagnostics" && strings.Contains(string(m.Params), what)
		}).Params)
	}
	if got := published("src/gone.py"); !strings.Contains(got, `"version":1`) || !strings.Contains(got, `"source":"stella"`) {
		t.Errorf("published %s", got)
	}
	at := map[string]any{"line": 0, "character": 20}
	r := c.call("textDocument/codeAction", map[string]any{"textDocument": map[string]any{"uri": uri}, "range": map[string]any{"start": at, "end": at}, "context": map[string]any{"diagnostics": []any{}}})
	for _, want := range []string{"Promote to rule", "Remove the dead anchor", `"newText":""`} {
		if !strings.Contains(string(r.Result), want) {
			t.Errorf("no %q in %s", want, r.Result)
		}
	}
	openDocument(c, filepath.Join(root, ".stella", "settings.toml"), "[guard]\nsav = 1\n")
	if got := published("guard.sav"); !strings.Contains(got, `"start":{"line":1,"character":0}`) {
		t.Errorf("published %s", got)
	}
}

func TestActionsOnAStaleFile(t *testing.T) {
	var changed func(string, []guard.Guarded)
	c := startClient(t, testSetup{open: func(o Opening) { changed = o.Changed }})
	c.call("stella/session/list", nil)
	uri := openDocument(c, "/w/a.txt", "x\n")
	changed("s-9", []guard.Guarded{{Path: workspace.Path("/w/a.txt"), State: guard.Stale}})
	zero := map[string]any{"line": 0, "character": 0}
	r := c.call("textDocument/codeAction", map[string]any{"textDocument": map[string]any{"uri": uri}, "range": map[string]any{"start": zero, "end": zero}, "context": map[string]any{"diagnostics": []any{}}})
	if got := string(r.Result); !strings.Contains(got, "stella.server.replan") || !strings.Contains(got, "stella.server.showSeen") || !strings.Contains(got, `"sessionId":"s-9"`) {
		t.Errorf("actions %s", got)
	}
}
