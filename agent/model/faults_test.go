package model

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stella-ls/stella-ls/internal/secret"
)

// P01: the stream ends inside `{"path": "a`, in every way a stream can end.
func TestCutInCall(t *testing.T) {
	for _, how := range []string{"reset", "close", "error"} {
		t.Run(how, func(t *testing.T) {
			each(t, func(t *testing.T, provider string) {
				f := start(t, provider, `turns: [{text: so, calls: [{tool: edit_file, input: {path: abc}}], fault: {in_call: 9, how: `+how+`}}]`)
				r := f.must(t)
				if cs := calls(r); len(cs) != 1 || string(cs[0].Input) != `{"path":"abc"}` {
					t.Errorf("calls %+v", cs)
				}
				if len(f.waits) != 1 || !strings.Contains(f.said(EventRetry), "trying again in 500ms (1 of 6)") {
					t.Errorf("waits %v, told %q", f.waits, f.said(EventRetry))
				}
				f = start(t, provider, `turns: [{calls: [{tool: edit_file, input: {path: abc}}], fault: {in_call: 9, times: 99, how: `+how+`}}]`)
				_, err := f.call(t)
				if e := modelError(t, err); !strings.Contains(e.Message, "tried 7 times") {
					t.Error(e)
				}
				if len(f.waits) != 6 || len(f.server.Requests()) != 7 {
					t.Errorf("%d waits, %d requests", len(f.waits), len(f.server.Requests()))
				}
			})
		})
	}
}

// P01 with a finish reason: the message is whole, the call is not; it must not run.
func TestHalfInputWithFinish(t *testing.T) {
	each(t, func(t *testing.T, provider string) {
		f := start(t, provider, `turns: [{calls: [{tool: edit_file, input: {path: abc}}], fault: {in_call: 9, how: finish}}, {calls: [{tool: edit_file, raw: '{"path": "a'}], stop: max_tokens}, {text: fine}]`)
		r := f.must(t)
		cs := calls(r)
		if len(cs) != 1 || !strings.Contains(cs[0].BadInput, "ends after 9 bytes, in the middle") {
			t.Fatalf("calls %+v", cs)
		}
		// The transcript with it is accepted by the server again.
		f = start(t, provider, `turns: [{calls: [{tool: edit_file, raw: '{"path": "a'}], stop: max_tokens}, {text: fine}]`)
		r = f.must(t)
		cs = calls(r)
		if len(cs) != 1 || !strings.Contains(cs[0].BadInput, "output limit") || r.Stop != StopMaxTokens {
			t.Fatalf("calls %+v, stop %s", cs, r.Stop)
		}
		f.must(t, said("x"), r.Message, Message{Role: User, Parts: []Part{{Kind: ToolResultPart, CallID: cs[0].CallID, Text: cs[0].BadInput, IsError: true}}})
	})
}

func TestCutInText(t *testing.T) {
	each(t, func(t *testing.T, provider string) {
		for _, n := range []int{0, 1, 60, 400, 700} {
			for _, how := range []string{"reset", "close"} {
				f := start(t, provider, fmt.Sprintf("turns: [{text: 'a long enough text, to be cut somewhere in it', fault: {after: %d, how: %s}, wire: {delta: 4}}]", n, how))
				r := f.must(t)
				if len(f.waits) != 1 || r.Message.Parts[0].Text != "a long enough text, to be cut somewhere in it" {
					t.Errorf("after %d %s: waits %v, %+v", n, how, f.waits, r.Message)
				}
			}
		}
		f := start(t, provider, "turns: [{text: ab, stop: none}, {text: cd}]")
		if r := f.must(t); r.Message.Parts[0].Text != "cd" || len(f.waits) != 1 {
			t.Errorf("without a word: %+v %v", r, f.waits)
		}
	})
}

// P05: overload is waited out, as long as the server asks.
func TestOverload(t *testing.T) {
	each(t, func(t *testing.T, provider string) {
		f := start(t, provider, `
turns:
  - {text: one, fault: {status: 429, retry_after: "2", times: 2}}
  - {text: two, fault: {status: 529, times: 3}}
  - {text: three, fault: {status: 503, retry_after_ms: 40}}
  - {text: four, fault: {status: 429, retry_after: "3600"}}
  - {text: five, fault: {status: 400}}
`)
		for i, want := range [][]time.Duration{
			{2062500 * time.Microsecond, 2125 * time.Millisecond},
			{500 * time.Millisecond, time.Second, 2 * time.Second},
			{102500 * time.Microsecond},
		} {
			f.waits = nil
			f.must(t)
			if fmt.Sprint(f.waits) != fmt.Sprint(want) {
				t.Errorf("entry %d: waits %v, want %v", i, f.waits, want)
			}
			if got := strings.Count(f.said(EventRetry), "trying again"); got != len(want) {
				t.Errorf("entry %d: %d retries told of", i, got)
			}
		}
		f.waits = nil
		_, err := f.call(t)
		if e := modelError(t, err); e.Status != 429 || !strings.Contains(e.Message, "asks to wait 1h0m0s") || len(f.waits) != 0 {
			t.Errorf("an hour: %v, waits %v", e, f.waits)
		}
		f.must(t) // "four" itself
		_, err = f.call(t)
		if e := modelError(t, err); e.Status != 400 || len(f.waits) != 0 {
			t.Errorf("400: %v", e)
		}
	})
}

func TestJitterSpreads(t *testing.T) {
	low, high := Backoff{Rand: func() float64 { return 0 }}, Backoff{Rand: func() float64 { return 1 }}
	for n := range 10 {
		if l, h := low.wait(n), high.wait(n); l*2 != h || h > 32*time.Second {
			t.Errorf("try %d: from %v to %v", n, l, h)
		}
	}
}

// P06, D08: an unusual transport is not an error.
func TestWire(t *testing.T) {
	for _, wire := range []string{"split: 1", "split: 2", "split: 3", "split: 7, crlf: true", "crlf: true", "ping: true", "unknown: true", "extra: true",
		"ascii: true, delta: 1", "ascii: true, delta: 5, split: 1", "delta: 1", "crlf: true, ping: true, unknown: true, extra: true, split: 5, ascii: true, delta: 3"} {
		t.Run(wire, func(t *testing.T) {
			each(t, func(t *testing.T, provider string) {
				f := start(t, provider, `turns: [{text: "naïve 你好 😀", thinking: "思", calls: [{tool: edit_file, input: {new: "x 😀 你\n\t\" \\ é"}}], wire: {`+wire+`}}]`)
				r := f.must(t)
				cs := calls(r)
				var in string
				if len(cs) == 1 {
					in = string(cs[0].Input)
				}
				want := `{"new":"x 😀 你\n\t\" \\ é"}`
				if strings.Contains(wire, "ascii") {
					want = `{"new":"x \uD83D\uDE00 \u4F60\n\t\" \\ \u00E9"}`
				}
				if in != want || f.said(EventText) != "naïve 你好 😀" || f.said(EventThinking) != "思" {
					t.Errorf("input %s\ntext %q thinking %q", in, f.said(EventText), f.said(EventThinking))
				}
				if len(f.waits) != 0 {
					t.Errorf("retried: %v", f.waits)
				}
			})
		})
	}
}

func TestMalformedEvent(t *testing.T) {
	each(t, func(t *testing.T, provider string) {
		f := start(t, provider, `turns: [{text: "some text that takes several events to send", wire: {bad_json: true}}]`)
		_, err := f.call(t)
		if e := modelError(t, err); !strings.Contains(e.Message, "malformed") || len(f.waits) != 0 {
			t.Error(e)
		}
	})
}

// D08: half a surrogate pair would be written as U+FFFD if it were let through.
func TestLoneSurrogates(t *testing.T) {
	each(t, func(t *testing.T, provider string) {
		for raw, bad := range map[string]bool{
			`{"a":"\uD83D\uDE00"}`: false, `{"a":"\\uD83D"}`: false, `{"a":"\uD83D"}`: true, `{"a":"\uDE00\uD83D"}`: true,
			`{"a":"\uD83Dx\uDE00"}`: true, `{"\uD83D":1}`: true, `{"a":"\ud83d\ud83d\ude00"}`: true,
		} {
			f := start(t, provider, "turns: [{calls: [{tool: edit_file, raw: '"+raw+"'}]}]")
			c := calls(f.must(t))[0]
			if (c.BadInput != "") != bad || (bad && !strings.Contains(c.BadInput, "half a character")) {
				t.Errorf("%s: bad input %q", raw, c.BadInput)
			}
		}
	})
}

func TestBadInputs(t *testing.T) {
	for raw, want := range map[string]string{`{"a":1}`: "", `  `: "", `{"a":`: "in the middle", `{"a":1}}`: "after top-level value", `[1]`: "not a JSON object", `"x"`: "not a JSON object",
		`null`: "null", "{\"a\":\"\xff\"}": "UTF-8", `{'a':1}`: "at byte 2"} {
		p := callPart("c", "t", raw)
		if (want == "") != (p.BadInput == "") || !strings.Contains(p.BadInput, want) {
			t.Errorf("%s: %q, want %q", raw, p.BadInput, want)
		}
		if string(inputObject(p.Input)) != string(p.Input) {
			t.Errorf("%s: input %s is no object", raw, p.Input)
		}
	}
}

func TestSilence(t *testing.T) {
	each(t, func(t *testing.T, provider string) {
		f := start(t, provider, `turns: [{text: "some text that is long enough to be cut", fault: {hang: true}}, {text: "some text that is long enough to be cut", fault: {after: 300, how: hang}}]`)
		cfg := Config{Model: "m", BaseURL: f.server.URL, Key: f.server.Key, Timeouts: Timeouts{Connect: time.Second, FirstByte: 80 * time.Millisecond, Idle: 80 * time.Millisecond},
			Backoff: Backoff{Sleep: func(ctx context.Context, d time.Duration) error { f.waits = append(f.waits, d); return nil }}}
		f.Model = newProvider(provider, cfg)
		f.must(t)
		if !strings.Contains(f.said(EventRetry), "no answer began in time") {
			t.Errorf("told %q", f.said(EventRetry))
		}
		f.must(t)
		if !strings.Contains(f.said(EventRetry), "stopped in the middle") {
			t.Errorf("told %q", f.said(EventRetry))
		}
	})
}

func TestCancel(t *testing.T) {
	each(t, func(t *testing.T, provider string) {
		f := start(t, provider, `turns: [{text: hello there, hold: x, calls: [{tool: a}]}, {text: x, fault: {status: 503, times: 9}}]`)
		ctx, cancel := context.WithCancel(t.Context())
		_, err := f.Stream(ctx, Request{Messages: []Message{said("x")}}, func(Event) { cancel() })
		if err != context.Canceled {
			t.Errorf("in a stream: %v", err)
		}
		// While waiting for another try, with the real clock.
		cfg := Config{Model: "m", BaseURL: f.server.URL, Key: f.server.Key}
		m := newProvider(provider, cfg)
		ctx, cancel = context.WithCancel(t.Context())
		defer cancel()
		began := time.Now()
		_, err = m.Stream(ctx, Request{Messages: []Message{said("x")}}, func(e Event) { cancel() })
		if err != context.Canceled || time.Since(began) > 400*time.Millisecond {
			t.Errorf("in a wait: %v after %v", err, time.Since(began))
		}
	})
}

func TestUnreachable(t *testing.T) {
	each(t, func(t *testing.T, provider string) {
		f := start(t, provider, "turns: []")
		url := f.server.URL
		f.server.Close()
		f.Model = newProvider(provider, Config{Model: "m", BaseURL: url, Key: "sk-test-123456789"})
		_, err := f.call(t)
		if e := modelError(t, err); !strings.Contains(e.Message, "connection refused") || e.Hint == "" {
			t.Error(e)
		}
		f.Model = newProvider(provider, Config{Model: "m", BaseURL: "http://nowhere.invalid", Key: "sk-test-123456789", Backoff: Backoff{Sleep: func(context.Context, time.Duration) error { return nil }}})
		_, err = f.call(t)
		if e := modelError(t, err); !strings.Contains(e.Message, "nowhere.invalid") {
			t.Error(e)
		}
	})
}

// An answer without an end is broken off and not asked for again.
func TestFlood(t *testing.T) {
	if testing.Short() {
		t.Skip("sends 64 MiB twice")
	}
	each(t, func(t *testing.T, provider string) {
		asked := 0
		srv := serve(t, func(w http.ResponseWriter, r *http.Request) {
			asked++
			w.Header().Set("Content-Type", "text/event-stream")
			event := ": " + strings.Repeat("x", 60<<10) + "\n\n" // a comment
			for {
				if _, err := io.WriteString(w, event); err != nil {
					return
				}
			}
		})
		f := &fixture{Model: newProvider(provider, Config{Model: "m", BaseURL: srv, Key: "sk-test-123456789"})}
		_, err := f.call(t)
		if e := modelError(t, err); !strings.Contains(e.Message, "longer than 64 MiB") || asked != 1 {
			t.Errorf("%v; asked %d times", e, asked)
		}
	})
}

func TestNotAStream(t *testing.T) {
	each(t, func(t *testing.T, provider string) {
		srv := serve(t, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			io.WriteString(w, "<html>welcome</html>")
		})
		f := &fixture{Model: newProvider(provider, Config{Model: "m", BaseURL: srv, Key: "sk-test-123456789"})}
		_, err := f.call(t)
		if e := modelError(t, err); !strings.Contains(e.Message, "text/html") || !strings.Contains(e.Hint, "base_url") {
			t.Error(e)
		}
	})
}

// R01: a gateway that answers with a dump of what it was sent must not put the
// key into anything that is shown or kept.
func TestKeysStayOut(t *testing.T) {
	each(t, func(t *testing.T, provider string) {
		key := "sk-ant-test-THESECRETPART-0123456789"
		for _, status := range []int{400, 401, 500} {
			srv := serve(t, func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				w.WriteHeader(status)
				var b strings.Builder
				r.Header.Write(&b)
				fmt.Fprintf(w, `{"type":"error","error":{"type":"invalid_request_error","message":%q}}`, "you sent "+b.String())
			})
			var told strings.Builder
			m := newProvider(provider, Config{Model: "m", BaseURL: srv, Key: key, OldHeaders: status == 500, Backoff: Backoff{Sleep: func(context.Context, time.Duration) error { return nil }}})
			_, err := m.Stream(t.Context(), Request{Messages: []Message{said("x")}}, func(e Event) { told.WriteString(e.Text) })
			e := modelError(t, err)
			everything := fmt.Sprintf("%v %+v %#v %s", err, e, *e, told.String())
			for inner := errors.Unwrap(err); inner != nil; inner = errors.Unwrap(inner) {
				everything += fmt.Sprintf("%v %#v", inner, inner)
			}
			if strings.Contains(everything, "THESECRETPART") {
				t.Errorf("the key is in: %s", everything)
			}
			if !strings.Contains(e.Message, "you sent") || !strings.Contains(e.Message, secret.Masked) {
				t.Errorf("message %q", e.Message)
			}
		}
	})
}

func TestRedact(t *testing.T) {
	for in, want := range map[string]string{
		"key abcd1234 here":                         "key [masked] here",
		"Authorization: Bearer xyzxyzxyz":           "Authorization: [masked]",
		"got sk-proj-aaaaaaaaaaaaaaaa, sorry":       "got [masked], sorry",
		`{"x-api-key": "qqqqqqqqqqqq"}`:             `{"[masked]"}`,
		"nothing to hide, the task-force-one cares": "nothing to hide, the task-force-one cares",
	} {
		if got := redact(in, "abcd1234"); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}
