package graph

import (
	"github.com/stella-ls/stella-ls/graph/facts"
)

// members finds a member of any of the values. module allows a value to be left
// as the module's own name when nothing else is found.
func (s *solver) members(v *view, of []value, name string, module bool) []value {
	r := s.anyMember(of, name, map[value]bool{})
	if len(r) > 0 && r[0].kind == vExternal {
		return r[:1]
	}
	return r
}

func (s *solver) member(x value, name string, seen map[value]bool) []value {
	x.how = ""
	if seen[x] || s.spent() {
		return nil
	}
	seen[x] = true
	switch x.kind {
	case vModule:
		if r := s.exportedOf(x, name, map[site]bool{}); len(r) > 0 {
			return r
		}
		// module.exports = X: members of X.
		if x.path != "" && name != "default" {
			for _, d := range s.exportedOf(x, "default", map[site]bool{}) {
				if r := s.member(d, name, seen); len(r) > 0 {
					return r
				}
			}
		}
		return nil
	case vExternal:
		return []value{x}
	case vInstance:
		return s.builtin(x, name)
	case vBuiltin:
		return nil
	case vExpr:
		return s.literalMember(x, name)
	}
	o := s.view(x.path)
	if o == nil || int(x.def) >= len(o.Defs) {
		return nil
	}
	d := &o.Defs[x.def]
	switch {
	case name == "prototype" && d.Kind == facts.Class:
		return []value{x}
	case d.Kind == facts.Module || d.Kind == facts.Namespace:
		return s.exportedOf(value{vModule, x.path, x.def, "", HowImport}, name, map[site]bool{})
	case d.Kind.TypeLike():
		return s.typeMember(o, x, name, seen)
	case d.Kind == facts.Impl:
		return s.implMember(o, x.def, name)
	}
	if r := s.children(o, x.def, name); len(r) > 0 && d.Kind != facts.Function && d.Kind != facts.Method {
		return r
	}
	return s.anyMember(s.typeOf(x), name, seen)
}

// children are the members that stand inside a definition.
func (s *solver) children(v *view, def int32, name string) []value {
	var out []value
	v.defsNamed(name, func(i int32, d *facts.Def) bool {
		if d.Parent == def && d.Kind != facts.Parameter && d.Kind != facts.TypeParam && d.Flags&facts.Local == v.Defs[def].Flags&facts.Local {
			out = append(out, value{vDef, v.path, i, "", HowMember})
		}
		return true
	})
	return out
}

// typeMember finds a member of a type: its own, those of impl blocks and methods
// that stand elsewhere, then those of what it extends.
func (s *solver) typeMember(v *view, x value, name string, seen map[value]bool) []value {
	def := x.def
	if r := s.children(v, def, name); len(r) > 0 {
		for i := range r {
			r[i].dir = x.dir
		}
		if v.lang.Rebinds && !s.declared(r) { // the declaration that it overrides without one
			for _, b := range s.bases(v, def) {
				if up := s.member(b, name, seen); s.declared(up) {
					return up
				}
			}
			s.doubtful(v, def, r)
		}
		return r
	}
	d := &v.Defs[def]
	if r := s.attached(v, def, name); len(r) > 0 {
		return r
	}
	if d.Val != facts.None && (d.Kind == facts.Class || d.Kind == facts.Interface) { // bases with arguments
		if r := s.anyMember(s.substitute(s.eval(v, d.Val), x.dir), name, seen); len(r) > 0 && r[0].kind != vExternal {
			return r
		}
	}
	for _, b := range s.bases(v, def) {
		if r := s.member(b, name, seen); len(r) > 0 && r[0].kind != vExternal {
			return r
		}
	}
	if d.Kind == facts.Type && (d.Val != facts.None || d.Type != facts.None) {
		return s.anyMember(s.substitute(s.meaning(v, d), x.dir), name, seen)
	}
	return nil
}

// doubtful makes guesses of fields that a method of a class assigns whose base is
// outside of the workspace: the base may declare them. What __init__ sets is the
// class's own for all that is known.
func (s *solver) doubtful(v *view, class int32, fields []value) {
	if len(s.bases(v, class)) == len(v.Defs[class].Bases) {
		return
	}
	for i := range fields {
		d := &v.Defs[fields[i].def]
		in := int32(facts.None)
		for j := fields[i].def - 1; j > class && in == facts.None; j-- {
			if o := &v.Defs[j]; o.Kind == facts.Method && o.Start <= d.Start && d.End <= o.End {
				in = j
			}
		}
		if in != facts.None && v.DefName(in) != "__init__" {
			fields[i].how = HowName
		}
	}
}

// declared reports whether any of the members says itself what it is: with a
// type, or by being a function or a class.
func (s *solver) declared(xs []value) bool {
	for _, x := range xs {
		if x.kind != vDef {
			continue
		}
		d := &s.view(x.path).Defs[x.def]
		if d.Type != facts.None || d.Kind.Callable() || d.Kind.TypeLike() {
			return true
		}
	}
	return false
}

// anyMember finds a member of each alternative.
func (s *solver) anyMember(of []value, name string, seen map[value]bool) []value {
	var out, outside []value
	for _, t := range of {
		for _, r := range s.member(t, name, seen) {
			if r.kind == vExternal {
				outside = append(outside, r)
			} else {
				out = append(out, r)
			}
		}
	}
	if len(out) == 0 {
		return outside
	}
	return dedupe(out)
}

// bases are the types that a type extends; one that is unknown or external is
// left out.
func (s *solver) bases(v *view, def int32) []value {
	var out []value
	for _, b := range v.Defs[def].Bases {
		for _, x := range s.occ(v, b) {
			if x.kind == vDef {
				out = append(out, x)
			}
		}
	}
	if v.lang.ClosedModules { // the traits that it implements
		s.impls(v, def, func(o *view, impl int32) bool {
			for _, b := range o.Defs[impl].Bases {
				for _, x := range s.occ(o, b) {
					if x.kind == vDef {
						out = append(out, x)
					}
				}
			}
			return true
		})
	}
	return out
}
