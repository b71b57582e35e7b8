package graph

import (
	"slices"
	"strings"

	"github.com/stella-ls/stella-ls/graph/facts"
)

// importOcc resolves an identifier of an import statement.
func (s *solver) importOcc(v *view, at uint32, name string) ([]value, bool) {
	for i := range v.Imports {
		im := &v.Imports[i]
		if at < im.Start || at >= im.End {
			continue
		}
		for _, b := range im.Bindings {
			if b.Kind != facts.Star && (b.NameStart == at || b.AsStart == at) {
				return s.follow(v, i, b), true
			}
		}
	}
	for i := range v.Imports { // a part of a path in a group
		im := &v.Imports[i]
		if at < im.Start || at >= im.End || v.lang.ImportTree == nil {
			continue
		}
		parts := strings.Split(im.Spec, "::")
		if n := slices.Index(parts, name); n >= 0 {
			part := *im
			part.Spec = strings.Join(parts[:n+1], "::")
			return s.module(v, s.g.linker.one(v, &part)), true
		}
	}
	// A part of a path: the longest import around it whose specifier holds it.
	for i := range v.Imports {
		im := &v.Imports[i]
		if at >= im.SpecStart && at < im.SpecStart+uint32(len(im.Spec)) {
			return s.specPart(v, im, at, name), true
		}
	}
	return nil, false
}

// specPart is the module that the part of a specifier up to a name means.
func (s *solver) specPart(v *view, im *facts.Import, at uint32, name string) []value {
	end := int(at-im.SpecStart) + len(name)
	if end > len(im.Spec) {
		return nil
	}
	part := *im
	part.Spec = im.Spec[:end]
	return s.module(v, s.g.linker.one(v, &part))
}

// bound finds names that the imports of a scope bind, and what its star imports bring.
func (s *solver) bound(v *view, name string, scope int32) []value {
	for i := range v.Imports {
		im := &v.Imports[i]
		if im.Scope != scope {
			continue
		}
		for _, b := range im.Bindings {
			if b.Binds && v.same(b.As, name) {
				if r := s.follow(v, i, b); len(r) > 0 {
					return r
				}
			}
		}
	}
	for i := range v.Imports {
		im := &v.Imports[i]
		if im.Scope != scope {
			continue
		}
		for _, b := range im.Bindings {
			if b.Kind == facts.Star && b.Binds {
				from := s.star(v, i)
				r := s.exported(from, name)
				if len(r) == 0 && len(from) > 0 && from[0].kind == vDef { // use Enum::*
					r = imported(s.members(v, from, name, true))
				}
				if len(r) > 0 {
					return r
				}
			}
		}
	}
	return nil
}
