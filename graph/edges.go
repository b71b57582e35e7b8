package graph

import (
	"path"
	"slices"
	"sort"
	"strings"
	"sync"

	"github.com/stella-ls/stella-ls/graph/facts"
	"github.com/stella-ls/stella-ls/graph/lang"
	"github.com/stella-ls/stella-ls/internal/workspace"
)

// edge is an import that leads to a file (or a package's directory).
type edge struct {
	imp  int // index of the import
	to   string
	dir  bool
	name []string // bindings that go there
}

// edges are where the imports of a file lead: to the module that is named, or
// to the submodules that the names are.
func (s *solver) edges(v *view) []edge {
	if v.lang.Resolver == nil {
		return nil
	}
	targets := s.g.linker.targets(v)
	if es, ok := s.g.linker.cachedEdges(v, targets); ok {
		return es
	}
	var out []edge
	add := func(i int, x value, name string) {
		to, dir := x.path, false
		if to == "" {
			to, dir = x.dir, true
		}
		if to == "" || x.kind == vExternal {
			return
		}
		for j := range out {
			if out[j].imp == i && out[j].to == to {
				out[j].name = append(out[j].name, name)
				return
			}
		}
		out = append(out, edge{i, to, dir, []string{name}})
	}
	for i := range v.Imports {
		im := &v.Imports[i]
		if im.Kind == facts.LocalExport || targets[i].Status != lang.Resolved {
			continue
		}
		for _, m := range s.module(v, targets[i]) {
			if len(im.Bindings) == 0 {
				add(i, m, "")
			}
			for _, b := range im.Bindings {
				to := m
				if b.Kind == facts.Named {
					r := s.follow(v, i, b)
					if len(r) > 0 && r[0].kind == vModule && r[0].def == facts.None {
						to = r[0]
					} else if len(r) == 0 && m.path == "" && v.lang.Package == nil {
						continue // a folder holds no such module, and nothing else
					}
				}
				add(i, to, b.As)
			}
		}
	}
	s.g.linker.keepEdges(v, targets, out)
	return out
}

func (s *solver) imports(a *Answer, q Query) error {
	if s.folder(a, q) {
		return nil
	}
	_, v, err := s.file(a, q.Target)
	if v == nil || err != nil || !s.hasImports(a, v) {
		return err
	}
	s.importRows(a, v)
	if len(a.Results) == 0 {
		a.Why = "it imports nothing"
	}
	return nil
}

// importRows adds the imports of one file to an answer.
func (s *solver) importRows(a *Answer, v *view) {
	targets := s.g.linker.targets(v)
	byImport := map[int][]edge{}
	for _, e := range s.edges(v) {
		byImport[e.imp] = append(byImport[e.imp], e)
	}
	for i := range v.Imports {
		im := &v.Imports[i]
		if im.Kind == facts.LocalExport {
			continue
		}
		r := Result{Specifier: im.Spec, Status: statusOf(targets[i]), Why: targets[i].Why, Kind: importKind(im),
			Range: wire(s.rng(v, im.Start, im.End, workspace.UTF16)), Name: boundNames(im)}
		if r.Specifier == "" {
			r.Specifier = boundNames(im)
		}
		es := byImport[i]
		if len(es) == 0 {
			if r.Status == "resolved" {
				r.Status, r.Why = "unresolved", "it leads to nothing in the index"
			}
			a.Results = append(a.Results, r)
			continue
		}
		for _, e := range es {
			x := r
			x.Path, x.File = s.display(e.to), workspace.Path(e.to)
			x.Name = listed(e.name)
			a.Results = append(a.Results, x)
		}
	}
}

func importKind(im *facts.Import) string {
	switch im.Kind {
	case facts.ReExport:
		return "re-export"
	case facts.ImportDynamic:
		return "dynamic import"
	case facts.ModDecl:
		return "module"
	}
	return "import"
}

func boundNames(im *facts.Import) string {
	var names []string
	for _, b := range im.Bindings {
		switch {
		case b.Kind == facts.Star:
			names = append(names, "*")
		case b.As != "":
			names = append(names, b.As)
		}
	}
	return listed(names)
}

// listed joins the names that there are, each once.
func listed(names []string) string {
	var out []string
	for _, n := range names {
		if n != "" && !slices.Contains(out, n) {
			out = append(out, n)
		}
	}
	return strings.Join(out, ", ")
}

// importers finds who imports a file: directly, or through a re-export of it.
func (s *solver) importers(a *Answer, q Query) error {
	if s.folder(a, q) {
		return nil
	}
	p, v, err := s.file(a, q.Target)
	if v == nil || err != nil || !s.hasImports(a, v) {
		return err
	}
	direct, through := s.importersOf(p, v)
	s.importerRows(a, direct, through)
	return nil
}

// importerRows adds importers to an answer: the direct ones first.
func (s *solver) importerRows(a *Answer, direct, through []importer) {
	for _, list := range [][]importer{direct, through} {
		for _, m := range list {
			im := &m.v.Imports[m.imp]
			r := Result{Path: s.display(m.v.path), File: workspace.Path(m.v.path), Specifier: im.Spec, Kind: importKind(im), Name: m.names, How: HowImport,
				Range: wire(s.rng(m.v, im.Start, im.End, workspace.UTF16)), Status: "resolved"}
			if m.via != "" {
				r.Why = "via " + *s.display(m.via)
			}
			a.Results = append(a.Results, r)
		}
	}
	if len(a.Results) == 0 {
		a.Why = "no file of the index imports it"
	}
}

type importer struct {
	v     *view
	imp   int
	names string
	via   string
}

// importersOf lists direct importers, and those that get one of the file's names
// through a file that re-exports it.
func (s *solver) importersOf(p string, v *view) (direct, through []importer) {
	reverse := s.reverse(v.lang)
	seen := map[string]bool{}
	add := func(to string, isDir bool) {
		for _, e := range reverse[to] {
			if o := s.view(e.from); o != nil && (e.dir == isDir) && e.from != p {
				direct = append(direct, importer{v: o, imp: e.imp, names: listed(e.name)})
				seen[e.from] = true
			}
		}
	}
	add(p, false)
	add(path.Dir(p), true)
	for _, d := range direct {
		if !reexports(d.v, d.imp) {
			continue
		}
		for _, e := range reverse[d.v.path] {
			o := s.view(e.from)
			if o == nil || e.from == p || seen[e.from] || s.spent() {
				continue
			}
			if s.brings(o, e.imp, p) {
				through = append(through, importer{v: o, imp: e.imp, names: listed(e.name), via: d.v.path})
				seen[e.from] = true
			}
		}
	}
	return direct, through
}

func reexports(v *view, imp int) bool {
	for _, b := range v.Imports[imp].Bindings {
		if b.Exports {
			return true
		}
	}
	return false
}

// brings reports whether a name of an import is defined in a file.
func (s *solver) brings(v *view, imp int, p string) bool {
	for _, b := range v.Imports[imp].Bindings {
		if b.Kind == facts.Star {
			continue
		}
		for _, x := range s.follow(v, imp, b) {
			if x.path == p {
				return true
			}
			// The module as a whole brings all it re-exports.
			if x.kind == vModule && b.Kind == facts.Whole {
				return true
			}
		}
	}
	return false
}

// reverseEdge is an edge seen from its end.
type reverseEdge struct {
	from string
	edge
}

// reverse collects the edges of all files of a language's family, on two cores:
// the first time after a start every file's facts are read for it.
func (s *solver) reverse(l *lang.Language) map[string][]reverseEdge {
	family := l.FamilyName()
	var paths []string
	docs := s.g.docs.all()
	for _, e := range s.g.index.entries() {
		if e.skip == "" && docs[e.path] == nil && e.lang.FamilyName() == family {
			paths = append(paths, e.path)
		}
	}
	for p, d := range docs {
		if d.lang.FamilyName() == family {
			paths = append(paths, p)
		}
	}
	sort.Strings(paths)
	n := cap(s.g.workers.free)
	parts := make([][]reverseEdge, n)
	var wg sync.WaitGroup
	for k := range n {
		wg.Go(func() {
			for i := k; i < len(paths); i += n {
				own := s.g.newSolver(s.ctx) // one for each file: nothing piles up
				if s.ctx.Err() != nil {
					return
				}
				if es, ok := s.g.linker.edgesOf(paths[i], s.g.index.get(paths[i])); ok {
					for _, e := range es {
						parts[k] = append(parts[k], reverseEdge{paths[i], e})
					}
					continue
				}
				if v := own.view(paths[i]); v != nil {
					for _, e := range own.edges(v) {
						parts[k] = append(parts[k], reverseEdge{paths[i], e})
					}
				}
			}
		})
	}
	wg.Wait()
	out := map[string][]reverseEdge{}
	for _, list := range parts {
		for _, e := range list {
			out[e.to] = append(out[e.to], e)
		}
	}
	for _, list := range out {
		sort.Slice(list, func(i, j int) bool {
			if list[i].from != list[j].from {
				return list[i].from < list[j].from
			}
			return list[i].imp < list[j].imp
		})
	}
	return out
}

// neighbors are the files on both ends of imports.
func (s *solver) neighbors(a *Answer, q Query) error {
	if s.folder(a, q) {
		return nil
	}
	p, v, err := s.file(a, q.Target)
	if v == nil || err != nil || !s.hasImports(a, v) {
		return err
	}
	direct, through := s.importersOf(p, v)
	s.neighborRows(a, p, s.edges(v), direct, through)
	return nil
}

// neighborRows adds the other ends of imports to an answer.
func (s *solver) neighborRows(a *Answer, p string, edges []edge, direct, through []importer) {
	kinds := map[string]string{}
	names := map[string][]string{}
	for _, e := range edges {
		kinds[e.to] = "imports"
		names[e.to] = append(names[e.to], e.name...)
	}
	for _, m := range direct {
		if kinds[m.v.path] == "imports" {
			kinds[m.v.path] = "imports and imported by"
		} else if kinds[m.v.path] == "" {
			kinds[m.v.path] = "imported by"
		}
		names[m.v.path] = append(names[m.v.path], m.names)
	}
	for _, m := range through {
		if kinds[m.v.path] == "" {
			kinds[m.v.path] = "imported by, via " + *s.display(m.via)
			names[m.v.path] = append(names[m.v.path], m.names)
		}
	}
	for _, to := range sortedStrings(kinds) {
		if to == p {
			continue
		}
		a.Results = append(a.Results, Result{Path: s.display(to), File: workspace.Path(to), Kind: kinds[to], Name: listed(names[to]), How: HowImport})
	}
	if len(a.Results) == 0 {
		a.Why = "it imports no file of the workspace, and none imports it"
	}
}

func sortedStrings(m map[string]string) []string {
	out := make([]string, 0, len(m))
	for k := range m {
		out = append(out, k)
	}
	sort.Strings(out)
	return out
}
