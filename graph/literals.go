package graph

import (
	"slices"

	"github.com/stella-ls/stella-ls/graph/facts"
)

// matching leaves out the alternatives for which a literal has another text.
func (s *solver) matching(v *view, xs []value, keys int32) []value {
	if len(xs) < 2 {
		return xs
	}
	var out []value
	for _, x := range xs {
		fits := true
		for k := keys; k != facts.None && fits; k = v.Exprs[k].B {
			key := v.Exprs[k]
			if key.A == facts.None {
				continue
			}
			texts, known := s.textsOf(x, v.Name(key.Occ))
			fits = !known || slices.Contains(texts, v.Exprs[key.A].A)
		}
		if fits {
			out = append(out, x)
		}
	}
	if len(out) == 0 {
		return xs
	}
	return out
}

// textsOf are the texts that a member of a type can have; known is false when it
// can have others as well.
func (s *solver) textsOf(x value, name string) (texts []int32, known bool) {
	for _, m := range s.member(x, name, map[value]bool{}) {
		v, e := s.exprOf(m)
		if e == facts.None || !textsIn(v, e, &texts, 0) {
			return nil, false
		}
	}
	return texts, len(texts) > 0
}

func textsIn(v *view, e int32, out *[]int32, depth int) bool {
	if e == facts.None {
		return false
	}
	switch x := v.Exprs[e]; {
	case x.Op == facts.XText:
		*out = append(*out, x.A)
		return true
	case x.Op == facts.XUnion && depth < 16:
		return textsIn(v, x.A, out, depth+1) && textsIn(v, x.B, out, depth+1)
	}
	return false
}

// keyOf is what a name means that stands for a member of the expected type and,
// maybe, for something of its own.
func (s *solver) keyOf(v *view, o facts.Occ, name string, own []value) []value {
	r := s.members(v, s.eval(v, o.Recv), name, false)
	if len(r) == 0 || r[0].kind == vExternal {
		return own
	}
	out := slices.Clone(r)
	for _, x := range own {
		if o.Role == facts.Definition {
			x.how = HowMember // ranked with the other: neither is the better answer
		}
		out = append(out, x)
	}
	return dedupe(out)
}

// literalMember finds a member of an object type or literal, or nothing for a
// function type.
func (s *solver) literalMember(x value, name string) []value {
	v := s.view(x.path)
	if v == nil || int(x.def) >= len(v.Exprs) || v.Exprs[x.def].Op != facts.XObject {
		return nil
	}
	from, to := uint32(v.Exprs[x.def].A), uint32(v.Exprs[x.def].B)
	var out []value
	v.defsNamed(name, func(i int32, d *facts.Def) bool {
		if d.Start < from || d.End > to || d.Kind != facts.Property && d.Kind != facts.Method && d.Kind != facts.Field {
			return true
		}
		if p := d.Parent; p != facts.None && v.Defs[p].Start >= from && v.Defs[p].End <= to {
			return true // of an object within this one
		}
		out = append(out, value{vDef, v.path, i, x.dir, HowMember})
		return true
	})
	return out
}
