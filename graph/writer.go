package graph

import (
	"context"
	"sync"

	"github.com/stella-ls/stella-ls/graph/facts"
	"github.com/stella-ls/stella-ls/graph/store"
)

// writer brings facts to the stores in large transactions. What has not arrived
// yet can be read from it, so that nobody waits for the disk.
type writer struct {
	g       *Graph
	mu      sync.Mutex
	waiting map[store.Key][]byte
	queue   map[*root]*store.Batch
	size    int // bytes queued
	kick    chan struct{}
	done    sync.WaitGroup
	flushMu sync.Mutex // one flush at a time
}

// flushBytes starts a flush; maxQueued makes the pass wait for one.
const (
	flushBytes = 4 << 20
	maxQueued  = 32 << 20
)

func newWriter(g *Graph) *writer {
	return &writer{g: g, waiting: map[store.Key][]byte{}, queue: map[*root]*store.Batch{}, kick: make(chan struct{}, 1)}
}

func (w *writer) start(ctx context.Context) {
	w.done.Go(func() {
		for {
			select {
			case <-w.kick:
				w.flush(context.WithoutCancel(ctx))
			case <-ctx.Done():
				return
			}
		}
	})
}

func (w *writer) close() {
	w.done.Wait()
	w.flush(context.Background())
}

func (w *writer) pending(k store.Key) []byte {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.waiting[k]
}

// batch gives f the queue of a root.
func (w *writer) batch(r *root, f func(b *store.Batch)) {
	w.mu.Lock()
	b := w.queue[r]
	if b == nil {
		b = &store.Batch{}
		w.queue[r] = b
	}
	f(b)
	size := w.size
	w.mu.Unlock()
	switch {
	case size > maxQueued:
		w.flush(context.Background())
	case size > flushBytes:
		select {
		case w.kick <- struct{}{}:
		default:
		}
	}
}

// add queues an entry, with its facts when they are new. Without a store the
// facts stay here: memory is then all there is.
func (w *writer) add(e *entry, blob []byte) {
	w.batch(e.root, func(b *store.Batch) {
		if blob != nil {
			if w.waiting[e.key] == nil {
				w.size += len(blob) + 4*(len(e.names)+len(e.defs))
			}
			w.waiting[e.key] = blob
			b.Facts = append(b.Facts, store.Facts{Key: e.key, Head: store.Head{Names: e.names, Defs: e.defs, Broken: e.broken}, Blob: blob})
		}
		b.Rows = append(b.Rows, store.Row{Path: relTo(e.root.dir, e.path), Key: e.key, Sig: e.sig, Skip: e.skip})
	})
}

func (w *writer) remove(r *root, p string) {
	w.batch(r, func(b *store.Batch) { b.Removed = append(b.Removed, relTo(r.dir, p)) })
}

// flush writes everything that is queued.
func (w *writer) flush(ctx context.Context) {
	w.flushMu.Lock()
	defer w.flushMu.Unlock()
	w.mu.Lock()
	queue := w.queue
	w.queue = map[*root]*store.Batch{}
	w.size = 0
	w.mu.Unlock()
	for r, b := range queue {
		s, ws := w.g.storeOf(r)
		if s == nil {
			continue // the facts stay in waiting
		}
		if err := s.Write(ctx, ws, *b); err != nil {
			w.g.damaged(r, err)
			continue
		}
		w.mu.Lock()
		for _, f := range b.Facts {
			delete(w.waiting, f.Key)
		}
		w.mu.Unlock()
	}
}

// blobOf packs facts and lists their hashes.
func blobOf(f *facts.File) (blob []byte, head store.Head) {
	names, defs := f.Hashes()
	return facts.Encode(f), store.Head{Names: names, Defs: defs, Broken: len(f.Errors) > 0}
}
