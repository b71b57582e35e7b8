package lsp

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"sync"
	"time"

	"go.lsp.dev/jsonrpc2"
	"go.lsp.dev/protocol"

	"github.com/stella-ls/stella-ls/agent"
	"github.com/stella-ls/stella-ls/graph"
	"github.com/stella-ls/stella-ls/guard"
	"github.com/stella-ls/stella-ls/internal/config"
	"github.com/stella-ls/stella-ls/internal/workspace"
)

// closeDeadline is how long sessions get to stop their commands when the client
// is gone; with flushDeadline it stays below the two seconds in which the
// process must have ended.
const (
	closeDeadline = 1200 * time.Millisecond
	flushDeadline = 300 * time.Millisecond
)

// Config is what a Server is made of.
type Config struct {
	Version string
	// Log is where records go besides window/logMessage; nil discards.
	Log slog.Handler
	// Workspace makes the workspace when the roots are known. It must be quick:
	// the answer to initialize waits for it.
	Workspace func(roots []string) *workspace.Workspace
	// Open builds what sessions need. It runs after initialize was answered and
	// may take its time; requests that need it wait.
	Open func(ctx context.Context, o Opening) (*Backend, error)
	// Transcript writes a session down as a document that a client without a
	// view of its own can open, and returns its path; nil keeps to messages.
	Transcript func(t agent.Transcript) (string, error)
	// TestHooks allows stella/test/release.
	TestHooks bool
}

// Opening is what the client said in initialize, and how to reach it.
type Opening struct {
	Workspace *workspace.Workspace
	Trusted   *bool           // nil: the client did not say
	Settings  json.RawMessage // the client's stella section, nil when there is none
	Client    agent.Client
	Editor    guard.Editor
	// Changed takes news of guarded files; it never blocks.
	Changed func(session string, files []guard.Guarded)
	// Tell puts a warning before the person, Inform what is no trouble; neither
	// blocks.
	Tell, Inform func(message string)
	// MemoriesChanged takes that memories of a root may have become doubtful, or
	// be so no longer, or are other ones; it never blocks. nil where nothing shows them.
	MemoriesChanged func(root string, ids []string)
	// Indexing takes how far the code graph's pass is; it never blocks.
	Indexing func(done, total int)
	// WatchesFiles is true when the client reports changes on disk.
	WatchesFiles bool
	Log          *slog.Logger
}

// Backend is what the requests are turned into calls of.
type Backend struct {
	Sessions Sessions
	// Memory is the context engine; nil is none.
	Memory Memories
	// Graph is the code graph; nil is none.
	Graph graph.Service
	// Serves says whether this server answers for a language; elsewhere is that
	// another server of the editor does. nil is for all.
	Serves func(languageID string, elsewhere bool) bool
	// Problems are what of the settings is not used as it stands; nil is none.
	Problems func(root string) []config.Problem
	// Doctor says what works here and what does not, as "doctor --json" does.
	Doctor func(ctx context.Context) any
	// Reconfigure takes a new stella section; nil ignores it.
	Reconfigure func(settings json.RawMessage) error
	// Release lets a scripted model go on (--test-hooks).
	Release func(name string)
	// Close ends everything that Open started, within ctx.
	Close func(ctx context.Context) error
}

// Sessions is the session manager; *agent.Manager is the real one.
type Sessions interface {
	Start(ctx context.Context, o agent.StartOptions) (string, error)
	Prompt(ctx context.Context, p agent.Prompt) (agent.Outcome, error)
	Cancel(session string) error
	List() []agent.Info
	Get(session string) (agent.Transcript, error)
	Resume(ctx context.Context, session string, cont bool) (interrupted bool, err error)
	Files(ctx context.Context, session string, withDiff bool) ([]guard.Guarded, error)
	Content(id string) (before, after []byte, ok bool)
	Changes(ctx context.Context, session, turnID string) ([]guard.FileChange, error)
	Undo(ctx context.Context, session, turnID, edit string) ([]guard.Undone, error)
}

// Server serves one client over one connection.
type Server struct {
	config   Config
	log      *slog.Logger
	toClient *clientLog
	dispatch *dispatcher
	client   *client
	status   *statusFeed
	turns    *turns
	diagnose *diagnoser

	elsewhere elsewhere

	ws       *workspace.Workspace // set by initialize, before any route that uses it
	counting counting
	roots    []string // as the client spells them; read loop only
	start    Opening

	open    sync.Once
	ready   chan struct{} // closed when backend or openErr is set
	backend *Backend
	openErr error

	ends   chan end
	cancel context.CancelFunc
}

// end is why serving ended.
type end struct {
	why  string
	code int
}

// NewServer returns a Server that has not read anything yet.
func NewServer(c Config) *Server {
	if c.Log == nil {
		c.Log = slog.DiscardHandler
	}
	s := &Server{config: c, ready: make(chan struct{}), ends: make(chan end, 8), counting: counting{encoding: workspace.UTF16}}
	s.toClient = &clientLog{next: c.Log}
	s.log = slog.New(s.toClient)
	return s
}

// Serve speaks to the client on conn until it says exit, goes away or ctx ends,
// and returns the exit code for the process: 0 after shutdown, 1 otherwise. It
// returns within two seconds of the end, whatever still runs.
func (s *Server) Serve(ctx context.Context, conn io.ReadWriteCloser) int {
	base, cancel := context.WithCancel(ctx)
	defer cancel()
	s.cancel = cancel
	out := newOutbox(conn, func(err error) { s.finish("the client stopped reading: "+err.Error(), 1) })
	go out.run()
	st := newStream(conn, out)
	st.bad = s.unreadable
	st.eof = func(err error) {
		if errors.Is(err, io.EOF) {
			s.finish("the client closed the connection", 1)
		} else {
			s.finish("reading failed: "+err.Error(), 1)
		}
	}
	rpc := jsonrpc2.NewConn(st, jsonrpc2.WithCodec(codec{}))
	s.client = &client{conn: rpc, out: out}
	s.toClient.attach(s.client)
	s.status = newStatusFeed(s)
	s.turns = newTurns(s)
	s.diagnose = &diagnoser{s: s}
	s.dispatch = newDispatcher(base, s.routes(), s.log)
	s.dispatch.lost = s.lostNotification
	go s.status.run(base)
	rpc.Go(context.WithoutCancel(ctx), s.dispatch.handle)

	var e end
	select {
	case e = <-s.ends:
	case <-ctx.Done():
		e = end{"the process was told to stop", 1}
	}
	s.log.Debug("ending", "why", e.why)
	s.teardown(cancel)
	out.flush(flushDeadline)
	out.close()
	_ = conn.Close()
	return e.code
}

// finish asks Serve to return; the first reason wins.
func (s *Server) finish(why string, code int) {
	if s.dispatch != nil && s.dispatch.life.Load() == lifeShutdown {
		code = 0
	}
	select {
	case s.ends <- end{why, code}:
	default:
	}
}

// teardown cancels what runs and gives the backend a moment to stop commands.
func (s *Server) teardown(cancel context.CancelFunc) {
	cancel()
	ctx, stop := context.WithTimeout(context.Background(), closeDeadline)
	defer stop()
	s.open.Do(func() { s.openErr = errors.New("the server is ending"); close(s.ready) })
	done := make(chan struct{})
	go func() {
		defer close(done)
		<-s.ready
		if s.backend != nil && s.backend.Close != nil {
			if err := s.backend.Close(ctx); err != nil {
				s.log.Warn("not everything could be ended in time", "error", err)
			}
		}
	}()
	select {
	case <-done:
	case <-ctx.Done():
	}
}

// openBackend builds the sessions' side once, off the read loop.
func (s *Server) openBackend(ctx context.Context) {
	s.open.Do(func() {
		go func() {
			defer close(s.ready)
			defer func() {
				if r := recover(); r != nil {
					s.openErr = jsonrpc2.NewError(jsonrpc2.InternalError, "the server could not start its sessions; the log has the details")
					s.log.Error("panic while opening", "panic", r)
				}
			}()
			s.backend, s.openErr = s.config.Open(ctx, s.start)
			if s.openErr != nil {
				s.log.Error("sessions are not available", "error", s.openErr)
				s.client.show(protocol.MessageTypeError, "Stella: sessions are not available: "+s.openErr.Error())
			}
		}()
	})
}

// sessions waits for the backend.
func (s *Server) sessions(ctx context.Context) (Sessions, error) {
	s.openBackend(s.dispatch.base) // a client may forget to say initialized
	select {
	case <-s.ready:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if s.openErr != nil {
		return nil, s.openErr
	}
	return s.backend.Sessions, nil
}

// routes is the dispatch table: every method that this server answers.
func (s *Server) routes() table {
	t := table{}
	s.lifeRoutes(t)
	s.syncRoutes(t)
	s.workspaceRoutes(t)
	s.sessionRoutes(t)
	s.guardRoutes(t)
	s.reviewRoutes(t)
	s.memoryRoutes(t)
	s.navigationRoutes(t)
	s.elsewhereRoutes(t)
	s.actionRoutes(t)
	s.commandRoutes(t)
	return t
}
