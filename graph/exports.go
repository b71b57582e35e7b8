package graph

import (
	"slices"
	"strings"

	"github.com/stella-ls/stella-ls/graph/facts"
	"github.com/stella-ls/stella-ls/graph/lang"
)

// star is the module that a star import opens.
func (s *solver) star(v *view, i int) []value {
	k := site{v.path, -2 - int32(i)}
	if s.busy[k] || s.spent() {
		return nil
	}
	s.busy[k] = true
	defer delete(s.busy, k)
	return s.module(v, s.target(v, i))
}

func (s *solver) target(v *view, i int) lang.Target {
	t := s.g.linker.targets(v)
	if i < len(t) {
		return t[i]
	}
	return lang.Target{}
}

// follow is what a binding of import i means.
func (s *solver) follow(v *view, i int, b facts.Binding) []value {
	k := site{v.path, -1_000_000 - int32(b.NameStart)*4 - int32(b.Kind)}
	if r, ok := s.memo[k]; ok {
		return r
	}
	if s.busy[k] || s.spent() {
		return nil
	}
	s.busy[k] = true
	r := s.followNow(v, i, b)
	delete(s.busy, k)
	for j := range r {
		if v.Imports[i].Kind == facts.LocalExport {
			break
		}
		if r[j].how == "" || r[j].how == HowLocal || r[j].how == HowMember {
			r[j].how = HowImport
		}
	}
	s.memo[k] = r
	return r
}

func (s *solver) followNow(v *view, i int, b facts.Binding) []value {
	im := &v.Imports[i]
	if im.Kind == facts.LocalExport {
		return slices.Clone(s.lexical(v, b.Name, 0, im.Start))
	}
	t := s.target(v, i)
	if b.Kind == facts.Whole && b.Name != "" && b.As == b.Name && im.Kind != facts.ModDecl && strings.Contains(im.Spec, ".") {
		part := *im // import a.b.c binds a
		part.Spec = b.Name
		t = s.g.linker.one(v, &part)
	}
	m := s.module(v, t)
	switch b.Kind {
	case facts.Whole:
		if r := s.moduleIs(m); len(r) > 0 {
			return r
		}
		return m
	case facts.BindDefault:
		if r := s.exported(m, "default"); len(r) > 0 {
			return slices.Clone(r)
		}
		return m
	case facts.Named:
		r := s.exported(m, b.Name)
		if len(r) == 0 && len(m) > 0 && m[0].kind != vModule {
			r = s.members(v, m, b.Name, false)
		}
		return slices.Clone(r)
	}
	return nil
}

// moduleIs is what module.exports = x (or export = x) makes of a whole module.
func (s *solver) moduleIs(m []value) []value {
	if len(m) != 1 || m[0].kind != vModule || m[0].path == "" {
		return nil
	}
	v := s.view(m[0].path)
	if v == nil {
		return nil
	}
	for i := range v.Imports {
		for _, b := range v.Imports[i].Bindings {
			if v.Imports[i].Kind == facts.LocalExport && b.Kind == facts.Whole {
				return imported(s.lexical(v, b.Name, 0, v.Imports[i].Start))
			}
		}
	}
	return nil
}

// module turns a target into a value, looking up the names that remain.
func (s *solver) module(v *view, t lang.Target) []value {
	switch t.Status {
	case lang.External:
		return []value{{kind: vExternal, path: t.Why, def: facts.None, how: HowImport}}
	case lang.Unresolved:
		return nil
	}
	r := []value{{vModule, t.File, facts.None, t.Dir, HowImport}}
	for _, name := range t.Rest {
		next := s.exported(r, name)
		if len(next) == 0 {
			next = s.members(v, r, name, true)
		}
		r = next
	}
	return r
}

// exported finds a name that modules offer to others.
func (s *solver) exported(ms []value, name string) []value {
	for _, m := range ms {
		if m.kind == vExternal {
			return []value{m}
		}
		if m.kind != vModule {
			continue
		}
		if r := s.exportedOf(m, name, map[site]bool{}); len(r) > 0 {
			return r
		}
	}
	return nil
}

func (s *solver) exportedOf(m value, name string, seen map[site]bool) []value {
	if s.spent() {
		return nil
	}
	if m.path == "" && m.dir != "" {
		if r := s.inPackage(m.dir, name); len(r) > 0 {
			return r
		}
		return s.submodule(nil, m, name)
	}
	v := s.view(m.path)
	if v == nil {
		return nil
	}
	k := site{m.path, m.def}
	if seen[k] {
		return nil
	}
	seen[k] = true
	scope := s.moduleScope(v, m.def)
	if r := s.declaredExport(v, name, scope); len(r) > 0 {
		return r
	}
	if r := s.reexported(v, name, scope, seen); len(r) > 0 {
		return r
	}
	return s.submodule(v, m, name)
}

// moduleScope is the scope of an inline module, or the file's.
func (s *solver) moduleScope(v *view, def int32) int32 {
	if def == facts.None {
		return 0
	}
	d := v.Defs[def]
	for i := len(v.Scopes) - 1; i > 0; i-- {
		if sc := v.Scopes[i]; sc.Kind == facts.ModuleScope && sc.Start >= d.Start && sc.Start <= d.NameStart && sc.End <= d.End {
			return int32(i)
		}
	}
	return 0
}

func (s *solver) declaredExport(v *view, name string, scope int32) []value {
	var out []value
	if name == "default" {
		for i := range v.Defs {
			if v.Defs[i].Flags&facts.Default != 0 && v.Defs[i].Scope == scope {
				out = append(out, value{vDef, v.path, int32(i), "", HowImport})
			}
		}
	}
	v.defsNamed(name, func(i int32, d *facts.Def) bool {
		switch {
		case d.Scope != scope, d.Kind == facts.Impl, d.Kind == facts.Column, d.Flags&facts.Default != 0 && name != "default" && v.lang.Exports != nil:
		case v.lang.Exports != nil && !v.lang.Exports(*d):
		case d.Parent != facts.None && d.Kind == facts.Property:
		default:
			out = append(out, value{vDef, v.path, i, "", HowImport})
		}
		return true
	})
	return out
}

// reexported looks through a module's export lists and star exports.
func (s *solver) reexported(v *view, name string, scope int32, seen map[site]bool) []value {
	for i := range v.Imports {
		im := &v.Imports[i]
		if im.Scope != scope {
			continue
		}
		for _, b := range im.Bindings {
			if b.Exports && b.Kind != facts.Star && b.As == name {
				if r := s.follow(v, i, b); len(r) > 0 {
					return imported(r)
				}
			}
		}
	}
	if name == "default" {
		return nil // a star does not bring the default export
	}
	for i := range v.Imports {
		im := &v.Imports[i]
		if im.Scope != scope {
			continue
		}
		for _, b := range im.Bindings {
			if b.Kind != facts.Star || !b.Exports {
				continue
			}
			for _, m := range s.star(v, i) {
				if m.kind == vModule {
					if r := s.exportedOf(m, name, seen); len(r) > 0 {
						return r
					}
				} else if r := s.members(v, []value{m}, name, true); len(r) > 0 && m.kind == vDef {
					return r
				}
			}
		}
	}
	return nil
}

// imported marks values as found through an import.
func imported(r []value) []value {
	out := slices.Clone(r)
	for i := range out {
		if out[i].how != HowName {
			out[i].how = HowImport
		}
	}
	return out
}

// submodule finds a module below a package that nothing in it names.
func (s *solver) submodule(v *view, m value, name string) []value {
	la := s.langOf(v, m)
	if la == nil || la.Resolver == nil {
		return nil
	}
	t := s.g.linker.member(la, lang.Target{Status: lang.Resolved, File: m.path, Dir: m.dir}, name)
	if t.Status != lang.Resolved {
		return nil
	}
	return []value{{vModule, t.File, facts.None, t.Dir, HowImport}}
}

func (s *solver) langOf(v *view, m value) *lang.Language {
	if v != nil {
		return v.lang
	}
	for _, n := range s.g.index.names(m.dir) {
		if l := languageOf(n); l != nil && l.Resolver != nil {
			return l
		}
	}
	for _, p := range s.g.index.below(m.dir) {
		if l := languageOf(p); l != nil && l.Resolver != nil {
			return l
		}
	}
	return nil
}
