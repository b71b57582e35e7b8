package extract

import (
	"bytes"
	"context"

	"github.com/stella-ls/stella-ls/graph/internal/sitter"
)

// Bounds of resync: how often a text is taken up again, and how much is parsed
// again for it in all, in bytes.
const (
	maxResync    = 8
	resyncText   = 1 << 20
	resyncErrors = 64 // broken pieces of one tree that are looked at
)

// resync repairs what a syntax error swallowed. The parser may take all that
// follows an unclosed bracket for one broken piece; people write that with every
// function they begin. Where such a piece holds a line that begins a definition
// at the left margin, the rest of the piece is parsed again from there, and those
// captures take the place of the first ones.
//
// The trees of an open text o are kept, so that the next change costs no more than
// parsing them incrementally; o is nil for others.
func (w *Worker) resync(ctx context.Context, u *Unit, text []byte, captures []sitter.Capture, errors []sitter.Node, o *Open) []sitter.Capture {
	if u.Resync == nil {
		return captures
	}
	r := resyncer{w: w, ctx: ctx, u: u, text: text, o: o, out: captures, left: resyncText}
	r.pieces(errors, 0)
	return r.out
}

type resyncer struct {
	w     *Worker
	ctx   context.Context
	u     *Unit
	text  []byte
	o     *Open
	out   []sitter.Capture
	times int
	left  int // bytes that may still be parsed again
}

// pieces looks at the broken pieces of a tree whose text begins at at.
func (r *resyncer) pieces(errors []sitter.Node, at uint32) {
	for _, e := range errors {
		end := min(e.End+at, uint32(len(r.text)))
		p, ok := point(r.u, r.text, e.Start+at+1, end)
		if !ok {
			continue
		}
		if r.times++; r.times > maxResync || int(end-p) > r.left {
			return
		}
		r.left -= int(end - p)
		next, err := r.w.heal(r.ctx, r.u, r.text, p, end, r.o)
		if err != nil {
			return
		}
		inner := next.Errors(resyncErrors)
		to := end
		if at, ok := swallowed(r.u, r.text, inner, p, end); ok && r.times < maxResync && int(end-at) <= r.left {
			to = at // the rest is replaced
		}
		fresh, _ := r.w.cursor.Run(r.u.query, next, 0, to-p)
		r.out = graft(r.out, fresh, p, end)
		r.pieces(inner, p)
		r.w.keepHealed(healed{of: r.o, start: p, end: end, tree: next})
	}
}

// swallowed is where the rest of a text up to end is taken up again, when all of it is
// in the one broken piece of a tree whose text begins at at.
func swallowed(u *Unit, text []byte, errors []sitter.Node, at, end uint32) (uint32, bool) {
	if u.Resync == nil || len(errors) != 1 || len(bytes.TrimSpace(text[min(errors[0].End+at, end):end])) > 0 {
		return 0, false
	}
	return point(u, text, errors[0].Start+at+1, min(errors[0].End+at, uint32(len(text))))
}

// point is the first line of a piece at which a definition begins.
func point(u *Unit, text []byte, start, end uint32) (uint32, bool) {
	for start < end {
		m := u.Resync.FindIndex(text[start:end])
		if m == nil {
			return 0, false
		}
		p := start + uint32(m[0])
		if text[p-1] == '\n' { // the pattern takes start itself for a line's beginning
			return p, true
		}
		start = p + 1
	}
	return 0, false
}

// graft replaces the matches that touch [from, to), but for those around it, by
// fresh ones, moved to from.
func graft(old, fresh []sitter.Capture, from, to uint32) []sitter.Capture {
	out := make([]sitter.Capture, 0, len(old)+len(fresh))
	match := uint32(0)
	for i := 0; i < len(old); {
		j, start, end := i, old[i].Start, uint32(0)
		for ; j < len(old) && old[j].Match == old[i].Match; j++ {
			start, end = min(start, old[j].Start), max(end, old[j].End)
		}
		if end <= from || start >= to || start < from && end >= to {
			for _, c := range old[i:j] {
				c.Match = match
				out = append(out, c)
			}
			match++
		}
		i = j
	}
	for _, c := range fresh {
		c.Match, c.Start, c.End = c.Match+match, c.Start+from, c.End+from
		out = append(out, c)
	}
	return out
}
