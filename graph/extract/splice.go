package extract

import (
	"sort"

	"github.com/stella-ls/stella-ls/graph/facts"
	"github.com/stella-ls/stella-ls/graph/internal/sitter"
)

// rows are the indexes of what lies in a range, in one list of the facts: those from
// lo to hi go. to is where the part's begin, and step what is added to the indexes
// of all after them.
type rows struct{ lo, hi, step int32 }

func (r *rows) fit(part int) { r.step = int32(part) - (r.hi - r.lo) }

// moved is an index of one of the rows after those that went, or None.
func (r *rows) moved(i int32) int32 {
	if i == facts.None {
		return i
	}
	return i + r.step
}

// placed is an index of the part, or None.
func (r *rows) placed(i int32) int32 {
	if i == facts.None {
		return i
	}
	return i + r.lo
}

// splicer puts the facts of a part into those of a text.
type splicer struct {
	old, part *facts.File
	new       *facts.File // of its own: it must not keep the old one
	edit      sitter.Edit
	delta     uint32 // wraps around when the text got shorter
	scope     rows   // without scope 0
	occ       rows
	def       rows
	imp       rows
	expr      rows
	piece     rows
}

// cut finds which rows of the old facts lie in the range in of the new text. It is
// false when something reaches over the range's ends.
func (s *splicer) cut(in sitter.Span) bool {
	f := s.old
	from, to := in.Start, max(in.End-s.delta, s.edit.OldEnd)
	if from > s.edit.Start || in.End < s.edit.NewEnd {
		return false
	}
	find := func(n int, start func(i int) uint32) rows {
		lo := sort.Search(n, func(i int) bool { return start(i) >= from })
		hi := lo + sort.Search(n-lo, func(i int) bool { return start(lo+i) >= to })
		return rows{lo: int32(lo), hi: int32(hi)}
	}
	if in.End == s.new.Size { // what has no width may stand at the end of the text
		to = s.old.Size + 1
	}
	s.scope = find(len(f.Scopes)-1, func(i int) uint32 { return f.Scopes[i+1].Start })
	s.scope.lo, s.scope.hi = s.scope.lo+1, s.scope.hi+1
	s.occ = find(len(f.Occs), func(i int) uint32 { return f.Occs[i].Start })
	s.def = find(len(f.Defs), func(i int) uint32 { return f.Defs[i].NameStart })
	s.imp = find(len(f.Imports), func(i int) uint32 { return f.Imports[i].Start })
	s.piece = find(len(f.Pieces), func(i int) uint32 { return f.Pieces[i].Start })
	s.expr.lo, s.expr.hi = s.firstExpr(s.piece.lo), s.firstExpr(s.piece.hi)
	s.scope.fit(len(s.part.Scopes) - 1)
	s.occ.fit(len(s.part.Occs))
	s.def.fit(len(s.part.Defs))
	s.imp.fit(len(s.part.Imports))
	s.expr.fit(len(s.part.Exprs))
	s.piece.fit(len(s.part.Pieces))
	return s.clear(from, to)
}

// firstExpr is where the expressions of a piece begin.
func (s *splicer) firstExpr(piece int32) int32 {
	if int(piece) < len(s.old.Pieces) {
		return s.old.Pieces[piece].Expr
	}
	return int32(len(s.old.Exprs))
}

// clear reports whether no definition, scope or import reaches over an end of the
// range that goes.
func (s *splicer) clear(from, to uint32) bool {
	f := s.old
	for i := range f.Defs {
		if d := &f.Defs[i]; !apart(d.Start, d.End, from, to) {
			return false
		}
	}
	for i := 1; i < len(f.Scopes); i++ {
		if !apart(f.Scopes[i].Start, f.Scopes[i].End, from, to) {
			return false
		}
	}
	for i := range f.Imports {
		if m := &f.Imports[i]; !apart(m.Start, m.End, from, to) {
			return false
		}
	}
	return true
}

// apart reports whether a range lies within another or outside of it.
func apart(start, end, from, to uint32) bool {
	return end <= from || start >= to || start >= from && end <= to
}

// lines are those of the old text, with what the edit changed found again.
func (s *splicer) lines(text []byte) {
	old, e := s.old.Lines, s.edit
	lo := sort.Search(len(old), func(i int) bool { return old[i] >= max(e.Start, 1) })
	hi := sort.Search(len(old), func(i int) bool { return old[i] > e.OldEnd })
	out := make([]uint32, lo, len(old)+8)
	copy(out, old)
	out = appendLines(out, text, max(int(e.Start), 1)-1, int(e.NewEnd))
	for _, at := range old[max(lo, hi):] {
		out = append(out, at+s.delta)
	}
	s.new.Lines = out
	if s.old.ASCII {
		s.new.ASCII = ascii(text[e.Start:e.NewEnd])
	} else {
		s.new.ASCII = ascii(text)
	}
}

// splice is old with what lies in r replaced by the part's rows; those and the ones
// after r are copies that may be changed.
func splice[T any](old, part []T, r rows) (all, placed, moved []T) {
	n := int(r.lo) + len(part)
	all = make([]T, n+len(old)-int(r.hi))
	copy(all, old[:r.lo])
	copy(all[r.lo:], part)
	copy(all[n:], old[r.hi:])
	return all, all[r.lo:n], all[n:]
}

func (s *splicer) scopes() {
	var placed, moved []facts.Scope
	s.new.Scopes, placed, moved = splice(s.old.Scopes, s.part.Scopes[1:], s.scope)
	s.new.Scopes[0].End = s.new.Size
	for i := range placed {
		placed[i].Parent = s.scopeIn(placed[i].Parent)
	}
	for i := range moved {
		x := &moved[i]
		x.Start, x.End, x.Parent = x.Start+s.delta, x.End+s.delta, s.scopeAfter(x.Parent)
	}
}

// scopeIn is a scope of the part, scopeAfter one of those after it; the file's is
// that of both.
func (s *splicer) scopeIn(i int32) int32 {
	if i <= 0 {
		return i
	}
	return i - 1 + s.scope.lo
}

func (s *splicer) scopeAfter(i int32) int32 {
	if i <= 0 {
		return i
	}
	return i + s.scope.step
}

func (s *splicer) occs() {
	var placed, moved []facts.Occ
	s.new.Occs, placed, moved = splice(s.old.Occs, s.part.Occs, s.occ)
	for i := range placed {
		switch x := &placed[i]; {
		case x.RecvK.Expr():
			x.Recv = s.expr.placed(x.Recv)
		default:
			x.Recv = s.occ.placed(x.Recv)
		}
	}
	for i := range moved {
		x := &moved[i]
		x.Start += s.delta
		if x.RecvK.Expr() {
			x.Recv = s.expr.moved(x.Recv)
		} else {
			x.Recv = s.occ.moved(x.Recv)
		}
	}
}

func (s *splicer) defs() {
	var placed, moved []facts.Def
	s.new.Defs, placed, moved = splice(s.old.Defs, s.part.Defs, s.def)
	for i := range placed {
		d := &placed[i]
		d.Parent, d.Scope = s.def.placed(d.Parent), s.scopeIn(d.Scope)
		d.Owner, d.Type, d.Init = s.occ.placed(d.Owner), s.occ.placed(d.Type), s.occ.placed(d.Init)
		d.Val = s.expr.placed(d.Val)
		for j := range d.Bases {
			d.Bases[j] = s.occ.placed(d.Bases[j])
		}
	}
	for i := range moved {
		d := &moved[i]
		d.Start, d.End, d.NameStart, d.SigEnd = d.Start+s.delta, d.End+s.delta, d.NameStart+s.delta, d.SigEnd+s.delta
		if d.Doc.End != 0 {
			d.Doc.Start, d.Doc.End = d.Doc.Start+s.delta, d.Doc.End+s.delta
		}
		d.Parent, d.Scope = s.def.moved(d.Parent), s.scopeAfter(d.Scope)
		d.Owner, d.Type, d.Init = s.occ.moved(d.Owner), s.occ.moved(d.Type), s.occ.moved(d.Init)
		d.Val = s.expr.moved(d.Val)
		if len(d.Bases) > 0 && s.occ.step != 0 {
			old := d.Bases // other views have it too
			d.Bases = make([]int32, len(old))
			for j := range old {
				d.Bases[j] = s.occ.moved(old[j])
			}
		}
	}
}

func (s *splicer) imports() {
	var placed, moved []facts.Import
	s.new.Imports, placed, moved = splice(s.old.Imports, s.part.Imports, s.imp)
	for i := range placed {
		placed[i].Scope = s.scopeIn(placed[i].Scope)
	}
	for i := range moved {
		m := &moved[i]
		m.Start, m.End, m.SpecStart, m.Scope = m.Start+s.delta, m.End+s.delta, s.at(m.SpecStart), s.scopeAfter(m.Scope)
		m.Bindings = append([]facts.Binding(nil), m.Bindings...)
		for j := range m.Bindings {
			m.Bindings[j].AsStart, m.Bindings[j].NameStart = s.at(m.Bindings[j].AsStart), s.at(m.Bindings[j].NameStart)
		}
	}
}

// at is a place after the range that goes; 0 is none.
func (s *splicer) at(at uint32) uint32 {
	if at == 0 {
		return 0
	}
	return at + s.delta
}

func (s *splicer) exprs() {
	var placed, moved []facts.Expr
	s.new.Exprs, placed, moved = splice(s.old.Exprs, s.part.Exprs, s.expr)
	for i := range placed {
		x := &placed[i]
		x.Occ = s.occ.placed(x.Occ)
		if !x.Op.Raw() {
			x.A, x.B = s.expr.placed(x.A), s.expr.placed(x.B)
		}
	}
	delta := int32(s.delta)
	for i := range moved {
		x := &moved[i]
		x.Occ = s.occ.moved(x.Occ)
		switch x.Op {
		case facts.XText:
		case facts.XObject:
			x.A, x.B = x.A+delta, x.B+delta
		case facts.XSelf:
			x.A += delta
		default:
			x.A, x.B = s.expr.moved(x.A), s.expr.moved(x.B)
		}
	}
	var pieces, later []facts.Piece
	s.new.Pieces, pieces, later = splice(s.old.Pieces, s.part.Pieces, s.piece)
	for i := range pieces {
		pieces[i].Expr += s.expr.lo
	}
	for i := range later {
		later[i].Start += s.delta
		later[i].Expr += s.expr.step
	}
}
