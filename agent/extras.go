package agent

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/stella-ls/stella-ls/agent/tools"
	"github.com/stella-ls/stella-ls/internal/secret"
)

// A session's first request should have all tools, so it waits for the MCP
// servers: as long as connecting and giving up may take, after slowStart aloud. The tools of
// slower ones appear at a later step, and a call of one waits for it (late).
const (
	mcpSettle = 12 * time.Second
	slowStart = time.Second
)

// mcp returns the MCP servers of a folder, which its sessions share. They are
// started when the folder is trusted.
func (m *Manager) mcp(root string) *tools.MCP {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.servers[root] == nil {
		servers := tools.NewMCP(m.o.Workspace, root, m.o.Log, m.report)
		servers.Reach = m.reach
		m.servers[root] = servers
	}
	return m.servers[root]
}

// reach asks whether an MCP server on another machine may be spoken to. The
// servers belong to the folder, so no session is named.
func (m *Manager) reach(ctx context.Context, server, host string) string {
	return m.perm.Decide(ctx, tools.Env{Ask: m.o.Client}, tools.ReachNeed(server, host))
}

// report puts a sentence before people, in the sessions that run, or else at
// the beginning of their next turn.
func (m *Manager) report(text string) {
	text = secret.Mask(text)
	m.o.Log.Warn(text)
	for _, s := range m.all() {
		_ = s.do(func(st *state) {
			if len(st.said) < 20 {
				st.said = append(st.said, text)
			}
		})
	}
}

// extend adds the tools that the project defines, once it is trusted, and those
// that became ready in the meantime.
func (s *Session) extend(ctx context.Context) (problems []error) {
	if s.m.o.Trusted() {
		servers := s.m.mcp(s.root)
		servers.Start(s.m.life)
		if s.custom.CompareAndSwap(false, true) {
			list, wrong := tools.Custom(ctx, s.m.o.Workspace, s.root)
			problems = append(problems, wrong...)
			for _, t := range list { // a name that is taken is a mistake in the file
				if err := s.tools.Add(t); err != nil {
					problems = append(problems, fmt.Errorf(".stella/tools: %w", err))
				}
			}
			for _, p := range problems {
				s.m.o.Log.Warn("a custom tool is left out", "err", secret.Mask(p.Error()))
			}
		}
		problems = append(problems, s.add(servers.Tools())...)
	}
	if g := s.m.o.Graph; g != nil && g.Ready() {
		problems = append(problems, s.add([]tools.Tool{tools.GraphQueryTool(g)})...)
	}
	return problems
}

// add registers tools that are not there yet.
func (s *Session) add(list []tools.Tool) (problems []error) {
	for _, t := range list {
		name := t.Spec().Name
		if s.tools.Has(name) {
			continue
		}
		if _, told := s.refused.Load(name); told {
			continue
		}
		if err := s.tools.Add(t); err != nil {
			s.refused.Store(name, true)
			problems = append(problems, err)
		}
	}
	return problems
}

// meetServers waits once in a session, in its first turn in a trusted folder, for
// the MCP servers that are still starting, and says what is wrong with them.
func (t *turn) meetServers() {
	if t.s.met || !t.s.m.o.Trusted() {
		return
	}
	t.s.met = true
	servers := t.s.m.mcp(t.s.root)
	servers.Start(t.s.m.life)
	if waiting := servers.Settle(t.ctx, slowStart); len(waiting) > 0 && t.ctx.Err() == nil {
		t.notice("waiting for MCP servers to start: " + strings.Join(waiting, ", "))
		servers.Settle(t.ctx, mcpSettle-slowStart)
	}
	// What was reported since the turn began is said now, and each thing once.
	var said []string
	_ = t.s.do(func(st *state) { said, st.said = st.said, nil })
	for _, text := range append(said, servers.Troubles()...) {
		if !slices.Contains(t.said, text) {
			t.said = append(t.said, text)
			t.notice(text)
		}
	}
}

// late is told of tools that were called and are not there: their server may
// still be starting.
func (s *Session) late(ctx context.Context, absent []string) {
	if !s.m.o.Trusted() {
		return
	}
	servers := s.m.mcp(s.root)
	servers.Await(ctx, absent)
	for _, err := range s.add(servers.Tools()) {
		s.m.o.Log.Warn("an MCP tool is left out", "err", secret.Mask(err.Error()))
	}
}

// refreshTools is extend at a step boundary.
func (t *turn) refreshTools() {
	t.meetServers()
	for _, p := range t.s.extend(t.ctx) {
		t.notice(p.Error())
	}
}
