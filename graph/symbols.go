package graph

import (
	"context"
	"sort"
	"strings"
	"sync"

	"github.com/stella-ls/stella-ls/graph/facts"
	"github.com/stella-ls/stella-ls/graph/store"
	"github.com/stella-ls/stella-ls/internal/workspace"
)

// candidate is a name that a file defines.
type candidate struct {
	name string
	path string
}

// symbolList holds the names that files define, for searching by resemblance.
// It is filled at the first search and then only where files changed.
type symbolList struct {
	mu    sync.Mutex
	names map[string]symbolsOf // by path
}

type symbolsOf struct {
	key   store.Key
	file  *facts.File // of an open buffer
	names []string
}

func (l *symbolList) list(ctx context.Context, g *Graph) []candidate {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.names == nil {
		l.names = map[string]symbolsOf{}
	}
	intern := map[string]string{}
	docs := g.docs.all()
	there := map[string]bool{}
	var out []candidate
	add := func(p string, have symbolsOf, fresh func() *facts.File) {
		if have.names == nil {
			if f := fresh(); f != nil {
				have.names = definedNames(f, intern)
			}
			l.names[p] = have
		}
		there[p] = true
		for _, n := range have.names {
			out = append(out, candidate{n, p})
		}
	}
	for _, e := range g.index.entries() {
		if e.skip != "" || docs[e.path] != nil {
			continue
		}
		if ctx.Err() != nil {
			return nil
		}
		have := l.names[e.path]
		if have.key != e.key || have.file != nil {
			have = symbolsOf{key: e.key}
		}
		add(e.path, have, func() *facts.File { return g.factsOf(e) })
	}
	for p, d := range docs {
		v := d.view()
		if v == nil {
			continue
		}
		have := l.names[p]
		if have.file != v.File {
			have = symbolsOf{file: v.File}
		}
		add(p, have, func() *facts.File { return v.File })
	}
	for p := range l.names {
		if !there[p] {
			delete(l.names, p)
		}
	}
	return out
}

func definedNames(f *facts.File, intern map[string]string) []string {
	out := []string{}
	seen := map[uint32]bool{}
	for i := range f.Defs {
		d := &f.Defs[i]
		if !answerable(d) || d.Flags&facts.Local != 0 || seen[d.Name] {
			continue
		}
		seen[d.Name] = true
		n := f.Names[d.Name]
		if s, ok := intern[n]; ok {
			n = s
		} else {
			intern[n] = n
		}
		out = append(out, n)
	}
	return out
}

// WorkspaceSymbols finds definitions whose names resemble query, best first.
func (g *Graph) WorkspaceSymbols(ctx context.Context, query string, limit int, keep func(workspace.Path) bool, e workspace.Encoding) ([]Location, error) {
	if limit <= 0 {
		limit = 100
	}
	s := g.newSolver(ctx)
	var top []scored
	for _, c := range g.symbols.list(ctx, g) {
		if n := similarity(c.name, query); n > 0 {
			top = append(top, scored{c, n})
		}
	}
	sort.SliceStable(top, func(i, j int) bool {
		if top[i].score != top[j].score {
			return top[i].score > top[j].score
		}
		if len(top[i].name) != len(top[j].name) {
			return len(top[i].name) < len(top[j].name)
		}
		return top[i].path < top[j].path
	})
	var out []Location
	for _, c := range top {
		if len(out) >= limit || ctx.Err() != nil {
			break
		}
		if keep != nil && !keep(workspace.Path(c.path)) {
			continue
		}
		v := s.view(c.path)
		if v == nil {
			continue
		}
		v.defsNamed(c.name, func(i int32, d *facts.Def) bool {
			if answerable(d) && d.Flags&facts.Local == 0 {
				if l, ok := s.location(value{vDef, c.path, i, "", HowName}, e); ok {
					out = append(out, l)
				}
			}
			return len(out) < limit
		})
	}
	return out, ctx.Err()
}

type scored struct {
	candidate
	score int
}

// similarity ranks a name for a query: equal, prefix, word starts, part, then
// letters in order. 0 is no match.
func similarity(name, query string) int {
	if query == "" {
		return 1
	}
	ln, lq := strings.ToLower(name), strings.ToLower(query)
	switch {
	case name == query:
		return 1000
	case ln == lq:
		return 900
	case strings.HasPrefix(name, query):
		return 800
	case strings.HasPrefix(ln, lq):
		return 700
	}
	if n := initials(name, lq); n > 0 {
		return 500 + n
	}
	if i := strings.Index(ln, lq); i >= 0 {
		return 400
	}
	j := 0
	for i := 0; i < len(ln) && j < len(lq); i++ {
		if ln[i] == lq[j] {
			j++
		}
	}
	if j == len(lq) {
		return 100
	}
	return 0
}

// initials matches a query against the starts of the words in a name.
func initials(name, lq string) int {
	j := 0
	for i := 0; i < len(name) && j < len(lq); i++ {
		start := i == 0 || name[i-1] == '_' || name[i] >= 'A' && name[i] <= 'Z' && !(name[i-1] >= 'A' && name[i-1] <= 'Z')
		c := name[i] | 0x20
		if start && c == lq[j] {
			j++
			for i+1 < len(name) && j < len(lq) && name[i+1]|0x20 == lq[j] {
				i++
				j++
			}
		}
	}
	if j == len(lq) {
		return 50
	}
	return 0
}
