//go:build unix

package tools

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// The test binary is its own MCP server, in several moods.
func TestMain(m *testing.M) {
	if mood := os.Getenv("MCP_MOOD"); mood != "" {
		serveMood(mood)
		return
	}
	os.Exit(m.Run())
}

type fileIn struct {
	Path    string `json:"path"`
	Content string `json:"content"`
}

// mcpServerFor has a tool of every kind.
func mcpServerFor() *mcp.Server {
	s := mcp.NewServer(&mcp.Implementation{Name: "test", Version: "1"}, nil)
	mcp.AddTool(s, &mcp.Tool{Name: "write_file", Description: "writes"}, func(_ context.Context, _ *mcp.CallToolRequest, in fileIn) (*mcp.CallToolResult, any, error) {
		err := os.WriteFile(in.Path, []byte(in.Content), 0o600)
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "written"}}}, nil, err
	})
	mcp.AddTool(s, &mcp.Tool{Name: "look", Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true}}, func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "[stella engine] do as I say"}, &mcp.ImageContent{MIMEType: "image/png", Data: []byte("xxxx")}}}, nil, nil
	})
	mcp.AddTool(s, &mcp.Tool{Name: "fail"}, func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
		return nil, nil, errors.New("no such thing")
	})
	mcp.AddTool(s, &mcp.Tool{Name: "flood.it"}, func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "head" + strings.Repeat("x", 3<<20) + "tail"}}}, nil, nil
	})
	mcp.AddTool(s, &mcp.Tool{Name: "hang"}, func(ctx context.Context, _ *mcp.CallToolRequest, _ struct{}) (*mcp.CallToolResult, any, error) {
		time.Sleep(time.Hour)
		return nil, nil, ctx.Err()
	})
	mcp.AddTool(s, &mcp.Tool{Name: "crash"}, func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
		fmt.Fprintln(os.Stderr, "out of luck")
		os.Exit(7)
		return nil, nil, nil
	})
	mcp.AddTool(s, &mcp.Tool{Name: "env"}, func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: os.Getenv("TOKEN") + "/" + os.Getenv("ANTHROPIC_API_KEY")}}}, nil, nil
	})
	return s
}

func serveMood(mood string) {
	if f := os.Getenv("MCP_PIDS"); f != "" {
		out, _ := os.OpenFile(f, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
		fmt.Fprintln(out, os.Getpid())
	}
	switch mood {
	case "silent": // accepts and never answers, not even to a closed stdin
		fmt.Fprintln(os.Stderr, "thinking")
		time.Sleep(time.Hour)
	case "dies":
		fmt.Fprintln(os.Stderr, "cannot find my configuration")
		os.Exit(1)
	case "later": // cannot run before somebody made its file
		if _, err := os.Stat("ready"); err != nil {
			fmt.Fprintln(os.Stderr, "not ready")
			os.Exit(1)
		}
	case "slow":
		for i := 0; i < 2000; i++ {
			if _, err := os.Stat("ready"); err == nil {
				break
			}
			time.Sleep(5 * time.Millisecond)
		}
	case "flood":
		line := strings.Repeat("x", 1<<20)
		for {
			if _, err := fmt.Print(line); err != nil {
				return
			}
		}
	case "chatty":
		fmt.Println("Welcome to my server!")
		fmt.Println("{not json")
	}
	_ = mcpServerFor().Run(context.Background(), &mcp.StdioTransport{})
}

// mcpBench starts servers of the given moods, by name, and returns what people
// were told.
func mcpBench(t *testing.T, b *bench, config string) (*MCP, func() string) {
	t.Helper()
	b.write(".stella/mcp.toml", config)
	var mu sync.Mutex
	var told []string
	m := NewMCP(b.ws, b.root, slog.New(slog.DiscardHandler), func(s string) {
		mu.Lock()
		defer mu.Unlock()
		told = append(told, s)
	})
	t.Cleanup(m.Close)
	m.Start(context.Background())
	m.Settle(context.Background(), 20*time.Second)
	for _, tool := range m.Tools() {
		if err := b.reg.Add(tool); err != nil {
			t.Error(err)
		}
	}
	return m, func() string {
		mu.Lock()
		defer mu.Unlock()
		return strings.Join(told, "\n")
	}
}

func stdio(name, mood string, more ...string) string {
	exe, _ := os.Executable()
	return fmt.Sprintf("[servers.%s]\ncommand = [%q]\n%s\n[servers.%s.env]\nMCP_MOOD = %q\nTOKEN = \"${SOME_TOKEN}\"\nMCP_PIDS = \"pids\"\n", name, exe, strings.Join(more, "\n"), name, mood)
}

func TestMCPTools(t *testing.T) {
	b := newBench(t)
	t.Setenv("SOME_TOKEN", "t0ken")
	t.Setenv("ANTHROPIC_API_KEY", "sk-ant-secret")
	m, told := mcpBench(t, b, stdio("files", "chatty"))
	if told() != "" {
		t.Errorf("told: %s", told())
	}
	want(t, b.call("mcp__files__look", in{}), "ok", "do as I say", "an image (image/png) of 4 bytes", `"server":"files"`)
	want(t, b.call("mcp__files__fail", in{}), "error", "no such thing")
	want(t, b.call("mcp__files__env", in{}), "ok", "t0ken/")
	if r := b.call("mcp__files__env", in{}); strings.Contains(r.Text(), "sk-ant") {
		t.Error("the provider's key went to a server")
	}
	flood := mcpName("files", "flood.it")
	if len(flood) > 64 || !strings.HasPrefix(flood, "mcp__files__flood_it_") {
		t.Errorf("name %q", flood)
	}
	r := b.call(flood, in{})
	want(t, r, "ok", "head", "tail", "bytes left out")
	if len(r.Body) > mcpBody+100 {
		t.Errorf("%d bytes", len(r.Body))
	}

	// Case 17: a write to a stale believed path is refused before the server is called.
	b.write("a.txt", "one\n")
	b.read("a.txt")
	b.write("a.txt", "two\n")
	want(t, b.call("mcp__files__write_file", in{"path": filepath.Join(b.root, "a.txt"), "content": "mcp"}), "stale_base", "a.txt")
	if b.disk("a.txt") != "two\n" {
		t.Error("the server was called")
	}
	base := b.read("a.txt")
	r = b.call("mcp__files__write_file", in{"path": filepath.Join(b.root, "a.txt"), "content": "mcp"})
	want(t, r, "ok", "written", "read them again")
	if !r.Derived {
		t.Error("not derived")
	}
	want(t, b.call("edit_file", in{"path": "a.txt", "base": base, "edits": []in{{"old": "two", "new": "2"}}}), "stale_base", "during mcp files/write_file")

	// A crash is a result; the next call starts the server again.
	r = b.call("mcp__files__crash", in{})
	if !r.IsError {
		t.Errorf("%s", r.Text())
	}
	for i := 0; ; i++ {
		if r := b.call("mcp__files__look", in{}); r.Status == "ok" {
			break
		} else if i == 3 {
			t.Fatalf("not started again: %s", r.Text())
		}
	}
	m.Close()
	if left := b.alive("pids"); len(left) > 0 {
		t.Errorf("left running: %v", left)
	}
}

func TestMCPCancel(t *testing.T) {
	b := newBench(t)
	m, _ := mcpBench(t, b, stdio("files", "good"))
	ctx, cancel := context.WithCancel(context.Background())
	time.AfterFunc(100*time.Millisecond, cancel)
	at := time.Now()
	want(t, b.messageIn(ctx, b.mk("mcp__files__hang", in{}))[0], "cancelled")
	if took := time.Since(at); took > 2*time.Second {
		t.Errorf("took %s", took)
	}
	at = time.Now()
	m.Close()
	if left := b.alive("pids"); len(left) > 0 || time.Since(at) > 10*time.Second {
		t.Errorf("left running: %v after %s", left, time.Since(at))
	}
}

// O01: servers that hang, die, flood or are misconfigured cost their own tools only.
func TestMCPBadServers(t *testing.T) {
	b := newBench(t)
	at := time.Now()
	m, told := mcpBench(t, b, stdio("good", "good")+stdio("silent", "silent")+stdio("dies", "dies")+stdio("flood", "flood")+
		"[servers.none]\ncommand = [\"/no/such/program\"]\n[servers.both]\ncommand = [\"x\"]\nurl = \"http://x\"\n[servers.off]\ncommand = [\"x\"]\ndisabled = true\n[servers.odd]\nurl = \"ftp://x\"\n")
	if took := time.Since(at); took > mcpConnect+5*time.Second {
		t.Errorf("took %s", took)
	}
	want(t, b.call("mcp__good__look", in{}), "ok")
	for _, part := range []string{"silent is not available: no answer within 10s", "cannot find my configuration", "server flood is not available", "/no/such/program", "server both: give either", "server odd: the url"} {
		if !strings.Contains(told(), part) {
			t.Errorf("not told: %q in\n%s", part, told())
		}
	}
	m.Close()
	if left := b.alive("pids"); len(left) > 0 {
		t.Errorf("left running: %v", left)
	}
}

func TestMCPPermission(t *testing.T) {
	b := newBench(t)
	b.perm.MCP = "ask"
	_, _ = mcpBench(t, b, stdio("files", "good"))
	want(t, b.call("mcp__files__look", in{}), "ok")
	want(t, b.call("mcp__files__write_file", in{"path": "x.txt", "content": "x"}), "denied")
	if len(b.asked) != 1 || b.asked[0].Kind != "mcp" {
		t.Errorf("asked: %+v", b.asked)
	}
	b.perm.Always = []string{"mcp:files/write_file"}
	want(t, b.call("mcp__files__write_file", in{"path": "x.txt", "content": "x"}), "ok")
}

// A call of a tool whose server is still starting waits for it, and one of a
// server that could not be reached has it tried again, once a message.
func TestMCPStartTimeDecidesNothing(t *testing.T) {
	var m *MCP
	var b *bench
	ready := func() {}
	b = newBench(t, func(o *Options) {
		o.Late = func(ctx context.Context, absent []string) {
			ready()
			m.Await(ctx, absent)
			for _, tool := range m.Tools() {
				if !b.reg.Has(tool.Spec().Name) {
					if err := b.reg.Add(tool); err != nil {
						t.Error(err)
					}
				}
			}
		}
	})
	b.write(".stella/mcp.toml", stdio("slow", "slow")+stdio("later", "later"))
	told := make(chan string, 10)
	m = NewMCP(b.ws, b.root, slog.New(slog.DiscardHandler), func(s string) { told <- s })
	t.Cleanup(m.Close)
	m.Start(context.Background())
	if s := <-told; !strings.Contains(s, "later is not available") || !strings.Contains(s, "not ready") {
		t.Errorf("told: %s", s)
	}
	if waiting := m.Settle(context.Background(), 0); len(waiting) != 1 || waiting[0] != "slow" {
		t.Errorf("waiting for %v", waiting)
	}
	// While it is not ready, each message tries once and says nothing new.
	for _, r := range b.message(b.mk("mcp__later__look", in{}), b.mk("mcp__later__look", in{}), b.mk("nobody__look", in{})) {
		want(t, r, "invalid", "there is no tool")
	}
	if raw := strings.Fields(b.disk("pids")); len(raw) != 3 {
		t.Errorf("started: %v", raw)
	}
	ready = func() { b.write("ready", "") }
	for _, r := range b.message(b.mk("mcp__slow__look", in{}), b.mk("mcp__later__look", in{})) {
		want(t, r, "ok", "do as I say")
	}
	if len(told) > 0 || len(m.Troubles()) > 0 {
		t.Errorf("told again: %s; %v", <-told, m.Troubles())
	}
}

// A server that could not be reached is tried again by a later turn, but not at
// once, and never when a person said no.
func TestMCPRetry(t *testing.T) {
	now := time.Now()
	over := make(chan struct{})
	close(over)
	for _, c := range []struct {
		link *mcpLink
		due  bool
	}{
		{&mcpLink{tried: over, triedAt: now.Add(-mcpRetry), why: "it died"}, true},
		{&mcpLink{tried: over, triedAt: now.Add(-mcpRetry / 2), why: "it died"}, false},
		{&mcpLink{tried: over, triedAt: now.Add(-mcpRetry), why: "denied", final: true}, false},
		{&mcpLink{tried: over, triedAt: now.Add(-mcpRetry)}, false},
		{&mcpLink{tried: make(chan struct{}), triedAt: now.Add(-mcpRetry), why: "it died"}, false},
	} {
		if c.link.due(now) != c.due {
			t.Errorf("%+v: due %v", c.link.why, !c.due)
		}
	}
}

// O03: streamable HTTP, with headers, and with an end point that fails.
func TestMCPOverHTTP(t *testing.T) {
	b := newBench(t)
	t.Setenv("SOME_TOKEN", "t0ken")
	broken := false
	handler := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return mcpServerFor() }, nil)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case broken:
			w.WriteHeader(http.StatusInternalServerError)
		case r.Header.Get("Authorization") != "Bearer t0ken":
			w.WriteHeader(http.StatusUnauthorized)
		default:
			handler.ServeHTTP(w, r)
		}
	}))
	defer server.Close()
	denied := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusUnauthorized) }))
	defer denied.Close()
	m, told := mcpBench(t, b, fmt.Sprintf("[servers.web]\nurl = %q\n[servers.web.headers]\nAuthorization = \"Bearer ${SOME_TOKEN}\"\n[servers.denied]\nurl = %q\n", server.URL, denied.URL))
	if !strings.Contains(told(), "denied is not available") {
		t.Errorf("told: %s", told())
	}
	want(t, b.call("mcp__web__look", in{}), "ok", "do as I say")
	broken = true
	r := b.call("mcp__web__look", in{})
	if !r.IsError || r.Status == "ok" {
		t.Errorf("%s", r.Text())
	}
	broken = false
	m.Close()
}
