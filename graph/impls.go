package graph

import (
	"github.com/stella-ls/stella-ls/graph/facts"
)

// attached are members that name their type instead of standing in it: impl
// blocks, methods with a receiver, columns added later.
func (s *solver) attached(v *view, def int32, name string) []value {
	if !v.lang.ClosedModules && v.lang.Package == nil {
		return nil
	}
	typeName := v.DefName(def)
	var out []value
	s.withDef(v, name, func(o *view) bool {
		o.defsNamed(name, func(i int32, d *facts.Def) bool {
			switch {
			case d.Parent != facts.None && o.Defs[d.Parent].Kind == facts.Impl && o.same(o.DefName(d.Parent), typeName):
				if s.implOf(o, d.Parent, v, def) {
					out = append(out, value{vDef, o.path, i, "", HowMember})
				}
			case d.Owner != facts.None && o.same(o.Name(d.Owner), typeName):
				if o.lang.Package != nil && v.lang.Package != nil && o.lang.Package(o.path) == v.lang.Package(v.path) {
					out = append(out, value{vDef, o.path, i, "", HowMember})
				}
			}
			return true
		})
		return len(out) < maxGuesses
	})
	return out
}

// withDef calls f for each file of v's language that may define a name, v first.
func (s *solver) withDef(v *view, name string, f func(o *view) bool) {
	if !f(v) {
		return
	}
	for _, p := range s.g.definers(name) {
		if p == v.path || languageOf(p) != v.lang {
			continue
		}
		if o := s.view(p); o != nil && !f(o) {
			return
		}
		if s.spent() {
			return
		}
	}
}

// implOf reports whether an impl block is of a type: by what its name resolves
// to, or by the name alone when that leads nowhere.
func (s *solver) implOf(o *view, impl int32, v *view, def int32) bool {
	if o.path == v.path {
		return true
	}
	i := o.OccAt(o.Defs[impl].NameStart)
	for i != facts.None && o.Occs[i].Start < o.Defs[impl].NameStart {
		i++
	}
	if i == facts.None {
		return true
	}
	r := s.occ(o, i)
	if len(r) == 0 {
		return true
	}
	for _, x := range r {
		if x.kind == vDef && x.path == v.path && x.def == def {
			return true
		}
	}
	return false
}

// impls calls f for the impl blocks of a type, in its own file first.
func (s *solver) impls(v *view, def int32, f func(o *view, impl int32) bool) {
	name := v.DefName(def)
	n := 0
	s.withDef(v, name, func(o *view) bool {
		more := true
		o.defsNamed(name, func(i int32, d *facts.Def) bool {
			if d.Kind == facts.Impl && s.implOf(o, i, v, def) {
				more = f(o, i)
			}
			return more
		})
		n++
		return more && n < maxImplScan
	})
}

// implMember finds a member through an impl block: the block's own, then the type's.
func (s *solver) implMember(v *view, impl int32, name string) []value {
	if r := s.children(v, impl, name); len(r) > 0 {
		return r
	}
	for _, t := range s.implType(v, impl) {
		if r := s.member(t, name, map[value]bool{}); len(r) > 0 {
			return r
		}
	}
	for _, b := range v.Defs[impl].Bases {
		for _, x := range s.occ(v, b) {
			if r := s.member(x, name, map[value]bool{}); len(r) > 0 && x.kind == vDef {
				return r
			}
		}
	}
	return nil
}

// implType is the type of an impl block.
func (s *solver) implType(v *view, impl int32) []value {
	d := &v.Defs[impl]
	var out []value
	for _, x := range s.lexical(v, v.DefName(impl), d.Scope, d.NameStart) {
		if x.kind == vDef && s.kindOf(x) != facts.Impl {
			out = append(out, x)
		}
	}
	return out
}
