package memory

import (
	"context"
	"sync"
	"time"

	"github.com/stella-ls/stella-ls/internal/workspace"
)

// watcher carries workspace events to the engines: the event that makes a belief
// stale makes a memory doubtful. Events of one path that wait are one. Who shows
// memories waits (settle) until the engines know of every event so far, so that
// nothing is shown as sure after the keystroke that made it doubtful.
type watcher struct {
	cancel func()
	end    context.CancelFunc
	done   chan struct{}

	mu    sync.Mutex // guards dirty and quiet
	dirty map[workspace.Path]bool
	quiet chan struct{} // closed when nothing waits or is being told; nil when it is so now
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
		if w.quiet == nil {
			w.quiet = make(chan struct{})
		}
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
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.dirty) == 0 && w.quiet != nil {
		close(w.quiet)
		w.quiet = nil
	}
}

// settleTime bounds what a hover waits for a database that another process holds.
const settleTime = time.Second

// settle waits until the engines were told of every event that came before, or
// ctx or settleTime ends. Events that come while it waits make it wait for them
// as well.
func (w *watcher) settle(ctx context.Context) {
	w.mu.Lock()
	quiet := w.quiet
	w.mu.Unlock()
	if quiet == nil {
		return
	}
	limit := time.NewTimer(settleTime)
	defer limit.Stop()
	select {
	case <-quiet:
	case <-limit.C:
	case <-ctx.Done():
	case <-w.done:
	}
}

func (w *watcher) stop() {
	if w.cancel != nil {
		w.cancel()
		w.end()
		<-w.done
	}
}

// Settle waits until what is shown of the memories takes into account every
// change of a file so far: a keystroke, a save, a change on disk that was seen.
func (m *Memory) Settle(ctx context.Context) { m.watch.settle(ctx) }

// fileChanged tells the engine of the root that holds p. A memory file that a
// person saved is mirrored at once.
func (m *Memory) fileChanged(ctx context.Context, p workspace.Path) {
	e := m.EngineFor(p)
	if e == nil {
		return
	}
	if e.IsPlainFile(string(p)) {
		if err := e.Mirror(ctx, false); err != nil {
			if ctx.Err() == nil {
				m.report("the memories could not be read again: " + err.Error())
			}
			return
		}
		m.doubtsChanged(e.Root(), nil)
		return
	}
	about, _, err := e.FileChanged(ctx, string(p))
	if err != nil {
		if ctx.Err() == nil {
			m.report("whether memories about " + string(p) + " still hold cannot be told: " + err.Error())
		}
		return
	}
	if len(about) > 0 {
		m.doubtsChanged(e.Root(), about)
	}
}

func (m *Memory) doubtsChanged(root string, ids []string) {
	if m.o.DoubtsChanged != nil {
		m.o.DoubtsChanged(root, ids)
	}
}
