package graph

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
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
