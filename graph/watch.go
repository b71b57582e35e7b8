package graph

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/fsnotify/fsnotify"

	"github.com/stella-ls/stella-ls/internal/workspace"
)

// Debouncing: a batch is handed over when nothing happened for quiet, and at the
// latest after longest although events go on.
const (
	quiet   = 200 * time.Millisecond
	longest = 2 * time.Second
)

// watcher watches the directories that are walked. Its events are hints: what
// they name is looked at, and a pass repairs what they miss. A nil *watcher
// watches nothing.
type watcher struct {
	g    *Graph
	fs   notifier
	out  chan struct{}
	stop chan struct{}
	done sync.WaitGroup
	git  int // git directories watched beside dirs

	mu      sync.Mutex
	paths   map[string]bool
	dirs    map[string]bool
	lost    bool // events were lost: a pass is needed
	limited bool // no more watches to be had
	orphan  bool // a root was gone once: nothing tells when it comes back
}

// notifier is what is used of fsnotify; tests put limits into it.
type notifier interface {
	Add(dir string) error
	Remove(dir string) error
	Close() error
	events() <-chan fsnotify.Event
	errors() <-chan error
}

type inotify struct{ *fsnotify.Watcher }

func (i inotify) events() <-chan fsnotify.Event { return i.Events }
func (i inotify) errors() <-chan error          { return i.Errors }

func (g *Graph) newWatcher() *watcher {
	fs, err := g.newNotifier()
	if err != nil {
		g.note(new(bool), "Files cannot be watched ("+err.Error()+"); changes are found every few minutes instead.")
		return nil
	}
	return startWatcher(g, fs)
}

func newInotify() (notifier, error) {
	fs, err := fsnotify.NewBufferedWatcher(4096)
	return inotify{fs}, err
}

func startWatcher(g *Graph, fs notifier) *watcher {
	w := &watcher{g: g, fs: fs, out: make(chan struct{}, 1), stop: make(chan struct{}), paths: map[string]bool{}, dirs: map[string]bool{}}
	for _, r := range g.allRoots() {
		if r.gitDir != "" && !r.openOnly {
			if fs.Add(filepath.FromSlash(r.gitDir)) == nil { // HEAD, and the index
				w.git++
			}
		}
	}
	w.done.Go(w.run)
	return w
}

func (w *watcher) events() <-chan struct{} {
	if w == nil {
		return nil
	}
	return w.out
}

func (w *watcher) close() {
	close(w.stop)
	_ = w.fs.Close()
	w.done.Wait()
}

func (w *watcher) run() {
	var first time.Time
	timer := time.NewTimer(time.Hour)
	timer.Stop()
	for {
		select {
		case <-w.stop:
			return
		case e, ok := <-w.fs.events():
			if !ok {
				return
			}
			if !w.take(e) {
				continue
			}
		case err, ok := <-w.fs.errors():
			if !ok {
				return
			}
			w.mu.Lock()
			w.lost = w.lost || errors.Is(err, fsnotify.ErrEventOverflow)
			w.mu.Unlock()
		case <-timer.C:
			first = time.Time{}
			select {
			case w.out <- struct{}{}:
			default:
			}
			continue
		}
		now := time.Now()
		if first.IsZero() {
			first = now
		}
		timer.Reset(min(quiet, max(0, longest-now.Sub(first))))
	}
}

// take notes an event; it reports whether it is of interest.
func (w *watcher) take(e fsnotify.Event) bool {
	if e.Op == fsnotify.Chmod {
		return false
	}
	p := filepath.ToSlash(e.Name)
	for _, r := range w.g.allRoots() {
		if r.gitDir == "" || !strings.HasPrefix(p, r.gitDir+"/") {
			continue
		}
		if rel := relTo(r.gitDir, p); rel != "HEAD" && rel != "index" {
			return false
		}
		p = r.gitDir + "/HEAD"
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.paths) > 4*batchLimit {
		w.lost = true
	} else {
		w.paths[p] = true
	}
	return true
}

// collect hands over the paths of the last batch.
func (w *watcher) collect() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	var out []string
	for p := range w.paths {
		if !strings.Contains(p, "/.git/") {
			out = append(out, p)
			continue
		}
		if w.g.headMoved() {
			w.g.indexer.rebuild()
		}
	}
	clear(w.paths)
	if w.lost {
		w.lost = false
		w.g.indexer.rebuild()
	}
	return out
}

// watch adds directories.
func (w *watcher) watch(dirs []string) {
	if w == nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, d := range dirs {
		if w.dirs[d] || w.limited {
			continue
		}
		if err := w.fs.Add(filepath.FromSlash(d)); err != nil {
			if isLimit(err) {
				w.limited = true
				w.g.o.Notice(fmt.Sprintf("Only %d of the project's folders can be watched (the system's limit on file watches); changes elsewhere are found every few minutes. Raise fs.inotify.max_user_watches to change that.", len(w.dirs)))
			}
			continue
		}
		w.dirs[d] = true
	}
	w.count()
}

// forget removes the watches of a directory that is gone, and of all below it:
// after a rename they would go on under the old name.
func (w *watcher) forget(dir string) {
	if w == nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for d := range w.dirs {
		if d == dir || strings.HasPrefix(d, dir+"/") {
			_ = w.fs.Remove(filepath.FromSlash(d))
			delete(w.dirs, d)
		}
	}
	for _, r := range w.g.allRoots() {
		w.orphan = w.orphan || r.dir == dir
	}
	w.count()
}

// isLimited reports whether something can change that no event tells of.
func (w *watcher) isLimited() bool {
	if w == nil {
		return true
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.limited || w.orphan
}

func (w *watcher) count() {
	w.g.stateMu.Lock()
	w.g.state.watches = len(w.dirs) + w.git
	w.g.state.watching = "inotify"
	if w.limited {
		w.g.state.watching = "inotify, in part"
	}
	w.g.stateMu.Unlock()
}

func (g *Graph) setWatching(w *watcher) {
	g.stateMu.Lock()
	defer g.stateMu.Unlock()
	switch {
	case g.o.NoWatch:
		g.state.watching = "off"
	case g.o.ClientWatches:
		g.state.watching = "editor"
	case w == nil:
		g.state.watching = "reconcile only"
	default:
		g.state.watching = "inotify"
	}
}

// Folders counts the directories that a watcher of a workspace would watch, git's
// own included; whole is false when ctx ended before all were seen.
func Folders(ctx context.Context, ws *workspace.Workspace) (n int, whole bool) {
	g, err := Open(Options{Workspace: ws, NoWatch: true})
	if err != nil {
		return 0, false
	}
	defer g.Close()
	whole = true
	for _, r := range g.allRoots() {
		if r.openOnly {
			continue
		}
		found := r.walk(ctx, r.dir)
		n += len(found.dirs)
		whole = whole && !found.cut
		if r.gitDir != "" {
			n++
		}
	}
	return n, whole && ctx.Err() == nil
}
