package graph

import (
	"github.com/stella-ls/stella-ls/graph/facts"
)

func (s *solver) kindOf(x value) facts.Kind {
	if x.kind != vDef && x.kind != vInstance {
		return facts.KindNone
	}
	v := s.view(x.path)
	if v == nil || x.def < 0 || int(x.def) >= len(v.Defs) {
		return facts.KindNone
	}
	return v.Defs[x.def].Kind
}

// enclosingType is the type whose member's code stands at a byte: what self means.
func (s *solver) enclosingType(v *view, at uint32) []value {
	for i := len(v.Defs) - 1; i >= 0; i-- {
		d := &v.Defs[i]
		if at < d.Start || at >= d.End {
			continue
		}
		switch {
		case d.Kind == facts.Impl:
			if t := s.implType(v, int32(i)); len(t) > 0 {
				return t
			}
			return []value{{vDef, v.path, int32(i), "", HowLocal}}
		case d.Kind.TypeLike() && d.NameStart < at:
			return []value{{vDef, v.path, int32(i), "", HowLocal}}
		case d.Owner != facts.None && d.Kind == facts.Method:
			return s.occ(v, d.Owner)
		case d.Kind == facts.Method && d.Flags&facts.Arrow == 0 && d.Parent != facts.None && weakHolder(v.Defs[d.Parent].Kind): // a function of an object
			return []value{{vDef, v.path, d.Parent, "", HowLocal}}
		}
	}
	return nil
}

func weakHolder(k facts.Kind) bool {
	return k == facts.Variable || k == facts.Const || k == facts.Property
}

// inherited finds a member in what the types extend.
func (s *solver) inherited(of []value, name string, seen map[value]bool) []value {
	for _, x := range of {
		v := s.view(x.path)
		if v == nil || x.kind != vDef {
			continue
		}
		for _, b := range s.bases(v, x.def) {
			if r := s.member(b, name, seen); len(r) > 0 {
				return r
			}
		}
	}
	return nil
}

// typeOf is the type of what a definition holds: as written, or as its initial
// value is built.
func (s *solver) typeOf(x value) []value {
	if x.kind != vDef {
		return []value{x}
	}
	v := s.view(x.path)
	if v == nil || x.def < 0 {
		return nil
	}
	d := &v.Defs[x.def]
	k := site{x.path, -1_000_000_000 - x.def}
	if s.busy[k] || s.spent() {
		return nil
	}
	s.busy[k] = true
	defer delete(s.busy, k)
	switch {
	case d.Kind.TypeLike():
		return []value{x}
	case d.Val != facts.None && d.Kind.Callable() && v.Exprs[d.Val].Op == facts.XFunc:
		return []value{x}
	case d.Val != facts.None:
		if r := s.substitute(s.eval(v, d.Val), x.dir); len(r) > 0 {
			return r
		}
	}
	switch {
	case d.Kind == facts.Method && v.Occs != nil && d.Type != facts.None && s.isProperty(v, d):
		return s.written(v, d.Type)
	case d.Kind.Callable():
		return nil
	}
	if d.Type != facts.None {
		return s.written(v, d.Type)
	}
	if d.Init != facts.None {
		r := s.occ(v, d.Init)
		if v.Occs[d.Init].Role != facts.Call { // a name: self.x = x
			var out []value
			for _, y := range r {
				if y.kind == vDef && y.def != x.def {
					out = append(out, s.typeOf(y)...)
				}
			}
			return out
		}
		return s.called(r)
	}
	return nil
}

// isProperty reports whether a method is used like a field: a decorator called
// property stands above it.
func (s *solver) isProperty(v *view, d *facts.Def) bool {
	if !v.lang.Rebinds {
		return false
	}
	for i := v.OccAt(d.Start + 1); i != facts.None && int(i) < len(v.Occs) && v.Occs[i].Start < d.NameStart; i++ {
		if n := v.Name(i); n == "property" || n == "cached_property" {
			return true
		}
	}
	return false
}

// written is the type that a written name means.
func (s *solver) written(v *view, occ int32) []value {
	var out []value
	for _, x := range s.occ(v, occ) {
		if x.kind == vDef && s.kindOf(x) == facts.TypeParam {
			if o := s.view(x.path); o.Defs[x.def].Val == facts.None && o.Defs[x.def].Type != facts.None {
				out = append(out, s.occ(o, o.Defs[x.def].Type)...)
				continue
			}
		}
		out = append(out, x)
	}
	return out
}

// called is what calling a value gives.
func (s *solver) called(of []value) []value {
	var out []value
	for _, x := range of {
		switch x.kind {
		case vExternal:
			return []value{x}
		case vModule: // module.exports = function
			out = append(out, s.called(s.exported([]value{x}, "default"))...)
			continue
		case vInstance:
			continue
		case vBuiltin:
			out = append(out, s.calledBuiltin(x)...)
			continue
		case vExpr:
			out = append(out, s.result(x)...)
			continue
		}
		v := s.view(x.path)
		if v == nil || x.def < 0 {
			continue
		}
		d := &v.Defs[x.def]
		switch {
		case d.Kind == facts.Interface:
			out = append(out, s.result(x)...)
		case d.Kind.TypeLike(), d.Kind == facts.Variant:
			t := x
			if d.Kind == facts.Variant && d.Parent != facts.None {
				t.def = d.Parent
			}
			out = append(out, t)
		case d.Val != facts.None:
			out = append(out, s.result(x)...)
		case d.Type != facts.None:
			out = append(out, s.written(v, d.Type)...)
		case !d.Kind.Callable() && d.Init != facts.None:
			out = append(out, s.typeOf(x)...)
		}
	}
	return out
}

// argument finds the parameter that a named argument of a call is for.
func (s *solver) argument(callee []value, name string) []value {
	for _, x := range callee {
		if x.kind == vExternal {
			return []value{x}
		}
		v := s.view(x.path)
		if v == nil || x.kind != vDef {
			continue
		}
		def := x.def
		if v.Defs[def].Kind.TypeLike() {
			init := s.member(x, "__init__", map[value]bool{})
			if len(init) == 0 || init[0].kind != vDef {
				return s.member(x, name, map[value]bool{}) // a dataclass
			}
			v, def = s.view(init[0].path), init[0].def
		}
		var out []value
		v.defsNamed(name, func(i int32, d *facts.Def) bool {
			if d.Parent == def && d.Kind == facts.Parameter {
				out = append(out, value{vDef, v.path, i, "", HowMember})
			}
			return true
		})
		if len(out) > 0 {
			return out
		}
	}
	return nil
}
