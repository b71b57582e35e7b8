package extract

import (
	"bytes"
	"context"

	"github.com/stella-ls/stella-ls/graph/internal/sitter"
)

// healed is the tree of a piece of an open text that resync parsed by itself, from
// byte start, where a line begins, to end.
type healed struct {
	of         *Open
	start, end uint32
	tree       *sitter.Tree
	edited     bool // the text changed since; the tree was told so
}

// maxHealed bounds the text whose healed trees are kept, in bytes.
const maxHealed = resyncText

// heal parses a piece of a text, or takes the tree that is kept of it.
func (w *Worker) heal(ctx context.Context, u *Unit, text []byte, start, end uint32, o *Open) (*sitter.Tree, error) {
	var old *sitter.Tree
	for i, h := range w.healed {
		if h.of != o || h.start != start || h.end != end {
			continue
		}
		w.healed = append(w.healed[:i], w.healed[i+1:]...)
		if !h.edited {
			return h.tree, nil
		}
		old = h.tree
		defer old.Close()
		break
	}
	return w.Parse(ctx, u.Language, text[start:end], old)
}

// keepHealed keeps the tree of an open text, or closes it; the oldest go when there
// are too many.
func (w *Worker) keepHealed(h healed) {
	if h.of == nil {
		h.tree.Close()
		return
	}
	w.healed = append(w.healed, h)
	size := 0
	for _, h := range w.healed {
		size += int(h.end - h.start)
	}
	for size > maxHealed || len(w.healed) > maxResync {
		size -= int(w.healed[0].end - w.healed[0].start)
		w.healed[0].tree.Close()
		w.healed = w.healed[1:]
	}
}

// moveHealed tells the kept trees of an open text what changed in it, text before;
// those that the edit reaches into from outside are let go.
func (w *Worker) moveHealed(o *Open, text []byte, e sitter.Edit) {
	delta := e.NewEnd - e.OldEnd // wraps around when the text got shorter
	kept := w.healed[:0]
	for _, h := range w.healed {
		atEnd := h.end == uint32(len(text)) // what is added there is in it
		switch {
		case h.of != o || e.Start >= h.end && !atEnd:
		case e.OldEnd <= h.start:
			h.start, h.end = h.start+delta, h.end+delta
		case e.Start >= h.start && e.OldEnd <= h.end:
			row := uint32(bytes.Count(text[:h.start], []byte{'\n'}))
			h.tree.Edit(e.From(h.start, row))
			h.end, h.edited = h.end+delta, true
		default:
			h.tree.Close()
			continue
		}
		kept = append(kept, h)
	}
	w.healed = kept
}

// Forget lets go of what is kept of an open text.
func (w *Worker) Forget(o *Open) {
	kept := w.healed[:0]
	for _, h := range w.healed {
		if h.of == o {
			h.tree.Close()
			continue
		}
		kept = append(kept, h)
	}
	w.healed = kept
}
