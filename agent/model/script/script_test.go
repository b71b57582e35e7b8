package script

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"unicode/utf8"
)

func parse(t *testing.T, text string) *Script {
	t.Helper()
	s, err := Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func text(role, s string) Message { return Message{role, []Part{{Kind: "text", Text: s}}} }

// exchange is a call of a tool and its result, in the shape of a built-in tool.
func exchange(id, tool, object string) []Message {
	return []Message{
		{"assistant", []Part{{Kind: "call", CallID: id, Tool: tool, Input: json.RawMessage("{}")}}},
		{"user", []Part{{Kind: "result", CallID: id, Text: "head\n" + object + "\n\nbody of it", IsError: !strings.Contains(object, `"ok"`) && !strings.Contains(object, `"applied"`)}}},
	}
}

func request(parts ...[]Message) Request {
	r := Request{Session: "s", System: "You are careful.\nnod_0123", Tools: []string{"read_file", "edit_file"}, Model: "m", Messages: []Message{text("user", "please fix it")}}
	for _, p := range parts {
		r.Messages = append(r.Messages, p...)
	}
	return r
}

func TestExpectations(t *testing.T) {
	stale := exchange("1", "edit_file", `{"status":"stale_base","path":"a.py","changed_by":["edit #1 (this session, step 6)","you, typing in the editor (unsaved)"],"diff_cut":0,"nested":{"a":[1,2]},"saved":false}`)
	recall := []Message{text("user", `<recall><frame id="f1" kind="memory">use tabs</frame></recall>`)}
	for expect, want := range map[string]string{
		`tool_result: {status: stale_base, tool: edit_file, ok: false, contains: body, absent: nothing}`: "",
		`tool_result: {status: applied}`:                                `turns[0].expect.tool_result.status: wanted applied, got "stale_base"; the result: "head`,
		`tool_result: {changed_by: typing}`:                             "",
		`tool_result: {changed_by: {contains: [typing, "edit #1"]}}`:    "",
		`tool_result: {changed_by: {absent: typing}}`:                   `contains "typing", which should be absent`,
		`tool_result: {changed_by: {count: 2}}`:                         "",
		`tool_result: {changed_by: {count: 1}}`:                         "wanted 1, got",
		`tool_result: {changed_by: {matches: 'step \d'}}`:               "",
		`tool_result: {diff_cut: 0, saved: false, nested: {a: [1, 2]}}`: "",
		`tool_result: {nested: {a: [1]}}`:                               "wanted [1]",
		`tool_result: {base: "x"}`:                                      "has no such member",
		`tool_result: {base: null}`:                                     "",
		`tool_result: {tool: read_file}`:                                "wanted read_file",
		`tool_result: body`:                                             "",
		`tool_results: [{status: stale_base}]`:                          "",
		`tool_results: []`:                                              "wanted 0 results, got 1",
		`prompt: fix it`:                                                "",
		`prompt: {absent: tabs}`:                                        "",
		`prompt: tabs`:                                                  "does not contain",
		`new: {contains: head, absent: fix it}`:                         "",
		`recall: {contains: tabs, absent: nod_}`:                        "",
		`recall: none`:                                                  "wanted none",
		`system: careful`:                                               "",
		`system: {matches: 'nod_[0-9a-f]+'}`:                            "",
		`messages: {contains: [fix it, body]}`:                          "",
		`tools: {contains: [read_file], absent: run_command}`:           "",
		`tools: [read_file]`:                                            "wanted [read_file]",
		`model: m`:                                                      "",
		`tool_result: {path: "{{result path}}"}`:                        "",
		`tool_result: {path: "{{result nothing}}"}`:                     "has no member",
	} {
		e := NewEngine(parse(t, "turns: [{expect: {"+expect+"}, text: fine}]"), nil)
		_, err := e.Next(request(stale, recall))
		got := ""
		if err != nil {
			got = err.Error()
		}
		if (want == "") != (got == "") || !strings.Contains(got, want) {
			t.Errorf("%s: %q, want %q", expect, got, want)
		}
		if len(e.Failures()) != map[bool]int{true: 0, false: 1}[want == ""] {
			t.Errorf("%s: failures %v", expect, e.Failures())
		}
	}
	e := NewEngine(parse(t, "turns: [{expect: {recall: none, new: {contains: fix}}}, {expect: {tool_result: {ok: true}}}]"), nil)
	if _, err := e.Next(request()); err != nil {
		t.Error(err)
	}
	if _, err := e.Next(request()); err == nil || !strings.Contains(err.Error(), "no tool result") {
		t.Error(err)
	}
}

func TestBadScripts(t *testing.T) {
	for bad, want := range map[string]string{
		"turns: [{txt: hello}]":                                "unknown field \"txt\"",
		"turns:\n  - text: a\n  - calls: [{input: {}}]":        "turns[1]: calls[0] names no tool",
		"turns: [{stop: perhaps}]":                             "use end_turn",
		"turns: [{expect: {weather: fine}}]":                   "expect.weather is unknown; known are messages, model",
		"turns: [{fault: {}}]":                                 "exactly one of",
		"turns: [{fault: {status: 200}}]":                      "not an HTTP error",
		"turns: [{fault: {after: 3, how: finish}}]":            "in_call only",
		"turns: [{fault: {after: 3, how: maybe}}]":             "use reset",
		"turns: [{calls: [{tool: a, raw: x, input: {a: 1}}]}]": "both input and raw",
		"turns: {": "[1:",
		"turns: 3": "[1:",
	} {
		_, err := Parse([]byte(bad))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", bad, err, want)
		}
	}
}

func TestTemplates(t *testing.T) {
	read := func(id, base string) []Message {
		return exchange(id, "read_file", `{"status":"ok","path":"a b.py","base":"`+base+`"}`)
	}
	several := exchange("call_7", "edit_files", `{"status":"applied","files":[{"path":"x","base":"bx"},{"path":"y","base":"by"}]}`)
	e := NewEngine(parse(t, `
turns:
  - text: "{{base a b.py}} {{base a b.py 1}} {{base y}} {{find (nod_\\d+)}} {{ result status }}"
    calls: [{tool: t, input: {deep: [{base: "{{base x}}"}], n: 3, s: "<&>", "k": null}}, {tool: u, raw: '{{base x}} {{unknown}} {'}]
  - text: "{{base a b.py}}"
  - text: "{{base nowhere}}"
  - text: "{{base x 3}}"
`), nil)
	full := request(read("1", "b1"), read("2", "b2"), several)
	r, err := e.Next(full)
	if err != nil {
		t.Fatal(err)
	}
	if r.Text != "b2 b1 by nod_0123 applied" || r.Calls[0].Input != `{"deep":[{"base":"bx"}],"k":null,"n":3,"s":"<&>"}` || r.Calls[1].Input != "bx {{unknown}} {" {
		t.Errorf("%q %+v", r.Text, r.Calls)
	}
	if r.Calls[0].ID != "call_8" || r.Calls[1].ID != "call_9" {
		t.Errorf("ids go on from the transcript's: %+v", r.Calls)
	}
	// A compacted transcript shows none of it any more.
	if r, err = e.Next(request()); err != nil || r.Text != "b2" {
		t.Errorf("%+v %v", r, err)
	}
	for _, want := range []string{"gave a base for nowhere; seen: a b.py, x, y", "only 1 bases"} {
		if _, err := e.Next(request()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

func TestSessionsAndLists(t *testing.T) {
	e := NewEngine(parse(t, "turns: [{text: a2, session: 2}, {text: any}, {text: b1, session: 1}]\nreflect: [r1]"), nil)
	ask := func(session, purpose string) string {
		r, err := e.Next(Request{Session: session, Purpose: purpose, Messages: []Message{text("user", "x")}})
		if err != nil {
			return err.Error()
		}
		return r.Text
	}
	for i, c := range [][3]string{{"one", "turn", "any"}, {"two", "", "a2"}, {"one", "reflect", "r1"}, {"one", "reflect", "[]"}, {"x", "taxonomy", "[]"}, {"two", "turn", "no entry is left"}, {"one", "turn", "b1"}} {
		if got := ask(c[0], c[1]); !strings.Contains(got, c[2]) {
			t.Errorf("call %d: %q, want %q", i, got, c[2])
		}
	}
	if e.Remaining() != 0 {
		t.Errorf("%d remain", e.Remaining())
	}
}

func TestFaultSparesTheEntry(t *testing.T) {
	e := NewEngine(parse(t, "turns: [{text: a, fault: {status: 529, times: 2}}, {text: b}]"), nil)
	for i, want := range []string{"a!", "a!", "a", "b"} {
		r, err := e.Next(request())
		if err != nil {
			t.Fatal(err)
		}
		got := r.Text
		if r.Fault != nil {
			got += "!"
		}
		if got != want {
			t.Errorf("attempt %d: %s, want %s", i, got, want)
		}
	}
}

func TestGate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var g Gate
		g.Release("early")
		if err := g.Wait(t.Context(), "early"); err != nil {
			t.Fatal(err)
		}
		done := make(chan int, 3)
		for i := range 2 {
			go func() {
				if g.Wait(context.Background(), "x") == nil {
					done <- i
				}
			}()
		}
		if err := g.Reached(t.Context(), "x"); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		g.Release("x")
		synctest.Wait()
		if len(done) != 1 {
			t.Errorf("one release let %d through", len(done))
		}
		// Who gives up takes no release along.
		ctx, cancel := context.WithCancel(t.Context())
		failed := make(chan error, 1)
		go func() { failed <- g.Wait(ctx, "x") }()
		synctest.Wait()
		cancel()
		if err := <-failed; err != context.Canceled {
			t.Error(err)
		}
		g.Release("x")
		synctest.Wait()
		if len(done) != 2 {
			t.Errorf("%d through", len(done))
		}
	})
}

func FuzzParse(f *testing.F) {
	f.Add("turns: [{text: a, expect: {tool_result: {status: x}}, calls: [{tool: t, input: {a: [1, {b: c}]}}]}]")
	f.Add("turns:\n- &a {text: '{{base x}}'}\n- *a\nreflect: ['[]']")
	f.Fuzz(func(t *testing.T, in string) {
		s, err := Parse([]byte(in))
		if err != nil {
			return
		}
		e := NewEngine(s, &Gate{})
		for range min(len(s.Turns), 20) {
			r, err := e.Next(request(exchange("1", "t", `{"status":"ok","path":"x","base":"b"}`)))
			if err != nil && err.Error() == "" {
				t.Fatal("an error without words")
			}
			if err == nil {
				_ = fmt.Sprint(r)
			}
		}
	})
}

func FuzzASCII(f *testing.F) {
	f.Add("x 😀 é \uFFFF")
	f.Fuzz(func(t *testing.T, s string) {
		if !utf8.ValidString(s) {
			return
		}
		quoted, _ := json.Marshal(s)
		var back string
		if err := json.Unmarshal([]byte(ASCII(string(quoted))), &back); err != nil || back != s {
			t.Errorf("%q comes back as %q (%v)", s, back, err)
		}
	})
}
