package graph

import (
	"fmt"
	"path"
	"strings"

	"github.com/stella-ls/stella-ls/graph/facts"
	"github.com/stella-ls/stella-ls/internal/workspace"
)

// symbol is a target as written: the name, and what it should be in.
type symbol struct {
	name       string
	containers []string
}

// parseSymbol reads "area", "Shape.area", "shapes::area", "Shape#area" and
// quoted SQL names.
func parseSymbol(target string) symbol {
	t := strings.TrimSpace(target)
	t = strings.TrimSuffix(t, "()")
	var parts []string
	for t != "" {
		var part string
		if c := closing(t[0]); c != 0 && strings.IndexByte(t[1:], c) >= 0 {
			n := strings.IndexByte(t[1:], c)
			part, t = t[1:n+1], t[n+2:]
		} else {
			n := strings.IndexAny(t, ".:#")
			if n < 0 {
				n = len(t)
			}
			part, t = t[:n], t[n:]
		}
		t = strings.TrimLeft(t, ".:#")
		if part != "" {
			parts = append(parts, part)
		}
	}
	if len(parts) == 0 {
		return symbol{name: strings.TrimSpace(target)}
	}
	return symbol{name: parts[len(parts)-1], containers: parts[:len(parts)-1]}
}

func closing(c byte) byte {
	switch c {
	case '"', '`':
		return c
	case '[':
		return ']'
	}
	return 0
}

// locate finds the definitions that a query is about.
func (s *solver) locate(a *Answer, q Query) ([]value, error) {
	if q.Path == "" {
		return s.byName(q.Target), nil
	}
	p, v, err := s.file(a, q.Path)
	if v == nil || err != nil {
		return nil, err
	}
	if q.Position != nil {
		at := s.offset(v, workspace.Position{Line: uint32(q.Position.Line), Character: uint32(q.Position.Character)}, workspace.UTF16)
		o := v.OccAt(at)
		if o == facts.None {
			a.Why = "there is no name at that place"
			return nil, nil
		}
		return s.resolve(v, o), nil
	}
	var here []value
	for _, x := range s.byName(q.Target) {
		if x.path == p {
			x.how = HowLocal
			here = append(here, x)
		}
	}
	if len(here) > 0 {
		return here, nil
	}
	return s.meant(v, parseSymbol(q.Target)), nil
}

// meant is what a name means in a file that does not define it.
func (s *solver) meant(v *view, sym symbol) []value {
	parts := append(append([]string(nil), sym.containers...), sym.name)
	r := s.lexical(v, parts[0], 0, v.Size)
	for _, name := range parts[1:] {
		r = s.members(v, r, name, true)
	}
	if len(r) > 0 {
		return dedupe(r)
	}
	// A member that the file uses: what its occurrences resolve to.
	for i := range v.Occs {
		if v.Name(int32(i)) == sym.name {
			r = append(r, s.occ(v, int32(i))...)
		}
	}
	return dedupe(r)
}

// byName finds definitions by their name, and by what they are in when the
// target says so.
func (s *solver) byName(target string) []value {
	sym := parseSymbol(target)
	out := s.named2(sym.name, sym.containers)
	if len(out) == 0 && len(sym.containers) > 0 {
		out = s.named2(strings.TrimSpace(target), nil) // a name with a dot in it
	}
	if len(out) == 0 && len(sym.containers) == 0 {
		out = s.renamed(sym.name)
	}
	return out
}

// renamed is what imports and exports call by a name that nothing is defined
// under: export { Square as Sq }.
func (s *solver) renamed(name string) []value {
	var out []value
	for _, p := range s.g.users(name) {
		v := s.view(p)
		if v == nil || s.spent() {
			continue
		}
		for i := range v.Imports {
			for _, b := range v.Imports[i].Bindings {
				if b.As != name || b.Name == name || b.Kind == facts.Star {
					continue
				}
				for _, x := range s.follow(v, i, b) {
					if x.kind == vDef {
						x.how, x.dir = HowImport, ""
						out = append(out, x)
					}
				}
			}
		}
	}
	return dedupe(out)
}

func (s *solver) named2(name string, containers []string) []value {
	var out []value
	for _, p := range s.g.definers(name) {
		v := s.view(p)
		if v == nil {
			continue
		}
		v.defsNamed(name, func(i int32, d *facts.Def) bool {
			if !answerable(d) || !inContainers(v, i, containers) {
				return true
			}
			how := HowName
			if len(containers) > 0 {
				how = HowMember
			}
			out = append(out, value{vDef, p, i, "", how})
			return true
		})
	}
	return out
}

// answerable leaves out what nobody asks for by name.
func answerable(d *facts.Def) bool {
	switch d.Kind {
	case facts.Impl, facts.Parameter, facts.TypeParam:
		return false
	}
	return d.Flags&facts.Local == 0 || d.Kind.Callable() || d.Kind.TypeLike()
}

// inContainers reports whether a definition stands in the named containers, or
// in a file or folder of that name.
func inContainers(v *view, i int32, containers []string) bool {
	d := &v.Defs[i]
	for n := len(containers) - 1; n >= 0; n-- {
		want := containers[n]
		if c := containerOf(v, d); c != "" && v.same(c, want) {
			if d.Parent != facts.None {
				d = &v.Defs[d.Parent]
			}
			continue
		}
		stem := strings.TrimSuffix(path.Base(v.path), path.Ext(v.path))
		return stem == want || strings.HasSuffix(path.Dir(v.path), "/"+strings.Join(containers[:n+1], "/"))
	}
	return true
}

// file resolves a path of a query. A nil view without an error means that the
// answer already says why there is nothing.
func (s *solver) file(a *Answer, spelled string) (string, *view, error) {
	p, err := s.g.source.Resolve(spelled)
	if err != nil {
		return "", nil, &UsageError{err.Error()}
	}
	v := s.view(p)
	if v != nil {
		return p, v, nil
	}
	e := s.g.index.get(p)
	switch {
	case s.g.docs.has(p):
		a.Status, a.Why = NoInformation, spelled+" is not indexed as it is in the editor: it is too large, or too slow to parse"
	case e != nil && e.skip != "":
		a.Status, a.Why = NoInformation, fmt.Sprintf("%s is not indexed: %s", spelled, e.skip)
	case languageOf(p) == nil:
		a.Status, a.Why = NoInformation, "the index has no information about files like "+path.Base(p)
		if !s.g.index.isFile(p) && s.g.ready1() {
			return p, nil, &UsageError{"there is no file " + spelled + " in the workspace (or it is ignored)"}
		}
	case !s.g.ready1() || !s.g.indexer.idle():
		a.Status, a.Why = NotIndexed, spelled+" is not indexed yet"
	default:
		if r := s.g.rootOf(p); r == nil {
			return p, nil, &UsageError{spelled + " is outside of the workspace"}
		} else if ok, generated := r.judge(p, false); !ok || generated {
			a.Status, a.Why = NoInformation, spelled+" is ignored"
			return p, nil, nil
		}
		return p, nil, &UsageError{"there is no file " + spelled + " in the workspace"}
	}
	return p, nil, nil
}

func (g *Graph) ready1() bool {
	select {
	case <-g.ready:
		return true
	default:
		return false
	}
}
