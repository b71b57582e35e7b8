package extract

import (
	"context"

	"github.com/stella-ls/stella-ls/graph/internal/sitter"
)

// Bounds of resync: how often a text is taken up again, and how much is parsed
// again for it, in bytes.
const (
	maxResync  = 8
	resyncText = 1 << 20
)

// resync repairs what a syntax error swallowed. The parser may take all that
// follows an unclosed bracket for one broken piece; people write that with every
// function they begin. Where such a piece holds a line that begins a definition
// at the left margin, the text is parsed again from there, and those captures
// take the place of the first ones.
func (w *Worker) resync(ctx context.Context, u *Unit, text []byte, captures []sitter.Capture, tree *sitter.Tree) []sitter.Capture {
	if u.Resync == nil || !tree.HasError() {
		return captures
	}
	out := captures
	at := uint32(0) // where the text of the current tree begins
	var later *sitter.Tree
	for range maxResync {
		cur := tree
		if later != nil {
			cur = later
		}
		p, ok := resyncPoint(u, text, at, cur)
		if !ok || uint32(len(text))-p > resyncText {
			break
		}
		next, err := w.Parse(ctx, u.Language, text[p:], nil)
		if err != nil {
			break
		}
		fresh, _ := w.cursor.RunAll(u.query, next)
		out = graft(out, fresh, p)
		if later != nil {
			later.Close()
		}
		later, at = next, p
	}
	if later != nil {
		later.Close()
	}
	return out
}

// resyncPoint is the first line in a broken piece at which a definition begins.
func resyncPoint(u *Unit, text []byte, at uint32, tree *sitter.Tree) (uint32, bool) {
	for _, e := range tree.Errors(64) {
		start, end := e.Start+at+1, min(e.End+at, uint32(len(text)))
		for start < end {
			m := u.Resync.FindIndex(text[start:end])
			if m == nil {
				break
			}
			p := start + uint32(m[0])
			if text[p-1] == '\n' { // the pattern's own idea of a line's start counts from start
				return p, true
			}
			start = p + 1
		}
	}
	return 0, false
}

// graft keeps the matches that end before p, and adds fresh ones, moved to p.
func graft(old, fresh []sitter.Capture, p uint32) []sitter.Capture {
	out := make([]sitter.Capture, 0, len(old)+len(fresh))
	match := uint32(0)
	for i := 0; i < len(old); {
		j, end := i, uint32(0)
		for ; j < len(old) && old[j].Match == old[i].Match; j++ {
			end = max(end, old[j].End)
		}
		if end <= p {
			for _, c := range old[i:j] {
				c.Match = match
				out = append(out, c)
			}
			match++
		}
		i = j
	}
	for _, c := range fresh {
		c.Match, c.Start, c.End = c.Match+match, c.Start+p, c.End+p
		out = append(out, c)
	}
	return out
}
