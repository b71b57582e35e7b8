package lsp

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/textproto"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stella-ls/stella-ls/agent"
	"github.com/stella-ls/stella-ls/guard"
	"github.com/stella-ls/stella-ls/internal/workspace"
)

// duplex is one end of an in-memory connection.
type duplex struct {
	*io.PipeReader
	*io.PipeWriter
}

func (d duplex) Close() error {
	_ = d.PipeReader.Close()
	return d.PipeWriter.Close()
}

func pipePair() (client, server duplex) {
	cr, sw := io.Pipe()
	sr, cw := io.Pipe()
	return duplex{cr, cw}, duplex{sr, sw}
}

type wireMessage struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  *struct {
		Code    int    `json:"code"`
		Message string `json:"message"`
	} `json:"error"`
}

// testClient is a client of raw frames: what it sees is what is on the wire.
type testClient struct {
	t      *testing.T
	conn   duplex
	server *Server
	code   chan int

	mu     sync.Mutex // guards what follows
	cond   *sync.Cond
	got    []wireMessage
	next   int
	closed bool
	answer func(m wireMessage) (result any, ok bool) // nil: {} to everything
}

type testSetup struct {
	caps     any
	sessions Sessions
	root     string
	opts     any
	raw      bool // no initialize
	open     func(o Opening)
	hooks    bool
}

func startClient(t *testing.T, o testSetup) *testClient {
	t.Helper()
	mine, theirs := pipePair()
	c := &testClient{t: t, conn: mine, code: make(chan int, 1)}
	c.cond = sync.NewCond(&c.mu)
	if o.sessions == nil {
		o.sessions = &fakeSessions{}
	}
	c.server = NewServer(Config{
		Version: "test", TestHooks: o.hooks,
		Workspace: func(roots []string) *workspace.Workspace { return workspace.New(workspace.Options{Roots: roots}) },
		Open: func(_ context.Context, op Opening) (*Backend, error) {
			if o.open != nil {
				o.open(op)
			}
			if f, ok := o.sessions.(*fakeSessions); ok {
				f.client = op.Client
			}
			return &Backend{Sessions: o.sessions}, nil
		},
	})
	go func() { c.code <- c.server.Serve(context.Background(), theirs) }()
	go c.read()
	t.Cleanup(func() { _ = mine.Close(); <-c.code })
	if !o.raw {
		if o.root == "" {
			o.root = t.TempDir()
		}
		r := c.call("initialize", map[string]any{
			"processId": nil, "rootUri": "file://" + o.root, "capabilities": orEmpty(o.caps), "initializationOptions": orEmpty(o.opts),
		})
		if r.Error != nil {
			t.Fatalf("initialize: %+v", r.Error)
		}
		c.notify("initialized", map[string]any{})
	}
	return c
}

func orEmpty(v any) any {
	if v == nil {
		return map[string]any{}
	}
	return v
}

func (c *testClient) read() {
	in := bufio.NewReader(c.conn)
	for {
		h, err := textproto.NewReader(in).ReadMIMEHeader()
		if err != nil {
			break
		}
		n, _ := strconv.Atoi(h.Get("Content-Length"))
		body := make([]byte, n)
		if _, err := io.ReadFull(in, body); err != nil {
			break
		}
		var m wireMessage
		if err := json.Unmarshal(body, &m); err != nil {
			c.t.Errorf("server sent no JSON: %s", body)
		}
		c.mu.Lock()
		c.got = append(c.got, m)
		c.cond.Broadcast()
		answer := c.answer
		c.mu.Unlock()
		if m.Method != "" && len(m.ID) > 0 {
			var result any
			ok := true
			if answer != nil {
				result, ok = answer(m)
			}
			if ok {
				go c.send(map[string]any{"jsonrpc": "2.0", "id": m.ID, "result": result})
			}
		}
	}
	c.mu.Lock()
	c.closed = true
	c.cond.Broadcast()
	c.mu.Unlock()
}

func (c *testClient) bytes(b string) {
	c.t.Helper()
	if _, err := io.WriteString(c.conn.PipeWriter, b); err != nil {
		c.t.Fatalf("write: %v", err)
	}
}

func frame(body string) string { return fmt.Sprintf("Content-Length: %d\r\n\r\n%s", len(body), body) }

func (c *testClient) send(m any) {
	b, err := json.Marshal(m)
	if err != nil {
		c.t.Fatal(err)
	}
	_, _ = io.WriteString(c.conn.PipeWriter, frame(string(b)))
}

func (c *testClient) notify(method string, params any) {
	c.send(map[string]any{"jsonrpc": "2.0", "method": method, "params": params})
}

func (c *testClient) request(method string, params any) (id int) {
	c.mu.Lock()
	c.next++
	id = c.next
	c.mu.Unlock()
	c.send(map[string]any{"jsonrpc": "2.0", "id": id, "method": method, "params": params})
	return id
}

func (c *testClient) response(id int) wireMessage {
	c.t.Helper()
	want := strconv.Itoa(id)
	return c.wait("the answer to request "+want, func(m wireMessage) bool { return m.Method == "" && string(m.ID) == want })
}

func (c *testClient) call(method string, params any) wireMessage {
	c.t.Helper()
	return c.response(c.request(method, params))
}

// wait returns the first message, past or to come, that ok holds for.
func (c *testClient) wait(what string, ok func(wireMessage) bool) wireMessage {
	c.t.Helper()
	timer := time.AfterFunc(10*time.Second, func() {
		c.mu.Lock()
		c.closed = true
		c.cond.Broadcast()
		c.mu.Unlock()
	})
	defer timer.Stop()
	c.mu.Lock()
	defer c.mu.Unlock()
	for i := 0; ; {
		for ; i < len(c.got); i++ {
			if ok(c.got[i]) {
				return c.got[i]
			}
		}
		if c.closed {
			c.t.Fatalf("no %s among %d messages", what, len(c.got))
		}
		c.cond.Wait()
	}
}

func (c *testClient) method(name string) wireMessage {
	c.t.Helper()
	return c.wait(name, func(m wireMessage) bool { return m.Method == name })
}

// messages returns what came so far.
func (c *testClient) messages() []wireMessage {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]wireMessage(nil), c.got...)
}

func into[T any](t *testing.T, raw json.RawMessage) T {
	t.Helper()
	var v T
	if err := json.Unmarshal(raw, &v); err != nil {
		t.Fatalf("%v in %s", err, raw)
	}
	return v
}

// fakeSessions is a session manager whose prompt does what the test says.
type fakeSessions struct {
	client agent.Client
	prompt func(ctx context.Context, c agent.Client, p agent.Prompt) (agent.Outcome, error)
	list   []agent.Info
	files  []guard.Guarded
	t      agent.Transcript

	mu        sync.Mutex // guards what follows
	prompts   []agent.Prompt
	cancelled []string
}

func (f *fakeSessions) Start(context.Context, agent.StartOptions) (string, error) { return "s-1", nil }

func (f *fakeSessions) Prompt(ctx context.Context, p agent.Prompt) (agent.Outcome, error) {
	f.mu.Lock()
	f.prompts = append(f.prompts, p)
	f.mu.Unlock()
	if f.prompt == nil {
		return agent.Outcome{TurnID: "t1", Stop: agent.StopEndTurn}, nil
	}
	return f.prompt(ctx, f.client, p)
}

func (f *fakeSessions) Cancel(session string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.cancelled = append(f.cancelled, session)
	return nil
}

func (f *fakeSessions) List() []agent.Info { return f.list }

func (f *fakeSessions) Get(string) (agent.Transcript, error) { return f.t, nil }

func (f *fakeSessions) Resume(context.Context, string, bool) (bool, error) { return false, nil }

func (f *fakeSessions) Files(context.Context, string, bool) ([]guard.Guarded, error) {
	return f.files, nil
}

func (f *fakeSessions) Content(string) ([]byte, []byte, bool) { return nil, nil, false }

func (f *fakeSessions) Changes(context.Context, string, string) ([]guard.FileChange, error) {
	return []guard.FileChange{{Path: "/w/a", Diff: "@@", Edits: []string{"e1"}, Undoable: true}}, nil
}

func (f *fakeSessions) Undo(_ context.Context, session, turn, edit string) ([]guard.Undone, error) {
	if edit == "e9" {
		return nil, agent.ErrNoEdits
	}
	return []guard.Undone{
		{Path: "/w/a", Result: guard.Result{Status: guard.StatusApplied}},
		{Path: "/w/b", Result: guard.Result{Status: guard.StatusStale, Path: "b"}},
	}, nil
}
