package agent

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"sort"
	"strings"
	"sync"
	"time"

	"github.com/stella-ls/stella-ls/agent/model"
	"github.com/stella-ls/stella-ls/agent/tools"
	"github.com/stella-ls/stella-ls/guard"
	"github.com/stella-ls/stella-ls/internal/config"
	"github.com/stella-ls/stella-ls/internal/record"
	"github.com/stella-ls/stella-ls/internal/workspace"
)

// Options wire a Manager. Workspace, Guard, Client and Model are needed; the
// rest has a safe default.
type Options struct {
	Workspace *workspace.Workspace
	Guard     *guard.Guard
	// Client shows the sessions and answers their questions.
	Client Client
	// Model makes the model called name; "" is the settings' choice.
	Model func(name string) (model.Model, error)
	// Settings is asked at each step. Nil gives the defaults.
	Settings func() config.Settings
	// Trusted says whether the workspace is trusted. Nil is untrusted.
	Trusted func() bool
	// Context is the context engine; nil is none.
	Context Context
	// Graph is the code graph; nil is none. graph_query appears when it is ready.
	Graph tools.Graph
	// Around names the definition that a line (1-based) of a file is in, "" for
	// none: recall goes by what the person's selection stands in. Nil is unknown.
	Around func(ctx context.Context, path string, line int) string
	// Clock is the time; nil is time.Now.
	Clock func() time.Time
	// NewID makes an identifier with the given prefix, "s" or "n". Nil is random.
	NewID func(prefix string) string
	// Always keeps a permission rule ("command:go test ./...") in the user's own
	// settings. Nil keeps it for the life of this Manager only.
	Always func(rule string) error
	// Record is the durable work record; nil keeps sessions for the life of the
	// process only.
	Record Record
	// Home is $STELLA_HOME, which no session may write to.
	Home string
	// Tell puts a message before the human, outside any session; nil drops it.
	Tell func(message string)
	// Log gets neither prompts, file contents nor keys. Nil discards.
	Log *slog.Logger
}

// Record is the durable work record. record.Store is one, and record.Set is
// several, of which a session is in that of its root.
type Record interface {
	Create(ctx context.Context, h record.Header) (*record.Session, error)
	// Sessions lists all, newest first; with an error it is what could be listed.
	Sessions(ctx context.Context) ([]record.Info, error)
	Resume(ctx context.Context, id string) (*record.Session, *record.Loaded, error)
	Load(ctx context.Context, id string) (*record.Loaded, error)
	// Salvage and Continue are for a session that Resume cannot read.
	Salvage(ctx context.Context, id string) *record.Loaded
	Continue(ctx context.Context, id string, h record.Header) (*record.Session, error)
}

// Errors that callers tell apart; the texts are for people.
var (
	// ErrBusy: a turn is running in that session and the prompt did not steer.
	ErrBusy = errors.New("this session is busy: wait for its turn to end, cancel it, or send the prompt with steer")
	// ErrNoSession: nothing has that id.
	ErrNoSession = errors.New("no such session: list the sessions for their ids")
	// ErrClosed: the Manager is shutting down.
	ErrClosed = errors.New("the server is shutting down")
	// ErrEmptyPrompt: a prompt without text.
	ErrEmptyPrompt = errors.New("the prompt is empty: say what to do")
)

// Info is one row of the session list.
type Info struct {
	ID        string
	Title     string
	State     SessionState
	UpdatedAt time.Time
	Turns     int
	Guarded   int // files in its belief map
	Root      string
	Model     string
	// Elsewhere: another process has it open.
	Elsewhere bool
}

// Transcript is what a session said and heard, complete: what compaction took
// out of the model's context is still in it.
type Transcript struct {
	Info     Info
	Messages []model.Message
	Usage    model.Usage
}

// Manager owns the sessions of one server. It is safe for concurrent use.
type Manager struct {
	o    Options
	perm *tools.Permissions

	compactAt, compactTo int64 // tokens; see compact.go

	life context.Context // ends with Close
	end  context.CancelFunc
	work sync.WaitGroup // session actors, turns and what follows them

	loading sync.Mutex // one session is read from the record at a time

	mu       sync.Mutex // guards what follows; held for memory only
	sessions map[string]*Session
	servers  map[string]*tools.MCP // by folder
	closed   bool
}

// NewManager returns a Manager without sessions. It starts nothing.
func NewManager(o Options) *Manager {
	if o.Settings == nil {
		o.Settings = config.Default
	}
	if o.Trusted == nil {
		o.Trusted = func() bool { return false }
	}
	if o.Clock == nil {
		o.Clock = time.Now
	}
	if o.NewID == nil {
		o.NewID = randomID
	}
	if o.Tell == nil {
		o.Tell = func(string) {}
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	m := &Manager{o: o, compactAt: compactAt, compactTo: compactTo, sessions: map[string]*Session{}, servers: map[string]*tools.MCP{}}
	m.life, m.end = context.WithCancel(context.Background())
	m.perm = &tools.Permissions{
		Settings: func() config.Permissions { return o.Settings().Permissions },
		Trusted:  o.Trusted,
		Keep:     o.Always,
	}
	return m
}

func randomID(prefix string) string {
	var b [4]byte
	_, _ = rand.Read(b[:]) // never fails
	return prefix + "-" + hex.EncodeToString(b[:])
}

// Start opens a session and returns its id. The prefix is baked here.
func (m *Manager) Start(ctx context.Context, o StartOptions) (string, error) {
	root, err := m.root(o.Root)
	if err != nil {
		return "", err
	}
	brain, err := m.o.Model(o.Model)
	if err != nil {
		return "", err
	}
	s, err := m.open(ctx, o, opening{id: m.o.NewID("s"), root: root, chosen: o.Root != ""}, brain)
	if err != nil {
		return "", err
	}
	if err := m.run(s, state{status: Idle}); err != nil {
		return "", err
	}
	return s.id, nil
}

// run starts a session's actor with the state it has.
func (m *Manager) run(s *Session, st state) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return ErrClosed
	}
	m.sessions[s.id] = s
	m.work.Add(1)
	go s.serve(st)
	return nil
}

func (m *Manager) root(wanted string) (string, error) {
	if wanted != "" {
		return wanted, nil
	}
	if roots := m.o.Workspace.Roots(); len(roots) > 0 {
		return roots[0], nil
	}
	return "", errors.New("no folder is open: open one, or start the session with a root")
}

func (m *Manager) get(id string) (*Session, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return nil, ErrClosed
	}
	s, ok := m.sessions[id]
	if !ok {
		return nil, fmt.Errorf("%w (asked for %q)", ErrNoSession, id)
	}
	return s, nil
}

func (m *Manager) all() []*Session {
	m.mu.Lock()
	defer m.mu.Unlock()
	var out []*Session
	for _, s := range m.sessions {
		out = append(out, s)
	}
	sort.Slice(out, func(i, j int) bool { return out[i].id < out[j].id })
	return out
}

func (m *Manager) folders() (out []*tools.MCP) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, s := range m.servers {
		out = append(out, s)
	}
	return out
}

// Prompt runs one turn and returns when it has ended; all its updates were
// delivered before. Ending ctx cancels the turn: the Outcome then says
// StopCancelled and the error is nil. An error means that no turn ran (ErrBusy,
// ErrNoSession, ErrEmptyPrompt, ErrClosed); a failing model is an Outcome. A
// steering prompt to a running session returns at once with StopSteered.
func (m *Manager) Prompt(ctx context.Context, p Prompt) (Outcome, error) {
	s, err := m.find(ctx, p.Session)
	if err != nil {
		return Outcome{}, err
	}
	if strings.TrimSpace(p.Text) == "" {
		return Outcome{}, ErrEmptyPrompt
	}
	return s.prompt(ctx, p)
}

// Cancel ends the running turn of a session within 200 ms; without one it does
// nothing. It does not wait.
func (m *Manager) Cancel(session string) error {
	s, err := m.find(m.life, session)
	if err != nil {
		return err
	}
	return s.cancel()
}

// List returns the sessions, newest activity first, with those that only the
// record has and no other process runs.
func (m *Manager) List() []Info { return m.list(false) }

// ListAll is List with those that other processes run.
func (m *Manager) ListAll() []Info { return m.list(true) }

func (m *Manager) list(elsewhere bool) []Info {
	var out []Info
	for _, s := range m.all() {
		if info, err := s.info(); err == nil {
			out = append(out, info)
		}
	}
	out = append(out, m.recorded(m.life, elsewhere)...)
	sort.SliceStable(out, func(i, j int) bool { return out[i].UpdatedAt.After(out[j].UpdatedAt) })
	return out
}

// Get returns a session's whole transcript. One that another process runs is
// shown as its record has it.
func (m *Manager) Get(session string) (Transcript, error) {
	s, err := m.find(m.life, session)
	if errors.Is(err, record.ErrBusy) {
		return m.Look(m.life, session)
	}
	if err != nil {
		return Transcript{}, err
	}
	return s.transcript()
}

// Files are the guarded files of one session, or of all when session is "".
func (m *Manager) Files(ctx context.Context, session string, withDiff bool) ([]guard.Guarded, error) {
	if session != "" {
		s, err := m.find(ctx, session)
		if err != nil {
			return nil, err
		}
		return s.guard.Files(ctx, withDiff), nil
	}
	var out []guard.Guarded
	for _, s := range m.all() {
		out = append(out, s.guard.Files(ctx, withDiff)...)
	}
	return out, nil
}

// Edits are the applied edits of a session, oldest first.
func (m *Manager) Edits(session string) ([]guard.EditRecord, error) {
	s, err := m.get(session)
	if err != nil {
		return nil, err
	}
	return s.guard.Edits(), nil
}

// Content returns both sides of an applied edit, "SESSION/EDIT", of a refused
// call, "SESSION/CALL", or what a session saw of a file and what is there now,
// "SESSION/seen/PATH".
func (m *Manager) Content(id string) (before, after []byte, ok bool) {
	session, edit, found := strings.Cut(id, "/")
	if !found {
		return nil, nil, false
	}
	s, err := m.find(m.life, session) // an editor that comes back shows it again at once
	if err != nil {
		return nil, nil, false
	}
	if before, after, ok = s.editOf(edit); ok {
		return before, after, true
	}
	if path, seen := strings.CutPrefix(edit, "seen/"); seen {
		return s.guard.Seen(m.life, path)
	}
	return s.refusedSides(edit)
}

// Close cancels every turn, ends every process and connection that tools
// started, and waits for them until ctx ends.
func (m *Manager) Close(ctx context.Context) error {
	m.mu.Lock()
	m.closed = true
	m.mu.Unlock()
	m.end()
	finished := make(chan struct{})
	go func() {
		m.work.Wait()
		for _, s := range m.all() {
			s.tools.Wait()
		}
		for _, servers := range m.folders() {
			servers.Close()
		}
		close(finished)
	}()
	select {
	case <-finished:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("some sessions did not end in time: %w", ctx.Err())
	}
}
