package contextengine

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/stella-ls/stella-ls/contextengine/files"
	"github.com/stella-ls/stella-ls/contextengine/ledger"
	"github.com/stella-ls/stella-ls/contextengine/ocp/host"
	"github.com/stella-ls/stella-ls/contextengine/store"
	"github.com/stella-ls/stella-ls/internal/config"
	"github.com/stella-ls/stella-ls/internal/workspace"
)

// Node kinds of the store.
const (
	kindMemory     = "memory"     // a file of memories/
	kindReflection = "reflection" // a lesson that a session learned
	kindEpisode    = "episode"    // what a working turn was
	kindSkill      = "skill"      // a SKILL.md
	kindDomain     = "domain"     // a word of the vocabulary
	kindTombstone  = "tombstone"  // a memory that was taken away
)

// Relations of the store's edges.
const (
	relAnchor  = "anchor"  // memory -> "file:REL" or "symbol:NAME"
	relDefined = "defined" // memory -> "file:REL" that holds an anchored symbol
	relDomain  = "domain"  // node -> "domain:NAME"
	relTouched = "touched" // episode -> "file:REL"
)

// Engine is one workspace folder's context engine; safe for concurrent use.
type Engine struct {
	o    Options
	lay  files.Layout
	host *host.Host

	mu       sync.Mutex // guards what follows; held while a database is opened
	store    *store.Store
	ledger   *ledger.Ledger
	closed   bool
	mirrored map[string]int64    // sessions whose start mirrored the files, and repairs by then
	turns    map[string]*turnRun // the newest turn of each session
	mined    map[string]int      // skills made, by session
	pending  map[string][]string // ids that a session's prefix showed before there was a ledger

	repairs atomic.Int64 // how often a damaged context.db was made anew

	tellMu sync.Mutex      // guards told
	told   map[string]bool // sentences that people were told once
}

// turnRun makes recall of one turn happen once.
type turnRun struct {
	turn int
	once sync.Once
	out  Recalled
	err  error
}

// New returns an engine; nothing is opened or created yet.
func New(o Options) *Engine {
	if o.Clock == nil {
		o.Clock = time.Now
	}
	if o.Settings == nil {
		o.Settings = func() config.Recall { return config.Default().Recall }
	}
	if o.Source == nil {
		o.Source = WorkspaceSource(workspace.New(workspace.Options{Roots: []string{o.Root}}))
	}
	if root, err := filepath.EvalSymlinks(o.Root); err == nil {
		o.Root = root // paths of the workspace come resolved
	}
	e := &Engine{
		o: o, lay: files.Layout{Root: o.Root}, host: host.New(),
		mirrored: map[string]int64{}, turns: map[string]*turnRun{}, mined: map[string]int{}, pending: map[string][]string{}, told: map[string]bool{},
	}
	// Registering our own providers cannot fail: their declarations are constant.
	_ = e.host.Register(host.Registration{ID: "memory", Provider: &memoryProvider{e}, Native: true})
	_ = e.host.Register(host.Registration{ID: "graph", Provider: &graphProvider{e}, Native: true})
	return e
}

// Host is where further providers can be registered.
func (e *Engine) Host() *host.Host { return e.host }

// Root is the folder the engine serves.
func (e *Engine) Root() string { return e.o.Root }

// Layout is where its files lie.
func (e *Engine) Layout() files.Layout { return e.lay }

// Close ends the databases.
func (e *Engine) Close() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.closed = true
	var err error
	if e.store != nil {
		err = e.store.Close()
	}
	if e.ledger != nil {
		err = errors.Join(err, e.ledger.Close())
	}
	e.store, e.ledger = nil, nil
	return err
}

var errClosed = errors.New("the context engine is closed")

// openStore opens context.db. Without create it answers store.ErrAbsent when
// there is none, and makes nothing.
func (e *Engine) openStore(ctx context.Context, create bool) (*store.Store, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.openStoreLocked(ctx, create)
}

func (e *Engine) openStoreLocked(ctx context.Context, create bool) (*store.Store, error) {
	if e.closed {
		return nil, errClosed
	}
	if e.store != nil {
		return e.store, nil
	}
	if create {
		if err := e.lay.Prepare(); err != nil {
			return nil, err
		}
	}
	before := e.repairs.Load()
	s, err := store.Open(ctx, e.lay.ContextDB(), create, e.o.Clock, func(sentence string) {
		e.repairs.Add(1)
		e.report(sentence)
	})
	if err != nil {
		return nil, err
	}
	e.store = s
	if e.repairs.Load() != before {
		// What plain files hold is put back at once; the rest was salvaged.
		if err := e.mirrorInto(ctx, s); err != nil {
			e.report("after the repair the plain files could not be read again: " + err.Error())
		}
	}
	return s, nil
}

func (e *Engine) openLedger(ctx context.Context, create bool) (*ledger.Ledger, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return nil, errClosed
	}
	if e.ledger != nil {
		return e.ledger, nil
	}
	if create {
		if err := e.lay.Prepare(); err != nil {
			return nil, err
		}
	}
	l, err := ledger.Open(ctx, e.lay.StoreDB(), create, e.o.Clock, e.report)
	if err != nil {
		return nil, err
	}
	e.ledger = l
	return l, nil
}

// report tells people a sentence; the same one once.
func (e *Engine) report(sentence string) {
	if e.o.Report != nil {
		e.o.Report(sentence)
	}
}

// rel is an absolute path below the root, slash separated; ok is false outside.
func (e *Engine) rel(abs string) (string, bool) {
	rel, ok := workspace.Below(e.o.Root, abs)
	return filepath.ToSlash(rel), ok
}

func (e *Engine) abs(rel string) string { return filepath.Join(e.o.Root, filepath.FromSlash(rel)) }

// WorkspaceSource reads through a workspace: the buffer if the file is open,
// else the disk.
func WorkspaceSource(w *workspace.Workspace) Source { return workspaceSource{w} }

type workspaceSource struct{ w *workspace.Workspace }

func (s workspaceSource) View(ctx context.Context, abs string) ([]byte, bool, error) {
	if info, err := os.Stat(abs); err == nil && info.IsDir() {
		return nil, true, nil // a directory is there, and holds no text
	}
	name, err := s.w.Resolve("", abs)
	if err != nil {
		return nil, false, err
	}
	f, err := s.w.View(ctx, name)
	if err != nil {
		return nil, false, err
	}
	return f.Truth(), f.Exists(), nil
}
