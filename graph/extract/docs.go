package extract

import (
	"slices"
	"sort"

	"github.com/stella-ls/stella-ls/graph/facts"
)

// docs attaches the comments that stand right above a definition.
func (b *builder) docs(f *facts.File) {
	slices.SortFunc(b.comments, func(x, y comment) int { return cmp(x.Start, y.Start) })
	for i := range f.Defs {
		d := &f.Defs[i]
		if d.Doc.End != 0 || d.Flags&facts.Local != 0 || d.Kind == facts.Parameter {
			continue
		}
		from := d.Start
		j := sort.Search(len(b.comments), func(j int) bool { return b.comments[j].Start >= d.Start }) - 1
		for ; j >= 0; j-- {
			c := b.comments[j]
			if c.End > from || !blank(b.text[c.End:from]) || !b.ownLine(c.Start) {
				break
			}
			from = c.Start
			if !c.attribute {
				d.Doc.Start = c.Start
				d.Doc.End = max(d.Doc.End, c.End)
			}
		}
	}
}

// blank is white space with at most one line end.
func blank(s []byte) bool {
	n := 0
	for _, c := range s {
		switch c {
		case '\n':
			n++
		case ' ', '\t', '\r':
		default:
			return false
		}
	}
	return n <= 1
}

// ownLine reports whether only white space stands before at on its line.
func (b *builder) ownLine(at uint32) bool {
	for i := int(at) - 1; i >= 0; i-- {
		switch b.text[i] {
		case '\n':
			return true
		case ' ', '\t', '\r':
		default:
			return false
		}
	}
	return true
}
