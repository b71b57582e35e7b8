package agent

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/stella-ls/stella-ls/agent/model"
	"github.com/stella-ls/stella-ls/agent/tools"
	"github.com/stella-ls/stella-ls/guard"
	"github.com/stella-ls/stella-ls/internal/config"
	"github.com/stella-ls/stella-ls/internal/secret"
	"github.com/stella-ls/stella-ls/internal/workspace"
)

// Session is one conversation: an actor whose state is touched by its own
// goroutine (serve) alone. Everybody else, its running turn included, sends it
// a function (do). What is declared here never changes after open.
type Session struct {
	m      *Manager
	id     string
	title  string
	root   string
	chosen bool   // the session was started in root: bare paths are there
	mark   string // begins every message of the engine
	prefix string // the baked prefix, byte for byte
	brain  model.Model
	guard  *guard.Session
	tools  *tools.Registry
	hooks  *tools.Hooks
	custom atomic.Bool // the folder's custom tools were read
	// refused are names of tools that could not be added, each told once.
	refused sync.Map

	// wanted is the model's name as it was asked for, "" the settings' choice.
	wanted      string
	durable     durable
	interrupted resumePoint // of a session from the record
	head        string      // what git had checked out when it was last looked at; the turn's
	headSeen    bool        // it was looked at; the turn's
	// early are notices from before the first turn.
	early []string
	met   bool // a turn has waited for the MCP servers to start; the turn's

	mail chan func(*state)
	gone chan struct{} // closed when serve has ended

	out sync.Mutex // keeps updates in order; held while the Client takes one
}

// state is what the actor owns.
type state struct {
	status  SessionState
	updated time.Time
	turns   int
	steps   int // of the whole session; refusals name them
	usage   model.Usage
	log     []entry
	// size is what the provider counted for the newest request and its answer, in
	// tokens, when log had sizedAt messages; 0 when nothing was counted.
	size    int64
	sizedAt int
	turn    *turn    // the running one
	steer   []Prompt // waiting for the next step boundary
	// said are notices that wait for the next turn.
	said []string
}

// entryKind is what a message of the transcript is.
type entryKind int

const (
	fromHuman entryKind = iota
	fromEngine
	fromModel
	toolResults
)

// entry is one message of the transcript. It is immutable but for what
// compaction marks, and that makes a copy.
type entry struct {
	kind entryKind
	msg  model.Message
	turn int
	step int
	// shows names the files whose content a part shows, for compaction.
	shows map[int][]workspace.Path
	// short are parts that left the model's context; the whole message did when
	// gone is true.
	short map[int]bool
	gone  bool
}

// opening is what a session is made with: new, or as its record has it.
type opening struct {
	id, root     string
	chosen       bool   // root was asked for
	prefix, mark string // "" makes new ones
}

// open makes a session that serve can run.
func (m *Manager) open(ctx context.Context, o StartOptions, as opening, brain model.Model) (*Session, error) {
	root := as.root
	s := &Session{
		m: m, id: as.id, title: o.Title, wanted: o.Model, root: root, chosen: as.chosen, mark: as.mark, prefix: as.prefix,
		brain: brain, durable: durable{store: m.o.Record}, mail: make(chan func(*state)), gone: make(chan struct{}),
	}
	open := m.o.Guard.Session
	if s.chosen {
		open = m.o.Guard.SessionIn
	}
	s.guard = open(s.id, root)
	s.hooks = &tools.Hooks{Settings: func() []config.Hook { return m.o.Settings().Hooks }, Trusted: m.o.Trusted, Root: root}
	rules, _ := m.o.Context.(tools.Denier)
	s.tools = tools.NewRegistry(tools.Options{Permissions: m.perm, Rules: rules, Hooks: s.hooks, Log: m.o.Log,
		Protect: tools.Protect(m.o.Workspace, tools.Env{Root: root, Chosen: s.chosen}, m.o.Home), Late: s.late})
	builtin := tools.Builtin(tools.BuiltinOptions{Workspace: m.o.Workspace, Diagnostics: m.o.Client.Diagnostics})
	if m.o.Context != nil {
		builtin = append(builtin, m.o.Context.Tools(s.id)...)
	}
	for _, t := range builtin {
		if err := s.tools.Add(t); err != nil {
			return nil, err
		}
	}
	for _, p := range s.extend(ctx) {
		s.early = append(s.early, p.Error())
	}
	if m.o.Trusted() {
		if err := s.hooks.Session(ctx, "session_start", s.id); err != nil {
			s.early = append(s.early, secret.Mask(err.Error()))
		}
	}
	if s.prefix != "" {
		return s, nil
	}
	var err error
	s.mark = engineMark(m.o.NewID("n"))
	if s.prefix, err = bakePrefix(ctx, m.o.Context, s.id, s.mark, root); err != nil {
		return nil, fmt.Errorf("the context engine could not prepare the session: %w", err)
	}
	return s, nil
}

// serve is the actor. It ends when the Manager closes and no turn is running.
func (s *Session) serve(st state) {
	defer s.m.work.Done()
	defer close(s.gone)
	st.updated, st.said = s.m.o.Clock(), s.early
	for {
		if s.m.life.Err() != nil && st.turn == nil {
			return
		}
		ending := s.m.life.Done()
		if st.turn != nil {
			ending = nil // the turn sees it too, and still needs the actor
		}
		select {
		case f := <-s.mail:
			f(&st)
		case <-ending:
			return
		}
	}
}

// do runs f in the actor and waits for it. It fails when the actor has ended.
func (s *Session) do(f func(*state)) error {
	done := make(chan struct{})
	select {
	case s.mail <- func(st *state) { defer close(done); f(st) }:
		<-done
		return nil
	case <-s.gone:
		return ErrClosed
	}
}

// prompt begins a turn, or joins the running one.
func (s *Session) prompt(ctx context.Context, p Prompt) (Outcome, error) {
	var begun *turn
	var refused error
	var joined string
	err := s.do(func(st *state) {
		switch {
		case st.turn != nil && p.Steer:
			st.steer = append(st.steer, p)
			joined = st.turn.id
		case st.turn != nil:
			refused = ErrBusy
		case s.m.life.Err() != nil:
			refused = ErrClosed
		default:
			begun = s.begin(ctx, st, p)
			close(begun.go_)
		}
	})
	switch {
	case err != nil:
		return Outcome{}, err
	case refused != nil:
		return Outcome{}, refused
	case begun == nil:
		return Outcome{TurnID: joined, Stop: StopSteered}, nil
	}
	<-begun.done
	return begun.outcome, nil
}

// begin makes a turn and its goroutine, which waits for go_ to be closed. It
// runs in the actor.
func (s *Session) begin(ctx context.Context, st *state, p Prompt) *turn {
	st.turns++
	t := &turn{s: s, n: st.turns, id: turnID(st.turns), prompt: p, go_: make(chan struct{}), done: make(chan struct{}), watch: newLoopWatch()}
	t.said, st.said = st.said, nil
	t.ctx, t.cancel = context.WithCancel(ctx)
	stop := context.AfterFunc(s.m.life, t.cancel)
	st.turn, st.status, st.updated = t, Running, s.m.o.Clock()
	s.m.work.Add(1)
	go func() {
		defer s.m.work.Done()
		defer stop()
		defer t.cancel()
		<-t.go_
		t.run()
	}()
	return t
}

func turnID(n int) string { return fmt.Sprintf("t%d", n) }

func (s *Session) cancel() error {
	return s.do(func(st *state) {
		if st.turn != nil {
			st.turn.cancel()
		}
	})
}

func (s *Session) info() (Info, error) {
	info := Info{ID: s.id, Title: s.title, Root: s.root, Model: s.brain.Name()}
	err := s.do(func(st *state) {
		info.State, info.UpdatedAt, info.Turns = st.status, st.updated, st.turns
		if info.Title == "" {
			info.Title = titleOf(st.log)
		}
	})
	info.Guarded = len(s.guard.Snapshot())
	return info, err
}

// titleOf is the beginning of the first prompt.
func titleOf(log []entry) string {
	for _, e := range log {
		if e.kind == fromHuman && len(e.msg.Parts) > 0 {
			return firstLine(e.msg.Parts[0].Text, 60)
		}
	}
	return "New session"
}

func (s *Session) transcript() (Transcript, error) {
	info, err := s.info()
	t := Transcript{Info: info}
	if err != nil {
		return t, err
	}
	err = s.do(func(st *state) {
		t.Usage = st.usage
		for _, e := range st.log {
			t.Messages = append(t.Messages, e.msg)
		}
	})
	return t, err
}

// append adds a message to the transcript.
func (s *Session) append(e entry) {
	_ = s.do(func(st *state) {
		st.log = append(st.log, e)
		st.updated = s.m.o.Clock()
	})
}

// history is the transcript so far; the slice is the caller's.
func (s *Session) history() (log []entry) {
	_ = s.do(func(st *state) { log = slices.Clone(st.log) })
	return log
}

// emit hands one update to the client; updates of one session never overtake
// each other.
func (s *Session) emit(u Update) {
	u.Session = s.id
	s.out.Lock()
	defer s.out.Unlock()
	s.m.o.Client.Update(u)
}
