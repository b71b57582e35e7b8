package graph

import (
	"context"
	"sync"
	"time"
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
