package extract

import (
	"context"
	"slices"

	"github.com/stella-ls/stella-ls/graph/facts"
	"github.com/stella-ls/stella-ls/graph/internal/sitter"
)

// Open is what is kept of an open text so that the facts of the next one can be
// made of its own: see Worker.Again.
type Open struct {
	File  *facts.File
	Parts int               // how often the facts were made in part since they were made whole
	names map[string]uint32 // File.Names by text; made when it is first needed
	first int               // how many names there were when they were made whole
}

// Whole makes all facts of a text.
func (w *Worker) Whole(ctx context.Context, u *Unit, text []byte, tree *sitter.Tree, o *Open) {
	caps, complete := w.cursor.RunAll(u.query, tree)
	if tree.HasError() {
		caps = slices.Clone(caps) // the cursor is used again
	} else {
		w.Forget(o)
	}
	f := w.build(ctx, u, text, caps, tree, complete, o)
	*o = Open{File: f, first: len(f.Names)}
}

// Change is what an edit did to an open text.
type Change struct {
	Old  []byte // the text before
	Edit sitter.Edit
	// Roots is the range of the new text in which its root's children are not those
	// of the tree before, the edit included.
	Roots sitter.Span
}

// maxStale bounds the names in File.Names that no longer occur in the text.
const maxStale = 4096

// Again makes the facts of a text that came from o's by one edit; tree is the new
// text's. Only the top-level pieces around the change are queried, built and have
// their types worked out; all else is copied, moved. Where it cannot tell that this
// is right, it makes them of the whole text.
//
// It is right because a piece's facts do not depend on other pieces: patterns do not
// reach over two children of the root, but for attributes and comments, which Region
// keeps together with what they stand before; what links definitions of one file
// level (rebinding) is looked for here.
func (w *Worker) Again(ctx context.Context, u *Unit, text []byte, tree *sitter.Tree, o *Open, c Change) {
	w.moveHealed(o, c.Old, c.Edit)
	if w.inPart(ctx, u, text, tree, o, c) {
		o.Parts++
		return
	}
	w.Whole(ctx, u, text, tree, o)
}

func (w *Worker) inPart(ctx context.Context, u *Unit, text []byte, tree *sitter.Tree, o *Open, c Change) bool {
	in, before, ok := tree.Region(c.Roots.Start, c.Roots.End, u.quiet)
	if !ok || u.Split != nil || len(o.File.Notes) > 0 || int(in.End-in.Start) > len(text)/2+around {
		return false
	}
	to := in.End
	if tree.HasError() {
		if at, ok := swallowed(u, text, tree.ErrorsIn(in.Start, in.End, 2), 0, in.End); ok && in.End-at <= resyncText {
			to = at // the rest is replaced by what resync finds
		}
	}
	captures, complete := w.within(u, tree, in, before, to)
	if !complete {
		return false
	}
	part := w.part(ctx, u, text, captures, tree, in, o)
	s := splicer{old: o.File, part: part, edit: c.Edit, delta: c.Edit.NewEnd - c.Edit.OldEnd}
	s.new = &facts.File{Size: uint32(len(text))}
	if !s.cut(in) || !o.rename(part) || s.linked(u.Rebinds) {
		return false
	}
	s.new.Names = part.Names
	s.lines(text)
	s.scopes()
	s.occs()
	s.defs()
	s.imports()
	s.exprs()
	errorsOf(tree, s.new)
	o.File = s.new
	return true
}

// around is a size below which a text is built as a whole.
const around = 1024

// within are the captures of a range, if no match reaches over its ends, and the
// comments from before on, where the piece before it begins: the last ones may stand
// in that piece, as those at the end of a block of Python do, and be the
// documentation of what comes first here. What begins at to or after it is left out.
func (w *Worker) within(u *Unit, tree *sitter.Tree, in sitter.Span, before, to uint32) ([]sitter.Capture, bool) {
	all, complete := w.cursor.Run(u.query, tree, before, to)
	if !complete {
		return nil, false
	}
	out := make([]sitter.Capture, 0, len(all))
	for i := 0; i < len(all); {
		j, start, end := extent(all, i)
		switch {
		case start >= in.Start && end <= in.End:
			out = append(out, all[i:j]...)
		case start < in.End && end > in.Start:
			return nil, false
		case j == i+1 && end <= in.Start && u.isComment(all[i]):
			out = append(out, all[i])
		}
		i = j
	}
	return out, true
}

// extent is the range of the match that begins at i, and where the next begins.
func extent(c []sitter.Capture, i int) (next int, start, end uint32) {
	start, end = c[i].Start, c[i].End
	for next = i + 1; next < len(c) && c[next].Match == c[i].Match; next++ {
		start, end = min(start, c[next].Start), max(end, c[next].End)
	}
	return next, start, end
}

// rename gives the names of a part their numbers in the whole text.
func (o *Open) rename(part *facts.File) bool {
	if len(o.File.Names) > o.first+maxStale {
		return false
	}
	if o.names == nil {
		o.names = make(map[string]uint32, len(o.File.Names))
		for i, n := range o.File.Names {
			o.names[n] = uint32(i)
		}
	}
	old := len(o.File.Names)
	names := o.File.Names[:old:old]
	id := make([]uint32, len(part.Names))
	for i, n := range part.Names {
		x, ok := o.names[n]
		if !ok {
			x = uint32(len(names))
			names = append(names, n)
			o.names[n] = x
		}
		id[i] = x
	}
	for i := range part.Occs {
		part.Occs[i].Name = id[part.Occs[i].Name]
	}
	for i := range part.Defs {
		part.Defs[i].Name = id[part.Defs[i].Name]
	}
	part.Names = names
	return true
}

// linked reports whether a definition of the file's level in the part, before or
// after the edit, has to do with others of its name outside: the first of them is the
// definition, the others are assignments.
func (s *splicer) linked(rebinds bool) bool {
	var names []uint32
	note := func(defs []facts.Def) {
		for i := range defs {
			if d := &defs[i]; d.Scope == 0 && (d.Kind == facts.Field || d.Kind == facts.Parameter || rebinds && d.Kind == facts.Variable) {
				names = append(names, d.Name)
			}
		}
	}
	note(s.part.Defs)
	note(s.old.Defs[s.def.lo:s.def.hi])
	if len(names) == 0 {
		return false
	}
	has := map[uint32]bool{}
	for _, n := range names {
		has[n] = true
	}
	for i, d := range s.old.Defs {
		if (int32(i) < s.def.lo || int32(i) >= s.def.hi) && d.Scope == 0 && has[d.Name] {
			return true
		}
	}
	for i, o := range s.old.Occs {
		if (int32(i) < s.occ.lo || int32(i) >= s.occ.hi) && o.Role == facts.Write && has[o.Name] {
			return true
		}
	}
	return false
}
