package fakeeditor

import (
	"errors"
	"io/fs"
	"os"
)

// saveMode is who saves, and how far they may go.
type saveMode int

const (
	saveByPerson    saveMode = iota // stops at a conflict and asks
	saveAnyway                      // the person chose to overwrite
	saveByExtension                 // never overrides, adds no final newline
)

// Save writes a buffer as the person does with one key.
func (e *Editor) Save(path string) error { return e.saveAs(path, saveByPerson) }

// SaveAnyway overwrites what others wrote meanwhile.
func (e *Editor) SaveAnyway(path string) error { return e.saveAs(path, saveAnyway) }

func (e *Editor) saveAs(path string, mode saveMode) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	b, err := e.get(path)
	if err != nil {
		return err
	}
	return e.save(b, mode)
}

func (e *Editor) save(b *buffer, mode saveMode) error {
	e.flush(b)
	now, _, err := look(b.path)
	if err != nil {
		return err
	}
	if mode != saveAnyway && !now.same(b.disk) {
		return ErrConflict
	}
	if e.saveHooks.will {
		e.conn.notify("textDocument/willSave", map[string]any{"textDocument": map[string]any{"uri": b.uri}, "reason": 1})
	}
	if e.o.FormatOnSave != nil {
		if text := e.o.FormatOnSave(b.path, b.text); text != b.text {
			s, _ := difference(b.text, text)
			if err := e.change(b, []splice{s}); err != nil {
				return err
			}
			e.flush(b)
		}
	}
	fix := e.o.FixEndOfLine && mode != saveByExtension
	if err := e.write(b, encode(b.text, b.layout, fix)); err != nil {
		return err
	}
	b.savedID = b.id
	params := map[string]any{"textDocument": map[string]any{"uri": b.uri}}
	if e.saveHooks.text {
		params["text"] = b.text
	}
	e.conn.notify("textDocument/didSave", params)
	return nil
}

// write puts bytes on disk: VS Code truncates in place, Neovim moves the old
// file to a backup, writes a new one and removes the backup.
func (e *Editor) write(b *buffer, raw []byte) error {
	mode := fs.FileMode(0o644)
	info, err := os.Stat(b.path)
	switch {
	case err == nil && info.Mode()&0o200 == 0:
		return fs.ErrPermission
	case err == nil:
		mode = info.Mode().Perm()
	case !errors.Is(err, fs.ErrNotExist):
		return err
	}
	backup := ""
	if e.o.Kind.neovim() && info != nil && isPlain(b.path) {
		backup = b.path + "~"
		if err := os.Rename(b.path, backup); err != nil {
			return err
		}
	}
	if err := os.WriteFile(b.path, raw, mode); err != nil {
		return err
	}
	if err := os.Chmod(b.path, mode); err != nil {
		return err
	}
	if backup != "" {
		if err := os.Remove(backup); err != nil {
			return err
		}
	}
	b.disk, _, err = look(b.path)
	return err
}

// isPlain is false for links, which Neovim writes in place.
func isPlain(path string) bool {
	info, err := os.Lstat(path)
	return err == nil && info.Mode().IsRegular()
}
