package tools

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/stella-ls/stella-ls/internal/secret"
)

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
	why     string          // it could not be reached, in words for people; "" when it was
	cut     string          // some of its tools are left out, in words for people
	liars   map[string]bool // tools that said they only read, and were caught
	asking  bool            // the list of tools is being read anew
	again   bool            // and changed once more meanwhile
}

func (l *mcpLink) list() []Tool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.tools
}

// ensure returns when the server is connected and its tools are known.
func (l *mcpLink) ensure(ctx context.Context) error {
	_, _, err := l.connected(ctx)
	return err
}

// fail keeps why the server could not be reached and returns it for people.
func (l *mcpLink) fail(err error) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.why = secret.Mask(fmt.Sprintf("the MCP server %s is not available: %v", l.name, err))
	return l.why
}

// leftOut keeps that not all of the server's tools are here, "" when all are, and
// tells people once.
func (l *mcpLink) leftOut(text string) {
	l.mu.Lock()
	news := text != "" && text != l.cut
	l.cut = text
	l.mu.Unlock()
	if news {
		l.m.report(text)
	}
}

func (l *mcpLink) troubles() (out []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, s := range []string{l.why, l.cut} {
		if s != "" {
			out = append(out, s)
		}
	}
	return out
}

// connected is the live connection, made if there is none. process is nil for a
// server that we did not start.
func (l *mcpLink) connected(ctx context.Context) (*mcp.ClientSession, *mcpProcess, error) {
	l.dial.Lock()
	defer l.dial.Unlock()
	l.mu.Lock()
	session, process, closed := l.session, l.process, l.closed
	l.mu.Unlock()
	if closed {
		return nil, nil, errors.New("the server is shutting down")
	}
	if session != nil {
		return session, process, nil
	}
	if err := l.allowed(ctx); err != nil {
		return nil, nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, mcpConnect)
	defer cancel()
	process, transport, err := l.transport()
	if err != nil {
		return nil, nil, err
	}
	session, err = l.handshake(ctx, transport)
	if err != nil {
		if process != nil {
			process.close()
			err = fmt.Errorf("%w%s", err, said(process))
			if n := process.lines.junk(); n > 0 {
				err = fmt.Errorf("%w; %d lines of its output were no messages", err, n)
			}
		}
		if ctx.Err() != nil {
			err = fmt.Errorf("no answer within %s: %w", mcpConnect, err)
		}
		return nil, nil, err
	}
	l.keep(session, process)
	return session, process, nil
}

// said is what a server wrote to stderr, in the form of a clause.
func said(p *mcpProcess) string {
	if p == nil {
		return ""
	}
	text := strings.TrimSpace(p.complaint())
	if text == "" {
		return ""
	}
	return "; it said: " + bounded(secret.Mask(text), 500)
}

// ended reports whether a connection is over. The goroutine that waits for its
// end may not have run yet, so it is given a moment.
func (l *mcpLink) ended(session *mcp.ClientSession) bool {
	over := make(chan struct{})
	go func() { _ = session.Wait(); close(over) }() // ends with the session
	select {
	case <-over:
		return true
	case <-time.After(200 * time.Millisecond):
		return false
	}
}

// transport starts or addresses the server.
func (l *mcpLink) transport() (*mcpProcess, mcp.Transport, error) {
	if l.server.URL != "" {
		return nil, httpTransport(l.server), nil
	}
	p, err := startMCP(l.server, l.m.root)
	if err != nil {
		return nil, nil, err
	}
	p.lines.first = func() {
		l.m.log.Warn("an MCP server writes to stdout what is no message; such lines are dropped", "server", l.name)
	}
	return p, &mcp.IOTransport{Reader: p.lines, Writer: p.stdin, MaxLineLength: mcpLine}, nil
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
		l.session, l.process, l.why = session, process, ""
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

// relist asks for the tools again, after the server said that they changed. One
// question runs and one waits at most, however often it says so.
func (l *mcpLink) relist(session *mcp.ClientSession) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.asking {
		l.again = true
		return
	}
	l.asking = true
	go func() {
		for more := true; more; {
			ctx, cancel := context.WithTimeout(context.Background(), mcpConnect)
			tools, err := l.fetch(ctx, session)
			cancel()
			if err == nil {
				l.setTools(tools)
			}
			l.mu.Lock()
			more = l.again && err == nil
			l.asking, l.again = more, false
			l.mu.Unlock()
		}
	}()
}

// hung asks a server that kept a call waiting whether it lives at all. One that
// does not answer is ended, for every session, so that the next call finds a
// fresh one; a slow tool of a server that lives costs only its own call.
func (l *mcpLink) hung(session *mcp.ClientSession) bool {
	ctx, cancel := context.WithTimeout(context.Background(), mcpPing)
	defer cancel()
	answer := make(chan error, 1)
	go func() { answer <- session.Ping(ctx, nil) }()
	select {
	case err := <-answer:
		if err == nil || ctx.Err() == nil { // an error of the server's own is an answer, too
			return false
		}
	case <-ctx.Done():
	}
	l.mu.Lock()
	mine := l.session == session
	process := l.process
	if mine {
		l.session, l.process = nil, nil
	}
	l.mu.Unlock()
	if mine {
		l.m.report(fmt.Sprintf("the MCP server %s does not answer any more and was ended; the next call starts it anew", l.name))
		endLink(session, process)
	}
	return true
}

func (l *mcpLink) distrust(tool string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.liars == nil {
		l.liars = map[string]bool{}
	}
	l.liars[tool] = true
}

func (l *mcpLink) distrusted(tool string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.liars[tool]
}

// fetch reads the server's tools, all pages of them.
func (l *mcpLink) fetch(ctx context.Context, session *mcp.ClientSession) ([]Tool, error) {
	var out []Tool
	taken := map[string]bool{}
	over, cursor := 0, ""
	for page := 0; page < mcpPages; page++ {
		res, err := session.ListTools(ctx, &mcp.ListToolsParams{Cursor: cursor})
		if err != nil {
			return nil, err
		}
		for _, t := range res.Tools {
			if t == nil {
				continue
			}
			if len(out) == mcpTools {
				over++
				continue
			}
			tool, err := newMCPTool(l, t)
			switch {
			case err != nil:
				l.m.log.Warn("an MCP tool is left out", "server", l.name, "tool", bounded(t.Name, 100), "err", err.Error())
			case !taken[tool.spec.Name]:
				taken[tool.spec.Name] = true
				out = append(out, tool)
			}
		}
		if cursor = res.NextCursor; cursor == "" {
			break
		}
	}
	text := ""
	if over > 0 || cursor != "" {
		text = fmt.Sprintf("the MCP server %s offers more than %d tools; the others are left out", l.name, len(out))
	}
	l.leftOut(text)
	return out, nil
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
