package graph

import (
	"fmt"
	"path"
	"slices"
	"sort"
	"strings"
)

// A folder is what an import of a Go package or of a namespace package leads to, so
// that answers name folders; whatever an answer names can be asked about.

// folder answers a question about a folder; false leaves it to others.
func (s *solver) folder(a *Answer, q Query) bool {
	dir, err := s.g.source.Resolve(q.Target)
	if err != nil || !s.g.index.isDir(dir) {
		return false
	}
	files := s.filesIn(dir)
	if len(files) == 0 {
		a.Status, a.Why = NoInformation, q.Target+" is a folder that holds no file with imports"
		return true
	}
	switch q.Op {
	case OpImports:
		s.folderImports(a, files)
	case OpImporters:
		s.importerRows(a, s.importersOfFolder(dir, files), nil)
	case OpNeighbors:
		var out []edge
		for _, v := range files {
			out = append(out, s.edges(v)...)
		}
		out = slices.DeleteFunc(out, func(e edge) bool { return e.to == dir || path.Dir(e.to) == dir })
		s.neighborRows(a, dir, out, s.importersOfFolder(dir, files), nil)
	}
	return true
}

// filesIn are the files of a folder itself, or, where there are none, of those below
// it, as far as they can import.
func (s *solver) filesIn(dir string) []*view {
	below := s.g.index.below(dir)
	sort.Strings(below)
	var own, deep []*view
	for _, p := range below {
		v := s.view(p)
		if v == nil || v.lang.Resolver == nil || s.spent() {
			continue
		}
		if path.Dir(p) == dir {
			own = append(own, v)
		} else if len(own) == 0 {
			deep = append(deep, v)
		}
	}
	if len(own) > 0 {
		return own
	}
	return deep
}

// folderImports lists each import once, whichever files have it.
func (s *solver) folderImports(a *Answer, files []*view) {
	for _, v := range files {
		s.importRows(a, v)
	}
	seen := map[string]bool{}
	a.Results = slices.DeleteFunc(a.Results, func(r Result) bool {
		key := fmt.Sprint(r.Specifier, "\x00", r.File, "\x00", r.Name)
		was := seen[key]
		seen[key] = true
		return was
	})
	for i := range a.Results {
		a.Results[i].Range = nil // in one of several files
	}
	if len(a.Results) == 0 {
		a.Why = "its files import nothing"
	}
}

// importersOfFolder are the files outside that import the folder or one of its files.
func (s *solver) importersOfFolder(dir string, files []*view) []importer {
	var out []importer
	families := map[string]bool{}
	for _, v := range files {
		if families[v.lang.FamilyName()] {
			continue
		}
		families[v.lang.FamilyName()] = true
		for to, edges := range s.reverse(v.lang) {
			if to != dir && !strings.HasPrefix(to, dir+"/") {
				continue
			}
			for _, e := range edges {
				if o := s.view(e.from); o != nil && !strings.HasPrefix(e.from, dir+"/") {
					out = append(out, importer{v: o, imp: e.imp, names: listed(e.name)})
				}
			}
		}
	}
	sort.Slice(out, func(i, j int) bool {
		if out[i].v.path != out[j].v.path {
			return out[i].v.path < out[j].v.path
		}
		return out[i].imp < out[j].imp
	})
	return out
}
