package model

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stella-ls/stella-ls/agent/model/script"
	"github.com/stella-ls/stella-ls/internal/config"
	"github.com/stella-ls/stella-ls/internal/keyring"
)

func scripted(t *testing.T, yaml string, gate *script.Gate) *Scripted {
	t.Helper()
	path := filepath.Join(t.TempDir(), "s.yaml")
	if err := os.WriteFile(path, []byte(yaml), 0o600); err != nil {
		t.Fatal(err)
	}
	m, err := Choose(config.Model{Provider: "script", Script: path}, func(string) string { return "" }, Options{Gate: gate})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { Close(m) })
	return m.(*Scripted)
}

func ask(t *testing.T, m Model, r Request) (Response, error) {
	t.Helper()
	return m.Stream(t.Context(), r, func(Event) {})
}

// toolResult is a result in the shape that every built-in tool gives.
func toolResult(id, object string) Message {
	return Message{Role: User, Parts: []Part{{Kind: ToolResultPart, CallID: id, Text: "done\n" + object + "\n\nbody", IsError: strings.Contains(object, "stale")}}}
}

// TestScriptedSession plays the example of the protocol page as a session would.
func TestScriptedSession(t *testing.T) {
	m := scripted(t, `
turns:
  - text: "Let me look."
    calls: [{tool: read_file, input: {path: api/pricing.py}}]
  - calls: [{tool: edit_file, input: {path: api/pricing.py, base: "{{base api/pricing.py}}", edits: [{old: "a", new: "b"}]}}]
  - expect: {tool_result: {status: stale_base, tool: edit_file, ok: false, changed_by: {contains: typing}, diff_cut: 0}}
    text: "Again from {{base api/pricing.py 1}}."
  - expect: {tool_result: {status: applied}}
reflect: ['[{"lesson":"look first","domains":[]}]']
`, nil)
	r := Request{Purpose: Turn, CacheKey: "s1", Messages: []Message{said("fix it")}}
	step := func(object string) Response {
		t.Helper()
		res, err := ask(t, m, r)
		if err != nil {
			t.Fatal(err)
		}
		r.Messages = append(r.Messages, res.Message)
		if cs := calls(res); object != "" && len(cs) == 1 {
			r.Messages = append(r.Messages, toolResult(cs[0].CallID, object))
		}
		return res
	}
	step(`{"status":"ok","path":"api/pricing.py","base":"sha256:111"}`)
	edit := step(`{"status":"stale_base","path":"api/pricing.py","changed_by":["you, typing in the editor (unsaved)"],"diff_cut":0}`)
	if got := string(calls(edit)[0].Input); !strings.Contains(got, `"base":"sha256:111"`) {
		t.Errorf("input %s", got)
	}
	refl, err := ask(t, m, Request{Purpose: Reflect, CacheKey: "s1", Messages: []Message{said("what was learned?")}})
	if err != nil || !strings.Contains(refl.Message.Parts[0].Text, "look first") {
		t.Errorf("reflection %+v %v", refl, err)
	}
	if again := step(""); again.Message.Parts[0].Text != "Again from sha256:111." {
		t.Errorf("text %q", again.Message.Parts[0].Text)
	}
	r.Messages = append(r.Messages, said("more"))
	_, err = ask(t, m, r)
	e := modelError(t, err)
	if want := `turns[3].expect.tool_result.status: wanted applied, got "stale_base"`; !strings.Contains(e.Message, want) || e.Hint == "" || e.Provider != "script" {
		t.Errorf("error %q\nwant it to hold %q", e, want)
	}
	if f := m.Engine.Failures(); len(f) != 1 || m.Engine.Remaining() != 0 {
		t.Errorf("failures %v, %d remaining", f, m.Engine.Remaining())
	}
	_, err = ask(t, m, r)
	if e := modelError(t, err); !strings.Contains(e.Message, "no entry is left") {
		t.Errorf("past the end: %v", e)
	}
}

func TestScriptWait(t *testing.T) {
	gate := &script.Gate{}
	m := scripted(t, "turns: [{wait: go, text: ahem, hold: on, calls: [{tool: x}]}, {wait: never}]", gate)
	r := Request{Messages: []Message{said("x")}}
	texts := make(chan string, 10)
	done := make(chan error, 1)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	stream := func() {
		_, err := m.Stream(ctx, r, func(e Event) { texts <- e.Text })
		done <- err
	}
	go stream()
	if err := gate.Reached(t.Context(), "go"); err != nil {
		t.Fatal(err)
	}
	gate.Release("go")
	if got := <-texts; got != "ahem" {
		t.Fatalf("streamed %q", got)
	}
	if err := gate.Reached(t.Context(), "on"); err != nil {
		t.Fatal(err)
	}
	gate.Release("on")
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	go stream()
	if err := gate.Reached(t.Context(), "never"); err != nil {
		t.Fatal(err)
	}
	cancel()
	if err := <-done; err != context.Canceled {
		t.Fatalf("cancelled: %v", err)
	}
}

func TestScriptWaitNeedsHooks(t *testing.T) {
	m := scripted(t, "turns: [{wait: go}]", nil)
	_, err := ask(t, m, Request{Messages: []Message{said("x")}})
	if e := modelError(t, err); !strings.Contains(e.Message, "--test-hooks") {
		t.Error(e)
	}
}

func TestChoose(t *testing.T) {
	for _, c := range []struct {
		name     string
		settings config.Model
		env      map[string]string
		want     string // name, or what the error says
	}{
		{"nothing", config.Model{}, nil, "stella-ls demo"},
		{"anthropic key", config.Model{}, map[string]string{"ANTHROPIC_API_KEY": "a", "OPENAI_API_KEY": "b"}, "anthropic/" + DefaultAnthropic},
		{"openai key", config.Model{}, map[string]string{"OPENAI_API_KEY": "b"}, "openai/" + DefaultOpenAI},
		{"named", config.Model{Provider: "openai", Name: "x"}, map[string]string{"ANTHROPIC_API_KEY": "a", "OPENAI_API_KEY": "b"}, "openai/x"},
		{"no key", config.Model{Provider: "anthropic"}, nil, "ANTHROPIC_API_KEY is not set"},
		{"local", config.Model{Provider: "openai", Name: "qwen", BaseURL: "http://localhost:11434/v1"}, nil, "openai/qwen"},
		{"local without name", config.Model{Provider: "openai", BaseURL: "http://localhost:11434/v1"}, nil, "model.name is not set"},
		{"base without provider", config.Model{BaseURL: "http://localhost:1"}, map[string]string{"OPENAI_API_KEY": "b"}, "not model.provider"},
		{"unknown", config.Model{Provider: "gemini"}, nil, "use anthropic, openai or script"},
		{"no script", config.Model{Provider: "script"}, nil, "model.script names no file"},
		{"script missing", config.Model{Script: "/nonexistent.yaml"}, nil, "cannot read the script"},
	} {
		m, err := Choose(c.settings, func(k string) string { return c.env[k] }, Options{})
		got := ""
		if err != nil {
			got = err.Error()
		} else {
			got = m.Name()
		}
		if !strings.Contains(got, c.want) || (err == nil && got != c.want) {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

// The environment comes first, whichever key it has; the keyring is asked once
// for each, and what is on this machine gets nothing of it.
func TestKeyring(t *testing.T) {
	const stored = "sk-from-the-keyring-0123456789"
	for _, c := range []struct {
		name     string
		settings config.Model
		env      map[string]string
		ring     map[string]string
		trouble  error
		want     string // name and where the key is from, or what the error says
		asked    string
	}{
		{"environment first", config.Model{}, map[string]string{"OPENAI_API_KEY": "b"}, map[string]string{"ANTHROPIC_API_KEY": stored}, nil, "openai/" + DefaultOpenAI + " b", ""},
		{"keyring", config.Model{}, nil, map[string]string{"ANTHROPIC_API_KEY": stored}, nil, "anthropic/" + DefaultAnthropic + " " + stored, "ANTHROPIC_API_KEY"},
		{"the other", config.Model{}, nil, map[string]string{"OPENAI_API_KEY": stored}, nil, "openai/" + DefaultOpenAI + " " + stored, "ANTHROPIC_API_KEY OPENAI_API_KEY"},
		{"named", config.Model{Provider: "openai"}, nil, map[string]string{"OPENAI_API_KEY": stored}, nil, "openai/" + DefaultOpenAI + " " + stored, "OPENAI_API_KEY"},
		{"gateway", config.Model{Provider: "openai", Name: "x", BaseURL: "https://gateway.example/v1"}, nil, map[string]string{"OPENAI_API_KEY": stored}, nil, "openai/x " + stored, "OPENAI_API_KEY"},
		{"local", config.Model{Provider: "openai", Name: "x", BaseURL: "http://[::1]:11434/v1"}, nil, map[string]string{"OPENAI_API_KEY": stored}, nil, "openai/x ", ""},
		{"none", config.Model{Provider: "anthropic"}, nil, nil, nil, "ANTHROPIC_API_KEY is not set", "ANTHROPIC_API_KEY"},
		{"trouble", config.Model{}, nil, nil, errors.New("the keyring is locked"), "no model is configured", "ANTHROPIC_API_KEY OPENAI_API_KEY"},
		{"trouble is told", config.Model{Provider: "openai"}, nil, nil, errors.New("the keyring is locked"), "the keyring is locked", "OPENAI_API_KEY"},
	} {
		var asked []string
		ring := func(name string) (string, error) {
			asked = append(asked, name)
			switch key := c.ring[name]; {
			case c.trouble != nil:
				return "", c.trouble
			case key == "":
				return "", keyring.ErrNone
			default:
				return key, nil
			}
		}
		m, err := Choose(c.settings, func(k string) string { return c.env[k] }, Options{Keyring: ring})
		got := ""
		switch m := m.(type) {
		case *anthropicModel:
			got = m.Name() + " " + m.endpoint.keys[0]
		case *openaiModel:
			got = m.Name() + " " + m.endpoint.keys[0]
		default:
			got = err.Error()
		}
		if !strings.Contains(got, c.want) || (err == nil && got != c.want) || strings.Join(asked, " ") != c.asked {
			t.Errorf("%s: %q, want %q; asked for %q", c.name, got, c.want, asked)
		}
	}
}

func TestPrice(t *testing.T) {
	n := func(v int64) *int64 { return &v }
	u := Price{Input: 3, CacheRead: 0.3, CacheWrite: 3.75, Output: 15}.apply(Usage{Input: n(1e6), CacheRead: n(1e6), Output: n(1e5)})
	if u.USD == nil || *u.USD != 4.8 {
		b, _ := json.Marshal(u)
		t.Errorf("%s", b)
	}
	if u := (Price{}).apply(Usage{Input: n(1), Output: n(1)}); u.USD != nil {
		t.Error("a price out of nothing")
	}
}
