package memory

import (
	"context"
	"sync"

	"github.com/stella-ls/stella-ls/internal/workspace"
)

// watcher carries workspace events to the engines: the event that makes a belief
// stale makes a memory doubtful. Events of one path that wait are one.
type watcher struct {
	cancel func()
	end    context.CancelFunc
	done   chan struct{}

	mu    sync.Mutex // guards dirty
	dirty map[workspace.Path]bool
	wake  chan struct{}
}

// start follows the workspace; the subscriber only notes the path.
func (w *watcher) start(m *Memory) {
	if m.o.Workspace == nil {
		return
	}
	ctx, end := context.WithCancel(context.Background())
	w.end, w.done = end, make(chan struct{})
	w.dirty, w.wake = map[workspace.Path]bool{}, make(chan struct{}, 1)
	w.cancel = m.o.Workspace.Subscribe(func(e workspace.Event) {
		w.mu.Lock()
		w.dirty[e.Path] = true
		w.mu.Unlock()
		select {
		case w.wake <- struct{}{}:
		default: // it will see the path anyway
		}
	})
	go func() {
		defer close(w.done)
		for {
			select {
			case <-ctx.Done():
				return
			case <-w.wake:
				w.drain(ctx, m)
			}
		}
	}()
}

func (w *watcher) drain(ctx context.Context, m *Memory) {
	w.mu.Lock()
	paths := w.dirty
	w.dirty = map[workspace.Path]bool{}
	w.mu.Unlock()
	for p := range paths {
		m.fileChanged(ctx, p)
	}
}

func (w *watcher) stop() {
	if w.cancel != nil {
		w.cancel()
		w.end()
		<-w.done
	}
}

// fileChanged tells the engine of the root that holds p. A memory file that a
// person saved is mirrored at once.
func (m *Memory) fileChanged(ctx context.Context, p workspace.Path) {
	e := m.EngineFor(p)
	if e == nil {
		return
	}
	if e.IsPlainFile(string(p)) {
		if err := e.Mirror(ctx, false); err != nil && ctx.Err() == nil {
			m.report("the memories could not be read again: " + err.Error())
		}
		return
	}
	ids, err := e.FileChanged(ctx, string(p))
	if err != nil {
		if ctx.Err() == nil {
			m.report("whether memories about " + string(p) + " still hold cannot be told: " + err.Error())
		}
		return
	}
	if len(ids) > 0 && m.o.DoubtsChanged != nil {
		m.o.DoubtsChanged(e.Root(), ids)
	}
}
