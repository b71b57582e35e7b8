package lsp

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"

	"go.lsp.dev/protocol"

	"github.com/stella-ls/stella-ls/agent"
)

// turns runs prompts and shows each as work-done progress that the person can
// cancel from the editor's own progress display.
type turns struct {
	s      *Server
	serial atomic.Int64

	mu      sync.Mutex // guards what follows
	running map[string]*turn
	tokens  map[string]*turn
}

// turn is one running prompt, as its progress shows it.
type turn struct {
	token   string
	cancel  context.CancelFunc
	message chan string // capacity 1, the newest counts
	ended   chan string // closed with the turn, after the last word
}

func newTurns(s *Server) *turns {
	return &turns{s: s, running: map[string]*turn{}, tokens: map[string]*turn{}}
}

// run prompts m and returns when the turn has ended.
func (t *turns) run(ctx context.Context, m Sessions, p agent.Prompt) (agent.Outcome, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	mine := t.begin(p.Session, cancel)
	o, err := m.Prompt(ctx, p)
	if mine != nil {
		t.end(p.Session, mine, o)
	}
	return o, err
}

// begin registers a turn; nil when the session is busy with another.
func (t *turns) begin(session string, cancel context.CancelFunc) *turn {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.running[session] != nil {
		return nil
	}
	mine := &turn{
		token:  fmt.Sprintf("stella-turn-%d", t.serial.Add(1)),
		cancel: cancel, message: make(chan string, 1), ended: make(chan string, 1),
	}
	t.running[session], t.tokens[mine.token] = mine, mine
	if t.s.client.caps.progress {
		go t.show(mine)
	}
	return mine
}

func (t *turns) end(session string, mine *turn, o agent.Outcome) {
	t.mu.Lock()
	delete(t.running, session)
	delete(t.tokens, mine.token)
	t.mu.Unlock()
	mine.ended <- string(o.Stop)
}

// show begins the progress with the turn's first sign of life, so that a prompt
// that is refused at once does not flicker.
func (t *turns) show(mine *turn) {
	var first string
	select {
	case first = <-mine.message:
	case <-mine.ended:
		return
	}
	p := &progress{client: t.s.client, token: mine.token}
	if !p.begin(t.s.dispatch.base, "Stella", first, true) {
		return
	}
	for {
		select {
		case m := <-mine.message:
			p.report(m)
		case stop := <-mine.ended:
			p.end(stop)
			return
		}
	}
}

// saw puts what a session does now into its progress. Tool names only: prompts
// and contents do not belong there.
func (t *turns) saw(u agent.Update) {
	switch u.Kind {
	case agent.UpdateToolCall:
		t.say(u.Session, fmt.Sprintf("step %d: %s", u.Step, u.Tool))
	case agent.UpdateText, agent.UpdateThinking:
		t.say(u.Session, fmt.Sprintf("step %d", u.Step))
	}
}

func (t *turns) waiting(session string, yes bool) {
	if yes {
		t.say(session, "waiting for you")
	} else {
		t.say(session, "going on")
	}
}

func (t *turns) say(session, message string) {
	t.mu.Lock()
	mine := t.running[session]
	t.mu.Unlock()
	if mine == nil {
		return
	}
	select {
	case <-mine.message:
	default:
	}
	select {
	case mine.message <- message:
	default:
	}
}

// cancelToken ends the turn whose progress the person cancelled.
func (t *turns) cancelToken(token string) {
	t.mu.Lock()
	mine := t.tokens[token]
	t.mu.Unlock()
	if mine != nil {
		mine.cancel()
	}
}

// progress is one $/progress token.
type progress struct {
	client *client
	token  string
	last   string
}

// begin asks the client for the token; false when it does not want one.
func (p *progress) begin(ctx context.Context, title, message string, cancellable bool) bool {
	create := &protocol.WorkDoneProgressCreateParams{Token: protocol.String(p.token)}
	if err := p.client.call(ctx, clientDeadline, protocol.MethodWindowWorkDoneProgressCreate, create, nil); err != nil {
		return false
	}
	p.last = message
	p.send(&protocol.WorkDoneProgressBegin{Kind: "begin", Title: title, Message: &message, Cancellable: &cancellable})
	return true
}

func (p *progress) report(message string) {
	if message != p.last {
		p.last = message
		p.send(&protocol.WorkDoneProgressReport{Kind: "report", Message: &message})
	}
}

func (p *progress) end(message string) {
	p.send(&protocol.WorkDoneProgressEnd{Kind: "end", Message: &message})
}

func (p *progress) send(value any) {
	raw, err := protocol.Marshal(value)
	if err != nil {
		return
	}
	p.client.notify(protocol.MethodProgress, &protocol.ProgressParams{Token: protocol.String(p.token), Value: raw})
}
