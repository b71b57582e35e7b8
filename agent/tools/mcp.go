package tools

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/stella-ls/stella-ls/internal/secret"
	"github.com/stella-ls/stella-ls/internal/workspace"
)

const (
	mcpConnect = 10 * time.Second
	mcpCall    = 60 * time.Second
	mcpTools   = 256 // tools of one server
)

// MCP holds the connections to the servers of one workspace folder. Sessions
// share them. It is safe for concurrent use.
type MCP struct {
	ws   *workspace.Workspace
	root string
	log  *slog.Logger
	// report puts a sentence before people.
	report func(string)

	mu      sync.Mutex // guards what follows
	servers map[string]*mcpLink
	started bool
	closed  bool
	work    sync.WaitGroup
}

// NewMCP connects to nothing yet.
func NewMCP(ws *workspace.Workspace, root string, log *slog.Logger, report func(string)) *MCP {
	return &MCP{ws: ws, root: root, log: log, report: report, servers: map[string]*mcpLink{}}
}

// Start reads .stella/mcp.toml and connects in the background, once. The caller
// knows that the workspace is trusted.
func (m *MCP) Start(ctx context.Context) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.started || m.closed {
		return
	}
	m.started = true
	configured, problems := readMCP(ctx, m.ws, m.root)
	for _, p := range problems {
		m.report(p.Error())
	}
	for _, name := range sortedNames(configured) {
		l := &mcpLink{m: m, name: name, server: configured[name]}
		m.servers[name] = l
		m.work.Add(1)
		go func() {
			defer m.work.Done()
			if err := l.ensure(ctx); err != nil && ctx.Err() == nil {
				m.report(fmt.Sprintf("the MCP server %s is not available: %v", name, err))
			}
		}()
	}
}

// Settle waits until every server is connected or was given up, at most for limit.
func (m *MCP) Settle(ctx context.Context, limit time.Duration) {
	settled := make(chan struct{})
	go func() { m.work.Wait(); close(settled) }()
	t := time.NewTimer(limit)
	defer t.Stop()
	select {
	case <-settled:
	case <-t.C:
	case <-ctx.Done():
	}
}

// Tools are the tools of all servers that are connected now, in name order.
func (m *MCP) Tools() []Tool {
	m.mu.Lock()
	links := make([]*mcpLink, 0, len(m.servers))
	for _, name := range sortedNames(m.servers) {
		links = append(links, m.servers[name])
	}
	m.mu.Unlock()
	var out []Tool
	for _, l := range links {
		out = append(out, l.list()...)
	}
	return out
}

// Close ends every connection and process and waits for them.
func (m *MCP) Close() {
	m.mu.Lock()
	m.closed = true
	links := m.servers
	m.mu.Unlock()
	m.work.Wait()
	for _, l := range links {
		l.close()
	}
}

// mcpLink is the connection to one server; a broken one is made anew at the
// next call.
type mcpLink struct {
	m      *MCP
	name   string
	server mcpServer

	dial sync.Mutex // one attempt at a time; held while connecting, never with mu

	mu      sync.Mutex // guards what follows
	session *mcp.ClientSession
	process *mcpProcess
	tools   []Tool
	closed  bool
}

func (l *mcpLink) list() []Tool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.tools
}

// ensure returns when the server is connected and its tools are known.
func (l *mcpLink) ensure(ctx context.Context) error {
	_, err := l.connected(ctx)
	return err
}

func (l *mcpLink) connected(ctx context.Context) (*mcp.ClientSession, error) {
	l.dial.Lock()
	defer l.dial.Unlock()
	l.mu.Lock()
	session, closed := l.session, l.closed
	l.mu.Unlock()
	if closed {
		return nil, errors.New("the server is shutting down")
	}
	if session != nil {
		return session, nil
	}
	ctx, cancel := context.WithTimeout(ctx, mcpConnect)
	defer cancel()
	process, transport, err := l.transport()
	if err != nil {
		return nil, err
	}
	session, err = l.handshake(ctx, transport)
	if err != nil {
		if process != nil {
			process.close()
			if said := strings.TrimSpace(process.complaint()); said != "" {
				err = fmt.Errorf("%w; it said: %s", err, bounded(secret.Mask(said), 500))
			}
			if n := process.lines.junk(); n > 0 {
				err = fmt.Errorf("%w; %d lines of its output were no messages", err, n)
			}
		}
		if ctx.Err() != nil {
			err = fmt.Errorf("no answer within %s: %w", mcpConnect, err)
		}
		return nil, err
	}
	l.keep(session, process)
	return session, nil
}

// transport starts or addresses the server.
func (l *mcpLink) transport() (*mcpProcess, mcp.Transport, error) {
	if l.server.URL != "" {
		headers := http.Header{}
		for k, v := range l.server.Headers {
			headers.Set(k, os.Expand(v, fromEnvironment))
		}
		client := &http.Client{Transport: headerTransport{headers, http.DefaultTransport}}
		return nil, &mcp.StreamableClientTransport{
			Endpoint: os.Expand(l.server.URL, fromEnvironment), HTTPClient: client, MaxRetries: 1, MaxEventSize: mcpLine,
		}, nil
	}
	p, err := startMCP(l.server, l.m.root)
	if err != nil {
		return nil, nil, err
	}
	return p, &mcp.IOTransport{Reader: p.lines, Writer: p.stdin, MaxLineLength: mcpLine}, nil
}

type headerTransport struct {
	headers http.Header
	next    http.RoundTripper
}

func (h headerTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	for k, v := range h.headers {
		r.Header[k] = v
	}
	return h.next.RoundTrip(r)
}

// handshake connects and lists the tools. The library's Connect may outlast its
// context with a server that never answers, so it is left behind then.
func (l *mcpLink) handshake(ctx context.Context, transport mcp.Transport) (*mcp.ClientSession, error) {
	type answer struct {
		session *mcp.ClientSession
		tools   []Tool
		err     error
	}
	done := make(chan answer, 1)
	go func() {
		client := mcp.NewClient(&mcp.Implementation{Name: "stella-ls", Version: "1"}, &mcp.ClientOptions{
			ToolListChangedHandler: func(ctx context.Context, r *mcp.ToolListChangedRequest) { l.relist(r.Session) },
		})
		session, err := client.Connect(ctx, transport, nil)
		if err != nil {
			done <- answer{err: err}
			return
		}
		tools, err := l.fetch(ctx, session)
		if err != nil {
			_ = session.Close()
		}
		done <- answer{session, tools, err}
	}()
	select {
	case a := <-done:
		if a.err == nil {
			l.setTools(a.tools)
		}
		return a.session, a.err
	case <-ctx.Done():
		go func() {
			if a := <-done; a.session != nil {
				_ = a.session.Close()
			}
		}()
		return nil, ctx.Err()
	}
}

// keep stores a live connection and forgets it when it ends.
func (l *mcpLink) keep(session *mcp.ClientSession, process *mcpProcess) {
	l.mu.Lock()
	closed := l.closed
	if !closed {
		l.session, l.process = session, process
	}
	l.mu.Unlock()
	if closed {
		endLink(session, process)
		return
	}
	go func() {
		err := session.Wait()
		l.mu.Lock()
		mine := l.session == session
		if mine {
			l.session, l.process = nil, nil
		}
		l.mu.Unlock()
		if mine {
			l.m.log.Warn("an MCP server ended", "server", l.name, "err", fmt.Sprint(err))
			endLink(nil, process)
		}
	}()
}

func endLink(session *mcp.ClientSession, process *mcpProcess) {
	if session != nil {
		closed := make(chan struct{})
		go func() { _ = session.Close(); close(closed) }()
		if process != nil {
			process.close()
		}
		select {
		case <-closed:
		case <-time.After(time.Second): // an HTTP server that does not answer a DELETE
		}
		return
	}
	if process != nil {
		process.close()
	}
}

func (l *mcpLink) close() {
	l.mu.Lock()
	session, process := l.session, l.process
	l.session, l.process, l.closed = nil, nil, true
	l.mu.Unlock()
	endLink(session, process)
}

func (l *mcpLink) setTools(tools []Tool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.tools = tools
}

// relist asks for the tools again, after the server said that they changed.
func (l *mcpLink) relist(session *mcp.ClientSession) {
	go func() {
		ctx, cancel := context.WithTimeout(context.Background(), mcpConnect)
		defer cancel()
		if tools, err := l.fetch(ctx, session); err == nil {
			l.setTools(tools)
		}
	}()
}

// fetch reads the server's tools, all pages of them.
func (l *mcpLink) fetch(ctx context.Context, session *mcp.ClientSession) ([]Tool, error) {
	var out []Tool
	taken := map[string]bool{}
	cursor := ""
	for page := 0; page < 64; page++ {
		res, err := session.ListTools(ctx, &mcp.ListToolsParams{Cursor: cursor})
		if err != nil {
			return nil, err
		}
		for _, t := range res.Tools {
			if t == nil || len(out) >= mcpTools {
				continue
			}
			tool, err := newMCPTool(l, t)
			if err != nil {
				l.m.log.Warn("an MCP tool is left out", "server", l.name, "tool", t.Name, "err", err.Error())
				continue
			}
			if !taken[tool.spec.Name] {
				taken[tool.spec.Name] = true
				out = append(out, tool)
			}
		}
		if cursor = res.NextCursor; cursor == "" {
			break
		}
	}
	return out, nil
}

var notInName = regexp.MustCompile(`[^A-Za-z0-9_-]+`)

// mcpName is mcp__server__tool in at most 64 allowed characters; a name that
// had to be changed or cut ends in a short digest, so that no two meet.
func mcpName(server, tool string) string {
	plain := notInName.ReplaceAllString(tool, "_")
	name := "mcp__" + server + "__" + plain
	if plain == tool && len(name) <= 64 {
		return name
	}
	sum := sha256.Sum256([]byte(tool))
	return name[:min(len(name), 64-9)] + "_" + hex.EncodeToString(sum[:4])
}

func newMCPTool(l *mcpLink, t *mcp.Tool) (*mcpTool, error) {
	if t.Name == "" {
		return nil, errors.New("it has no name")
	}
	schema, err := json.Marshal(t.InputSchema)
	if err != nil || string(schema) == "null" {
		schema = json.RawMessage(`{"type":"object"}`)
	}
	if len(schema) > 64<<10 {
		return nil, errors.New("its schema is larger than 64 KiB")
	}
	readOnly := t.Annotations != nil && t.Annotations.ReadOnlyHint
	tool := &mcpTool{link: l, name: t.Name, readOnly: readOnly}
	tool.spec = Spec{
		Name: mcpName(l.name, t.Name), Description: bounded(t.Description, 4<<10), Schema: schema, Lenient: true,
		Effect: Opaque, Permission: PermitMCP, PathKeys: l.server.Paths[t.Name],
	}
	return tool, nil
}
