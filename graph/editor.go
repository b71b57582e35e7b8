package graph

import (
	"context"

	"github.com/stella-ls/stella-ls/graph/facts"
	"github.com/stella-ls/stella-ls/internal/workspace"
)

// cursor is the identifier under a position.
type cursor struct {
	s   *solver
	v   *view
	at  uint32
	occ int32 // None between identifiers
}

// under finds what stands at a position; nil when the file has no facts.
func (g *Graph) under(ctx context.Context, at At) *cursor {
	s := g.newSolver(ctx)
	v := s.view(string(at.Path))
	if v == nil {
		return nil
	}
	if !v.open { // make sure that offsets fit the text on disk
		if s.textOf(v) == nil {
			g.refresh(ctx, s.stale)
			s = g.newSolver(ctx)
			if v = s.view(string(at.Path)); v == nil {
				return nil
			}
		}
	}
	c := &cursor{s: s, v: v, at: s.offset(v, at.Pos, at.Enc)}
	c.occ = v.OccAt(c.at)
	return c
}

// locations turns values into what the editor shows, best first. A guess is
// shown only when there is nothing better.
func (c *cursor) locations(xs []value, e workspace.Encoding) []Location {
	c.s.rank(xs)
	var out []Location
	for _, x := range bestOnly(dedupe(xs), false, new(int)) {
		if l, ok := c.s.location(x, e); ok {
			out = append(out, l)
		}
	}
	return out
}

// Definition is where the name at a position is defined; for the specifier of an
// import, the file that it leads to.
func (g *Graph) Definition(ctx context.Context, at At) ([]Location, error) {
	c := g.under(ctx, at)
	if c == nil {
		return nil, ctx.Err()
	}
	if c.occ == facts.None {
		return c.locations(c.specifier(), at.Enc), ctx.Err()
	}
	return c.locations(c.elsewhere(c.s.resolve(c.v, c.occ)), at.Enc), ctx.Err()
}

// elsewhere leaves the place under the cursor out where there is a better one: the
// declaration that the key of a literal fulfils, the implementation of an overload.
func (c *cursor) elsewhere(xs []value) []value {
	o := c.v.Occs[c.occ]
	if o.Role != facts.Definition {
		return xs
	}
	var out []value
	for _, x := range xs {
		if x.path != c.v.path || x.kind != vDef || c.v.Defs[x.def].NameStart != o.Start {
			out = append(out, x)
			continue
		}
		if d := &c.v.Defs[x.def]; d.Flags&facts.Signature != 0 {
			c.v.defsNamed(c.v.DefName(x.def), func(i int32, y *facts.Def) bool {
				if y.Scope == d.Scope && y.Kind == d.Kind && y.Parent == d.Parent && y.Flags&facts.Signature == 0 {
					out = append(out, value{vDef, x.path, i, "", x.how})
				}
				return true
			})
		}
	}
	if len(out) == 0 {
		return xs
	}
	return out
}

// specifier is the module that an import's string under the cursor names.
func (c *cursor) specifier() []value {
	for i := range c.v.Imports {
		im := &c.v.Imports[i]
		if c.at >= im.SpecStart && c.at <= im.SpecStart+uint32(len(im.Spec)) && im.Spec != "" {
			return c.s.module(c.v, c.s.target(c.v, i))
		}
	}
	return nil
}

// TypeDefinition is the definition of the type of the name at a position, where
// the type is written or built.
func (g *Graph) TypeDefinition(ctx context.Context, at At) ([]Location, error) {
	c := g.under(ctx, at)
	if c == nil || c.occ == facts.None {
		return nil, ctx.Err()
	}
	var types []value
	for _, x := range c.s.resolve(c.v, c.occ) {
		if x.kind != vDef {
			continue
		}
		if c.s.kindOf(x).Callable() {
			types = append(types, c.s.called([]value{x})...)
		} else {
			types = append(types, c.s.typeOf(x)...)
		}
	}
	return c.locations(types, at.Enc), ctx.Err()
}

// Implementation lists the types that extend or implement the type at a
// position, or the members that implement the member there.
func (g *Graph) Implementation(ctx context.Context, at At) ([]Location, error) {
	c := g.under(ctx, at)
	if c == nil || c.occ == facts.None {
		return nil, ctx.Err()
	}
	var out []value
	for _, x := range c.s.resolve(c.v, c.occ) {
		if x.kind != vDef {
			continue
		}
		v := c.s.view(x.path)
		d := &v.Defs[x.def]
		switch {
		case d.Kind.TypeLike():
			out = append(out, c.s.extenders(x)...)
		case d.Parent != facts.None && v.Defs[d.Parent].Kind.TypeLike():
			for _, t := range c.s.extenders(value{vDef, x.path, d.Parent, "", x.how}) {
				if o := c.s.view(t.path); o != nil {
					out = append(out, c.s.children(o, t.def, v.DefName(x.def))...)
				}
			}
		}
	}
	return c.locations(out, at.Enc), ctx.Err()
}

// extenders are the types, and the impl blocks, that name a type among their bases.
func (s *solver) extenders(of value) []value {
	v := s.view(of.path)
	if v == nil {
		return nil
	}
	names, files := map[string]bool{v.DefName(of.def): true}, map[string]bool{}
	s.spread(names, files)
	var out []value
	for _, p := range sortedKeys(files) {
		o := s.view(p)
		if o == nil || s.spent() {
			continue
		}
		for i := range o.Defs {
			for _, b := range o.Defs[i].Bases {
				for _, x := range s.occ(o, b) {
					if x.kind == vDef && x.path == of.path && x.def == of.def {
						out = append(out, value{vDef, p, int32(i), "", HowMember})
					}
				}
			}
		}
	}
	return out
}

// Hover describes the symbol at a position, nil when nothing is known.
func (g *Graph) Hover(ctx context.Context, at At) (*HoverInfo, error) {
	c := g.under(ctx, at)
	if c == nil || c.occ == facts.None {
		return nil, ctx.Err()
	}
	xs := bestOnly(c.s.resolve(c.v, c.occ), false, new(int))
	c.s.rank(xs)
	for _, x := range xs {
		l, ok := c.s.location(x, at.Enc)
		if !ok || x.kind != vDef {
			continue
		}
		v := c.s.view(x.path)
		d := &v.Defs[x.def]
		o := c.v.Occs[c.occ]
		h := &HoverInfo{Location: l, Under: c.s.rng(c.v, o.Start, c.v.OccEnd(c.occ), at.Enc), Language: v.lang.Fence, Signature: c.s.signature(v, d), Counted: true}
		if t := c.s.textOf(v); int(d.Doc.End) <= len(t) && d.Doc.End > d.Doc.Start {
			h.Doc = docText(string(t[d.Doc.Start:d.Doc.End]))
		}
		resolved, _ := c.s.uses([]value{x})
		files := map[string]bool{}
		for _, u := range resolved {
			files[u.v.path] = true
		}
		h.References, h.Files, h.Counted = len(resolved), len(files), c.s.steps <= maxSteps
		return h, ctx.Err()
	}
	return nil, ctx.Err()
}

// Links are the imports of a file that lead to files.
func (g *Graph) Links(ctx context.Context, p workspace.Path, e workspace.Encoding) ([]Link, error) {
	s := g.newSolver(ctx)
	v := s.view(string(p))
	if v == nil {
		return nil, ctx.Err()
	}
	var out []Link
	seen := map[uint32]bool{}
	for _, x := range s.edges(v) {
		im := &v.Imports[x.imp]
		if x.dir || im.Spec == "" || seen[im.SpecStart] {
			continue
		}
		seen[im.SpecStart] = true
		end := min(im.SpecStart+uint32(len(im.Spec)), v.Size)
		out = append(out, Link{Range: s.rng(v, im.SpecStart, end, e), Target: workspace.Path(x.to)})
	}
	return out, ctx.Err()
}
