package lsp

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stella-ls/stella-ls/agent"
	"github.com/stella-ls/stella-ls/agent/tools"
	"github.com/stella-ls/stella-ls/guard"
	"github.com/stella-ls/stella-ls/internal/workspace"
)

// TestSplicesRoundTrip turns random splices into wire edits and applies them, last
// first, as a client does.
func TestSplicesRoundTrip(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	alphabet := []string{"a", "é", "😀", "\n", "\r\n", "\r", " ", "x"}
	for _, c := range []counting{
		{workspace.UTF8, workspace.SpecLines}, {workspace.UTF16, workspace.SpecLines}, {workspace.UTF32, workspace.SpecLines},
		{workspace.UTF8, workspace.NewlineLines}, {workspace.UTF16, workspace.NewlineLines},
	} {
		for range 3000 {
			var text string
			var cuts []int
			for range rng.IntN(30) {
				text += alphabet[rng.IntN(len(alphabet))]
				// A splice never ends between the two bytes of a line end: no
				// position says that.
				if !strings.HasSuffix(text, "\r") {
					cuts = append(cuts, len(text))
				}
			}
			cuts = slices.DeleteFunc(cuts, func(i int) bool { return i < len(text) && text[i-1] == '\r' && text[i] == '\n' })
			var splices []guard.Splice
			want, last := "", 0
			for i := 0; i+1 < len(cuts); i += 2 {
				s := guard.Splice{Start: cuts[i], End: cuts[i+1], New: alphabet[rng.IntN(len(alphabet))]}
				splices = append(splices, s)
				want += text[last:s.Start] + s.New
				last = s.End
			}
			want += text[last:]
			got := text
			for _, e := range slices.Backward(c.splices(text, splices)) {
				got = got[:c.offset(text, e.Range.Start)] + e.NewText + got[c.offset(text, e.Range.End):]
			}
			if got != want {
				t.Fatalf("%v: %q with %v gave %q, want %q", c, text, splices, got, want)
			}
		}
	}
}

// editorClient starts a client with the capabilities and an open document.
func editorClient(t *testing.T, caps map[string]any, version int) (*testClient, *editor, guard.EditorWrite) {
	t.Helper()
	c := startClient(t, testSetup{caps: caps})
	uri := "file://" + filepath.Join(t.TempDir(), "a(b).txt")
	c.notify("textDocument/didOpen", map[string]any{"textDocument": map[string]any{"uri": uri, "languageId": "x", "version": version, "text": "one\ntwo\n"}})
	c.call("stella/session/list", nil)
	b := c.server.ws.Documents()[0].Buffer
	return c, &editor{c.server}, guard.EditorWrite{Buffer: b, Splices: []guard.Splice{{Start: 4, End: 7, New: "2"}}, After: workspace.DigestOfString("one\n2\n"), Save: true, Label: "Stella: edit"}
}

func TestCompareAndSet(t *testing.T) {
	c, ed, w := editorClient(t, map[string]any{"experimental": map[string]any{"stella": map[string]any{"applyEdit": true}}}, 3)
	c.answer = func(m wireMessage) (any, bool) {
		if m.Method != MethodApplyEdit {
			return nil, true
		}
		return ApplyEditResult{Applied: true, Version: 4, SHA256Applied: "sha256:x", Saved: true, SHA256After: "sha256:y"}, true
	}
	if a := ed.Abilities(); !a.CompareAndSet {
		t.Errorf("abilities %+v", a)
	}
	got, err := ed.Apply(t.Context(), w)
	if err != nil || !got.Applied || !got.Saved || got.Version != 4 || got.SHA256Applied != "sha256:x" || got.SHA256After != "sha256:y" {
		t.Errorf("answer %+v %v", got, err)
	}
	p := into[ApplyEditParams](t, c.method(MethodApplyEdit).Params)
	want := ApplyEditParams{
		URI: w.Buffer.URI, Version: 3, SHA256: string(w.Buffer.Digest), Save: true, Label: "Stella: edit",
		Edits: []TextEdit{{Range: Range{Start: Position{Line: 1}, End: Position{Line: 1, Character: 3}}, NewText: "2"}},
	}
	if fmt.Sprint(p) != fmt.Sprint(want) {
		t.Errorf("sent %+v\nwant %+v", p, want)
	}
	if !strings.Contains(p.URI, "a(b).txt") {
		t.Errorf("the client's spelling was lost: %s", p.URI)
	}
}

func TestEditWithoutAnAnswerIsUnknown(t *testing.T) {
	c, ed, w := editorClient(t, map[string]any{"experimental": map[string]any{"stella": map[string]any{"applyEdit": true}}}, 3)
	asked := make(chan struct{})
	c.answer = func(m wireMessage) (any, bool) {
		if m.Method == MethodApplyEdit {
			close(asked)
			return nil, false
		}
		return nil, true
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("the turn ended")
	go func() { <-asked; cancel(why) }()
	if _, err := ed.Apply(ctx, w); !errors.Is(err, why) {
		t.Errorf("error %v, want the cause", err)
	}
	c.method("$/cancelRequest")
}

func TestPlainClientGetsVersionedEdits(t *testing.T) {
	plain := map[string]any{"workspace": map[string]any{"applyEdit": true, "workspaceEdit": map[string]any{"documentChanges": true}}}
	c, ed, w := editorClient(t, plain, 7)
	c.answer = func(m wireMessage) (any, bool) { return map[string]any{"applied": true}, true }
	got, err := ed.Apply(t.Context(), w)
	if err != nil || !got.Applied || got.Saved {
		t.Errorf("answer %+v %v", got, err)
	}
	sent := string(c.method("workspace/applyEdit").Params)
	if !strings.Contains(sent, `"version":7`) || !strings.Contains(sent, "a(b).txt") || strings.Contains(sent, `"changes"`) {
		t.Errorf("sent %s", sent)
	}
	if a := ed.Abilities(); a.CompareAndSet || !a.ApplyEdit || !a.Versioned {
		t.Errorf("abilities %+v", a)
	}
}

func TestNoEditForVersionZeroOrWithoutVersions(t *testing.T) {
	for name, c := range map[string]struct {
		caps    map[string]any
		version int
	}{
		"version 0":       {map[string]any{"workspace": map[string]any{"applyEdit": true, "workspaceEdit": map[string]any{"documentChanges": true}}}, 0},
		"no versions":     {map[string]any{"workspace": map[string]any{"applyEdit": true}}, 3},
		"no edits at all": {map[string]any{}, 3},
	} {
		t.Run(name, func(t *testing.T) {
			client, ed, w := editorClient(t, c.caps, c.version)
			got, err := ed.Apply(t.Context(), w)
			if err != nil || got.Applied || got.Reason == "" {
				t.Errorf("answer %+v %v", got, err)
			}
			for _, m := range client.messages() {
				if m.Method == "workspace/applyEdit" {
					t.Error("an edit was sent")
				}
			}
		})
	}
}

var question = tools.Question{Kind: "command", Title: "Run it?", Command: "make", Options: []tools.Option{{ID: "once", Title: "Allow once"}, {ID: "deny", Title: "Deny"}}}

func ask(t *testing.T, caps map[string]any, reply func(m wireMessage) (any, bool)) (tools.Answer, error, *testClient) {
	t.Helper()
	c := startClient(t, testSetup{caps: caps})
	c.answer = reply
	a, err := (&sessionClient{c.server}).Ask(t.Context(), "s-1", question)
	return a, err, c
}

func TestPermissionGoesToTheExtension(t *testing.T) {
	a, err, c := ask(t, map[string]any{"experimental": map[string]any{"stella": map[string]any{"permission": true}}},
		func(m wireMessage) (any, bool) { return PermissionResult{Choice: "once"}, true })
	if err != nil || a.Choice != "once" {
		t.Errorf("answer %+v %v", a, err)
	}
	p := into[PermissionParams](t, c.method(MethodPermission).Params)
	if p.Kind != "command" || p.Command != "make" || len(p.Options) != 2 {
		t.Errorf("asked %+v", p)
	}
}

func TestPermissionFallsBackToAMessage(t *testing.T) {
	a, err, c := ask(t, nil, func(m wireMessage) (any, bool) { return map[string]string{"title": "Deny"}, true })
	if err != nil || a.Choice != "deny" {
		t.Errorf("answer %+v %v", a, err)
	}
	if sent := string(c.method("window/showMessageRequest").Params); !strings.Contains(sent, "Run it?") || !strings.Contains(sent, "make") {
		t.Errorf("sent %s", sent)
	}
}

func TestClosedQuestionAllowsNothing(t *testing.T) {
	if a, err, _ := ask(t, nil, func(wireMessage) (any, bool) { return nil, true }); err != nil || a.Choice != "" {
		t.Errorf("answer %+v %v", a, err)
	}
}

func TestDiagnosticsAreUTF16(t *testing.T) {
	root := t.TempDir()
	file := filepath.Join(root, "a.txt")
	if err := os.WriteFile(file, []byte("x😀y\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	c := startClient(t, testSetup{root: root, caps: map[string]any{
		"general":      map[string]any{"positionEncodings": []string{"utf-8", "utf-16"}},
		"experimental": map[string]any{"stella": map[string]any{"diagnostics": true}},
	}})
	c.answer = func(m wireMessage) (any, bool) {
		return DiagnosticsResult{Items: []DiagnosticItem{{URI: "file://" + file, Severity: 1, Message: "bad",
			Range: Range{Start: Position{Character: 5}, End: Position{Character: 6}}}}}, true
	}
	items, ok := (&sessionClient{c.server}).Diagnostics(t.Context(), file)
	if !ok || len(items) != 1 || items[0].StartChar != 3 || items[0].EndChar != 4 {
		t.Errorf("items %+v %v", items, ok)
	}
	if _, ok := (&sessionClient{startClient(t, testSetup{}).server}).Diagnostics(t.Context(), file); ok {
		t.Error("a plain client cannot tell")
	}
}

func TestEncodingIsTheClientsFirstKnown(t *testing.T) {
	for _, x := range []struct {
		offer []string
		want  string
	}{
		{nil, "utf-16"}, {[]string{"utf-16"}, "utf-16"}, {[]string{"utf-8", "utf-16"}, "utf-8"}, {[]string{"utf-32", "utf-8"}, "utf-32"}, {[]string{"latin-1"}, "utf-16"}, {[]string{"latin-1", "utf-8"}, "utf-8"},
	} {
		c := startClient(t, testSetup{raw: true})
		r := c.call("initialize", map[string]any{"processId": nil, "rootUri": nil, "capabilities": map[string]any{"general": map[string]any{"positionEncodings": x.offer}}})
		if got := string(r.Result); !strings.Contains(got, `"positionEncoding":"`+x.want+`"`) {
			t.Errorf("offered %v: %.200s", x.offer, got)
		}
	}
}

func TestProgressOfATurn(t *testing.T) {
	cancelled := make(chan struct{})
	f := &fakeSessions{prompt: func(ctx context.Context, c agent.Client, p agent.Prompt) (agent.Outcome, error) {
		c.Update(agent.Update{Session: p.Session, Step: 1, Kind: agent.UpdateToolCall, Tool: "edit_file", Input: []byte(`{"secret":"x"}`)})
		<-ctx.Done()
		close(cancelled)
		return agent.Outcome{Stop: agent.StopCancelled}, nil
	}}
	c := startClient(t, testSetup{sessions: f, caps: map[string]any{"window": map[string]any{"workDoneProgress": true}}})
	id := c.request("stella/session/prompt", map[string]any{"sessionId": "s-1", "text": "the prompt"})
	begin := string(c.wait("begin", func(m wireMessage) bool {
		return m.Method == "$/progress" && strings.Contains(string(m.Params), `"begin"`)
	}).Params)
	if !strings.Contains(begin, "edit_file") || !strings.Contains(begin, `"cancellable":true`) || strings.Contains(begin, "secret") || strings.Contains(begin, "the prompt") {
		t.Errorf("begin %s", begin)
	}
	token := into[struct{ Token string }](t, c.method("$/progress").Params).Token
	c.notify("window/workDoneProgress/cancel", map[string]any{"token": token})
	<-cancelled
	c.response(id)
	c.wait("end", func(m wireMessage) bool {
		return m.Method == "$/progress" && strings.Contains(string(m.Params), `"end"`) && strings.Contains(string(m.Params), "cancelled")
	})
}

func TestPlainQuestionsShowWhatWillHappen(t *testing.T) {
	diff := "@@ -1,20 +1,20 @@\n" + strings.Repeat("-a\n+b\n", 20)
	got := plainText(tools.Question{Title: "Change api/a.py?", Diff: diff})
	if !strings.HasPrefix(got, "Stella: Change api/a.py?\n@@ -1,20 +1,20 @@\n-a\n+b\n") || !strings.HasSuffix(got, "\n(29 lines more)") {
		t.Errorf("a write: %q", got)
	}
	got = plainText(tools.Question{Title: "Run a command?", Command: strings.Repeat("é", 1500), Cwd: "/w"})
	if !strings.HasPrefix(got, "Stella: Run a command?\n$ éé") || !strings.HasSuffix(got, "é (1000 bytes more)\nin /w") {
		t.Errorf("a command: %q", got)
	}
}
