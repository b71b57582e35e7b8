package guard

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/stella-ls/stella-ls/internal/workspace"
)

// What people and programs do.

func (w *world) putDisk(s string) {
	// By rename: the guard's watcher may look at any moment, and how an empty
	// file in between is attributed is not what this run is about.
	if err := errors.Join(os.WriteFile(w.path()+"~", []byte(s), 0o666), os.Rename(w.path()+"~", w.path())); err != nil {
		panic(err)
	}
	w.disk = &s
}

func (w *world) outside() {
	for i := range w.bases {
		w.bases[i].outside = true
	}
}

func decoded(disk string) string { return workspace.Images([]byte(disk))[0] }

func (w *world) joined(text, disk string) {
	if decoded(disk) == text {
		w.pair, w.drift = &pairOf{text, disk}, false
		w.pairs = append(w.pairs, *w.pair)
	}
}

func (w *world) open(*tally) error {
	if w.text != nil || w.disk == nil {
		return nil
	}
	t := decoded(*w.disk)
	w.text, w.ver, w.undo, w.pair = &t, 1, nil, nil
	if w.rnd.IntN(4) == 0 {
		w.ver = 0
	}
	w.say("open %q at version %d", t, w.ver)
	w.joined(t, *w.disk)
	return w.ws.DidOpen(w.uri(), "text", w.ver, t)
}

func (w *world) close(*tally) error {
	if w.text == nil {
		return nil
	}
	w.say("close")
	w.text, w.pair, w.under = nil, nil, nil
	return w.ws.DidClose(w.uri())
}

func (w *world) setText(t string) error {
	if *w.text == t {
		return nil
	}
	w.undo = append(w.undo, *w.text)
	w.text = &t
	w.ver++
	w.passing()
	return w.ws.DidChange(w.uri(), w.ver, []workspace.ContentChange{{Text: t}})
}

func (w *world) typed(*tally) error {
	if w.text == nil {
		return nil
	}
	t := w.vary(*w.text)
	w.say("type %q", t)
	return w.setText(t)
}

// vary changes, adds or removes a line.
func (w *world) vary(t string) string {
	l := lines(t)
	i := w.rnd.IntN(len(l) + 1)
	eol := "\n"
	if strings.Contains(t, "\r\n") {
		eol = "\r\n"
	}
	switch {
	case i < len(l) && w.rnd.IntN(3) == 0:
		l[i] = ""
	case i < len(l) && w.rnd.IntN(2) == 0:
		l[i] = w.fresh() + l[i][len(chomp(l[i])):]
	case i == len(l) && i > 0 && !strings.HasSuffix(l[i-1], "\n"):
		l[i-1] += eol
		l = append(l, w.fresh())
	default:
		l = append(l[:i:i], append([]string{w.fresh() + eol}, l[i:]...)...)
	}
	return strings.Join(l, "")
}

func (w *world) undone(*tally) error {
	if w.text == nil || len(w.undo) == 0 {
		return nil
	}
	t := w.undo[w.rnd.IntN(len(w.undo))]
	w.say("undo to %q", t)
	return w.setText(t)
}

func (w *world) saved(*tally) error {
	if w.text == nil {
		return nil
	}
	w.say("save")
	w.putDisk(w.enc(*w.text))
	w.joined(*w.text, *w.disk)
	return w.ws.DidSave(w.uri(), nil)
}

func (w *world) savedFormatted(s *tally) error {
	if w.text == nil {
		return nil
	}
	if err := w.setText(strings.ReplaceAll(*w.text, " <", "  <")); err != nil {
		return err
	}
	return w.saved(s)
}

func (w *world) reloaded(s *tally) error {
	if w.text == nil || w.disk == nil {
		return nil
	}
	if w.rnd.IntN(2) == 0 {
		if err := w.close(s); err != nil {
			return err
		}
		return w.open(s)
	}
	t := decoded(*w.disk)
	w.say("reload %q", t)
	return w.setText(t)
}

func (w *world) touched(*tally) error {
	if w.disk == nil {
		return nil
	}
	w.say("touch")
	w.putDisk(*w.disk)
	return nil
}

func (w *world) external(*tally) error {
	was := ""
	if w.disk != nil {
		was = decoded(*w.disk)
	}
	d := w.enc(w.vary(was))
	if w.rnd.IntN(8) == 0 {
		d = decoded(d) // in another encoding
	}
	w.say("external write %q", d)
	w.putDisk(d)
	w.outside()
	w.passing()
	return nil
}

// passing: a disk that decodes to the buffer's text is joined if somebody looks
// now, and a session that reads or writes does.
func (w *world) passing() {
	if w.text != nil && w.disk != nil && decoded(*w.disk) == *w.text {
		w.maybe = append(w.maybe, pairOf{*w.text, *w.disk})
		w.drift = true
	}
}

func (w *world) rejoin() {
	if w.text != nil && w.disk != nil && decoded(*w.disk) == *w.text {
		w.joined(*w.text, *w.disk)
	}
}

func (w *world) deleted(*tally) error {
	if w.disk == nil {
		return nil
	}
	w.say("delete")
	w.disk = nil
	w.outside()
	return os.Remove(w.path())
}

func (w *world) checkout(*tally) error {
	d := w.enc(w.versions[w.rnd.IntN(len(w.versions))])
	w.say("checkout %q", d)
	w.putDisk(d)
	w.outside()
	w.passing()
	return nil
}

// The editor.

func (w *world) Abilities() EditorAbilities { return w.can }

func (w *world) Apply(_ context.Context, e EditorWrite) (EditorAnswer, error) {
	switch {
	case w.text == nil:
		return EditorAnswer{Reason: "closed"}, nil
	case e.Buffer.Version != w.ver:
		return EditorAnswer{Reason: "version", Version: w.ver}, nil
	case e.Buffer.Text != *w.text:
		return EditorAnswer{Reason: "content", Version: w.ver}, nil
	case e.Buffer.Version == 0 && !w.can.CompareAndSet:
		w.bad = fmt.Errorf("an edit was sent for version 0")
	}
	t := *w.text
	var changes []workspace.ContentChange
	for i := len(e.Splices) - 1; i >= 0; i-- {
		s := e.Splices[i]
		changes = append(changes, workspace.ContentChange{Range: &workspace.Range{
			Start: workspace.PositionAt(t, s.Start, workspace.UTF8),
			End:   workspace.PositionAt(t, s.End, workspace.UTF8),
		}, Text: s.New})
		t = t[:s.Start] + s.New + t[s.End:]
	}
	w.undo = append(w.undo, *w.text)
	w.text = &t
	w.ver++
	if err := w.ws.DidChange(w.uri(), w.ver, changes); err != nil {
		w.bad = err
	}
	a := EditorAnswer{Applied: true, Version: w.ver, SHA256Applied: workspace.DigestOfString(t)}
	if !e.Save || w.noSave {
		w.passing()
		return a, nil
	}
	if w.disk == nil || w.pair == nil || *w.disk != w.pair.disk {
		w.bad = fmt.Errorf("a save was asked for that overwrites what the buffer was not loaded from")
		return a, nil
	}
	w.putDisk(w.enc(t))
	w.joined(t, *w.disk)
	if w.rnd.IntN(2) == 0 {
		w.ws.DidSave(w.uri(), nil)
	}
	a.Saved, a.SHA256After = true, workspace.DigestOfString(t)
	return a, nil
}
