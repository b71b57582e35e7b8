package workspace

import "strings"

// DidSave joins the buffer with what the save put on disk. text is the saved
// text if the client sent it; it counts as a full text.
func (w *Workspace) DidSave(uri string, text *string) error {
	w.mu.Lock()
	d := w.docs[documentKey(uri)]
	w.mu.Unlock()
	if d == nil {
		return &PathError{Op: "change", Path: uri, Err: ErrBadPath, Hint: "didSave for a document that is not open was ignored"}
	}
	disk, err := w.diskOf(w.NameOf(d.path)) // before the lock: it reads the disk
	w.mu.Lock()
	defer func() {
		w.mu.Unlock()
		w.emit(Event{Path: d.path, Kind: Saved, Cause: Cause{Kind: HumanSave}})
	}()
	if text != nil && (*text != d.text || d.unsure != "") {
		// Neovim adds a missing final newline on save and tells nobody.
		before := d.digest
		d.text, d.unsure = *text, ""
		w.settle(d, before)
		w.touch(d)
	}
	if err != nil {
		return err
	}
	before := w.known[d.path].digest
	switch {
	case disk.Exists && (IsImage(d.text, disk.Bytes) || addedNewline(d.text, disk.Bytes)):
		d.pair = Pair{Text: d.digest, Disk: disk.Digest}
		d.ownText, d.lossyText = "", ""
		w.rememberImage(d.path, d.pair)
		w.noteDisk(d.path, disk, d.digest)
		w.journal.save(d.path, State{Text: d.digest, Disk: before}, State{Text: d.digest, Disk: disk.Digest})
	case disk.Exists && isLossyImage(d.text, disk.Bytes):
		d.pair, d.ownText, d.lossyText = Pair{}, "", d.digest
		w.noteDisk(d.path, disk, d.digest)
		w.journal.save(d.path, State{Text: d.digest, Disk: before}, State{Text: d.digest, Disk: disk.Digest})
	default:
		// The disk already holds something else again: no pair, so the buffer
		// counts as dirty and is never saved by us.
		w.noteDisk(d.path, disk, "")
	}
	return nil
}

// addedNewline reports whether disk is text plus the final line end that an
// editor adds when it saves.
func addedNewline(text string, disk []byte) bool {
	if text == "" || strings.HasSuffix(text, "\n") {
		return false
	}
	return IsImage(text+"\n", disk) || IsImage(text+"\r\n", disk)
}

// ConfirmSave joins text and disk after a save that our extension acknowledged.
func (w *Workspace) ConfirmSave(p Path, pair Pair) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.rememberImage(p, pair)
	if d := w.current(p); d != nil && d.digest == pair.Text && d.lossyText == "" {
		d.pair, d.ownText = pair, ""
	}
}

// DidClose ends a document. Unsaved text that goes with it is a discard.
func (w *Workspace) DidClose(uri string) error {
	w.mu.Lock()
	d := w.docs[documentKey(uri)]
	if d == nil {
		w.mu.Unlock()
		return &PathError{Op: "change", Path: uri, Err: ErrBadPath, Hint: "didClose for a document that is not open was ignored"}
	}
	w.forget(d)
	e := Event{Path: d.path, Kind: Closed}
	if d.digest != d.pair.Text && d.lossyText != d.digest {
		e.Cause = Cause{Kind: HumanDiscard}
		w.journal.add(Entry{Path: d.path, Cause: e.Cause, Before: State{Text: d.digest}, After: State{Text: d.pair.Text}}, false)
	}
	w.wake(d.path)
	w.mu.Unlock()
	w.emit(e)
	return nil
}
