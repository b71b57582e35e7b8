package graph

import (
	"slices"

	"github.com/stella-ls/stella-ls/graph/facts"
)

// Types are worked out from the expressions that a file's facts hold (see
// facts.Expr), when a receiver or a key asks for them: names are resolved, calls
// give what the function returns, arguments have the type of the parameter. It is
// not a type checker: generics are not applied but for those of the standard
// library, alternatives are not narrowed, and where it does not know it says
// nothing.

// maxTypes bounds the alternatives of one expression.
const maxTypes = 32

// eval is what expression e of a file can be: types, functions, modules.
func (s *solver) eval(v *view, e int32) []value {
	if e == facts.None || int(e) >= len(v.Exprs) {
		return nil
	}
	k := site{v.path, e}
	if r, ok := s.types[k]; ok {
		return r
	}
	if s.spent() {
		return nil
	}
	s.types[k] = nil // within itself nothing is known
	r := dedupe(s.evalNow(v, e))
	r = r[:min(len(r), maxTypes)]
	s.types[k] = r
	return r
}

func (s *solver) evalNow(v *view, e int32) []value {
	x := &v.Exprs[e]
	switch x.Op {
	case facts.XName:
		return s.written(v, x.Occ)
	case facts.XValue:
		return s.typesOf(s.occ(v, x.Occ))
	case facts.XSelf:
		return s.enclosingType(v, uint32(x.A))
	case facts.XCall, facts.XRet:
		return s.called(s.plain(s.eval(v, x.A)))
	case facts.XAwait:
		return unwrap(s.plain(s.eval(v, x.A)), "p", true)
	case facts.XElem:
		return unwrap(s.plain(s.eval(v, x.A)), "am", false)
	case facts.XEach:
		return s.each(s.eval(v, x.A))
	case facts.XIndex:
		return s.part(s.eval(v, x.A), x.N)
	case facts.XArray:
		return wrap(s.eval(v, x.A), "a")
	case facts.XMap:
		return wrap(s.eval(v, x.A), "m")
	case facts.XPromise:
		return wrap(unwrap(s.plain(s.eval(v, x.A)), "p", true), "p")
	case facts.XUnion:
		return append(slices.Clone(s.eval(v, x.A)), s.eval(v, x.B)...)
	case facts.XObject, facts.XFunc:
		return []value{{vExpr, v.path, e, "", HowMember}}
	case facts.XApply:
		return s.apply(v, x)
	case facts.XMatch:
		return s.matching(v, s.plain(s.eval(v, x.A)), x.B)
	case facts.XArg:
		return s.parameters(s.plain(s.eval(v, x.A)), x.N)
	case facts.XParam:
		return s.parameters(s.plain(s.eval(v, x.A)), x.N)
	}
	return nil
}

// typesOf are the types of values.
func (s *solver) typesOf(xs []value) []value {
	var out []value
	for _, x := range xs {
		if x.kind == vDef {
			out = append(out, s.typeOf(x)...)
		} else {
			out = append(out, x)
		}
	}
	return out
}

// meaning is what a type alias stands for.
func (s *solver) meaning(v *view, d *facts.Def) []value {
	if d.Val != facts.None {
		return s.eval(v, d.Val)
	}
	return s.occ(v, d.Type)
}

// plain replaces aliases by what they stand for, and type parameters by their bounds.
func (s *solver) plain(xs []value) []value {
	var out []value
	for _, x := range xs {
		out = append(out, s.plainOne(x, 0)...)
	}
	return out
}

func (s *solver) plainOne(x value, depth int) []value {
	if x.kind != vDef || depth > 16 {
		return []value{x}
	}
	v := s.view(x.path)
	if v == nil || x.def < 0 || int(x.def) >= len(v.Defs) {
		return nil
	}
	d := &v.Defs[x.def]
	if d.Kind != facts.Type && d.Kind != facts.TypeParam || d.Val == facts.None && d.Type == facts.None {
		return []value{x}
	}
	var out []value
	for _, y := range s.substitute(s.meaning(v, d), x.dir) {
		if y != x {
			out = append(out, s.plainOne(y, depth+1)...)
		}
	}
	return out
}

// result is what calling a function with a known expression gives.
func (s *solver) result(x value) []value {
	v, e := s.exprOf(x)
	switch {
	case e == facts.None:
		return nil
	case v.Exprs[e].Op == facts.XFunc:
		return s.substitute(s.eval(v, v.Exprs[e].A), x.dir)
	}
	return s.called(s.plain(s.substitute(s.others(x, s.eval(v, e)), x.dir)))
}

// others leaves x out, against cycles.
func (s *solver) others(x value, xs []value) []value {
	return slices.DeleteFunc(slices.Clone(xs), func(y value) bool { return y.kind == x.kind && y.path == x.path && y.def == x.def })
}

// exprOf is the expression of a definition, or the one that the value is.
func (s *solver) exprOf(x value) (*view, int32) {
	v := s.view(x.path)
	if v == nil || x.def < 0 {
		return nil, facts.None
	}
	if x.kind == vExpr && int(x.def) < len(v.Exprs) {
		return v, x.def
	}
	if x.kind == vDef && int(x.def) < len(v.Defs) {
		return v, v.Defs[x.def].Val
	}
	return nil, facts.None
}

// parameters are the types that functions expect as their n-th argument.
func (s *solver) parameters(fs []value, n uint8) []value {
	var out []value
	for _, x := range fs {
		if s.spent() {
			break
		}
		if x.kind == vBuiltin {
			out = append(out, builtinParameter(x, n)...)
			continue
		}
		if k := s.kindOf(x); x.kind == vDef && k.TypeLike() && k != facts.Interface { // a class is called by its constructor
			for _, c := range s.constructors(x) {
				out = append(out, s.parameter(c, n)...)
			}
			continue
		}
		out = append(out, s.parameter(x, n)...)
	}
	return out
}

func (s *solver) parameter(x value, n uint8) []value {
	v, e := s.exprOf(x)
	if e == facts.None {
		return nil
	}
	if v.Exprs[e].Op != facts.XFunc {
		if x.kind == vExpr {
			return nil
		}
		return s.parameters(s.plain(s.substitute(s.others(x, s.eval(v, e)), x.dir)), n)
	}
	list := v.Exprs[e].B
	for ; n > 0 && list != facts.None; n-- {
		list = v.Exprs[list].B
	}
	if list == facts.None {
		return nil
	}
	return s.substitute(s.eval(v, v.Exprs[list].A), x.dir)
}

// constructors are what building an instance of a class calls.
func (s *solver) constructors(class value) []value {
	r := s.member(class, "constructor", map[value]bool{})
	if len(r) == 0 {
		r = s.member(class, "__init__", map[value]bool{})
	}
	return slices.DeleteFunc(r, func(x value) bool { return x.kind != vDef })
}
