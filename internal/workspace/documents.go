package workspace

import (
	"context"
	"fmt"
	"slices"
)

// document is one buffer of the client. Guarded by Workspace.mu.
type document struct {
	key, uri, lang string
	path           Path
	version        int32
	text           string
	digest         Digest
	pair           Pair
	// ownText is the digest that this server's own edits led to from a clean
	// text; empty when none did.
	ownText Digest
	// lossyText is the text as it was opened when it was a lossy view of the disk.
	lossyText Digest
	unsure    string
	// seen is set by View: the next typing starts a journal entry of its own,
	// so that a belief never lies in the middle of one.
	seen bool
	// touched orders two buffers of one file.
	touched uint64
}

func (d *document) clean() bool {
	return d.digest == d.pair.Text && d.pair != (Pair{}) ||
		d.ownText != "" && d.digest == d.ownText ||
		d.lossyText != "" && d.digest == d.lossyText
}

func (d *document) buffer() *Buffer {
	return &Buffer{
		URI: d.uri, LanguageID: d.lang, Version: d.version, Text: d.text, Digest: d.digest,
		Pair: d.pair, Dirty: !d.clean(), Different: d.lossyText != "", Unsure: d.unsure,
		OwnUnsaved: d.ownText != "" && d.digest == d.ownText && d.digest != d.pair.Text,
	}
}

// expectation is an own edit on its way to the editor.
type expectation struct {
	before, after Digest
	cause         Cause
	// An edit of several places may arrive one by one. begun is true from the
	// step that left before; since is the journal's number at that moment.
	begun        bool
	since        uint64
	clean, lossy bool // what the document was then
}

type waiter struct {
	ok   func(Buffer, bool) bool
	done chan struct{}
}

func documentKey(uri string) string {
	if path, isFile, err := pathOfURI(uri); err == nil && isFile {
		return "file:" + path
	}
	return uri
}

// current is the document that stands for p: the one touched last.
func (w *Workspace) current(p Path) *document {
	var best *document
	for _, d := range w.byPath[p] {
		if best == nil || d.touched > best.touched {
			best = d
		}
	}
	return best
}

// view is current as a Buffer; two buffers of one file with different text are unsure.
func (w *Workspace) view(p Path) *Buffer {
	d := w.current(p)
	if d == nil {
		return nil
	}
	b := d.buffer()
	b.Seq = w.journal.seq
	for _, o := range w.byPath[p] {
		if o.digest != d.digest && b.Unsure == "" {
			b.Unsure = fmt.Sprintf("the editor has this file open twice with different text (%s and %s); save or close one", o.uri, d.uri)
		}
	}
	return b
}

// Document is the open buffer, without touching the disk.
func (w *Workspace) Document(p Path) (Buffer, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if b := w.view(p); b != nil {
		return *b, true
	}
	return Buffer{}, false
}

// OpenDocument is a row of Documents.
type OpenDocument struct {
	Name   Name
	Buffer Buffer
}

// Documents are all open buffers at one moment, in path order.
func (w *Workspace) Documents() []OpenDocument {
	w.mu.Lock()
	bufs := map[Path]Buffer{}
	for p := range w.byPath {
		bufs[p] = *w.view(p)
	}
	w.mu.Unlock()
	out := make([]OpenDocument, 0, len(bufs))
	for p, b := range bufs {
		out = append(out, OpenDocument{Name: w.NameOf(p), Buffer: b})
	}
	slices.SortFunc(out, func(a, b OpenDocument) int {
		if a.Name.Path < b.Name.Path {
			return -1
		}
		return 1
	})
	return out
}

// DidOpen begins a document. The pair is made when the disk decodes to exactly
// this text; a text that the disk does not hold is dirty.
func (w *Workspace) DidOpen(uri, languageID string, version int32, text string) error {
	n, err := w.ResolveURI(uri)
	if err != nil {
		return err
	}
	d := &document{key: documentKey(uri), uri: uri, lang: languageID, path: n.Path, version: version, text: text, digest: DigestOfString(text), seen: true}
	disk, diskErr := w.diskOf(n)
	if diskErr == nil && disk.Exists {
		switch {
		case IsImage(text, disk.Bytes):
			d.pair = Pair{Text: d.digest, Disk: disk.Digest}
		case isLossyImage(text, disk.Bytes):
			d.lossyText = d.digest
		}
	}
	w.mu.Lock()
	if old := w.docs[d.key]; old != nil {
		w.log("document was opened twice without a close; the newer text counts", "uri", uri)
		w.forget(old)
	}
	w.docs[d.key] = d
	w.byPath[n.Path] = append(w.byPath[n.Path], d)
	w.touch(d)
	w.rememberImage(n.Path, d.pair)
	if diskErr == nil {
		w.noteDisk(n.Path, disk, "")
	}
	w.wake(n.Path)
	w.mu.Unlock()
	w.emit(Event{Path: n.Path, Kind: Opened})
	return nil
}

func (w *Workspace) touch(d *document) {
	w.journal.seq++
	d.touched = w.journal.seq
}

func (w *Workspace) forget(d *document) {
	delete(w.docs, d.key)
	list := slices.DeleteFunc(w.byPath[d.path], func(o *document) bool { return o == d })
	if len(list) == 0 {
		delete(w.byPath, d.path)
	} else {
		w.byPath[d.path] = list
	}
}

// Distrust makes an open document unsure, until a full text arrives: its text
// may have changed in a way that could not be read.
func (w *Workspace) Distrust(uri, why string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if d := w.docs[documentKey(uri)]; d != nil {
		d.unsure = why
	}
}

// DidChange applies the changes of one notification, in order. A version that
// does not increase is ignored and, like a range that does not fit, makes the
// document unsure until a full text arrives.
func (w *Workspace) DidChange(uri string, version int32, changes []ContentChange) error {
	w.mu.Lock()
	d := w.docs[documentKey(uri)]
	if d == nil {
		w.mu.Unlock()
		return &PathError{Op: "change", Path: uri, Err: ErrBadPath, Hint: "didChange for a document that is not open was ignored"}
	}
	if version <= d.version {
		have := d.version
		full := len(changes) > 0 && changes[len(changes)-1].Range == nil
		if !full {
			d.unsure = fmt.Sprintf("a change for version %d came after version %d", version, have)
		}
		w.mu.Unlock()
		return &PathError{Op: "change", Path: uri, Err: fmt.Errorf("version %d came after version %d and was ignored", version, have)}
	}
	d.version = version
	var misfits int
	before := d.digest
	for _, c := range changes {
		text, f := applyChange(d.text, c, w.enc, w.lines)
		d.text = text
		if f == misfit {
			misfits++
		}
		switch {
		case c.Range == nil:
			d.unsure = ""
		case f == misfit:
			d.unsure = "a change did not fit the text; save the file or reopen it"
		}
		if len(w.waiters[d.path]) > 0 || len(w.expected[d.path]) > 0 {
			before = w.settle(d, before)
		}
	}
	w.settle(d, before)
	w.touch(d)
	path := d.path
	w.mu.Unlock()
	w.emit(Event{Path: path, Kind: TextChanged})
	if misfits > 0 {
		return &PathError{Op: "change", Path: uri, Err: fmt.Errorf("%d changes did not fit the text", misfits), Hint: "writes to it are refused until a full text arrives"}
	}
	return nil
}

// begin notes that d leaves e.before, at the journal's number seq.
func (e *expectation) begin(d *document, seq uint64) {
	e.begun, e.since = true, seq
	e.clean = e.before == d.pair.Text && d.pair != (Pair{}) || e.before == d.ownText && e.before != ""
	e.lossy = d.lossyText != "" && e.before == d.lossyText
}

// settle brings the digest up to the text, attributes the step from before, and
// wakes who waits for it. It returns the new digest.
func (w *Workspace) settle(d *document, before Digest) Digest {
	d.digest = DigestOfString(d.text)
	if d.digest != before {
		cause, from, began := Cause{Kind: HumanTyping}, before, false
		for i, e := range w.expected[d.path] {
			if e.before == before {
				e.begin(d, w.journal.seq)
				began = true
			}
			if !e.begun || e.after != d.digest {
				continue
			}
			cause, from = e.cause, e.before
			w.journal.takeBack(d.path, e.since)
			// Clean text stays clean by our own edit; so does lossy text.
			if e.clean {
				d.ownText = d.digest
			} else if e.lossy {
				d.lossyText = d.digest
			}
			w.expected[d.path] = slices.Delete(w.expected[d.path], i, i+1)
			break
		}
		merge := cause.Kind == HumanTyping && !d.seen && !began
		d.seen = false
		w.journal.add(Entry{Path: d.path, Cause: cause, Before: State{Text: from}, After: State{Text: d.digest}}, merge)
	}
	w.wake(d.path)
	return d.digest
}

// ExpectOwn announces that this server's own edit is about to turn the buffer
// of p from before into after, so that the change is journalled under c and
// does not count as a person's. cancel withdraws it.
func (w *Workspace) ExpectOwn(p Path, before, after Digest, c Cause) (cancel func()) {
	e := &expectation{before: before, after: after, cause: c}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.expected[p] = append(w.expected[p], e)
	return func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		list := slices.DeleteFunc(w.expected[p], func(o *expectation) bool { return o == e })
		if len(list) == 0 {
			delete(w.expected, p)
		} else {
			w.expected[p] = list
		}
	}
}

// Await returns when ok holds for the open buffer of p (checked now and after
// every single content change, also inside one notification; false when it is
// not open), or with ctx's error. ok must be quick and must not call w.
func (w *Workspace) Await(ctx context.Context, p Path, ok func(b Buffer, open bool) bool) error {
	w.mu.Lock()
	if w.holds(p, ok) {
		w.mu.Unlock()
		return nil
	}
	wt := &waiter{ok: ok, done: make(chan struct{})}
	w.waiters[p] = append(w.waiters[p], wt)
	w.mu.Unlock()
	select {
	case <-wt.done:
		return nil
	case <-ctx.Done():
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.dropWaiters(p, func(o *waiter) bool { return o == wt })
	select {
	case <-wt.done: // it came in the meantime
		return nil
	default:
		return ctx.Err()
	}
}

func (w *Workspace) holds(p Path, ok func(Buffer, bool) bool) bool {
	if b := w.view(p); b != nil {
		return ok(*b, true)
	}
	return ok(Buffer{}, false)
}

func (w *Workspace) wake(p Path) {
	if len(w.waiters[p]) == 0 {
		return
	}
	w.dropWaiters(p, func(wt *waiter) bool {
		if !w.holds(p, wt.ok) {
			return false
		}
		close(wt.done)
		return true
	})
}

func (w *Workspace) dropWaiters(p Path, which func(*waiter) bool) {
	list := slices.DeleteFunc(w.waiters[p], which)
	if len(list) == 0 {
		delete(w.waiters, p)
	} else {
		w.waiters[p] = list
	}
}
