package lsp

import (
	"strings"
	"testing"

	"github.com/stella-ls/stella-ls/agent"
	"github.com/stella-ls/stella-ls/guard"
	"github.com/stella-ls/stella-ls/internal/workspace"
)

func TestStatusSendsWhatChangedWithTotals(t *testing.T) {
	var changed func(string, []guard.Guarded)
	c := startClient(t, testSetup{open: func(o Opening) { changed = o.Changed }})
	c.call("stella/session/list", nil)
	row := func(path string, state guard.FileState) []guard.Guarded {
		return []guard.Guarded{{Path: workspace.Path(path), State: state, SeenAt: "t"}}
	}
	last := func(want string) GuardStatusParams {
		t.Helper()
		m := c.wait(want, func(m wireMessage) bool {
			return m.Method == MethodGuardStatus && strings.Contains(string(m.Params), want)
		})
		return into[GuardStatusParams](t, m.Params)
	}
	changed("s-1", row("/w/a", guard.Fresh))
	if p := last(`"fresh":1`); len(p.Files) != 1 || p.Files[0].URI != "file:///w/a" || p.Stale != 0 || p.Files[0].ChangedBy == nil {
		t.Errorf("%+v", p)
	}
	changed("s-2", row("/w/a", guard.Fresh))
	if p := last(`"fresh":2`); len(p.Files) != 1 || p.Files[0].SessionID != "s-2" {
		t.Errorf("%+v", p)
	}
	changed("s-1", row("/w/a", guard.Stale))
	if p := last(`"stale":1`); len(p.Files) != 1 || p.Files[0].State != "stale" || p.Fresh != 1 {
		t.Errorf("%+v", p)
	}
	changed("s-1", row("/w/a", ""))
	if p := last(`"files":[]`); p.Fresh != 1 || p.Stale != 0 {
		t.Errorf("after the belief was dropped: %+v", p)
	}
}

func TestStatusMergesWhileItSends(t *testing.T) {
	s := NewServer(Config{})
	s.ws = workspace.New(workspace.Options{})
	f := newStatusFeed(s)
	for range 100 {
		f.push("s", []guard.Guarded{{Path: "/w/a", State: guard.Fresh}, {Path: "/w/b", State: guard.Stale}})
	}
	p, ok := f.take()
	if !ok || len(p.Files) != 2 || p.Fresh != 1 || p.Stale != 1 {
		t.Errorf("%+v %v", p, ok)
	}
	if _, ok := f.take(); ok {
		t.Error("told twice")
	}
}

func TestCommentPrompt(t *testing.T) {
	for _, x := range []struct{ text, want string }{
		{"// stella: why is this slow?\n", "why is this slow?"},
		{"x = 1  # Stella: double it\n", "double it"},
		{"/* stella: explain */\n", "explain"},
		{"<!-- stella: fix the link -->\n", "fix the link"},
		{"-- stella: add an index\n", "add an index"},
		{"; stella: name this\n", "name this"},
		{"# stella: first line\n#   and more of it\n# the end\ncode()\n", "first line and more of it the end"},
		{"/* stella: one\n * two\n */\n", "one two"},
		{"no comment\n", ""},
		{"url = \"http://x/stella: y\"\n", ""},
		{"# stella:\n", ""},
	} {
		here := Range{}
		if got := commentPrompt(x.text, here); got != x.want {
			t.Errorf("%q: got %q, want %q", x.text, got, x.want)
		}
	}
	below := Range{Start: Position{Line: 2}, End: Position{Line: 2}}
	if got := commentPrompt("# stella: first\n# second\n# third\n", below); got != "first second third" {
		t.Errorf("from the last line: %q", got)
	}
}

func TestTwinsOfCustomRequests(t *testing.T) {
	c := startClient(t, testSetup{})
	for _, command := range []string{"stella.server.session.list", "stella.session.list"} {
		r := c.call("workspace/executeCommand", map[string]any{"command": command, "arguments": []any{map[string]any{}}})
		if string(r.Result) != `{"sessions":[]}` {
			t.Errorf("%s: %s %+v", command, r.Result, r.Error)
		}
	}
	if r := c.call("workspace/executeCommand", map[string]any{"command": "other.thing"}); r.Error == nil || r.Error.Code != -32602 {
		t.Errorf("an unknown command: %+v", r.Error)
	}
	if r := c.call("workspace/executeCommand", map[string]any{"command": "stella.server.session.prompt", "arguments": []any{map[string]any{"text": "x"}}}); r.Error == nil || r.Error.Code != -32602 {
		t.Errorf("a twin without its parameters: %+v", r.Error)
	}
}

func TestAskCommandForPlainClients(t *testing.T) {
	f := &fakeSessions{}
	c := startClient(t, testSetup{sessions: f})
	r := c.call("workspace/executeCommand", map[string]any{"command": "stella.server.ask", "arguments": []any{"what is this?"}})
	if got := into[AskResult](t, r.Result); got.SessionID != "s-1" || got.Stop != "end_turn" {
		t.Errorf("%s %+v", r.Result, r.Error)
	}
	if len(f.prompts) != 1 || f.prompts[0].Text != "what is this?" {
		t.Errorf("prompts %+v", f.prompts)
	}
	c.method("window/showMessage")
}

func TestReviewAndUndo(t *testing.T) {
	c := startClient(t, testSetup{sessions: &fakeSessions{list: []agent.Info{{ID: "s-new"}, {ID: "s-1", Turns: 2}}}})
	r := c.call("stella/changes", map[string]any{"sessionId": "s-1"})
	if got := into[ChangesResult](t, r.Result); len(got.Files) != 1 || got.Files[0].Edits[0] != "s-1/e1" || got.Files[0].URI != "file:///w/a" || !got.Files[0].Undoable {
		t.Errorf("%s %+v", r.Result, r.Error)
	}
	r = c.call("stella/undo", map[string]any{"sessionId": "s-1"})
	if got := into[UndoResult](t, r.Result); len(got.Undone) != 1 || len(got.Refused) != 1 || !strings.Contains(string(got.Refused[0]), "stale_base") {
		t.Errorf("%s %+v", r.Result, r.Error)
	}
	if r = c.call("stella/undo", map[string]any{"sessionId": "s-1", "edit": "e9"}); r.Error == nil || r.Error.Code != -32602 {
		t.Errorf("no such edit: %+v", r.Error)
	}
	if r = c.call("workspace/executeCommand", map[string]any{"command": "stella.server.undo"}); r.Error != nil || !strings.Contains(string(r.Result), "file:///w/a") {
		t.Errorf("%s %+v", r.Result, r.Error)
	}
}
