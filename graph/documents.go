package graph

import (
	"context"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/stella-ls/stella-ls/graph/extract"
	"github.com/stella-ls/stella-ls/graph/facts"
	"github.com/stella-ls/stella-ls/graph/internal/sitter"
	"github.com/stella-ls/stella-ls/graph/lang"
	"github.com/stella-ls/stella-ls/graph/store"
	"github.com/stella-ls/stella-ls/internal/workspace"
)

// maxTrees bounds the syntax trees that are kept; a document beyond it is parsed
// whole at its next change.
const maxTrees = 16

// documents are the open buffers. A change of a buffer only marks it; the parse
// happens in the background, or in the first query that needs it, never on the
// way of the notification.
type documents struct {
	g      *Graph
	mu     sync.Mutex
	m      map[string]*doc
	recent []*doc // with a tree, newest last
	worker *extract.Worker
	work   sync.Mutex // the worker is used by one at a time
	kick   chan struct{}
	stop   func()
	done   sync.WaitGroup
	closed bool
}

// doc is one open buffer of a known language.
type doc struct {
	ds   *documents
	path string
	lang *lang.Language
	seq  atomic.Int64 // grows when the buffer changes

	mu   sync.Mutex // guards what follows
	seen int64      // seq that cur is of
	cur  *view
	tree *sitter.Tree
	last extract.Open // the facts of tree
	hash *nameHashes
}

type nameHashes struct {
	of          *facts.File
	names, defs []uint32
}

func newDocuments(g *Graph) *documents {
	return &documents{g: g, m: map[string]*doc{}, kick: make(chan struct{}, 1), worker: extract.NewWorker(&g.units)}
}

// start follows the workspace's events.
func (ds *documents) start(ctx context.Context) {
	ds.stop = ds.g.source.Subscribe(func(p string, disk bool) {
		ds.touch(p)
		if disk {
			ds.g.indexer.changed(p)
		}
	})
	for _, p := range ds.g.source.Documents() {
		ds.touch(p)
	}
	ds.done.Go(func() {
		for {
			select {
			case <-ds.kick:
				for _, d := range ds.all() {
					if d.seq.Load() != d.seenSeq() {
						d.view()
					}
				}
			case <-ctx.Done():
				return
			}
		}
	})
}

func (ds *documents) close() {
	if ds.stop != nil {
		ds.stop()
	}
	ds.done.Wait()
	ds.mu.Lock()
	ds.closed = true
	list := ds.m
	ds.m = map[string]*doc{}
	ds.mu.Unlock()
	for _, d := range list {
		d.release()
	}
	ds.work.Lock()
	defer ds.work.Unlock()
	ds.worker.Close()
}

// touch notes that a buffer was opened, changed or closed. It does not block.
func (ds *documents) touch(p string) {
	b, open := ds.g.source.Document(p)
	ds.mu.Lock()
	d := ds.m[p]
	switch {
	case !open || ds.closed:
		delete(ds.m, p)
		if d != nil && !ds.closed && ds.g.index.get(p) == nil { // only the buffer was there
			ds.g.indexer.changed(p)
		}
	case d == nil:
		l := languageOf(p)
		if l == nil {
			l = languageByID(b.LanguageID)
		}
		if l == nil {
			break
		}
		d = &doc{ds: ds, path: p, lang: l}
		d.seq.Store(1)
		ds.m[p] = d
		if !ds.g.index.isFile(p) { // new: those who import it shall find it
			ds.g.indexer.changed(p)
		}
	default:
		d.seq.Add(1)
	}
	ds.mu.Unlock()
	if d != nil && !open {
		go d.release() // a parse may be running; the read loop must not wait for it
	}
	if open {
		select {
		case ds.kick <- struct{}{}:
		default:
		}
	}
}

// languageByID is for documents whose name does not tell.
func languageByID(id string) *lang.Language {
	switch id {
	case "typescriptreact":
		return languageOf("x.tsx")
	case "typescript":
		return languageOf("x.ts")
	case "javascript", "javascriptreact":
		return languageOf("x.js")
	case "python":
		return languageOf("x.py")
	case "rust":
		return languageOf("x.rs")
	case "go":
		return languageOf("x.go")
	case "sql":
		return languageOf("x.sql")
	}
	return nil
}

func (ds *documents) get(p string) *doc {
	ds.mu.Lock()
	defer ds.mu.Unlock()
	return ds.m[p]
}

func (ds *documents) has(p string) bool { return ds.get(p) != nil }

// all is a copy of the open documents.
func (ds *documents) all() map[string]*doc {
	ds.mu.Lock()
	defer ds.mu.Unlock()
	out := make(map[string]*doc, len(ds.m))
	for p, d := range ds.m {
		out[p] = d
	}
	return out
}

func (d *doc) seenSeq() int64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.seen
}

// view is the facts of the buffer as it is now. It parses when they are not
// there yet. It is nil for a buffer that is too large or too slow to parse: the
// facts of an earlier text would point to places that are elsewhere by now.
func (d *doc) view() *view {
	d.mu.Lock()
	defer d.mu.Unlock()
	seq := d.seq.Load()
	if d.seen == seq {
		return d.cur
	}
	b, open := d.ds.g.source.Document(d.path)
	if !open {
		return d.ds.g.diskView(d.path)
	}
	if d.cur != nil && string(d.cur.text) == b.Text {
		v := *d.cur
		v.version = b.Version
		d.cur, d.seen = &v, seq
		return d.cur
	}
	text := unsafe.Slice(unsafe.StringData(b.Text), len(b.Text)) // never written to
	f, err := d.parse(text)
	if err != nil {
		d.ds.g.o.Log.Debug("graph: buffer not parsed", "path", d.path, "err", err)
		d.cur, d.seen = nil, seq
		return nil
	}
	d.cur = &view{File: f, path: d.path, lang: d.lang, version: b.Version, open: true, text: text}
	d.seen = seq
	return d.cur
}

// parse extracts the facts of a text, starting from the last tree if there is one.
func (d *doc) parse(text []byte) (*facts.File, error) {
	ds := d.ds
	ds.work.Lock()
	defer ds.work.Unlock()
	ctx := context.Background()
	if len(text) > maxFile || ds.isClosed() || len(text) > maxMinified && unfit(text) != "" {
		return nil, store.ErrDamaged
	}
	if d.lang.Split != nil {
		return ds.worker.File(ctx, d.lang, text)
	}
	u, err := ds.g.units.Get(d.lang)
	if err != nil {
		return nil, err
	}
	if d.tree == nil || d.cur == nil {
		return d.parseWhole(ctx, u, text)
	}
	return d.parseAgain(ctx, u, text)
}

func (ds *documents) isClosed() bool {
	ds.mu.Lock()
	defer ds.mu.Unlock()
	return ds.closed
}

func (d *doc) parseWhole(ctx context.Context, u *extract.Unit, text []byte) (*facts.File, error) {
	tree, err := d.ds.worker.Parse(ctx, d.lang, text, nil)
	if err != nil {
		return nil, err
	}
	d.ds.worker.Forget(&d.last)
	d.ds.worker.Whole(ctx, u, text, tree, &d.last)
	d.keep(tree)
	return d.last.File, nil
}

// parseAgain parses what changed, and makes the facts of the top-level pieces that
// it touches; all others are kept, moved.
func (d *doc) parseAgain(ctx context.Context, u *extract.Unit, text []byte) (*facts.File, error) {
	e := editBetween(d.cur.text, text)
	d.tree.Edit(e)
	tree, err := d.ds.worker.Parse(ctx, d.lang, text, d.tree)
	if err != nil {
		d.drop()
		return nil, err
	}
	changed := sitter.Span{Start: e.Start, End: e.NewEnd}
	if r, ok := d.tree.Changed(tree); ok {
		changed.Start, changed.End = min(changed.Start, r.Start), max(changed.End, min(r.End, uint32(len(text))))
	}
	d.ds.worker.Again(ctx, u, text, tree, &d.last, extract.Change{Old: d.cur.text, Edit: e, Roots: changed})
	d.keep(tree)
	return d.last.File, nil
}

// keep makes tree the document's, and lets go of the least recently used one
// when there are too many. The worker's lock is held.
func (d *doc) keep(tree *sitter.Tree) {
	if d.tree != nil {
		d.tree.Close()
	}
	d.tree = tree
	ds := d.ds
	list := ds.recent[:0]
	for _, o := range ds.recent {
		if o != d {
			list = append(list, o)
		}
	}
	ds.recent = append(list, d)
	if len(ds.recent) > maxTrees {
		oldest := ds.recent[0]
		ds.recent = ds.recent[1:]
		oldest.forget()
	}
}

// forget frees the document's tree and what was made of it.
func (d *doc) forget() {
	d.tree.Close()
	d.tree = nil
	d.ds.worker.Forget(&d.last)
	d.last = extract.Open{}
}

// drop frees the document's tree. The worker's lock is held.
func (d *doc) drop() {
	if d.tree == nil {
		return
	}
	d.forget()
	list := d.ds.recent[:0]
	for _, o := range d.ds.recent {
		if o != d {
			list = append(list, o)
		}
	}
	d.ds.recent = list
}

func (d *doc) release() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.ds.work.Lock()
	defer d.ds.work.Unlock()
	d.drop()
}

// hashes are those of the buffer's facts.
func (d *doc) hashes() *nameHashes {
	v := d.view()
	if v == nil {
		return &nameHashes{}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.hash == nil || d.hash.of != v.File {
		n, f := v.File.Hashes()
		d.hash = &nameHashes{of: v.File, names: n, defs: f}
	}
	return d.hash
}

// TouchDocument tells that a buffer may have changed. The workspace's events do
// it by themselves once the graph is started.
func (g *Graph) TouchDocument(p workspace.Path) { g.docs.touch(string(p)) }
