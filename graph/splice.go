package graph

import (
	"bytes"

	"github.com/stella-ls/stella-ls/graph/extract"
	"github.com/stella-ls/stella-ls/graph/internal/sitter"
)

// around is how far beyond a change neighbours are looked for: some patterns
// join an item with the attribute above it.
const around = 1024

// splice replaces the captures of the matches that touch [lo, hi) of the new text.
func splice(w *extract.Worker, u *extract.Unit, tree *sitter.Tree, old []sitter.Capture, e sitter.Edit, lo, hi uint32) ([]sitter.Capture, bool) {
	delta := int64(e.NewEnd) - int64(e.OldEnd)
	back := func(at uint32) uint32 { // to the old text
		if at <= e.Start {
			return at
		}
		return uint32(max(int64(at)-delta, int64(e.Start)))
	}
	forth := func(at uint32) uint32 {
		if at <= e.Start {
			return at
		}
		return uint32(max(int64(at)+delta, int64(e.Start)))
	}
	near := uint32(around) // beyond the change the first time, then not any more
	for range 16 {
		from, to := lo, hi
		wantLo, wantHi := lo-min(lo, near), hi+near
		near = 0
		kids := tree.Children(wantLo, wantHi, 4096)
		if len(kids) == 4096 {
			return w.Captures(u, tree, 0, 1<<32-1)
		}
		for _, k := range kids {
			if k.Start < wantHi && k.End > wantLo { // else it only touches
				lo, hi = min(lo, k.Start), max(hi, k.End)
			}
		}
		oldLo, oldHi := back(lo), max(back(hi), e.OldEnd)
		for i := 0; i < len(old); {
			j, s, t := extent(old, i)
			if s < oldHi && t > oldLo && (s < oldLo || t > oldHi) {
				lo, hi = min(lo, forth(s)), max(hi, forth(t))
				oldLo, oldHi = min(oldLo, s), max(oldHi, t)
			}
			i = j
		}
		if lo == from && hi == to {
			return replace(w, u, tree, old, e, lo, hi, back, delta)
		}
	}
	return w.Captures(u, tree, 0, 1<<32-1)
}

// extent is the range of the match that begins at i, and where the next begins.
func extent(c []sitter.Capture, i int) (next int, start, end uint32) {
	start, end = c[i].Start, c[i].End
	for next = i + 1; next < len(c) && c[next].Match == c[i].Match; next++ {
		start, end = min(start, c[next].Start), max(end, c[next].End)
	}
	return next, start, end
}

func replace(w *extract.Worker, u *extract.Unit, tree *sitter.Tree, old []sitter.Capture, e sitter.Edit, lo, hi uint32, back func(uint32) uint32, delta int64) ([]sitter.Capture, bool) {
	oldLo, oldHi := back(lo), max(back(hi), e.OldEnd)
	fresh, complete := w.Captures(u, tree, lo, hi)
	if !complete {
		return w.Captures(u, tree, 0, 1<<32-1)
	}
	out := make([]sitter.Capture, 0, len(old)+len(fresh))
	match := uint32(0)
	placed := false
	place := func() { // in the order of a run over the whole text
		placed = true
		for i := 0; i < len(fresh); {
			j, s, t := extent(fresh, i)
			if s >= lo && t <= hi {
				for _, c := range fresh[i:j] {
					c.Match = match
					out = append(out, c)
				}
				match++
			}
			i = j
		}
	}
	for i := 0; i < len(old); {
		j, s, t := extent(old, i)
		if s >= oldHi && !placed {
			place()
		}
		if t <= oldLo || s >= oldHi {
			for _, c := range old[i:j] {
				c.Match = match
				if s >= oldHi {
					c.Start, c.End = uint32(int64(c.Start)+delta), uint32(int64(c.End)+delta)
				}
				out = append(out, c)
			}
			match++
		}
		i = j
	}
	if !placed {
		place()
	}
	return out, true
}

// editBetween is the one edit that turns a into b.
func editBetween(a, b []byte, aLines []uint32) sitter.Edit {
	n := min(len(a), len(b))
	p := commonPrefix(a, b, n)
	s := 0
	for s < n-p && a[len(a)-1-s] == b[len(b)-1-s] {
		s++
	}
	e := sitter.Edit{Start: uint32(p), OldEnd: uint32(len(a) - s), NewEnd: uint32(len(b) - s)}
	e.StartPoint = pointAt(a, p)
	e.OldEndPoint = pointFrom(a, e.StartPoint, p, len(a)-s)
	e.NewEndPoint = pointFrom(b, e.StartPoint, p, len(b)-s)
	return e
}

func commonPrefix(a, b []byte, n int) int {
	const block = 4096
	p := 0
	for p+block <= n && bytes.Equal(a[p:p+block], b[p:p+block]) {
		p += block
	}
	for p < n && a[p] == b[p] {
		p++
	}
	return p
}

// pointAt counts lines as tree-sitter does: at "\n" only.
func pointAt(text []byte, at int) sitter.Point {
	return pointFrom(text, sitter.Point{}, 0, at)
}

func pointFrom(text []byte, p sitter.Point, from, at int) sitter.Point {
	part := text[from:at]
	if n := bytes.Count(part, []byte{'\n'}); n > 0 {
		return sitter.Point{Row: p.Row + uint32(n), Column: uint32(len(part) - 1 - bytes.LastIndexByte(part, '\n'))}
	}
	return sitter.Point{Row: p.Row, Column: p.Column + uint32(len(part))}
}
