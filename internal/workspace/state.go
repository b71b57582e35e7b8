package workspace

import (
	"sync"
	"sync/atomic"
	"time"
)

// Workspace is the files of one or several roots, as the human sees them. It is
// safe for concurrent use; document events must come in the client's order.
type Workspace struct {
	roots atomic.Pointer[[]root]
	own   func(Path) bool
	log   func(string, ...any)

	// mu guards what follows. It is held for memory only, never across the disk.
	mu       sync.Mutex
	enc      Encoding
	lines    Lines
	docs     map[string]*document // by documentKey
	byPath   map[Path][]*document // usually one
	waiters  map[Path][]*waiter
	expected map[Path][]*expectation
	images   map[Path][]Pair    // present and past pairs, newest last, bounded
	known    map[Path]knownDisk // the disk as last read, for the journal
	knownN   uint64             // grows with each change of known
	journal  journal

	subs struct {
		sync.Mutex
		next int
		fns  map[int]func(Event)
	}
}

// New returns a Workspace over o.Roots.
func New(o Options) *Workspace {
	w := &Workspace{
		own: o.Own, log: o.Log, enc: UTF16,
		docs: map[string]*document{}, byPath: map[Path][]*document{},
		waiters: map[Path][]*waiter{}, expected: map[Path][]*expectation{},
		images: map[Path][]Pair{}, known: map[Path]knownDisk{},
	}
	if w.own == nil {
		w.own = func(Path) bool { return false }
	}
	if w.log == nil {
		w.log = func(string, ...any) {}
	}
	if o.Clock == nil {
		o.Clock = time.Now
	}
	w.journal.clock = o.Clock
	w.journal.paths = map[Path][]Entry{}
	w.subs.fns = map[int]func(Event){}
	w.SetRoots(o.Roots)
	return w
}

// SetEncoding sets what positions of document changes count in.
func (w *Workspace) SetEncoding(e Encoding) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.enc = e
}

// SetLines sets what the client takes for a line end.
func (w *Workspace) SetLines(l Lines) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.lines = l
}

// Counting returns the encoding and the line ends positions count in.
func (w *Workspace) Counting() (Encoding, Lines) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.enc, w.lines
}

// Subscribe calls f for every event until cancel is called. f must not block
// and must not call document methods.
func (w *Workspace) Subscribe(f func(Event)) (cancel func()) {
	w.subs.Lock()
	defer w.subs.Unlock()
	id := w.subs.next
	w.subs.next++
	w.subs.fns[id] = f
	return func() {
		w.subs.Lock()
		defer w.subs.Unlock()
		delete(w.subs.fns, id)
	}
}

func (w *Workspace) emit(events ...Event) {
	if len(events) == 0 {
		return
	}
	w.subs.Lock()
	fns := make([]func(Event), 0, len(w.subs.fns))
	for i := range w.subs.next {
		if f, ok := w.subs.fns[i]; ok {
			fns = append(fns, f)
		}
	}
	w.subs.Unlock()
	for _, e := range events {
		if w.own(e.Path) {
			continue
		}
		for _, f := range fns {
			f(e)
		}
	}
}

// maxImages bounds the pairs remembered for one path, maxKnown the paths whose
// disk digest is remembered.
const (
	maxImages = 32
	maxKnown  = 200_000
)

func (w *Workspace) rememberImage(p Path, pair Pair) {
	if pair.Text == pair.Disk || pair.Disk == "" {
		return // equal digests need no memory
	}
	list := w.images[p]
	for i, have := range list {
		if have == pair {
			list = append(list[:i], list[i+1:]...)
			break
		}
	}
	if len(list) == maxImages {
		list = list[1:]
	}
	w.images[p] = append(list, pair)
}

// ImageOf reports whether disk is a known image of text: equal bytes, or a Pair
// of this path, present or past.
func (w *Workspace) ImageOf(p Path, text, disk Digest) bool {
	if text == disk {
		return true
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, pair := range w.images[p] {
		if pair == (Pair{text, disk}) {
			return true
		}
	}
	return false
}

// knownDisk is a disk content and the number of the change that led to it.
type knownDisk struct {
	digest Digest
	n      uint64
}

func (w *Workspace) setKnown(p Path, d Digest) {
	have, ok := w.known[p]
	if ok && have.digest == d {
		return
	}
	if !ok && len(w.known) >= maxKnown {
		clear(w.known) // costs attribution of changes made meanwhile, nothing else
	}
	w.knownN++
	w.known[p] = knownDisk{d, w.knownN}
}
