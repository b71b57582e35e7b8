package graph

import (
	"context"
	"sort"

	"github.com/stella-ls/stella-ls/graph/facts"
)

// IncomingCalls lists who calls the function at a position.
func (g *Graph) IncomingCalls(ctx context.Context, at At) ([]Call, error) {
	c := g.under(ctx, at)
	if c == nil || c.occ == facts.None {
		return nil, ctx.Err()
	}
	resolved, _ := c.s.uses(bestOnly(c.s.resolve(c.v, c.occ), false, new(int)))
	var out []Call
	index := map[target]int{}
	for _, u := range resolved {
		if r := u.v.Occs[u.occ].Role; r != facts.Call && r != facts.Text {
			continue
		}
		from := callerOf(u.v, u.v.Occs[u.occ].Start)
		k := target{u.v.path, from}
		i, ok := index[k]
		if !ok {
			l, found := c.s.location(value{vDef, u.v.path, from, "", u.how}, at.Enc)
			if from == facts.None { // called at file level
				l, found = c.s.location(value{vModule, u.v.path, facts.None, "", u.how}, at.Enc)
			}
			if !found {
				continue
			}
			i = len(out)
			index[k] = i
			out = append(out, Call{Symbol: l})
		}
		out[i].Sites = append(out[i].Sites, c.s.rng(u.v, u.v.Occs[u.occ].Start, u.v.OccEnd(u.occ), at.Enc))
	}
	return out, ctx.Err()
}

// callerOf is the innermost function around a byte, or None.
func callerOf(v *view, at uint32) int32 {
	d := v.Enclosing(at)
	for d != facts.None && !v.Defs[d].Kind.Callable() {
		d = v.Defs[d].Parent
	}
	return d
}

// OutgoingCalls lists what the function at a position calls.
func (g *Graph) OutgoingCalls(ctx context.Context, at At) ([]Call, error) {
	c := g.under(ctx, at)
	if c == nil || c.occ == facts.None {
		return nil, ctx.Err()
	}
	var out []Call
	index := map[target]int{}
	for _, x := range bestOnly(c.s.resolve(c.v, c.occ), false, new(int)) {
		v := c.s.view(x.path)
		if x.kind != vDef || v == nil || !v.Defs[x.def].Kind.Callable() {
			continue
		}
		d := v.Defs[x.def]
		first := sort.Search(len(v.Occs), func(i int) bool { return v.Occs[i].Start >= d.Start })
		for i := first; i < len(v.Occs) && v.Occs[i].Start < d.End; i++ {
			if v.Occs[i].Role != facts.Call {
				continue
			}
			for _, y := range c.s.occ(v, int32(i)) {
				l, ok := c.s.location(y, at.Enc)
				if !ok || y.kind != vDef {
					continue
				}
				k := target{y.path, y.def}
				n, seen := index[k]
				if !seen {
					n = len(out)
					index[k] = n
					out = append(out, Call{Symbol: l})
				}
				out[n].Sites = append(out[n].Sites, c.s.rng(v, v.Occs[i].Start, v.OccEnd(int32(i)), at.Enc))
			}
		}
	}
	return out, ctx.Err()
}
