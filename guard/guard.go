package guard

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/stella-ls/stella-ls/internal/config"
	"github.com/stella-ls/stella-ls/internal/workspace"
)

// Options wire a Guard. Only Workspace and StateDir are needed.
type Options struct {
	Workspace *workspace.Workspace
	// StateDir is $STELLA_HOME; displaced/ lies in it.
	StateDir string
	Editor   Editor        // nil: no client
	Syntax   SyntaxChecker // nil: none
	Recorder Recorder      // nil: pre-images go to the displaced store only
	Clock    func() time.Time
	// Settings is asked at each write.
	Settings func() config.Guard
	// Formatters reports whether post_write formatters may run (trust).
	Formatters func() bool
	// Changed is called after a belief was made, dropped or changed its state;
	// it must not block.
	Changed func(session string, files []Guarded)
	// Tell puts a message before the human (a raced write, a recovered file).
	Tell func(message string)
	// Fault is called between any two effects of a write on the disk; tests die there.
	Fault func(point string)

	disk diskCommitter // tests put their own here
}

// Guard is the part that sessions share: path locks, the commit engine, the
// displaced store. It holds no belief.
type Guard struct {
	o     Options
	ws    *workspace.Workspace
	disk  diskCommitter
	locks pathLocks
	watch *watcher
	dirs  emptyDirs

	mu       sync.Mutex // guards sessions
	sessions map[string]*Session
}

// New opens the displaced store below StateDir; while that cannot be, files on
// disk cannot be changed, and the person is told. Close must be called.
func New(o Options) (*Guard, error) {
	if o.Workspace == nil {
		return nil, errors.New("guard: Options.Workspace is nil")
	}
	if o.Clock == nil {
		o.Clock = time.Now
	}
	if o.Settings == nil {
		d := config.Default().Guard
		o.Settings = func() config.Guard { return d }
	}
	if o.Formatters == nil {
		o.Formatters = func() bool { return false }
	}
	if o.Changed == nil {
		o.Changed = func(string, []Guarded) {}
	}
	if o.Tell == nil {
		o.Tell = func(string) {}
	}
	g := &Guard{o: o, ws: o.Workspace, disk: o.disk, sessions: map[string]*Session{}}
	if g.disk == nil {
		d, err := openEngine(g)
		if err != nil {
			o.Tell("Stella: files cannot be changed on disk now: " + err.Error() + ". What sessions do in open files of the editor is not affected. STELLA_HOME names another state directory.")
			d = &laterDisk{open: g.openLate}
		}
		g.disk = d
	}
	g.watch = startWatcher(g)
	return g, nil
}

// openLate opens the engine that New could not, and does what follows a start.
func (g *Guard) openLate() (diskCommitter, error) {
	d, err := openEngine(g)
	if err != nil {
		return nil, err
	}
	rescued, err := d.recover(context.Background())
	if err != nil {
		g.o.Tell("Stella: what a crash left could not be looked at: " + err.Error())
	}
	for _, r := range rescued {
		g.o.Tell("Stella: " + r)
	}
	return d, nil
}

// Recover looks at intents left by a crash, before any session writes; it
// returns what was rescued, for people.
func (g *Guard) Recover(ctx context.Context) ([]string, error) { return g.disk.recover(ctx) }

// Close ends the watcher, waits for parked files and ends.
func (g *Guard) Close(ctx context.Context) error {
	g.watch.stop()
	defer g.dirs.sweep()
	return g.disk.close(ctx)
}

// Session is one session's belief map, made at the first call for id. root is
// the directory that relative paths start from.
func (g *Guard) Session(id, root string) *Session { return g.session(id, root, false) }

// SessionIn is Session for one that chose root among several: its relative paths
// are there, even where another root has the same.
func (g *Guard) SessionIn(id, root string) *Session { return g.session(id, root, true) }

func (g *Guard) session(id, root string, chosen bool) *Session {
	g.mu.Lock()
	defer g.mu.Unlock()
	if s := g.sessions[id]; s != nil {
		return s
	}
	s := newSession(g, id, root)
	s.chosen = chosen
	g.sessions[id] = s
	return s
}

// Forget drops a session that has ended for good. Its record is not touched.
func (g *Guard) Forget(id string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.sessions, id)
}

func (g *Guard) all() []*Session {
	g.mu.Lock()
	defer g.mu.Unlock()
	out := make([]*Session, 0, len(g.sessions))
	for _, s := range g.sessions {
		out = append(out, s)
	}
	return out
}

func (g *Guard) now() time.Time { return g.o.Clock() }
