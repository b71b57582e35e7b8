package tools

import (
	"context"
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
	tried   chan struct{}   // closed when the newest attempt in the background is over
	triedAt time.Time       // when it was
	final   bool            // a person or a setting said no: it is not tried again unasked
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

// begin marks an attempt to connect in the background; the caller closes what it
// returns when it is over.
func (l *mcpLink) begin() chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.tried = make(chan struct{})
	return l.tried
}

// attempt is closed when no attempt in the background runs.
func (l *mcpLink) attempt() <-chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.tried
}

// owns reports whether a tool of this name can only be one of this server's.
func (l *mcpLink) owns(tool string) bool { return strings.HasPrefix(tool, "mcp__"+l.name+"__") }

// missing reports whether the server was never reached and a call may try to.
func (l *mcpLink) missing() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.tools == nil && l.session == nil && !l.final
}

// due reports whether a server that could not be reached may be tried again.
func (l *mcpLink) due(now time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	select {
	case <-l.tried:
	default:
		return false
	}
	return l.why != "" && !l.final && now.Sub(l.triedAt) >= mcpRetry
}

// try connects, unless there is a connection, and tells people when it cannot be
// done, once for each reason.
func (l *mcpLink) try(ctx context.Context) {
	_, _, err := l.connected(ctx)
	l.mu.Lock()
	l.triedAt = time.Now()
	l.mu.Unlock()
	if err != nil && ctx.Err() == nil {
		l.fail(err)
	}
}

// fail keeps why the server could not be reached, for people.
func (l *mcpLink) fail(err error) {
	l.mu.Lock()
	was := l.why
	l.why = secret.Mask(fmt.Sprintf("the MCP server %s is not available: %v", l.name, err))
	l.final = errors.Is(err, errUnwanted)
	why := l.why
	l.mu.Unlock()
	if why != was {
		l.m.report(why)
	}
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
