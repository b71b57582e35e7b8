package guard

import (
	"context"
	"sync"
	"time"

	"github.com/stella-ls/stella-ls/internal/workspace"
)

// watcher turns workspace events into announcements of changed states. Events
// are hints and may be merged; nothing that decides about a write uses them.
type watcher struct {
	g      *Guard
	cancel func()
	once   sync.Once
	wake   chan struct{}
	quit   chan struct{}
	done   chan struct{}

	mu      sync.Mutex                          // guards what follows
	pending map[workspace.Path]bool             // true: the disk may have changed
	told    map[workspace.Path]workspace.Digest // disk under a dirty buffer, told to the human
	// suspected are such files that are about to be looked at once more.
	suspected map[workspace.Path]bool
}

func startWatcher(g *Guard) *watcher {
	w := &watcher{
		g: g, wake: make(chan struct{}, 1), quit: make(chan struct{}), done: make(chan struct{}),
		pending: map[workspace.Path]bool{}, told: map[workspace.Path]workspace.Digest{},
		suspected: map[workspace.Path]bool{},
	}
	w.cancel = g.ws.Subscribe(func(e workspace.Event) {
		w.mu.Lock()
		w.pending[e.Path] = w.pending[e.Path] || e.Kind == workspace.DiskChanged
		w.mu.Unlock()
		select {
		case w.wake <- struct{}{}:
		default:
		}
	})
	go w.run()
	return w
}

func (w *watcher) stop() {
	w.cancel()
	w.once.Do(func() { close(w.quit) })
	<-w.done
}

func (w *watcher) run() {
	defer close(w.done)
	// beneath are open files whose disk changed while no unsaved text stood over
	// it: an editor may tell of typing only after the change.
	beneath := map[workspace.Path]bool{}
	for {
		select {
		case <-w.quit:
			return
		case <-w.wake:
		}
		w.mu.Lock()
		paths := w.pending
		w.pending = map[workspace.Path]bool{}
		w.mu.Unlock()
		for p, disk := range paths {
			w.look(p)
			if disk || beneath[p] {
				beneath[p] = true
				if w.lookUnderBuffer(p) {
					delete(beneath, p)
				}
			}
		}
	}
}

// again has a path looked at once more.
func (w *watcher) again(p workspace.Path) {
	w.mu.Lock()
	w.pending[p] = w.pending[p]
	w.mu.Unlock()
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// look announces the state of p to every session that has seen it.
func (w *watcher) look(p workspace.Path) {
	ctx := context.Background()
	for _, s := range w.g.all() {
		b, known := s.belief(p)
		if !known {
			continue
		}
		s.mu.Lock()
		last := s.announced[p]
		s.mu.Unlock()
		row := s.guarded(ctx, b, false)
		// While a write is under way it speaks for itself; it has the path looked
		// at once more when it ends, so what happened meanwhile is not missed.
		if row.State == last || row.State == Writing || last == Writing {
			continue
		}
		s.mu.Lock()
		newer := s.announced[p] != last // somebody announced meanwhile, and looked later than this
		if !newer {
			s.announced[p] = row.State
		}
		s.mu.Unlock()
		if newer {
			continue
		}
		w.g.o.Changed(s.id, []Guarded{row})
	}
}

// saveTime is how long the word about a save may stay behind the save itself: an
// editor writes the file first and sends didSave then, and by that time a person
// may have typed on.
const saveTime = 500 * time.Millisecond

// lookUnderBuffer reports a disk that changed under unsaved edits, once. It is
// not settled while the file is open without any.
func (w *watcher) lookUnderBuffer(p workspace.Path) (settled bool) {
	if b, open := w.g.ws.Document(p); open && !b.Dirty {
		return false
	}
	if _, suspect := w.underBuffer(p); suspect {
		w.suspect(p)
	}
	return true
}

// underBuffer is a file whose disk holds what neither its editor loaded or saved
// last nor has now, while it has unsaved changes.
func (w *watcher) underBuffer(p workspace.Path) (workspace.File, bool) {
	b, open := w.g.ws.Document(p)
	if !open || !b.Dirty || b.Pair.Disk == "" {
		return workspace.File{}, false
	}
	f, err := w.g.ws.View(context.Background(), w.g.ws.NameOf(p))
	if err != nil || f.Buffer == nil || !f.Buffer.Dirty || f.Disk.Err != nil ||
		f.Disk.Digest == f.Buffer.Pair.Disk || workspace.IsImage(f.Buffer.Text, f.Disk.Bytes) {
		return workspace.File{}, false
	}
	return f, true
}

// suspect looks at p once more when a save of the editor's own would have been
// announced, and then tells.
func (w *watcher) suspect(p workspace.Path) {
	w.mu.Lock()
	waits := w.suspected[p]
	w.suspected[p] = true
	w.mu.Unlock()
	if waits {
		return
	}
	time.AfterFunc(saveTime, func() {
		w.mu.Lock()
		delete(w.suspected, p)
		w.mu.Unlock()
		select {
		case <-w.quit:
			return
		default:
		}
		if f, still := w.underBuffer(p); still {
			w.tellOverwritten(f)
		}
	})
}

// tellOverwritten warns the human that a save of the buffer would overwrite a
// disk that changed beneath it; once for each content.
func (w *watcher) tellOverwritten(f workspace.File) {
	w.mu.Lock()
	known := w.told[f.Name.Path] == f.Disk.Digest
	w.told[f.Name.Path] = f.Disk.Digest
	w.mu.Unlock()
	if !known {
		w.g.o.Tell(f.Name.Display + " changed on disk while you have unsaved changes in the editor. Compare before you save: saving overwrites what is on disk.")
	}
}
