package agent

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/stella-ls/stella-ls/agent/model"
	"github.com/stella-ls/stella-ls/agent/tools"
	"github.com/stella-ls/stella-ls/guard"
	"github.com/stella-ls/stella-ls/internal/config"
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
	// Clock is the time; nil is time.Now.
	Clock func() time.Time
	// NewID makes an identifier with the given prefix, "s" or "n". Nil is random.
	NewID func(prefix string) string
	// Always keeps a permission rule ("command:go test ./...") in the user's own
	// settings. Nil keeps it for the life of this Manager only.
	Always func(rule string) error
	// Log gets neither prompts, file contents nor keys. Nil discards.
	Log *slog.Logger
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

	mu       sync.Mutex // guards what follows; held for memory only
	sessions map[string]*Session
	order    []string
	closed   bool
}

// NewManager returns a Manager without sessions. It starts nothing.
func NewManager(o Options) *Manager { panic("todo") }

// Start opens a session and returns its id. The prefix is baked here.
func (m *Manager) Start(ctx context.Context, o StartOptions) (string, error) { panic("todo") }

// Prompt runs one turn and returns when it has ended; all its updates were
// delivered before. Ending ctx cancels the turn: the Outcome then says
// StopCancelled and the error is nil. An error means that no turn ran (ErrBusy,
// ErrNoSession, ErrEmptyPrompt, ErrClosed); a failing model is an Outcome. A
// steering prompt to a running session returns at once with StopSteered.
func (m *Manager) Prompt(ctx context.Context, p Prompt) (Outcome, error) { panic("todo") }

// Cancel ends the running turn of a session within 200 ms; without one it does
// nothing. It does not wait.
func (m *Manager) Cancel(session string) error { panic("todo") }

// List returns the sessions, newest activity first.
func (m *Manager) List() []Info { panic("todo") }

// Get returns a session's whole transcript.
func (m *Manager) Get(session string) (Transcript, error) { panic("todo") }

// Resume makes an interrupted session usable again and, with cont, goes on with
// its turn in the background. interrupted tells whether a turn had been running.
func (m *Manager) Resume(ctx context.Context, session string, cont bool) (interrupted bool, err error) {
	panic("todo")
}

// Files are the guarded files of one session, or of all when session is "".
func (m *Manager) Files(ctx context.Context, session string, withDiff bool) ([]guard.Guarded, error) {
	panic("todo")
}

// Content returns both sides of an applied edit. id is "SESSION/EDIT", as
// Changes and the toolResult updates give it.
func (m *Manager) Content(id string) (before, after []byte, ok bool) { panic("todo") }

// Close cancels every turn, ends every process and connection that tools
// started, and waits for them until ctx ends.
func (m *Manager) Close(ctx context.Context) error { panic("todo") }
