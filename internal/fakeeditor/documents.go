package fakeeditor

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// ErrConflict is what a save ends with when the file on disk is no longer the
// one that was loaded or saved last; the person decides (SaveAnyway, Discard).
var ErrConflict = errors.New("the file on disk is newer than what the editor loaded")

var languages = map[string]string{
	".go": "go", ".py": "python", ".rs": "rust", ".ts": "typescript", ".js": "javascript",
	".md": "markdown", ".txt": "plaintext", ".toml": "toml", ".json": "json",
}

// Open loads a file into a buffer and tells the server. A file that does not
// exist becomes an empty, clean buffer without a file.
func (e *Editor) Open(path string) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.buffers[path] != nil {
		return fmt.Errorf("%s is open already", path)
	}
	b := &buffer{path: path, uri: fileURI(path), language: languages[filepath.Ext(path)], tick: 4}
	if b.language == "" {
		b.language = "plaintext"
	}
	if err := e.load(b); err != nil {
		return err
	}
	e.buffers[path] = b
	e.sendOpen(b)
	return nil
}

// load takes the disk's content as the buffer's clean text.
func (e *Editor) load(b *buffer) error {
	st, raw, err := look(b.path)
	if err != nil {
		return err
	}
	b.text, b.layout = decode(raw, e.o.Kind)
	b.disk = st
	b.undo, b.redo, b.late = nil, nil, nil
	b.ids++
	b.id, b.savedID = b.ids, b.ids
	return nil
}

func (e *Editor) sendOpen(b *buffer) {
	b.late = nil
	b.version = 1
	if e.o.Kind.neovim() {
		b.version = 0
	}
	e.conn.notify("textDocument/didOpen", map[string]any{"textDocument": map[string]any{
		"uri": b.uri, "languageId": b.language, "version": b.version, "text": b.text,
	}})
}

// get finds an open buffer.
func (e *Editor) get(path string) (*buffer, error) {
	if b := e.buffers[path]; b != nil {
		return b, nil
	}
	return nil, fmt.Errorf("%s is not open in the editor", path)
}

// coords are how positions of b count.
func (e *Editor) coords(b *buffer) coords {
	c := coords{enc: e.enc}
	if e.o.Kind.neovim() {
		c.eol = b.layout.eol
	}
	return c
}

// normalise gives inserted text the buffer's line ends, as both editors do.
func (b *buffer) normalise(text string) string {
	if !strings.ContainsAny(text, "\r\n") {
		return text
	}
	return unify(text, b.layout.eol)
}

// change applies splices, all of the present text, as one step of undo, and
// tells the server.
func (e *Editor) change(b *buffer, splices []splice) error {
	for i := range splices {
		splices[i].text = b.normalise(splices[i].text)
	}
	text, err := apply(b.text, splices)
	if err != nil {
		return err
	}
	if text == b.text {
		return nil
	}
	changes := e.contentChanges(b, splices, text)
	b.record(text)
	e.tell(b, changes)
	return nil
}

// contentChanges describes splices from the last to the first, so that each
// range is right when the ones before it in the list have been applied.
func (e *Editor) contentChanges(b *buffer, splices []splice, after string) []contentChange {
	if e.o.Quirks.FullSync {
		return []contentChange{{Text: after}}
	}
	c := e.coords(b)
	out := make([]contentChange, 0, len(splices))
	for i := len(splices) - 1; i >= 0; i-- {
		s := splices[i]
		out = append(out, contentChange{&Range{c.position(b.text, s.start), c.position(b.text, s.end)}, s.text})
	}
	return out
}

// setText makes text the content, described as the smallest single change.
func (e *Editor) setText(b *buffer, text string) {
	s, differs := difference(b.text, text)
	if !differs {
		return
	}
	changes := e.contentChanges(b, []splice{s}, text)
	b.text = text
	e.tell(b, changes)
}

// tell sends a didChange, now or late.
func (e *Editor) tell(b *buffer, changes []contentChange) {
	if e.o.Kind.neovim() {
		b.tick += max(1, len(changes))
		b.version = b.tick
	} else {
		b.version++
	}
	b.late = append(b.late, changes...)
	if e.o.Quirks.LateChange == 0 {
		e.flush(b)
		return
	}
	if e.timers[b] == nil {
		e.timers[b] = time.AfterFunc(e.o.Quirks.LateChange, func() {
			e.mu.Lock()
			defer e.mu.Unlock()
			e.flush(b)
		})
	}
}

// flush sends what tell held back.
func (e *Editor) flush(b *buffer) {
	if t := e.timers[b]; t != nil {
		t.Stop()
		delete(e.timers, b)
	}
	if len(b.late) == 0 || e.buffers[b.path] != b {
		return
	}
	e.conn.notify("textDocument/didChange", map[string]any{
		"textDocument":   map[string]any{"uri": b.uri, "version": b.version},
		"contentChanges": b.late,
	})
	b.late = nil
}

// Insert types text at a place given in 1-based lines and columns, where
// columns count Unicode characters.
func (e *Editor) Insert(path string, line, col int, text string) error {
	return e.person(path, func(b *buffer) ([]splice, error) {
		c := e.coords(b)
		c.enc = "utf-32"
		at := c.offset(b.text, Position{line - 1, col - 1})
		return []splice{{at, at, text}}, nil
	})
}

// Replace swaps one text, which must be there exactly once, for another.
func (e *Editor) Replace(path, old, with string) error {
	return e.person(path, func(b *buffer) ([]splice, error) {
		old := b.normalise(old)
		if n := strings.Count(b.text, old); n != 1 {
			return nil, fmt.Errorf("%q is %d times in %s", old, n, path)
		}
		at := strings.Index(b.text, old)
		return []splice{{at, at + len(old), with}}, nil
	})
}

// ReplaceEach swaps every occurrence, as one change with several ranges.
func (e *Editor) ReplaceEach(path, old, with string) error {
	return e.person(path, func(b *buffer) (out []splice, err error) {
		old := b.normalise(old)
		for at := 0; ; {
			i := strings.Index(b.text[at:], old)
			if i < 0 {
				return out, nil
			}
			out = append(out, splice{at + i, at + i + len(old), with})
			at += i + len(old)
		}
	})
}

// Append types at the end of the text.
func (e *Editor) Append(path, text string) error {
	return e.person(path, func(b *buffer) ([]splice, error) {
		return []splice{{len(b.text), len(b.text), text}}, nil
	})
}

// person is a change by the person.
func (e *Editor) person(path string, plan func(*buffer) ([]splice, error)) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	b, err := e.get(path)
	if err != nil {
		return err
	}
	splices, err := plan(b)
	if err != nil {
		return err
	}
	if err := e.change(b, splices); err != nil {
		return err
	}
	if e.o.AutoSave {
		if err := e.save(b, saveByPerson); err != nil && !errors.Is(err, ErrConflict) {
			return err
		}
	}
	return nil
}

// Undo takes the newest change back, whoever made it; Redo brings it again.
func (e *Editor) Undo(path string) error { return e.rewind(path, true) }
func (e *Editor) Redo(path string) error { return e.rewind(path, false) }

func (e *Editor) rewind(path string, undo bool) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	b, err := e.get(path)
	if err != nil {
		return err
	}
	from, to := &b.undo, &b.redo
	if !undo {
		from, to = to, from
	}
	text, ok := b.rewind(from, to)
	if !ok {
		return fmt.Errorf("nothing to undo in %s", path)
	}
	e.setText(b, text)
	return nil
}

// Discard gives up unsaved changes: the buffer becomes what is on disk.
func (e *Editor) Discard(path string) error { return e.reload(path, true) }

// Reload takes a file that changed on disk into a clean buffer, as both editors
// do by themselves; a dirty buffer is left alone, and the person is told.
func (e *Editor) Reload(path string) error { return e.reload(path, false) }

func (e *Editor) reload(path string, evenDirty bool) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	b, err := e.get(path)
	if err != nil {
		return err
	}
	if b.dirty() && !evenDirty {
		return fmt.Errorf("%s has unsaved changes", path)
	}
	e.flush(b)
	if e.o.Kind.neovim() { // Neovim closes and opens the document again
		e.sendClose(b)
		if err := e.load(b); err != nil {
			return err
		}
		e.sendOpen(b)
		return nil
	}
	before := b.text
	if err := e.load(b); err != nil {
		return err
	}
	after := b.text
	b.text = before
	e.setText(b, after)
	return nil
}

// Close closes a buffer; what was not saved is gone.
func (e *Editor) Close(path string) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	b, err := e.get(path)
	if err != nil {
		return err
	}
	e.flush(b)
	e.sendClose(b)
	delete(e.buffers, path)
	return nil
}

func (e *Editor) sendClose(b *buffer) {
	e.conn.notify("textDocument/didClose", map[string]any{"textDocument": map[string]any{"uri": b.uri}})
}

// Rename moves a file in the editor's explorer, with its buffer.
func (e *Editor) Rename(path, to string) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	b := e.buffers[path]
	if b != nil {
		e.flush(b)
	}
	if err := os.Rename(path, to); err != nil {
		return err
	}
	if b != nil {
		e.sendClose(b)
		delete(e.buffers, path)
		b.path, b.uri = to, fileURI(to)
		e.buffers[to] = b
		e.sendOpen(b)
	}
	e.conn.notify("workspace/didRenameFiles", map[string]any{
		"files": []map[string]string{{"oldUri": fileURI(path), "newUri": fileURI(to)}},
	})
	return nil
}

// Buffer is what the editor shows of an open file.
func (e *Editor) Buffer(path string) (text string, version int, dirty, open bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	b := e.buffers[path]
	if b == nil {
		return "", 0, false, false
	}
	return b.text, b.version, b.dirty(), true
}

// SetText replaces the whole text at once, as careless tools do.
func (e *Editor) SetText(path, text string) error {
	return e.person(path, func(b *buffer) ([]splice, error) {
		s, differs := difference(b.text, b.normalise(text))
		if !differs {
			return nil, nil
		}
		return []splice{s}, nil
	})
}

// Splice makes up to n random changes as one: intn gives numbers below its
// argument, pieces are what may be typed.
func (e *Editor) Splice(path string, n int, intn func(int) int, pieces []string) error {
	return e.person(path, func(b *buffer) (out []splice, err error) {
		at := 0
		for range n {
			start := cutAt(b.text, at+intn(len(b.text)-at+1))
			stop := cutAt(b.text, min(len(b.text), start+intn(12)))
			if start < at || stop < start {
				break
			}
			out = append(out, splice{start, stop, pieces[intn(len(pieces))]})
			at = stop
			if at >= len(b.text) {
				break
			}
			at++
		}
		return out, nil
	})
}

// cutAt is the last place at or before i where a text may be cut.
func cutAt(text string, i int) int {
	for !boundary(text, i) {
		i--
	}
	return i
}
