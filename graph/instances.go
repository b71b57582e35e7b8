package graph

import (
	"strconv"
	"strings"

	"github.com/stella-ls/stella-ls/graph/facts"
)

// instance is a type with the arguments it was written with. Values carry its
// number (value.dir, "#" and the number), so that what is found in the type knows
// what the type's parameters are.
type instance struct {
	of    value  // the generic type
	v     *view  // where the arguments are written
	args  int32  // list of expressions
	outer string // the instance in which they are written
}

// maxInstances bounds the instances of one question.
const maxInstances = 4096

// instantiate makes an instance and returns its mark.
func (s *solver) instantiate(x instance) string {
	if len(s.instances) >= maxInstances {
		return ""
	}
	s.instances = append(s.instances, x)
	return "#" + strconv.Itoa(len(s.instances)-1)
}

func (s *solver) instanceOf(mark string) (instance, bool) {
	n, err := strconv.Atoi(strings.TrimPrefix(mark, "#"))
	if err != nil || !strings.HasPrefix(mark, "#") || n >= len(s.instances) {
		return instance{}, false
	}
	return s.instances[n], true
}

// apply is a type with arguments: an alias is what it stands for, other types
// carry the arguments.
func (s *solver) apply(v *view, x *facts.Expr) []value {
	var out []value
	for _, t := range s.written(v, x.Occ) {
		o := s.view(t.path)
		if t.kind != vDef || o == nil || !s.kindOf(t).TypeLike() || t.dir != "" {
			out = append(out, t)
			continue
		}
		mark := s.instantiate(instance{of: t, v: v, args: x.B})
		if s.kindOf(t) == facts.Type && o.Defs[t.def].Val != facts.None {
			out = append(out, s.substitute(s.eval(o, o.Defs[t.def].Val), mark)...)
			continue
		}
		t.dir = mark
		out = append(out, t)
	}
	return out
}

// substitute puts the arguments of an instance in the place of its type's
// parameters, and marks what can hold more of them.
func (s *solver) substitute(xs []value, mark string) []value {
	in, ok := s.instanceOf(mark)
	if !ok {
		return xs
	}
	var out []value
	for _, y := range xs {
		if n := s.parameterOf(y, in.of); n >= 0 {
			list := in.args
			for ; n > 0 && list != facts.None; n-- {
				list = in.v.Exprs[list].B
			}
			if list == facts.None {
				out = append(out, y)
				continue
			}
			arg := s.substitute(s.eval(in.v, in.v.Exprs[list].A), in.outer)
			if y.kind == vInstance {
				arg = rewrap(arg, y.dir)
			}
			out = append(out, arg...)
			continue
		}
		switch {
		case y.kind != vExpr && y.kind != vDef:
		case y.dir == "":
			if y.kind == vExpr {
				y.dir = mark
			}
		default: // its arguments may be written in terms of this instance
			if sub, ok := s.instanceOf(y.dir); ok && sub.outer == "" && sub.v.path == in.of.path {
				sub.outer = mark
				y.dir = s.instantiate(sub)
			}
		}
		out = append(out, y)
	}
	return out
}

// rewrap puts letters around values.
func rewrap(xs []value, letters string) []value {
	for i := len(letters) - 1; i >= 0; i-- {
		xs = wrap(xs, letters[i:i+1])
	}
	return xs
}

// parameterOf is the position of a type parameter among those of a definition, -1
// when it is none of them.
func (s *solver) parameterOf(x, of value) int {
	if x.path != of.path || x.kind != vDef && x.kind != vInstance || s.kindOf(x) != facts.TypeParam {
		return -1
	}
	v, n := s.view(x.path), 0
	for i := of.def + 1; i < x.def; i++ {
		if v.Defs[i].Kind == facts.TypeParam && v.Defs[i].Parent == of.def {
			n++
		}
	}
	if v.Defs[x.def].Parent != of.def {
		return -1
	}
	return n
}
