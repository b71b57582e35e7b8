package graph

import (
	"context"

	"github.com/stella-ls/stella-ls/graph/facts"
	"github.com/stella-ls/stella-ls/internal/workspace"
)

// DocumentSymbols is the outline of a file.
func (g *Graph) DocumentSymbols(ctx context.Context, p workspace.Path, e workspace.Encoding) ([]Symbol, error) {
	s := g.newSolver(ctx)
	v := s.view(string(p))
	if v == nil {
		return nil, ctx.Err()
	}
	kids := map[int32][]int32{}
	for i := range v.Defs {
		d := &v.Defs[i]
		if d.Kind == facts.Parameter || d.Kind == facts.TypeParam || d.Flags&facts.Local != 0 && !d.Kind.Callable() && !d.Kind.TypeLike() {
			continue
		}
		kids[d.Parent] = append(kids[d.Parent], int32(i))
	}
	var build func(list []int32, depth int) []Symbol
	build = func(list []int32, depth int) []Symbol {
		var out []Symbol
		for _, i := range list {
			l, ok := s.location(value{vDef, v.path, i, "", HowLocal}, e)
			if !ok {
				continue
			}
			sym := Symbol{Location: l, Detail: s.signature(v, &v.Defs[i])}
			if depth < 64 {
				sym.Children = build(kids[i], depth+1)
			}
			out = append(out, sym)
		}
		return out
	}
	return build(kids[facts.None], 0), ctx.Err()
}
