package graph

import (
	"context"
	"sync"

	"github.com/stella-ls/stella-ls/graph/facts"
	"github.com/stella-ls/stella-ls/graph/store"
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
