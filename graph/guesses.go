package graph

import (
	"slices"

	"github.com/stella-ls/stella-ls/graph/facts"
)

// guesses are the definitions that only share the name, those of a fitting kind.
func (s *solver) guesses(v *view, name string, member, call bool) []value {
	var fit, rest []value
	family := v.lang.FamilyName()
	for _, p := range s.g.definers(name) {
		la := languageOf(p)
		if la == nil || la.FamilyName() != family {
			continue
		}
		o := s.view(p)
		if o == nil {
			continue
		}
		o.defsNamed(name, func(i int32, d *facts.Def) bool {
			if d.Kind == facts.Impl || d.Kind == facts.Parameter || d.Kind == facts.TypeParam ||
				d.Flags&facts.Local != 0 && p != v.path {
				return true
			}
			x := value{vDef, p, i, "", HowName}
			isMember := d.Parent != facts.None && (o.Defs[d.Parent].Kind.TypeLike() || o.Defs[d.Parent].Kind == facts.Impl) || d.Owner != facts.None
			if isMember == member && (!call || d.Kind.Callable() || d.Kind.TypeLike()) {
				fit = append(fit, x)
			} else {
				rest = append(rest, x)
			}
			return true
		})
		if len(fit) > maxGuesses || s.spent() {
			break
		}
	}
	if len(fit) > 0 {
		return fit
	}
	return rest
}

// resolve is occ, falling back to guesses.
func (s *solver) resolve(v *view, i int32) []value {
	r := s.occ(v, i)
	if len(r) > 0 {
		return dedupe(outside(r))
	}
	o := v.Occs[i]
	if o.RecvK == facts.NoRecv && s.certainlyNot(v, i) {
		return nil
	}
	return s.guesses(v, v.Name(i), o.RecvK != facts.NoRecv, o.Role == facts.Call)
}

// outside names what has no definition in the workspace as such.
func outside(r []value) []value {
	out := make([]value, 0, len(r))
	for _, x := range r {
		switch x.kind {
		case vBuiltin:
			_, name := holder(x)
			x = value{kind: vExternal, path: name + " is a member of a collection of the language", def: facts.None, how: HowMember}
		case vInstance, vExpr:
			continue
		case vDef:
			x.dir = ""
		}
		out = append(out, x)
	}
	return out
}

// certainlyNot reports whether a plain name cannot be anything of the workspace:
// an import of this file binds it and leads outside or nowhere.
func (s *solver) certainlyNot(v *view, i int32) bool {
	name := v.Name(i)
	for _, im := range v.Imports {
		for _, b := range im.Bindings {
			if b.Binds && b.As == name {
				return true
			}
		}
	}
	return false
}

func dedupe(r []value) []value {
	out := make([]value, 0, len(r))
	for _, x := range r {
		if !slices.ContainsFunc(out, func(y value) bool { return y.kind == x.kind && y.path == x.path && y.def == x.def && y.dir == x.dir }) {
			out = append(out, x)
		}
	}
	return out
}
