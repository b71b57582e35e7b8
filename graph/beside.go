package graph

import (
	"github.com/stella-ls/stella-ls/graph/facts"
)

// inPackage finds a definition in any file of a package directory (Go).
func (s *solver) inPackage(dir, name string) []value {
	var out []value
	h := facts.FoldedHash(name)
	for _, n := range s.g.index.names(dir) {
		e := s.g.index.get(dir + "/" + n)
		if e == nil || e.lang.Package == nil || e.lang.Package(e.path) != dir || !s.defines(e, h) {
			continue
		}
		if v := s.view(e.path); v != nil {
			out = append(out, s.declaredExport(v, name, 0)...)
		}
	}
	return out
}

// defines reports whether a file may define a name, its open buffer included.
func (s *solver) defines(e *entry, h uint32) bool {
	if d := s.g.docs.get(e.path); d != nil {
		return true
	}
	return facts.Has(e.defs, h)
}

// beside finds a name in the other files of the same package.
func (s *solver) beside(v *view, name string) []value {
	if v.lang.Package == nil {
		return s.macro(v, name)
	}
	key := v.lang.Package(v.path)
	if key == "" {
		return nil
	}
	var out []value
	for _, p := range s.g.definers(name) {
		la := languageOf(p)
		if p == v.path || la != v.lang || la.Package(p) != key {
			continue
		}
		if o := s.view(p); o != nil {
			for _, x := range s.declaredExport(o, name, 0) {
				x.how = HowPackage
				out = append(out, x)
			}
		}
	}
	return out
}

// macro finds a macro of the same crate, which needs no import.
func (s *solver) macro(v *view, name string) []value {
	if !v.lang.ClosedModules {
		return nil
	}
	root := s.g.linker.begin(v, "crate", 0)
	var out []value
	for _, p := range s.g.definers(name) {
		if languageOf(p) != v.lang {
			continue
		}
		o := s.view(p)
		if o == nil || s.g.linker.begin(o, "crate", 0).File != root.File {
			continue
		}
		o.defsNamed(name, func(i int32, d *facts.Def) bool {
			if d.Kind == facts.Macro {
				out = append(out, value{vDef, p, i, "", HowPackage})
			}
			return true
		})
	}
	return out
}
