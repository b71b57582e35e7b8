package tools

import (
	"context"
	"log/slog"
	"slices"
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
	// mcpRetry is how long a server that could not be reached is left alone before
	// a turn has it tried again.
	mcpRetry = 30 * time.Second
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
	faults  []string // what is wrong with .stella/mcp.toml
	started bool
	closed  bool
	work    sync.WaitGroup // attempts to connect in the background; Close waits for them
}

// NewMCP connects to nothing yet.
func NewMCP(ws *workspace.Workspace, root string, log *slog.Logger, report func(string)) *MCP {
	return &MCP{ws: ws, root: root, log: log, report: report, servers: map[string]*mcpLink{}}
}

// Start reads .stella/mcp.toml and connects in the background. Called again, it
// has another try at the servers that could not be reached: the first start of a
// program may have to fetch it and take longer than connecting may. The caller
// knows that the workspace is trusted.
func (m *MCP) Start(ctx context.Context) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return
	}
	if m.started {
		for _, name := range sortedNames(m.servers) {
			if l := m.servers[name]; l.due(time.Now()) {
				m.reach(ctx, l)
			}
		}
		return
	}
	m.started = true
	configured, problems := readMCP(ctx, m.ws, m.root)
	for _, p := range problems {
		m.faults = append(m.faults, p.Error())
		m.report(p.Error())
	}
	for _, name := range sortedNames(configured) {
		l := &mcpLink{m: m, name: name, server: configured[name]}
		m.servers[name] = l
		m.reach(ctx, l)
	}
}

// reach connects in the background. The caller holds mu.
func (m *MCP) reach(ctx context.Context, l *mcpLink) {
	tried := l.begin()
	m.work.Add(1)
	go func() {
		defer m.work.Done()
		defer close(tried)
		l.try(ctx)
	}()
}

// Settle waits until every server is connected or was given up, at most for
// limit, and returns those for which that was not long enough.
func (m *MCP) Settle(ctx context.Context, limit time.Duration) (waiting []string) {
	t := time.NewTimer(limit)
	defer t.Stop()
	over := false
	for _, l := range m.links() {
		if !over {
			select {
			case <-l.attempt():
				continue
			case <-t.C:
			case <-ctx.Done():
			}
			over = true
		}
		select {
		case <-l.attempt():
		default:
			waiting = append(waiting, l.name)
		}
	}
	return waiting
}

// Await is for calls of tools that nobody knows yet: when a name belongs to a
// server that is still starting, or could not be reached, it waits for that
// server, and its tools are there afterwards. How long a program takes to start on
// a busy machine so decides nothing but the time.
func (m *MCP) Await(ctx context.Context, tools []string) {
	for _, l := range m.links() {
		if !slices.ContainsFunc(tools, l.owns) {
			continue
		}
		select {
		case <-l.attempt():
		case <-ctx.Done():
			return
		}
		if l.missing() {
			l.try(ctx)
		}
	}
}

// Troubles say what is wrong with the configuration, which servers could not be
// reached, and whose tools are not all here, for a session that is only now
// beginning.
func (m *MCP) Troubles() []string {
	m.mu.Lock()
	out := slices.Clone(m.faults)
	m.mu.Unlock()
	for _, l := range m.links() {
		out = append(out, l.troubles()...)
	}
	return out
}

// links are the servers, in name order.
func (m *MCP) links() []*mcpLink {
	m.mu.Lock()
	defer m.mu.Unlock()
	out := make([]*mcpLink, 0, len(m.servers))
	for _, name := range sortedNames(m.servers) {
		out = append(out, m.servers[name])
	}
	return out
}

// Tools are the tools of all servers that are connected now, in name order.
func (m *MCP) Tools() []Tool {
	var out []Tool
	for _, l := range m.links() {
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
