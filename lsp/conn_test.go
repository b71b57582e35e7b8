package lsp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/iotest"
	"time"

	"go.lsp.dev/jsonrpc2"
	"go.lsp.dev/protocol"

	"github.com/stella-ls/stella-ls/agent"
)

func TestLifeOfAConnection(t *testing.T) {
	c := startClient(t, testSetup{raw: true})
	want := func(what string, m wireMessage, code int) {
		t.Helper()
		if m.Error == nil || m.Error.Code != code {
			t.Errorf("%s: got %s %+v, want error %d", what, m.Result, m.Error, code)
		}
	}
	want("before initialize", c.call("stella/session/list", nil), -32002)
	want("params that do not fit", c.call("initialize", []int{1}), -32602)
	if r := c.call("initialize", map[string]any{"processId": nil, "rootUri": nil, "capabilities": map[string]any{}}); r.Error != nil {
		t.Fatalf("initialize: %+v", r.Error)
	}
	want("initialize twice", c.call("initialize", map[string]any{}), -32600)
	want("unknown request", c.call("stella/nothing", nil), -32601)
	want("a notification as a request", c.call("textDocument/didOpen", nil), -32601)
	want("wrong type", c.call("stella/session/prompt", map[string]any{"sessionId": 5}), -32602)
	want("missing member", c.call("stella/session/prompt", map[string]any{"text": "hi"}), -32602)
	want("no such side", c.call("stella/content", map[string]any{"editId": "x", "side": "left"}), -32602)
	want("test hook without --test-hooks", c.call("stella/test/release", map[string]any{"name": "x"}), -32601)
	if r := c.call("stella/session/list", nil); string(r.Result) != `{"sessions":[]}` {
		t.Errorf("absent params: got %s %+v", r.Result, r.Error)
	}
	if r := c.call("shutdown", nil); r.Error != nil || string(r.Result) != "null" {
		t.Errorf("shutdown: got %s %+v", r.Result, r.Error)
	}
	want("after shutdown", c.call("stella/session/list", nil), -32600)
	c.notify("exit", nil)
	if code := <-c.code; code != 0 {
		t.Errorf("exit code %d after shutdown, want 0", code)
	}
	c.code <- 0
}

func TestMalformedFrames(t *testing.T) {
	for name, junk := range map[string]string{
		"not json":             frame(`{"jsonrpc":`),
		"empty object":         frame(`{}`),
		"number":               frame(`5`),
		"batch":                frame(`[{"jsonrpc":"2.0","id":9,"method":"shutdown"}]`),
		"noise line":           "hello\r\n",
		"noise without end":    "hello",
		"bad length":           "Content-Length: x\r\n\r\n{}",
		"negative length":      "Content-Length: -5\r\n\r\n{}",
		"no length":            "Content-Type: a\r\n\r\n{}",
		"length too small":     "Content-Length: 3\r\n\r\n{\"jsonrpc\":\"2.0\"}",
		"huge noise":           strings.Repeat("x", 300_000),
		"invalid utf-8":        frame("{\"jsonrpc\":\"2.0\",\"method\":\"\xff\xfe\"}"),
		"deeply nested params": frame(`{"jsonrpc":"2.0","id":77,"method":"stella/session/list","params":` + strings.Repeat(`{"a":`, 20_000) + `1` + strings.Repeat(`}`, 20_000) + `}`),
	} {
		t.Run(name, func(t *testing.T) {
			c := startClient(t, testSetup{})
			c.bytes(junk)
			if r := c.call("stella/session/list", map[string]any{}); r.Error != nil {
				t.Fatalf("after the frame: %+v", r.Error)
			}
			var refused bool
			for _, m := range c.messages() {
				refused = refused || m.Error != nil
			}
			if !refused && name != "invalid utf-8" {
				t.Error("the frame was not answered with an error")
			}
		})
	}
}

func TestEmptyLinesBetweenFramesAreIgnored(t *testing.T) {
	c := startClient(t, testSetup{})
	c.bytes("\r\n\n\r\n")
	c.call("stella/session/list", nil)
	for _, m := range c.messages() {
		if m.Error != nil {
			t.Errorf("an empty line was answered with %+v", m.Error)
		}
	}
}

func TestFrameLimit(t *testing.T) {
	body := `{"jsonrpc":"2.0","method":"textDocument/didChange","params":{"x":"` + strings.Repeat("y", 5000) + `"}}`
	in := frame(body) + frame(`{"jsonrpc":"2.0","id":1,"method":"ok"}`)
	st, out := testStream(in)
	st.limit = 1000
	var told string
	st.bad = func(reason string, raw []byte) { told = reason + string(raw) }
	msg, _, err := st.Read(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if call, ok := msg.(*jsonrpc2.Call); !ok || call.Method() != "ok" {
		t.Fatalf("got %v, want the frame after the large one", msg)
	}
	if !strings.Contains(told, "the limit is 1000") || !strings.Contains(told, "textDocument/didChange") {
		t.Errorf("told %.200q", told)
	}
	if got := drain(out); !strings.Contains(got, "-32700") {
		t.Errorf("answered %q", got)
	}
}

// A header that claims more than its message has swallows nothing, however the
// bytes come: what follows is read when it is there.
func TestFrameThatClaimsMore(t *testing.T) {
	next := frame(`{"jsonrpc":"2.0","id":1,"method":"ok"}`)
	for _, sent := range []string{"{}", "", "{", strings.Repeat("y", 100), strings.Repeat("y", bodyPart-7), strings.Repeat("y", 3*bodyPart), "Content-Length", "Content-Length: x\r\n", "\r\n"} {
		claims := []int{len(sent) + 1, len(sent) + 20, len(sent) + len(next) + 1, 100 << 20, 1 << 40}
		for i := range len(next) - 22 { // the body's end within what follows
			claims = append(claims, len(sent)+1+i)
		}
		for _, claim := range claims {
			for _, slow := range []bool{false, true} {
				in := fmt.Sprintf("Content-Length: %d\r\n\r\n%s%s", claim, sent, next)
				st, out := testStream(in)
				if slow {
					if len(sent) > 1000 || claim > len(sent)+10 && claim < 1<<20 {
						continue
					}
					st.back.from = iotest.OneByteReader(strings.NewReader(in))
				}
				msg, _, err := st.Read(t.Context())
				if call, ok := msg.(*jsonrpc2.Call); !ok || call.Method() != "ok" {
					t.Fatalf("%d claimed, %d sent, slow %v: %v, %v", claim, len(sent), slow, msg, err)
				}
				if got := drain(out); strings.Count(got, "-32700") != 1 || !strings.Contains(got, fmt.Sprintf("a header says %d bytes", claim)) {
					t.Errorf("%d claimed, %d sent: answered %q", claim, len(sent), got)
				}
				if cap(st.buf) > 8*bodyPart {
					t.Errorf("%d claimed, %d sent: %d bytes of memory", claim, len(sent), cap(st.buf))
				}
			}
		}
	}
}

// What looks like a header in a text is none.
func TestHeaderInAString(t *testing.T) {
	body := `{"jsonrpc":"2.0","id":1,"method":"ok","params":["Content-Length: 5\r\n\r\n{}","Content-Length: 5"]}`
	st, _ := testStream(frame(body))
	if msg, n, err := st.Read(t.Context()); err != nil || int(n) != len(body) {
		t.Errorf("%v, %v", msg, err)
	}
}

// testStream reads in and collects what is written.
func testStream(in string) (*stream, *outbox) {
	out := newOutbox(io.Discard, func(error) {})
	return newStream(struct {
		io.Reader
		io.Writer
		io.Closer
	}{strings.NewReader(in), io.Discard, io.NopCloser(nil)}, out), out
}

func drain(o *outbox) string {
	var b strings.Builder
	for {
		p, ok := o.next()
		if !ok {
			return b.String()
		}
		b.Write(p.frame)
	}
}

func FuzzFraming(f *testing.F) {
	good := `{"jsonrpc":"2.0","id":1,"method":"m","params":{}}`
	for _, seed := range []string{
		frame(good), "x" + frame(good), "Content-Length: 5\r\n\r\n{\"a\":" + frame(good), "Content-Length: 99\r\n\r\n{}",
		"Content-Length: 0\r\n\r\n" + frame(good), "content-length:  3 \r\nX: y\r\n\r\n[1]", "\r\n\r\n", "Content-Length: 99999999999999999999\r\n\r\n",
		frame(`{"jsonrpc":"2.0","method":"m"}`), frame(`{"jsonrpc":"2.0","id":"a","result":null}`),
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, in string) {
		// Whatever came before, a frame that follows an empty line is read.
		const marker = `{"jsonrpc":"2.0","id":987654321,"method":"the/marker"}`
		st, _ := testStream(in + "\r\n\r\n" + frame(marker))
		st.limit = 1 << 16
		for {
			msg, _, err := st.Read(t.Context())
			if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
				t.Fatalf("the frame after %q was lost", in)
			}
			if err != nil {
				t.Fatalf("unexpected error %v", err)
			}
			if call, ok := msg.(*jsonrpc2.Call); ok && call.Method() == "the/marker" {
				return
			}
		}
	})
}

// FuzzMessages sends arbitrary bodies of known methods: the connection answers
// and lives.
func FuzzMessages(f *testing.F) {
	for _, seed := range []string{
		`{"jsonrpc":"2.0","id":5,"method":"initialize","params":{"capabilities":{"experimental":{"stella":5}}}}`,
		`{"jsonrpc":"2.0","method":"textDocument/didOpen","params":{"textDocument":{"uri":"file:///a","version":1,"text":"x"}}}`,
		`{"jsonrpc":"2.0","method":"textDocument/didChange","params":{"textDocument":{"uri":"file:///a","version":2},"contentChanges":[{"range":{"start":{"line":4294967295,"character":9}},"text":"é"}]}}`,
		`{"jsonrpc":"2.0","id":5,"method":"textDocument/codeAction","params":{"textDocument":{"uri":"file:///a"},"range":{},"context":{"diagnostics":[{"message":{}}]}}}`,
		`{"jsonrpc":"2.0","id":5,"method":"workspace/executeCommand","params":{"command":"stella.server.ask","arguments":[{"text":"x"}]}}`,
		`{"jsonrpc":"2.0","id":"x","method":"stella/session/prompt","params":{"sessionId":"s","context":[{"uri":"::"}]}}`,
		`{"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":[]}}`,
		`{"jsonrpc":"2.0","method":"workspace/didChangeWatchedFiles","params":{"changes":[{"uri":"%"}]}}`,
		`{"jsonrpc":"2.0","method":"workspace/didChangeWorkspaceFolders","params":{"event":{"added":[{"uri":"file:///"}],"removed":[{}]}}}`,
		`{"jsonrpc":"2.0","method":"workspace/didChangeConfiguration","params":{"settings":[]}}`,
		`{"jsonrpc":"2.0","method":"window/workDoneProgress/cancel","params":{"token":5}}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		if bytes.Contains(body, []byte("exit")) || bytes.Contains(body, []byte("shutdown")) || bytes.Contains(body, []byte(`\u`)) {
			t.Skip("ends the connection")
		}
		c := startClient(t, testSetup{})
		c.bytes(frame(string(body) + " "))
		if r := c.call("stella/session/list", nil); r.Error != nil {
			t.Fatalf("after %q: %+v", body, r.Error)
		}
	})
}

func TestChangesAreAppliedInOrderAndRequestsSeeThem(t *testing.T) {
	root := t.TempDir()
	file := filepath.Join(root, "a.txt")
	if err := os.WriteFile(file, []byte("0"), 0o644); err != nil {
		t.Fatal(err)
	}
	c := startClient(t, testSetup{root: root, caps: map[string]any{"experimental": map[string]any{"stella": map[string]any{}}}})
	uri := "file://" + file
	c.notify("textDocument/didOpen", map[string]any{"textDocument": map[string]any{"uri": uri, "languageId": "x", "version": 1, "text": "0"}})
	const n = 1000
	ids := make([]int, n)
	for i := 1; i <= n; i++ {
		word := fmt.Sprintf("w%d", i)
		c.notify("textDocument/didChange", map[string]any{
			"textDocument":   map[string]any{"uri": uri, "version": i + 1},
			"contentChanges": []any{map[string]any{"text": word}},
		})
		zero := map[string]any{"line": 0, "character": 0}
		ids[i-1] = c.request("textDocument/codeAction", map[string]any{
			"textDocument": map[string]any{"uri": uri}, "range": map[string]any{"start": zero, "end": zero}, "context": map[string]any{"diagnostics": []any{}},
		})
	}
	for i, id := range ids {
		want := fmt.Sprintf("Explain w%d (Stella)", i+1)
		if r := c.response(id); !strings.Contains(string(r.Result), want) {
			t.Fatalf("request after change %d saw %s", i+1, r.Result)
		}
	}
}

func TestCancelRequest(t *testing.T) {
	started := make(chan struct{}, 1)
	f := &fakeSessions{prompt: func(ctx context.Context, _ agent.Client, _ agent.Prompt) (agent.Outcome, error) {
		started <- struct{}{}
		<-ctx.Done()
		return agent.Outcome{TurnID: "t1", Stop: agent.StopCancelled}, nil
	}}
	c := startClient(t, testSetup{sessions: f})
	id := c.request("stella/session/prompt", map[string]any{"sessionId": "s-1", "text": "x"})
	<-started
	c.notify("$/cancelRequest", map[string]any{"id": id})
	r := c.response(id)
	if got := into[SessionPromptResult](t, r.Result); got.Stop != "cancelled" {
		t.Errorf("a cancelled prompt answered %s %+v", r.Result, r.Error)
	}
}

// L05: a request that the client cancels answers with the code for it, whatever
// else runs.
func TestCancelledRequestGetsItsCode(t *testing.T) {
	tab := table{}
	running := make(chan struct{}, 8)
	request(tab, "wait", long, func(ctx context.Context, _ *struct{}) (any, error) {
		running <- struct{}{}
		<-ctx.Done()
		return nil, ctx.Err()
	})
	d := testDispatcher(t, tab)
	for name, id := range map[string]jsonrpc2.ID{"number": jsonrpc2.NewNumberID(1 << 53), "string": jsonrpc2.NewStringID("a-1")} {
		t.Run(name, func(t *testing.T) {
			reply := make(chan error, 1)
			go func() {
				do, _ := tab["wait"].prepare(nil)
				_, err := d.concurrently(t.Context(), id, "wait", long, do)
				reply <- err
			}()
			<-running
			raw := `"a-1"`
			if n, ok := id.Number(); ok {
				raw = fmt.Sprint(n)
			}
			d.cancelRequest(jsonrpc2.RawMessage(`{"id":` + raw + `}`))
			if err := <-reply; !errors.Is(err, protocol.ErrRequestCancelled) {
				t.Errorf("got %v, want -32800", err)
			}
		})
	}
}

func testDispatcher(t *testing.T, tab table) *dispatcher {
	t.Helper()
	s := NewServer(Config{})
	d := newDispatcher(t.Context(), tab, s.log)
	d.life.Store(lifeRunning)
	return d
}

func TestPanicIsAnAnswer(t *testing.T) {
	f := &fakeSessions{prompt: func(context.Context, agent.Client, agent.Prompt) (agent.Outcome, error) { panic("a secret text") }}
	c := startClient(t, testSetup{sessions: f})
	r := c.call("stella/session/prompt", map[string]any{"sessionId": "s-1", "text": "x"})
	if r.Error == nil || r.Error.Code != -32603 {
		t.Fatalf("got %s %+v, want -32603", r.Result, r.Error)
	}
	if r := c.call("stella/session/list", nil); r.Error != nil {
		t.Errorf("after the panic: %+v", r.Error)
	}
}

func TestSlotsBoundWorkButNotTurns(t *testing.T) {
	tab := table{}
	var now, most atomic.Int32
	hold, entered := make(chan struct{}), make(chan struct{}, 100)
	request(tab, "work", normal, func(context.Context, *struct{}) (any, error) {
		entered <- struct{}{}
		if n := now.Add(1); n > most.Load() {
			most.Store(n)
		}
		<-hold
		now.Add(-1)
		return nil, nil
	})
	request(tab, "hover", fast, func(context.Context, *struct{}) (any, error) { return nil, nil })
	request(tab, "turn", long, func(context.Context, *struct{}) (any, error) { return nil, nil })
	d := testDispatcher(t, tab)
	start := func(method string, id int64) chan error {
		done := make(chan error, 1)
		do, _ := tab[method].prepare(nil)
		go func() {
			_, err := d.concurrently(t.Context(), jsonrpc2.NewNumberID(id), method, tab[method].class, do)
			done <- err
		}()
		return done
	}
	var all []chan error
	for i := range 50 {
		all = append(all, start("work", int64(i)))
	}
	for range cap(d.slots) {
		<-entered
	}
	if err := <-start("hover", 100); err != nil {
		t.Error(err)
	}
	if err := <-start("turn", 101); err != nil {
		t.Error(err)
	}
	close(hold)
	for _, done := range all {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	if got := most.Load(); got > int32(cap(d.slots)) {
		t.Errorf("%d ran at once, the limit is %d", got, cap(d.slots))
	}
}

func TestUpdatesPrecedeTheAnswer(t *testing.T) {
	const n = 500
	f := &fakeSessions{prompt: func(_ context.Context, c agent.Client, p agent.Prompt) (agent.Outcome, error) {
		for i := range n {
			c.Update(agent.Update{Session: p.Session, TurnID: "t1", Step: i, Kind: agent.UpdateText, Text: strings.Repeat("a", rand.IntN(200))})
		}
		return agent.Outcome{TurnID: "t1", Stop: agent.StopEndTurn}, nil
	}}
	c := startClient(t, testSetup{sessions: f})
	id := c.request("stella/session/prompt", map[string]any{"sessionId": "s-1", "text": "x"})
	c.response(id)
	next := 0
	for _, m := range c.messages() {
		switch {
		case m.Method == MethodSessionUpdate:
			if got := into[SessionUpdateParams](t, m.Params); got.Step != next {
				t.Fatalf("update %d came as number %d", got.Step, next)
			}
			next++
		case m.Method == "" && string(m.ID) == fmt.Sprint(id):
			if next != n {
				t.Fatalf("the answer came after %d of %d updates", next, n)
			}
		}
	}
}

func TestGoneClientEndsTurnsAndServer(t *testing.T) {
	started, ended := make(chan struct{}), make(chan struct{})
	f := &fakeSessions{prompt: func(ctx context.Context, _ agent.Client, _ agent.Prompt) (agent.Outcome, error) {
		close(started)
		<-ctx.Done()
		close(ended)
		return agent.Outcome{Stop: agent.StopCancelled}, nil
	}}
	c := startClient(t, testSetup{sessions: f})
	c.request("stella/session/prompt", map[string]any{"sessionId": "s-1", "text": "x"})
	<-started
	_ = c.conn.PipeWriter.Close()
	begin := time.Now()
	code := <-c.code
	<-ended
	if took := time.Since(begin); code != 1 || took > 2*time.Second {
		t.Errorf("code %d after %s", code, took)
	}
	c.code <- 0
}

func TestWrongParamsNameTheMember(t *testing.T) {
	c := startClient(t, testSetup{})
	r := c.call("stella/session/resume", map[string]any{"sessionId": "s", "continue": "yes"})
	if r.Error == nil || !strings.Contains(r.Error.Message, "/continue") {
		t.Errorf("got %+v", r.Error)
	}
}

func TestLostChangeMakesTheDocumentUnsure(t *testing.T) {
	root := t.TempDir()
	c := startClient(t, testSetup{root: root})
	uri := "file://" + filepath.Join(root, "a.txt")
	c.notify("textDocument/didOpen", map[string]any{"textDocument": map[string]any{"uri": uri, "languageId": "x", "version": 1, "text": "a"}})
	c.notify("textDocument/didChange", map[string]any{"textDocument": map[string]any{"uri": uri, "version": "two"}, "contentChanges": []any{}})
	c.call("stella/session/list", nil)
	docs := c.server.ws.Documents()
	if len(docs) != 1 || docs[0].Buffer.Unsure == "" {
		t.Errorf("documents %+v, want one that is unsure", docs)
	}
}

func TestNilSlicesAreArraysOnTheWire(t *testing.T) {
	b, err := codec{}.Marshal(GuardStatusParams{})
	if err != nil || !json.Valid(b) || strings.Contains(string(b), "null") {
		t.Errorf("%s %v", b, err)
	}
}
