package graph

import (
	"context"
	"errors"
	"os"
	"path"
	"sync"
	"time"

	"github.com/stella-ls/stella-ls/graph/extract"
	"github.com/stella-ls/stella-ls/graph/internal/sitter"
	"github.com/stella-ls/stella-ls/graph/store"
	"github.com/stella-ls/stella-ls/internal/workspace"
)

// indexer is the one goroutine that changes the index: by passes over everything,
// and by batches of paths that may have changed.
type indexer struct {
	g  *Graph
	mu sync.Mutex
	// paths are those to look at; all asks for a pass.
	paths   map[string]bool
	all     bool
	busy    bool
	waiters []chan struct{}
	kick    chan struct{}
	// loadDone is closed when what was stored is in memory.
	loadDone chan struct{}
	// after, in tests, is called when a batch or pass is done.
	after func()
}

// A batch with more paths than this, or one during which git's HEAD moved, is
// one pass instead.
const batchLimit = 2000

// reconcileEvery is how often everything is looked at although no event asks for it.
const reconcileEvery = 10 * time.Minute

// reconcileLimited is the same while not everything can be watched.
const reconcileLimited = 30 * time.Second

func newIndexer(g *Graph) *indexer {
	return &indexer{g: g, paths: map[string]bool{}, kick: make(chan struct{}, 1), loadDone: make(chan struct{}), all: true}
}

func (x *indexer) wake() {
	select {
	case x.kick <- struct{}{}:
	default:
	}
}

// changed queues paths.
func (x *indexer) changed(paths ...string) {
	x.mu.Lock()
	for _, p := range paths {
		if len(x.paths) > 4*batchLimit {
			x.all = true
			break
		}
		x.paths[p] = true
	}
	x.mu.Unlock()
	x.wake()
}

// rebuild queues a pass.
func (x *indexer) rebuild() {
	x.mu.Lock()
	x.all = true
	x.mu.Unlock()
	x.wake()
}

// wait returns when nothing is queued or running.
func (x *indexer) wait(ctx context.Context) error {
	x.mu.Lock()
	if !x.all && !x.busy && len(x.paths) == 0 {
		x.mu.Unlock()
		return nil
	}
	ch := make(chan struct{})
	x.waiters = append(x.waiters, ch)
	x.mu.Unlock()
	x.wake()
	select {
	case <-ch:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (x *indexer) take() (all bool, paths map[string]bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	all, paths = x.all, x.paths
	x.all, x.paths, x.busy = false, map[string]bool{}, true
	return all, paths
}

func (x *indexer) rest() {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.busy = false
	if x.all || len(x.paths) > 0 {
		x.wake()
		return
	}
	for _, ch := range x.waiters {
		close(ch)
	}
	x.waiters = nil
}

func (x *indexer) idle() bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return !x.all && !x.busy && len(x.paths) == 0
}

func (x *indexer) run(ctx context.Context) {
	g := x.g
	g.load(ctx)
	close(x.loadDone)
	checked := false
	var w *watcher
	if !g.o.NoWatch && !g.o.ClientWatches {
		w = g.newWatcher()
	}
	g.setWatching(w)
	if w != nil {
		defer w.close()
	}
	tick := time.NewTicker(reconcileEvery)
	defer tick.Stop()
	limited := false
	x.wake() // the first pass waits for nobody
	for {
		select {
		case <-ctx.Done():
			return
		case <-x.kick:
		case <-tick.C:
			if g.o.NoWatch {
				continue
			}
			x.rebuild()
		case <-w.events():
			x.changed(w.collect()...)
		}
		all, paths := x.take()
		if all || len(paths) > batchLimit || len(paths) > 0 && g.headMoved() {
			g.pass(ctx, w)
		} else if len(paths) > 0 {
			g.update(ctx, w, paths)
		}
		x.rest()
		if !checked { // after the first answers, which it would slow down
			checked = true
			g.done.Go(func() { g.check(ctx) })
		}
		if x.after != nil {
			x.after()
		}
		if !limited && !g.o.NoWatch && !g.o.ClientWatches && w.isLimited() {
			limited = true
			tick.Reset(reconcileLimited)
		}
	}
}

// loaded waits until what was stored is in memory.
func (g *Graph) loaded(ctx context.Context) {
	select {
	case <-g.indexer.loadDone:
	case <-ctx.Done():
	}
}

// load brings back what an earlier session stored.
func (g *Graph) load(ctx context.Context) {
	loaded := false
	for _, r := range g.allRoots() {
		s, ws := g.storeOf(r)
		if s == nil {
			continue
		}
		_, passed, err := s.Workspace(ctx, r.dir, g.o.Clock())
		if err != nil {
			g.damaged(r, err)
			continue
		}
		if passed.IsZero() {
			continue
		}
		var es []*entry
		err = s.Load(ctx, ws, func(row store.Row, h store.Head) {
			p := r.dir + "/" + row.Path
			if l := languageOf(p); l != nil {
				es = append(es, &entry{path: p, root: r, lang: l, key: row.Key, sig: row.Sig, names: h.Names, defs: h.Defs, skip: row.Skip, broken: h.Broken})
			}
		})
		if err != nil {
			g.damaged(r, err)
			continue
		}
		g.index.putAll(es)
		for _, e := range es {
			g.index.see(e.path)
		}
		g.stateMu.Lock()
		g.state.lastPass = passed
		g.stateMu.Unlock()
		loaded = loaded || len(es) > 0
	}
	if loaded {
		g.setReady()
	}
}

// check looks for damage while the first answers are given.
func (g *Graph) check(ctx context.Context) {
	for _, r := range g.allRoots() {
		s, _ := g.storeOf(r)
		if s == nil {
			continue
		}
		if err := s.Check(ctx); err != nil && ctx.Err() == nil {
			g.damaged(r, err)
			continue
		}
		if err := s.Clean(ctx, g.o.Clock()); err != nil && ctx.Err() == nil {
			g.damaged(r, err)
		}
	}
}

// headMoved reports whether git's HEAD is not what it was at the last pass.
func (g *Graph) headMoved() bool {
	for _, r := range g.allRoots() {
		if gitHead(r.gitDir, r.gitCommon, r.readRuleSet) != r.head {
			return true
		}
	}
	return false
}

// pass looks at every file of every root.
func (g *Graph) pass(ctx context.Context, w *watcher) {
	g.setRoots(ctx)
	g.setPassing(true)
	defer g.setPassing(false)
	var jobs []found
	dirs := []string{}
	for _, r := range g.allRoots() {
		if r.openOnly {
			continue
		}
		r.head = gitHead(r.gitDir, r.gitCommon, r.readRuleSet)
		r.baseRules = rootRules(r.dir, r.gitCommon, r.readRuleSet)
		found := r.walk(ctx, r.dir)
		if ctx.Err() != nil {
			return
		}
		dirs = append(dirs, found.dirs...)
		if found.cut {
			g.note(&g.state.tooMany, "The code index of "+r.dir+" stops at the first 400,000 files.")
		}
		jobs = append(jobs, g.compare(r, r.dir, found.files)...)
	}
	w.watch(dirs)
	g.process(ctx, jobs)
	if ctx.Err() != nil {
		return
	}
	g.writer.flush(ctx)
	now := g.o.Clock()
	for _, r := range g.allRoots() {
		if s, ws := g.storeOf(r); s != nil {
			if err := s.Passed(ctx, ws, now); err != nil {
				g.damaged(r, err)
			}
		}
	}
	g.stateMu.Lock()
	g.state.lastPass = now
	g.stateMu.Unlock()
	g.setReady()
	if len(jobs) > 100 {
		trim()
	}
}

// compare notes what exists below dir, drops what is gone, and returns what has
// to be looked at.
func (g *Graph) compare(r *root, dir string, files []found) []found {
	there := make(map[string]bool, len(files))
	var jobs []found
	for _, f := range files {
		there[f.path] = true
		if g.index.see(f.path) {
			g.linker.exists(f.path)
		}
		if f.lang == nil {
			continue
		}
		e := g.index.get(f.path)
		if e == nil || e.sig != f.sig || racy(e, g.o.Clock()) || (e.skip == skipGenerated) != f.generated {
			jobs = append(jobs, f)
		}
	}
	for _, p := range g.index.below(dir) {
		if !there[p] {
			g.remove(r, p)
		}
	}
	return jobs
}

// racy reports whether a file was written so shortly before it was looked at
// that a later write might have left the same stat.
func racy(e *entry, now time.Time) bool {
	return e.sig.CTime != 0 && now.UnixNano()-e.sig.CTime < int64(2*time.Second)
}

func (g *Graph) remove(r *root, p string) {
	if g.index.unsee(p) {
		g.linker.exists(p)
	}
	if g.index.drop(p) != nil {
		g.linker.changed(p)
		g.writer.remove(r, p)
	}
}

// process reads and indexes files, on all cores.
func (g *Graph) process(ctx context.Context, jobs []found) {
	total := len(jobs)
	if total == 0 {
		return
	}
	sortFound(jobs)
	g.demands.add(jobs)
	defer g.demands.clear()
	ch := make(chan found)
	var wg sync.WaitGroup
	var done sync.Mutex
	n := 0
	for range cap(g.workers.free) {
		wg.Go(func() {
			for f := range ch {
				g.demand(ctx, f.path)
				done.Lock()
				n++
				g.progress(n, total)
				done.Unlock()
			}
		})
	}
	for _, f := range jobs {
		if ctx.Err() != nil {
			break
		}
		ch <- f
	}
	close(ch)
	wg.Wait()
}

// file brings one file's entry up to date.
func (g *Graph) file(ctx context.Context, f found) {
	r := g.rootOf(f.path)
	if r == nil {
		return
	}
	e := &entry{path: f.path, root: r, lang: f.lang, sig: f.sig}
	var text []byte
	switch {
	case f.generated:
		e.skip = skipGenerated
	case f.sig.Size > maxFile:
		e.skip = skipLarge
	default:
		var err error
		text, err = g.source.Read(f.path, maxFile)
		switch {
		case errors.Is(err, os.ErrNotExist):
			g.remove(r, f.path)
			return
		case errors.Is(err, workspace.ErrTooLarge):
			e.skip = skipLarge
		case err != nil:
			e.skip = skipUnread
		default:
			e.skip = unfit(text)
		}
	}
	var blob []byte
	if e.skip == "" {
		e.key = keyOf(f.lang, text)
		var err error
		if blob, err = g.extractOrFind(ctx, e, text); err != nil {
			if ctx.Err() != nil {
				return
			}
			e.skip = skipSlow
			if !errors.Is(err, sitter.ErrTooSlow) {
				g.o.Log.Warn("graph: file not parsed", "path", f.path, "err", err)
				e.skip = skipUnread
			}
		}
	}
	old := g.index.put(e)
	if old == nil || old.key != e.key {
		g.linker.changed(e.path)
	}
	if old == nil || old.key != e.key || old.sig != e.sig || old.skip != e.skip {
		g.writer.add(e, blob)
	}
}

// extractOrFind fills an entry's hashes: from an entry or store that knows the
// same text, else by parsing; then the packed facts are returned.
func (g *Graph) extractOrFind(ctx context.Context, e *entry, text []byte) ([]byte, error) {
	if old := g.index.get(e.path); old != nil && old.key == e.key && old.skip == "" {
		e.names, e.defs, e.broken = old.names, old.defs, old.broken
		return nil, nil
	}
	if s, _ := g.storeOf(e.root); s != nil {
		h, ok, err := s.Head(ctx, e.key)
		if err != nil {
			g.damaged(e.root, err)
		} else if ok {
			e.names, e.defs, e.broken = h.Names, h.Defs, h.Broken
			return nil, nil
		}
	}
	w, err := g.workers.take(ctx)
	if err != nil {
		return nil, err
	}
	defer g.workers.give(w)
	if g.workers.parsed != nil {
		g.workers.parsed()
	}
	return fill(ctx, w, e, text)
}

func fill(ctx context.Context, w *extract.Worker, e *entry, text []byte) ([]byte, error) {
	f, err := w.File(ctx, e.lang, text)
	if err != nil {
		return nil, err
	}
	blob, head := blobOf(f)
	e.names, e.defs, e.broken = head.Names, head.Defs, head.Broken
	return blob, nil
}

// indexNow brings one file up to date on the way of a query.
func (g *Graph) indexNow(ctx context.Context, e *entry) {
	fi, err := os.Lstat(e.path)
	if err != nil || !fi.Mode().IsRegular() {
		g.indexer.changed(e.path)
		return
	}
	g.file(ctx, found{path: e.path, sig: signature(fi), lang: e.lang, generated: e.skip == skipGenerated})
}

// update looks at paths that may have changed.
func (g *Graph) update(ctx context.Context, w *watcher, paths map[string]bool) {
	var jobs []found
	var dirs []string
	for p := range paths {
		r := g.rootOf(p)
		if r == nil || r.openOnly {
			continue
		}
		if base := path.Base(p); base == ".gitignore" || base == ".gitattributes" {
			g.pass(ctx, w) // the rules changed for an unknown part of the tree
			return
		}
		fi, err := os.Lstat(p)
		if err != nil {
			w.forget(p)
			for _, q := range append(g.index.below(p), p) {
				g.remove(r, q)
			}
			continue
		}
		ok, generated := r.judge(p, fi.IsDir())
		switch {
		case !ok:
		case fi.IsDir():
			if g.index.isFile(p) {
				g.remove(r, p)
			}
			found := r.walk(ctx, p)
			dirs = append(dirs, found.dirs...)
			jobs = append(jobs, g.compare(r, p, found.files)...)
		case fi.Mode().IsRegular():
			for _, q := range g.index.below(p) {
				g.remove(r, q)
			}
			f := found{path: p, sig: signature(fi), lang: languageOf(p), generated: generated}
			if g.index.see(p) {
				g.linker.exists(p)
			} else {
				g.linker.changed(p)
			}
			if f.lang != nil {
				jobs = append(jobs, f)
			}
		default:
			g.remove(r, p) // a link or pipe took its place
		}
	}
	w.watch(dirs)
	g.process(ctx, jobs)
	g.writer.flush(ctx)
	g.stateMu.Lock()
	g.state.lastPass = g.o.Clock()
	g.stateMu.Unlock()
}

func (g *Graph) progress(n, total int) {
	g.stateMu.Lock()
	g.state.done, g.state.total = n, total
	g.stateMu.Unlock()
	g.o.Progress(n, total)
}

func (g *Graph) setPassing(on bool) {
	g.stateMu.Lock()
	g.state.passing = on
	if on {
		g.state.done, g.state.total = 0, 0
	}
	g.stateMu.Unlock()
}

// note tells a person something once.
func (g *Graph) note(told *bool, text string) {
	g.stateMu.Lock()
	was := *told
	*told = true
	g.stateMu.Unlock()
	if !was {
		g.o.Notice(text)
	}
}
