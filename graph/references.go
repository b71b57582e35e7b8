package graph

import (
	"sort"

	"github.com/stella-ls/stella-ls/graph/facts"
)

// use is an occurrence that means one of the wanted definitions.
type use struct {
	v   *view
	occ int32
	how How
}

// target is a definition looked for.
type target struct {
	path string
	def  int32
}

// uses finds the occurrences that resolve to any of the targets, and, apart from
// them, those that only share the name and could not be resolved.
func (s *solver) uses(targets []value) (resolved, guesses []use) {
	want := map[target]bool{}
	names := map[string]bool{}
	onlyLocal := true
	for _, x := range targets {
		v := s.view(x.path)
		if x.kind != vDef || v == nil {
			continue
		}
		d := &v.Defs[x.def]
		want[target{x.path, x.def}] = true
		names[v.DefName(x.def)] = true
		if class := constructorOf(v, d); class != facts.None {
			names[v.DefName(class)] = true
		}
		if d.Flags&facts.Default != 0 {
			names["default"] = true
		}
		onlyLocal = onlyLocal && d.Flags&facts.Local != 0 && !memberOfType(v, d) && !namedArgument(v, d) && !ofObject(d)
	}
	if len(want) == 0 {
		return nil, nil
	}
	files := map[string]bool{}
	if onlyLocal {
		for t := range want {
			files[t.path] = true
		}
	} else {
		s.spread(names, files)
	}
	for _, p := range sortedKeys(files) {
		if s.spent() {
			break
		}
		v := s.view(p)
		if v == nil {
			continue
		}
		r, g := s.usesIn(v, want, names)
		resolved, guesses = append(resolved, r...), append(guesses, g...)
	}
	return resolved, guesses
}

// namedArgument reports whether calls in other files may name a parameter.
func namedArgument(v *view, d *facts.Def) bool {
	return d.Kind == facts.Parameter && v.lang.Rebinds && d.Parent != facts.None && v.Defs[d.Parent].Flags&facts.Local == 0
}

// ofObject reports whether a definition is a key, which a value can carry to
// other files out of a function.
func ofObject(d *facts.Def) bool { return d.Kind == facts.Property || d.Kind == facts.Method }

func memberOfType(v *view, d *facts.Def) bool {
	return d.Parent != facts.None && v.Defs[d.Parent].Kind.TypeLike() || d.Owner != facts.None
}

func sortedKeys(m map[string]bool) []string {
	out := make([]string, 0, len(m))
	for k := range m {
		out = append(out, k)
	}
	sort.Strings(out)
	return out
}

// spread collects the files in which the names may occur, following renames in
// imports and export lists.
func (s *solver) spread(names map[string]bool, files map[string]bool) {
	queue := sortedKeys(names)
	for len(queue) > 0 && !s.spent() {
		name := queue[0]
		queue = queue[1:]
		for _, p := range s.g.users(name) {
			v := s.view(p)
			if v == nil {
				continue
			}
			files[p] = true
			for i := range v.Imports {
				for _, b := range v.Imports[i].Bindings {
					if !b.Exports || b.As == "" || names[b.As] || (b.Name != name && !(b.Kind == facts.BindDefault && name == "default")) {
						continue
					}
					names[b.As] = true
					queue = append(queue, b.As)
				}
			}
		}
	}
}

// constructorOf is the class whose constructor a definition is, where building
// an instance names the class alone, else None.
func constructorOf(v *view, d *facts.Def) int32 {
	if d.Kind == facts.Method && d.Parent != facts.None && v.lang.FamilyName() == "javascript" && v.Names[d.Name] == "constructor" {
		return d.Parent
	}
	return facts.None
}

// building adds the constructors of the classes that a call names.
func (s *solver) building(o *facts.Occ, r []value) []value {
	if o.Role != facts.Call {
		return r
	}
	for _, x := range r {
		if x.kind != vDef || s.kindOf(x) != facts.Class {
			continue
		}
		v := s.view(x.path)
		for _, c := range s.children(v, x.def, "constructor") {
			if constructorOf(v, &v.Defs[c.def]) != facts.None {
				c.how = x.how
				r = append(r[:len(r):len(r)], c)
			}
		}
	}
	return r
}

// usesIn finds the uses in one file.
func (s *solver) usesIn(v *view, want map[target]bool, names map[string]bool) (resolved, guesses []use) {
	ids := s.localNames(v, names)
	for i := range v.Occs {
		o := &v.Occs[i]
		if o.Role == facts.Definition && o.RecvK != facts.RecvBoth || !ids[o.Name] {
			continue
		}
		if own := v.DefAtName(o.Start); own != facts.None && want[target{v.path, own}] {
			continue // the definition asked about
		}
		r := s.building(o, s.occ(v, int32(i)))
		hit := false
		for _, x := range r {
			if x.kind == vDef && want[target{x.path, x.def}] {
				resolved = append(resolved, use{v, int32(i), x.how})
				hit = true
				break
			}
		}
		if !hit && len(r) == 0 && names[v.Name(int32(i))] && !s.certainlyNot(v, int32(i)) && s.couldBe(v, o, want) {
			guesses = append(guesses, use{v, int32(i), HowName})
		}
	}
	return resolved, guesses
}

// localNames are the numbers, in this file, of the names and of what imports
// call them here.
func (s *solver) localNames(v *view, names map[string]bool) map[uint32]bool {
	here := map[string]bool{}
	for i := range v.Imports {
		im := &v.Imports[i]
		for _, b := range im.Bindings {
			if names[b.Name] || names["default"] && (b.Kind == facts.BindDefault || b.Kind == facts.Whole) {
				here[b.As] = true
			}
		}
	}
	ids := map[uint32]bool{}
	for id, n := range v.Names {
		if names[n] || here[n] {
			ids[uint32(id)] = true
		} else if v.lang.FoldCase {
			for w := range names {
				if v.same(n, w) {
					ids[uint32(id)] = true
				}
			}
		}
	}
	return ids
}

// couldBe reports whether an unresolved occurrence may mean a target: a member
// name for members, a plain name for the rest, in a language of the same family.
func (s *solver) couldBe(v *view, o *facts.Occ, want map[target]bool) bool {
	for t := range want {
		w := s.view(t.path)
		if w == nil || w.lang.FamilyName() != v.lang.FamilyName() {
			continue
		}
		d := &w.Defs[t.def]
		if d.Flags&facts.Local != 0 && t.path != v.path {
			continue
		}
		if memberOfType(w, d) == (o.RecvK != facts.NoRecv) || d.Kind == facts.Column {
			return true
		}
	}
	return false
}
