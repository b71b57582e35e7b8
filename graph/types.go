package graph

import (
	"slices"
	"strconv"
	"strings"

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

// Collections and promises have no definition of their own: vInstance is a type
// of the workspace, or nothing known, with a letter in front for each of them
// (value.dir, the outermost first): a collection, m map, p promise, e a map's
// entries, t one entry.

func wrap(xs []value, by string) []value {
	if len(xs) == 0 {
		return []value{{vInstance, "", facts.None, by, HowMember}}
	}
	var out []value
	for _, x := range xs {
		switch x.kind {
		case vDef:
			out = append(out, value{vInstance, x.path, x.def, by, HowMember})
		case vInstance:
			if len(x.dir) < 4 {
				out = append(out, value{vInstance, x.path, x.def, by + x.dir, HowMember})
			}
		default:
			out = append(out, value{vInstance, "", facts.None, by, HowMember})
		}
	}
	return out
}

// unwrap takes one of the outermost letters off; keep leaves values without it
// as they are.
func unwrap(xs []value, letters string, keep bool) []value {
	var out []value
	for _, x := range xs {
		switch {
		case x.kind == vInstance && strings.Contains(letters, x.dir[:1]):
			if y, ok := inner(x); ok {
				out = append(out, y)
			}
		case keep:
			out = append(out, x)
		}
	}
	return out
}

func inner(x value) (value, bool) {
	if len(x.dir) > 1 {
		return value{vInstance, x.path, x.def, x.dir[1:], HowMember}, true
	}
	return value{vDef, x.path, x.def, "", HowMember}, x.def != facts.None
}

// each are the elements that a loop goes through; those of a map are entries.
func (s *solver) each(xs []value) []value {
	var out []value
	for _, x := range s.plain(xs) {
		if x.kind == vInstance && (x.dir[0] == 'm' || x.dir[0] == 'e') {
			out = append(out, value{vInstance, x.path, x.def, "t" + x.dir[1:], HowMember})
			continue
		}
		out = append(out, unwrap([]value{x}, "a", false)...)
	}
	return out
}

// part is the n-th part of a value that is taken apart.
func (s *solver) part(xs []value, n uint8) []value {
	var out []value
	for _, x := range s.plain(xs) {
		if x.kind == vInstance && x.dir[0] == 't' && n != 1 {
			continue // the key
		}
		out = append(out, unwrap([]value{x}, "at", false)...)
	}
	return out
}
