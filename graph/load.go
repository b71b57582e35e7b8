package graph

import (
	"context"

	"github.com/stella-ls/stella-ls/graph/store"
)

// loaded waits until what was stored is in memory.
func (g *Graph) loaded(ctx context.Context) {
	select {
	case <-g.indexer.loadDone:
	case <-ctx.Done():
	}
}

// load brings back what an earlier session stored.
func (g *Graph) load(ctx context.Context) {
	loaded := false
	for _, r := range g.allRoots() {
		s, ws := g.storeOf(r)
		if s == nil {
			continue
		}
		_, passed, err := s.Workspace(ctx, r.dir, g.o.Clock())
		if err != nil {
			g.damaged(r, err)
			continue
		}
		if passed.IsZero() {
			continue
		}
		var es []*entry
		err = s.Load(ctx, ws, func(row store.Row, h store.Head) {
			p := r.dir + "/" + row.Path
			if l := languageOf(p); l != nil {
				es = append(es, &entry{path: p, root: r, lang: l, key: row.Key, sig: row.Sig, names: h.Names, defs: h.Defs, skip: row.Skip, broken: h.Broken})
			}
		})
		if err != nil {
			g.damaged(r, err)
			continue
		}
		g.index.putAll(es)
		for _, e := range es {
			g.index.see(e.path)
		}
		g.stateMu.Lock()
		g.state.lastPass = passed
		g.stateMu.Unlock()
		loaded = loaded || len(es) > 0
	}
	if loaded {
		g.setReady()
	}
}

// check looks for damage while the first answers are given.
func (g *Graph) check(ctx context.Context) {
	for _, r := range g.allRoots() {
		s, _ := g.storeOf(r)
		if s == nil {
			continue
		}
		if err := s.Check(ctx); err != nil && ctx.Err() == nil {
			g.damaged(r, err)
			continue
		}
		if err := s.Clean(ctx, g.o.Clock()); err != nil && ctx.Err() == nil {
			g.damaged(r, err)
		}
	}
}

// headMoved reports whether git's HEAD is not what it was at the last pass.
func (g *Graph) headMoved() bool {
	for _, r := range g.allRoots() {
		if gitHead(r.gitDir, r.gitCommon, r.readRuleSet) != r.head {
			return true
		}
	}
	return false
}
