package model

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stella-ls/stella-ls/agent/model/script"
	"github.com/stella-ls/stella-ls/internal/fakemodel"
)

// fixture is a provider in front of a scripted server.
type fixture struct {
	Model
	engine *script.Engine
	server *fakemodel.Server
	gate   *script.Gate
	waits  []time.Duration
	events []Event
}

func start(t *testing.T, provider, yaml string) *fixture {
	t.Helper()
	s, err := script.Parse([]byte(yaml))
	if err != nil {
		t.Fatal(err)
	}
	f := &fixture{gate: &script.Gate{}}
	f.engine = script.NewEngine(s, f.gate)
	if f.server, err = fakemodel.Start(f.engine); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.server.Close() })
	cfg := Config{Model: "m", BaseURL: f.server.URL, Key: f.server.Key,
		Timeouts: Timeouts{Connect: 5 * time.Second, FirstByte: 5 * time.Second, Idle: 5 * time.Second},
		Backoff: Backoff{Rand: func() float64 { return 1 }, Sleep: func(ctx context.Context, d time.Duration) error {
			f.waits = append(f.waits, d)
			return ctx.Err()
		}}}
	f.Model = newProvider(provider, cfg)
	return f
}

func newProvider(name string, cfg Config) Model {
	if name == "openai" {
		cfg.BaseURL += "/v1"
		return NewOpenAI(cfg)
	}
	return NewAnthropic(cfg)
}

func (f *fixture) call(t *testing.T, ms ...Message) (Response, error) {
	t.Helper()
	if ms == nil {
		ms = []Message{said("hello")}
	}
	f.events = nil
	return f.Stream(t.Context(), Request{System: "be good", Messages: ms, Tools: []ToolSpec{{Name: "read_file", Description: "reads",
		Schema: json.RawMessage(`{"type":"object","properties":{"z":{},"a":{}}}`)}}}, func(e Event) { f.events = append(f.events, e) })
}

func (f *fixture) must(t *testing.T, ms ...Message) Response {
	t.Helper()
	r, err := f.call(t, ms...)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func (f *fixture) said(k EventKind) string {
	var b strings.Builder
	for _, e := range f.events {
		if e.Kind == k {
			b.WriteString(e.Text)
		}
	}
	return b.String()
}

func said(text string) Message {
	return Message{Role: User, Parts: []Part{{Kind: TextPart, Text: text}}}
}

func calls(r Response) []Part {
	var out []Part
	for _, p := range r.Message.Parts {
		if p.Kind == ToolCallPart {
			out = append(out, p)
		}
	}
	return out
}

func modelError(t *testing.T, err error) *Error {
	t.Helper()
	var e *Error
	if !errors.As(err, &e) {
		t.Fatalf("want a *model.Error, got %T %v", err, err)
	}
	return e
}

var both = []string{"anthropic", "openai"}

func each(t *testing.T, f func(t *testing.T, provider string)) {
	for _, p := range both {
		t.Run(p, func(t *testing.T) { f(t, p) })
	}
}

func TestAnswer(t *testing.T) {
	each(t, func(t *testing.T, provider string) {
		f := start(t, provider, `
turns:
  - thinking: "Hm, let me see how this is done."
    signature: "sig=="
    text: "I look at the file first, 你好 😀."
    calls:
      - {tool: read_file, input: {path: "a b/ü😀.go", n: 12345678901}}
      - {tool: read_file, input: {path: two}}
    usage: {input: 10, cache_read: 20, output: 3}
`)
		r := f.must(t)
		if got := f.said(EventText); got != "I look at the file first, 你好 😀." {
			t.Errorf("streamed text %q", got)
		}
		if got := f.said(EventThinking); got != "Hm, let me see how this is done." {
			t.Errorf("streamed thinking %q", got)
		}
		cs := calls(r)
		if len(cs) != 2 || string(cs[0].Input) != `{"n":12345678901,"path":"a b/ü😀.go"}` || cs[0].CallID == cs[1].CallID || cs[0].Tool != "read_file" || cs[0].BadInput != "" {
			t.Errorf("calls %+v", cs)
		}
		if r.Stop != StopTools {
			t.Errorf("stop %q", r.Stop)
		}
		u := r.Usage
		if *u.Input != 10 || *u.CacheRead != 20 || *u.Output != 3 || u.CacheWrite != nil || u.USD != nil {
			b, _ := json.Marshal(u)
			t.Errorf("usage %s", b)
		}
		if p := r.Message.Parts[0]; p.Kind != ThinkingPart || (provider == "anthropic" && p.Signature != "sig==") {
			t.Errorf("thinking part %+v", p)
		}
	})
}

func TestAnthropicRequest(t *testing.T) {
	f := start(t, "anthropic", "turns: [{text: fine}]")
	f.must(t, said("first"),
		Message{Role: Assistant, Parts: []Part{{Kind: ThinkingPart, Text: "t", Signature: "s"}, {Kind: ThinkingPart, Signature: redactedPrefix + "opaque"},
			{Kind: ToolCallPart, CallID: "c1", Tool: "read_file", Input: json.RawMessage(`{"b":1,"a":2}`)}}},
		Message{Role: User, Parts: []Part{{Kind: ToolResultPart, CallID: "c1", Text: "no", IsError: true}}},
		Message{Role: Assistant, Parts: []Part{{Kind: TextPart, Text: "so"}}},
		said("go on"))
	rec := f.server.Requests()[0]
	if got := rec.Header.Get("Anthropic-Version"); got != "2026-10-21" {
		t.Errorf("version %q", got)
	}
	if rec.Header.Get(fakemodel.HeaderPurpose) != "" {
		t.Error("an ordinary request announces its purpose")
	}
	body := string(rec.Body)
	for _, want := range []string{
		`"system":[{"text":"be good","cache_control":{"type":"ephemeral"},"type":"text"}]`,
		`"input_schema":{"type":"object","properties":{"z":{},"a":{}}}`,
		`"input":{"b":1,"a":2}`, `"is_error":true`, `"signature":"s"`, `"data":"opaque"`, `"stream":true`,
	} {
		if !strings.Contains(body, want) {
			t.Errorf("the request lacks %s:\n%s", want, body)
		}
	}
	var in struct {
		Messages []struct {
			Content []struct {
				Cache any `json:"cache_control"`
			}
		}
	}
	if err := json.Unmarshal(rec.Body, &in); err != nil {
		t.Fatal(err)
	}
	var marked []int
	for i, m := range in.Messages {
		for _, c := range m.Content {
			if c.Cache != nil {
				marked = append(marked, i)
			}
		}
	}
	if len(marked) != 2 || marked[0] != 2 || marked[1] != 4 {
		t.Errorf("cache marks at messages %v, want [2 4]", marked)
	}
}

func TestOldHeaders(t *testing.T) {
	f := start(t, "anthropic", "turns: [{text: fine}]")
	f.Model = NewAnthropic(Config{Model: "m", BaseURL: f.server.URL + "/v1/", Key: f.server.Key, OldHeaders: true})
	f.must(t)
	h := f.server.Requests()[0].Header
	if h.Get("Anthropic-Version") != "2023-06-01" || h.Get("X-Api-Key") != f.server.Key || h.Get("Authorization") != "" {
		t.Errorf("headers %v", h)
	}
}
