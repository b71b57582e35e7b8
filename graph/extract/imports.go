package extract

import (
	"slices"

	"github.com/stella-ls/stella-ls/graph/facts"
	"github.com/stella-ls/stella-ls/graph/internal/sitter"
)

// importSet gathers the matches of one import, which come one name at a time.
type importSet struct {
	list  []facts.Import
	at    map[uint64]int  // by what they share: the specifier, or the statement
	binds map[uint32]bool // starts of the names that imports bind
}

func (s *importSet) reset() {
	s.list = nil
	if s.at == nil {
		s.at, s.binds = map[uint64]int{}, map[uint32]bool{}
	}
	clear(s.at)
	clear(s.binds)
}

// match adds one match to its import.
func (s *importSet) match(b *builder, m []sitter.Capture) {
	im := facts.Import{}
	var bind facts.Binding
	var name, alias facts.Span
	has, isDefault := false, false
	for _, c := range m {
		a := b.u.actions[c.Capture]
		switch a.op {
		case opImport:
			im.Kind, im.Start, im.End = facts.ImportKind(a.arg), c.Start, c.End
		case opSource:
			q := b.unquote(span(c))
			im.Spec, im.SpecStart = b.str(q), q.Start
		case opModule:
			im.Spec, im.SpecStart = b.str(span(c)), c.Start
			bind.Kind, name, has = facts.Whole, firstPart(b, span(c)), true
		case opImportName:
			name, has = b.unquote(span(c)), true
		case opAlias:
			alias = b.unquote(span(c))
		case opNS:
			bind.Kind, alias, has = facts.Whole, b.unquote(span(c)), true
		case opDefaultName:
			bind.Kind, alias, has = facts.BindDefault, span(c), true
		case opStar:
			bind.Kind, has = facts.Star, true
		case opDefault:
			isDefault = true
			// module.exports = x, export = x: the module is x.
			if t := b.str(span(c)); t != "default" {
				bind.Kind = facts.Whole
			}
		}
	}
	if !has && im.Spec == "" {
		return
	}
	i := s.find(im)
	if has {
		s.bind(b, i, bind, name, alias, isDefault)
	}
}

// firstPart is the name that a dotted module name binds.
func firstPart(b *builder, s facts.Span) facts.Span {
	for i := s.Start; i < s.End; i++ {
		if b.text[i] == '.' {
			return facts.Span{Start: s.Start, End: i}
		}
	}
	return s
}

// unquote removes quotes from the range of a string.
func (b *builder) unquote(s facts.Span) facts.Span {
	if s.End-s.Start >= 2 {
		if q := b.text[s.Start]; (q == '"' || q == '\'' || q == '`') && b.text[s.End-1] == q {
			return facts.Span{Start: s.Start + 1, End: s.End - 1}
		}
	}
	return s
}

func (s *importSet) find(im facts.Import) int {
	key := uint64(im.SpecStart)
	if im.Spec == "" || im.Kind == facts.ModDecl {
		key = 1<<32 | uint64(im.Start)
	}
	i, ok := s.at[key]
	if !ok {
		i = len(s.list)
		s.list = append(s.list, im)
		s.at[key] = i
		return i
	}
	o := &s.list[i]
	if o.Spec == "" {
		o.Spec, o.SpecStart = im.Spec, im.SpecStart
	}
	o.Start, o.End = min(o.Start, im.Start), max(o.End, im.End)
	return i
}

func (s *importSet) bind(b *builder, i int, bind facts.Binding, name, alias facts.Span, isDefault bool) {
	im := &s.list[i]
	bind.Binds = im.Kind == facts.ImportStatic || im.Kind == facts.ImportDynamic || im.Kind == facts.ModDecl
	bind.Exports = im.Kind == facts.ReExport || im.Kind == facts.LocalExport || b.u.Rebinds || im.Kind == facts.ModDecl
	bind.Name, bind.NameStart = b.str(name), name.Start
	if alias.End == 0 {
		alias = name
	}
	bind.As, bind.AsStart = b.str(alias), alias.Start
	if isDefault {
		bind.As = "default"
	}
	if name.End == 0 {
		bind.NameStart = alias.Start
	}
	if im.Kind == facts.ModDecl {
		bind.Kind = facts.Whole
	}
	if im.Kind == facts.LocalExport {
		bind.Exports = true
	}
	if bind.Name == "default" && bind.Kind == facts.Named {
		bind.Kind = facts.BindDefault
	}
	for j, o := range im.Bindings {
		if o.NameStart != bind.NameStart || o.Kind == facts.Star || o.Kind != bind.Kind {
			continue
		}
		if o.AsStart == o.NameStart { // a match without the alias came first
			im.Bindings[j] = bind
		}
		return
	}
	im.Bindings = append(im.Bindings, bind)
}

// raw hands the argument of a use declaration to the language.
func (s *importSet) raw(b *builder, c sitter.Capture) {
	if b.u.ImportTree == nil {
		return
	}
	s.list = append(s.list, b.u.ImportTree(b.text, c.Start, c.End)...)
}

// finish orders imports and gives them their scopes.
func (s *importSet) finish(b *builder, f *facts.File) {
	slices.SortStableFunc(s.list, func(x, y facts.Import) int { return cmp(x.Start, y.Start) })
	for i := range s.list {
		im := &s.list[i]
		im.Scope = f.ScopeAt(im.Start)
		for _, bind := range im.Bindings {
			if bind.Binds && bind.As != "" {
				s.binds[bind.AsStart] = true
			}
		}
	}
	f.Imports = s.list
}

// roles marks the identifiers of import statements.
func (s *importSet) roles(f *facts.File) {
	o := 0
	for _, im := range f.Imports {
		if im.Kind == facts.ImportDynamic {
			continue
		}
		for o < len(f.Occs) && f.Occs[o].Start < im.Start {
			o++
		}
		for i := o; i < len(f.Occs) && f.Occs[i].Start < im.End; i++ {
			if f.Occs[i].Role != facts.Definition {
				f.Occs[i].Role = facts.ImportUse
			}
		}
	}
	for i := range f.Occs {
		if s.binds[f.Occs[i].Start] && f.Occs[i].Role != facts.Definition {
			f.Occs[i].Role = facts.ImportUse
		}
	}
}
