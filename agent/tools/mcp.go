package tools

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/stella-ls/stella-ls/internal/workspace"
)

const (
	mcpConnect = 10 * time.Second
	mcpCall    = 60 * time.Second
	mcpCallMax = 10 * time.Minute
	mcpPing    = 5 * time.Second // how long a server that kept a call waiting may take to show that it lives
	mcpTools   = 256             // tools of one server
	mcpPages   = 64              // of its list of them
)

// MCP holds the connections to the servers of one workspace folder. Sessions
// share them. It is safe for concurrent use.
type MCP struct {
	ws   *workspace.Workspace
	root string
	log  *slog.Logger
	// report puts a sentence before people.
	report func(string)
	// Reach asks whether a server on another machine may be spoken to, "" when it
	// may; set before Start. Nil allows it.
	Reach func(ctx context.Context, server, host string) string

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
				m.report(l.fail(err))
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

// Troubles say which servers could not be reached, and whose tools are not all
// here, for a session that is only now beginning.
func (m *MCP) Troubles() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	var out []string
	for _, name := range sortedNames(m.servers) {
		out = append(out, m.servers[name].troubles()...)
	}
	return out
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
