package graph

import (
	"context"

	"github.com/stella-ls/stella-ls/graph/facts"
	"github.com/stella-ls/stella-ls/internal/workspace"
)

// References lists the places that mean the definition of the name at a
// position. A use by name alone is listed only when nothing was resolved.
func (g *Graph) References(ctx context.Context, at At, declaration bool) ([]Location, error) {
	c := g.under(ctx, at)
	if c == nil || c.occ == facts.None {
		return nil, ctx.Err()
	}
	targets := bestOnly(c.s.resolve(c.v, c.occ), false, new(int))
	resolved, guesses := c.s.uses(targets)
	if len(resolved) == 0 && len(targets) > 0 && targets[0].how == HowName {
		resolved = guesses
	}
	var out []Location
	if declaration {
		out = c.locations(targets, at.Enc)
	}
	return append(out, c.occurrences(resolved, at.Enc)...), ctx.Err()
}

func (c *cursor) occurrences(us []use, e workspace.Encoding) []Location {
	out := make([]Location, 0, len(us))
	for _, u := range us {
		o := u.v.Occs[u.occ]
		end := u.v.OccEnd(u.occ)
		r := c.s.rng(u.v, o.Start, end, e)
		l := Location{Path: workspace.Path(u.v.path), Version: u.v.version, Range: r, NameRange: r, Start: int(o.Start), End: int(end),
			NameStart: int(o.Start), NameEnd: int(end), Name: u.v.Name(u.occ), Kind: o.Role.String(), How: u.how}
		if d := u.v.Enclosing(o.Start); d != facts.None {
			l.Container = u.v.DefName(d)
		}
		out = append(out, l)
	}
	return out
}

// Highlights are the places in the same file that mean what the name at a
// position means, its definition included. Kind is the role.
func (g *Graph) Highlights(ctx context.Context, at At) ([]Location, error) {
	c := g.under(ctx, at)
	if c == nil || c.occ == facts.None {
		return nil, ctx.Err()
	}
	want := map[target]bool{}
	for _, x := range bestOnly(c.s.resolve(c.v, c.occ), false, new(int)) {
		if x.kind == vDef {
			want[target{x.path, x.def}] = true
		}
	}
	id := c.v.Occs[c.occ].Name
	var us []use
	for i := range c.v.Occs {
		o := &c.v.Occs[i]
		r := []value(nil)
		if o.Name == id || o.Role == facts.ImportUse || len(want) > 0 && want[target{c.v.path, c.v.DefAtName(o.Start)}] {
			r = c.s.occ(c.v, int32(i))
		}
		hit := len(r) == 0 && o.Name == id && len(want) == 0
		for _, x := range r {
			hit = hit || x.kind == vDef && want[target{x.path, x.def}]
		}
		if hit {
			us = append(us, use{c.v, int32(i), HowLocal})
		}
	}
	return c.occurrences(us, at.Enc), ctx.Err()
}
