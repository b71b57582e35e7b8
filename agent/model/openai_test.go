package model

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func serve(t *testing.T, h http.HandlerFunc) string {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s.URL
}

// Habits of servers that call themselves compatible: none may mix up calls.
func TestQuirks(t *testing.T) {
	for _, quirks := range []string{"reasoning", "whole-calls", "no-id", "no-index", "index-zero", "index-one", "repeat-head", "null-name", "null-content", "cost", "finish-stop", "finish-function-call",
		"no-finish", "no-usage", "no-done", "whole-calls, no-id", "whole-calls, no-index", "whole-calls, index-zero, no-id", "index-zero, repeat-head", "no-index, no-id", "no-id, index-zero"} {
		t.Run(quirks, func(t *testing.T) {
			f := start(t, "openai", `turns: [{thinking: hm, text: so, calls: [{tool: a, input: {x: "1234567890"}}, {tool: a, input: {x: two, y: "12345678901234567890"}}, {tool: b}], usage: {input: 5, output: 6}, wire: {delta: 4, quirks: [`+quirks+`]}}]`)
			r := f.must(t)
			cs := calls(r)
			if len(cs) != 3 || string(cs[0].Input) != `{"x":"1234567890"}` || string(cs[1].Input) != `{"x":"two","y":"12345678901234567890"}` || cs[2].Tool != "b" || string(cs[2].Input) != "{}" {
				t.Errorf("calls %s", show(cs))
			}
			ids := map[string]bool{}
			for _, c := range cs {
				ids[c.CallID] = true
			}
			if len(ids) != 3 || ids[""] {
				t.Errorf("ids %v", ids)
			}
			if r.Stop != StopTools || f.said(EventThinking) != "hm" {
				t.Errorf("stop %q, thinking %q", r.Stop, f.said(EventThinking))
			}
			if (r.Usage.Input == nil) != (quirks == "no-usage") || r.Usage.CacheRead != nil {
				t.Errorf("usage %s", show(r.Usage))
			}
			if (r.Usage.USD != nil) != (quirks == "cost") {
				t.Errorf("usage %s", show(r.Usage))
			}
		})
	}
}

func show(v any) string {
	b, _ := json.Marshal(v)
	return string(b)
}

func TestOpenAIRequest(t *testing.T) {
	f := start(t, "openai", "turns: [{text: fine}]")
	temperature := 0.5
	_, err := f.Stream(t.Context(), Request{System: "be good", CacheKey: "s-1", MaxTokens: 77, Temperature: &temperature,
		Tools: []ToolSpec{{Name: "read_file", Description: "reads", Schema: json.RawMessage(`{"type":"object","properties":{"z":{},"a":{}}}`)}},
		Messages: []Message{said("first"),
			{Role: Assistant, Parts: []Part{{Kind: ThinkingPart, Text: "t"}, {Kind: ToolCallPart, CallID: "c1", Tool: "read_file", Input: json.RawMessage(`{"b":1,"a":2}`)}}},
			{Role: User, Parts: []Part{{Kind: TextPart, Text: "note"}, {Kind: ToolResultPart, CallID: "c1", Text: ""}}}}}, func(Event) {})
	if err != nil {
		t.Fatal(err)
	}
	rec := f.server.Requests()[0]
	for _, want := range []string{`"prompt_cache_key":"s-1"`, `"max_tokens":77`, `"temperature":0.5`, `"include_usage":true`, `{"content":"be good","role":"system"}`,
		`"parameters":{"type":"object","properties":{"z":{},"a":{}}}`, `"arguments":"{\"b\":1,\"a\":2}"`, `"content":"(no output)"`} {
		if !strings.Contains(string(rec.Body), want) {
			t.Errorf("the request lacks %s:\n%s", want, rec.Body)
		}
	}
	if i, j := strings.Index(string(rec.Body), "(no output)"), strings.Index(string(rec.Body), `"note"`); i > j {
		t.Error("the result must follow its call at once")
	}
}

// A server that refuses a parameter by name is asked again without it, once.
func TestDialect(t *testing.T) {
	var bodies []string
	srv := serve(t, func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		bodies = append(bodies, string(b))
		for _, name := range []string{"prompt_cache_key", "stream_options", `"max_tokens"`} {
			if strings.Contains(string(b), name) {
				w.Header().Set("Content-Type", "application/json")
				w.WriteHeader(400)
				fmt.Fprintf(w, `{"error":{"message":"Unsupported parameter: %s"}}`, strings.Trim(name, `"`))
				return
			}
		}
		w.Header().Set("Content-Type", "text/event-stream")
		io.WriteString(w, "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"hi\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n")
	})
	m := NewOpenAI(Config{Model: "m", BaseURL: srv})
	for range 2 {
		r, err := m.Stream(t.Context(), Request{CacheKey: "k", Messages: []Message{said("x")}}, func(Event) {})
		if err != nil || r.Message.Parts[0].Text != "hi" || r.Usage.Input != nil {
			t.Fatalf("%+v %v", r, err)
		}
	}
	if len(bodies) != 5 || !strings.Contains(bodies[4], `"max_completion_tokens":16000`) {
		t.Errorf("%d requests, the last %s", len(bodies), bodies[len(bodies)-1])
	}
}

// Gateways answer errors with HTTP 200 and a body that says otherwise.
func TestErrorInASuccess(t *testing.T) {
	each(t, func(t *testing.T, provider string) {
		f := start(t, provider, `turns: [{text: fine, fault: {status: 200, body: '{"error":{"message":"slow down","code":429}}'}}]`)
		if r := f.must(t); r.Message.Parts[0].Text != "fine" || !strings.Contains(f.said(EventRetry), "HTTP 429: slow down") {
			t.Errorf("%+v, told %q", r, f.said(EventRetry))
		}
		for body, want := range map[string]string{
			`{"error":{"message":"no such model","code":"model_not_found"}}`: "no such model",
			`{"error":"model requires more system memory"}`:                  "requires more system memory",
			`{"error":{"message":"out of credits","code":402}}`:              "HTTP 402: out of credits",
		} {
			f = start(t, provider, `turns: [{text: fine, fault: {status: 200, body: '`+body+`'}}]`)
			_, err := f.call(t)
			if e := modelError(t, err); !strings.Contains(e.Message, want) || strings.Contains(e.Hint, "base_url") {
				t.Errorf("%s: %v (%s)", body, e, e.Hint)
			}
		}
	})
}

// The shapes of errors that are not OpenAI's own.
func TestForeignErrors(t *testing.T) {
	for body, want := range map[string]string{
		`{"object":"error","message":"too many tokens","code":400}`: "HTTP 400: too many tokens",
		`{"detail":"not found here"}`:                               "HTTP 400: not found here",
		`{"detail":[{"loc":["body"],"msg":"field required"}]}`:      "field required",
		`{"error":"model 'x' not found"}`:                           "model 'x' not found",
		`upstream connect error`:                                    "upstream connect error",
	} {
		srv := serve(t, func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(400)
			io.WriteString(w, body)
		})
		_, err := NewOpenAI(Config{Model: "m", BaseURL: srv}).Stream(t.Context(), Request{Messages: []Message{said("x")}}, func(Event) {})
		if e := modelError(t, err); !strings.Contains(e.Message, want) {
			t.Errorf("%s: %v", body, e)
		}
	}
}

func TestStreamErrorCode(t *testing.T) {
	srv := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if auth, ok := r.Header["Authorization"]; ok {
			t.Errorf("a key is sent where there is none: %v", auth)
		}
		w.Header().Set("Content-Type", "text/event-stream")
		io.WriteString(w, ": OPENROUTER PROCESSING\n\ndata: {\"error\":{\"code\":402,\"message\":\"no credits\"}}\n\n")
	})
	m := NewOpenAI(Config{Model: "m", BaseURL: srv})
	_, err := m.Stream(t.Context(), Request{Messages: []Message{said("x")}}, func(Event) {})
	if e := modelError(t, err); e.Status != 402 || !strings.Contains(e.Message, "no credits") {
		t.Error(e)
	}
}
