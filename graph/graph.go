package graph

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/stella-ls/stella-ls/graph/extract"
	"github.com/stella-ls/stella-ls/graph/facts"
	"github.com/stella-ls/stella-ls/graph/internal/sitter"
	"github.com/stella-ls/stella-ls/graph/lang"
	"github.com/stella-ls/stella-ls/graph/store"
	"github.com/stella-ls/stella-ls/internal/workspace"
)

// Graph is the index of one workspace. It is safe for concurrent use.
type Graph struct {
	o       Options
	source  source
	units   extract.Units
	index   *index
	docs    *documents
	linker  *linker
	cache   *factsCache
	writer  *writer
	workers *workerPool
	indexer *indexer
	demands demands
	symbols symbolList

	rootsMu sync.RWMutex
	roots   []*root

	ready       chan struct{}
	readyOnce   sync.Once
	cancel      context.CancelFunc
	done        sync.WaitGroup
	started     atomic.Bool
	closed      atomic.Bool
	newNotifier func() (notifier, error) // fsnotify, or a test's

	stateMu sync.Mutex // guards state
	state   state
}

// state is what Status shows.
type state struct {
	done, total int
	passing     bool
	lastPass    time.Time // when the index last agreed with the disk
	asideWhy    string
	watches     int
	watching    string
	tooMany     bool
}

// root is one root of the workspace with its store.
type root struct {
	dir         string
	gitDir      string
	gitCommon   string
	baseRules   *rules
	store       *store.Store // nil: memory only
	ws          int64
	head        string // git's HEAD when the last pass began
	openOnly    bool   // a home directory: only open files are looked at
	readRuleSet func(string) []byte
}

// cacheBytes bounds the decoded facts kept in memory.
const cacheBytes = 48 << 20

// Open prepares the index; Start fills it.
func Open(o Options) (*Graph, error) {
	if o.Workspace == nil {
		return nil, errors.New("graph: no workspace")
	}
	return open(o, fromWorkspace{o.Workspace})
}

func open(o Options, src source) (*Graph, error) {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Clock == nil {
		o.Clock = time.Now
	}
	if o.Progress == nil {
		o.Progress = func(int, int) {}
	}
	if o.Notice == nil {
		o.Notice = func(string) {}
	}
	g := &Graph{o: o, source: src, index: newIndex(), cache: newFactsCache(cacheBytes), ready: make(chan struct{})}
	g.newNotifier = newInotify
	g.docs = newDocuments(g)
	g.linker = newLinker(g)
	g.writer = newWriter(g)
	g.workers = newWorkerPool(g, runtime.GOMAXPROCS(0))
	g.indexer = newIndexer(g)
	g.setRoots(context.Background())
	return g, nil
}

// setRoots follows the workspace's roots. A store that cannot be opened costs
// the memory of earlier sessions, never the index.
func (g *Graph) setRoots(ctx context.Context) {
	g.rootsMu.Lock()
	defer g.rootsMu.Unlock()
	old := map[string]*root{}
	for _, r := range g.roots {
		old[r.dir] = r
	}
	var roots []*root
	for _, dir := range g.source.Roots() {
		dir = strings.TrimSuffix(dir, "/")
		if r := old[dir]; r != nil {
			roots = append(roots, r)
			delete(old, dir)
			continue
		}
		roots = append(roots, g.openRoot(ctx, dir))
	}
	g.roots = roots
	for _, r := range old {
		for _, p := range g.index.below(r.dir) {
			g.index.drop(p)
			g.index.unsee(p)
		}
		if r.store != nil {
			_ = r.store.Close()
		}
	}
	if len(old) > 0 {
		g.linker.reset()
	}
}

func (g *Graph) openRoot(ctx context.Context, dir string) *root {
	r := &root{dir: dir, openOnly: tooWide(dir)}
	r.readRuleSet = func(p string) []byte {
		b, err := g.source.Read(p, maxRules)
		if err != nil {
			return nil
		}
		return b
	}
	r.gitDir, r.gitCommon = gitDirs(dir, r.readRuleSet)
	r.baseRules = rootRules(dir, r.gitCommon, r.readRuleSet)
	if r.openOnly {
		g.o.Notice(fmt.Sprintf("%s is not indexed as a whole: open a project's folder for that", dir))
		return r
	}
	if g.o.CacheDir != "" {
		g.openStore(ctx, r)
	}
	return r
}

// tooWide reports whether a directory holds more than one project for sure.
func tooWide(dir string) bool {
	home, err := os.UserHomeDir()
	return path.Dir(dir) == dir || dir == "" || err == nil && dir == home
}

// openStore opens the database that all worktrees of the repository share.
func (g *Graph) openStore(ctx context.Context, r *root) {
	id := r.gitCommon
	if id == "" {
		id = r.dir
	}
	sum := sha256.Sum256([]byte(id))
	name := path.Base(strings.TrimSuffix(id, "/.git")) + "-" + hex.EncodeToString(sum[:6])
	for range 2 {
		s, aside, err := store.Open(ctx, g.o.CacheDir, name)
		if aside != "" {
			g.tellAside(r, aside)
		}
		if err == nil {
			if r.ws, _, err = s.Workspace(ctx, r.dir, g.o.Clock()); err == nil {
				r.store = s
				return
			}
			if errors.Is(err, store.ErrDamaged) && s.SetAside() == nil {
				g.tellAside(r, err.Error())
				continue
			}
			_ = s.Close()
		}
		g.o.Log.Warn("graph: no cache", "err", err)
		g.o.Notice("The code index of " + r.dir + " is kept in memory only: " + err.Error())
		return
	}
}

func (g *Graph) tellAside(r *root, why string) {
	g.stateMu.Lock()
	g.state.asideWhy = why
	g.stateMu.Unlock()
	g.o.Log.Warn("graph: index set aside", "root", r.dir, "why", why)
	g.o.Notice("The stored code index of " + r.dir + " was damaged (" + why + "). It was set aside and is being built again.")
}

// damaged sets a store aside, once, and has everything indexed again. It is
// called by whoever meets the damage.
func (g *Graph) damaged(r *root, err error) {
	if !errors.Is(err, store.ErrDamaged) {
		if g.closed.Load() || errors.Is(err, context.Canceled) {
			return
		}
		g.o.Log.Warn("graph: cache", "root", r.dir, "err", err)
		return
	}
	g.rootsMu.Lock()
	s := r.store
	r.store = nil
	g.rootsMu.Unlock()
	if s == nil {
		return
	}
	g.tellAside(r, err.Error())
	if err := s.SetAside(); err != nil {
		g.o.Log.Warn("graph: cannot set the index aside", "err", err)
		return
	}
	ctx := context.Background()
	fresh := &root{dir: r.dir, gitCommon: r.gitCommon}
	g.openStore(ctx, fresh)
	g.rootsMu.Lock()
	r.store, r.ws = fresh.store, fresh.ws
	g.rootsMu.Unlock()
	g.indexer.rebuild()
}

// storeOf is the root's store and workspace number at this moment.
func (g *Graph) storeOf(r *root) (*store.Store, int64) {
	g.rootsMu.RLock()
	defer g.rootsMu.RUnlock()
	return r.store, r.ws
}

func (g *Graph) allRoots() []*root {
	g.rootsMu.RLock()
	defer g.rootsMu.RUnlock()
	return g.roots
}

// rootOf is the innermost root that holds a path, or nil.
func (g *Graph) rootOf(p string) *root {
	var best *root
	for _, r := range g.allRoots() {
		if (p == r.dir || strings.HasPrefix(p, r.dir+"/")) && (best == nil || len(r.dir) > len(best.dir)) {
			best = r
		}
	}
	return best
}

// Start loads what an earlier session stored, and begins the first pass in the
// background. The graph works until ctx ends or Close is called.
func (g *Graph) Start(ctx context.Context) {
	if g.started.Swap(true) {
		return
	}
	ctx, g.cancel = context.WithCancel(ctx)
	g.docs.start(ctx)
	g.writer.start(ctx)
	g.done.Go(func() { g.indexer.run(ctx) })
}

// Ready is closed when queries can be answered from a whole index: a stored one
// that was loaded, or the first pass.
func (g *Graph) Ready() <-chan struct{} { return g.ready }

func (g *Graph) setReady() { g.readyOnce.Do(func() { close(g.ready) }) }

// Wait returns when the index agrees with the disk and nothing is queued.
func (g *Graph) Wait(ctx context.Context) error { return g.indexer.wait(ctx) }

// Reindex looks at every file again.
func (g *Graph) Reindex() { g.indexer.rebuild() }

// FilesChanged tells that files may have been created, changed or deleted.
func (g *Graph) FilesChanged(paths ...workspace.Path) {
	list := make([]string, len(paths))
	for i, p := range paths {
		list[i] = string(p)
	}
	g.indexer.changed(list...)
}

// Close stops everything and waits for it.
func (g *Graph) Close() error {
	if g.closed.Swap(true) {
		return nil
	}
	if g.cancel != nil {
		g.cancel()
	}
	g.done.Wait()
	g.docs.close()
	g.writer.close()
	g.workers.close()
	g.units.Close()
	var err error
	g.rootsMu.Lock()
	defer g.rootsMu.Unlock()
	for _, r := range g.roots {
		if r.store != nil {
			err = errors.Join(err, r.store.Close())
			r.store = nil
		}
	}
	return err
}

// keyOf names the facts of a text in a language.
func keyOf(l *lang.Language, text []byte) store.Key {
	h := sha256.New()
	h.Write([]byte(l.Name))
	h.Write([]byte{0})
	h.Write(text)
	var k store.Key
	copy(k[:], h.Sum(nil))
	return k
}

// view is what a query sees of a file: the open buffer, else the indexed text.
// It is nil for a file that has no facts.
func (g *Graph) view(p string) *view {
	if d := g.docs.get(p); d != nil {
		return d.view()
	}
	return g.diskView(p)
}

func (g *Graph) diskView(p string) *view {
	e := g.index.get(p)
	if e == nil || e.skip != "" {
		return nil
	}
	f := g.factsOf(e)
	if f == nil {
		return nil
	}
	return &view{File: f, path: p, lang: e.lang, key: e.key}
}

// factsOf finds an entry's facts: in memory, on its way to the store, in the
// store, or from the file itself.
func (g *Graph) factsOf(e *entry) *facts.File {
	if f := g.cache.get(e.key); f != nil {
		return f
	}
	blob := g.writer.pending(e.key)
	if s, _ := g.storeOf(e.root); blob == nil && s != nil {
		b, ok, err := s.Blob(context.Background(), e.key)
		if err != nil {
			g.damaged(e.root, err)
		} else if ok {
			blob = b
		}
	}
	if blob != nil {
		f, err := facts.Decode(blob)
		if err == nil {
			g.cache.put(e.key, f)
			return f
		}
		g.damaged(e.root, fmt.Errorf("%w: %w", store.ErrDamaged, err))
	}
	text, err := g.source.Read(e.path, maxFile)
	if err != nil || keyOf(e.lang, text) != e.key {
		g.indexer.changed(e.path)
		return nil
	}
	f, err := g.workers.extract(context.Background(), e.lang, text)
	if err != nil {
		return nil
	}
	g.cache.put(e.key, f)
	return f
}

// definers are the paths that may define a name, open buffers included.
func (g *Graph) definers(name string) []string {
	return g.paths(facts.FoldedHash(name), func(e *entry) []uint32 { return e.defs }, func(d *doc) []uint32 { return d.hashes().defs })
}

// users are the paths whose text holds a name.
func (g *Graph) users(name string) []string {
	return g.paths(facts.FoldedHash(name), func(e *entry) []uint32 { return e.names }, func(d *doc) []uint32 { return d.hashes().names })
}

func (g *Graph) paths(h uint32, disk func(*entry) []uint32, open func(*doc) []uint32) []string {
	var out []string
	docs := g.docs.all()
	for _, e := range g.index.with(h, disk) {
		if docs[e.path] == nil {
			out = append(out, e.path)
		}
	}
	for p, d := range docs {
		if facts.Has(open(d), h) {
			out = append(out, p)
		}
	}
	return out
}

// workerPool lends workers, at most as many as there are cores.
type workerPool struct {
	g      *Graph
	free   chan *extract.Worker
	parsed func() // in tests: called for each text that a pass parses
}

func newWorkerPool(g *Graph, n int) *workerPool {
	p := &workerPool{g: g, free: make(chan *extract.Worker, n)}
	for range n {
		p.free <- extract.NewWorker(&g.units)
	}
	return p
}

func (p *workerPool) take(ctx context.Context) (*extract.Worker, error) {
	select {
	case w := <-p.free:
		return w, nil
	default:
	}
	select {
	case w := <-p.free:
		return w, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (p *workerPool) give(w *extract.Worker) { p.free <- w }

func (p *workerPool) extract(ctx context.Context, l *lang.Language, text []byte) (*facts.File, error) {
	w, err := p.take(ctx)
	if err != nil {
		return nil, err
	}
	defer p.give(w)
	return w.File(ctx, l, text)
}

func (p *workerPool) close() {
	for range cap(p.free) {
		(<-p.free).Close()
	}
}

// trim gives memory back after a pass.
func trim() {
	runtime.GC()
	sitter.Trim()
}
