package graph

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path"
	"strings"

	"github.com/stella-ls/stella-ls/graph/store"
)

// root is one root of the workspace with its store.
type root struct {
	dir         string
	gitDir      string
	gitCommon   string
	baseRules   *rules
	store       *store.Store // nil: memory only
	ws          int64
	head        string // git's HEAD when the last pass began
	openOnly    bool   // a home directory: only open files are looked at
	readRuleSet func(string) []byte
}

// setRoots follows the workspace's roots. A store that cannot be opened costs
// the memory of earlier sessions, never the index.
func (g *Graph) setRoots(ctx context.Context) {
	g.rootsMu.Lock()
	defer g.rootsMu.Unlock()
	old := map[string]*root{}
	for _, r := range g.roots {
		old[r.dir] = r
	}
	var roots []*root
	for _, dir := range g.source.Roots() {
		dir = strings.TrimSuffix(dir, "/")
		if r := old[dir]; r != nil {
			roots = append(roots, r)
			delete(old, dir)
			continue
		}
		roots = append(roots, g.openRoot(ctx, dir))
	}
	g.roots = roots
	for _, r := range old {
		for _, p := range g.index.below(r.dir) {
			g.index.drop(p)
			g.index.unsee(p)
		}
		if r.store != nil {
			_ = r.store.Close()
		}
	}
	if len(old) > 0 {
		g.linker.reset()
	}
}

func (g *Graph) openRoot(ctx context.Context, dir string) *root {
	r := &root{dir: dir, openOnly: tooWide(dir)}
	r.readRuleSet = func(p string) []byte {
		b, err := g.source.Read(p, maxRules)
		if err != nil {
			return nil
		}
		return b
	}
	r.gitDir, r.gitCommon = gitDirs(dir, r.readRuleSet)
	r.baseRules = rootRules(dir, r.gitCommon, r.readRuleSet)
	if r.openOnly {
		g.o.Notice(fmt.Sprintf("%s is not indexed as a whole: open a project's folder for that", dir))
		return r
	}
	if g.o.CacheDir != "" {
		g.openStore(ctx, r)
	}
	return r
}

// tooWide reports whether a directory holds more than one project for sure.
func tooWide(dir string) bool {
	home, err := os.UserHomeDir()
	return path.Dir(dir) == dir || dir == "" || err == nil && dir == home
}

// openStore opens the database that all worktrees of the repository share.
func (g *Graph) openStore(ctx context.Context, r *root) {
	id := r.gitCommon
	if id == "" {
		id = r.dir
	}
	sum := sha256.Sum256([]byte(id))
	name := path.Base(strings.TrimSuffix(id, "/.git")) + "-" + hex.EncodeToString(sum[:6])
	for range 2 {
		s, aside, err := store.Open(ctx, g.o.CacheDir, name)
		if aside != "" {
			g.tellAside(r, aside)
		}
		if err == nil {
			if r.ws, _, err = s.Workspace(ctx, r.dir, g.o.Clock()); err == nil {
				r.store = s
				return
			}
			if errors.Is(err, store.ErrDamaged) && s.SetAside() == nil {
				g.tellAside(r, err.Error())
				continue
			}
			_ = s.Close()
		}
		g.o.Log.Warn("graph: no cache", "err", err)
		g.o.Notice("The code index of " + r.dir + " is kept in memory only: " + err.Error())
		return
	}
}

func (g *Graph) tellAside(r *root, why string) {
	g.stateMu.Lock()
	g.state.asideWhy = why
	g.stateMu.Unlock()
	g.o.Log.Warn("graph: index set aside", "root", r.dir, "why", why)
	g.o.Notice("The stored code index of " + r.dir + " was damaged (" + why + "). It was set aside and is being built again.")
}

// damaged sets a store aside, once, and has everything indexed again. It is
// called by whoever meets the damage.
func (g *Graph) damaged(r *root, err error) {
	if !errors.Is(err, store.ErrDamaged) {
		if g.closed.Load() || errors.Is(err, context.Canceled) {
			return
		}
		g.o.Log.Warn("graph: cache", "root", r.dir, "err", err)
		return
	}
	g.rootsMu.Lock()
	s := r.store
	r.store = nil
	g.rootsMu.Unlock()
	if s == nil {
		return
	}
	g.tellAside(r, err.Error())
	if err := s.SetAside(); err != nil {
		g.o.Log.Warn("graph: cannot set the index aside", "err", err)
		return
	}
	ctx := context.Background()
	fresh := &root{dir: r.dir, gitCommon: r.gitCommon}
	g.openStore(ctx, fresh)
	g.rootsMu.Lock()
	r.store, r.ws = fresh.store, fresh.ws
	g.rootsMu.Unlock()
	g.indexer.rebuild()
}

// storeOf is the root's store and workspace number at this moment.
func (g *Graph) storeOf(r *root) (*store.Store, int64) {
	g.rootsMu.RLock()
	defer g.rootsMu.RUnlock()
	return r.store, r.ws
}

func (g *Graph) allRoots() []*root {
	g.rootsMu.RLock()
	defer g.rootsMu.RUnlock()
	return g.roots
}

// rootOf is the innermost root that holds a path, or nil.
func (g *Graph) rootOf(p string) *root {
	var best *root
	for _, r := range g.allRoots() {
		if (p == r.dir || strings.HasPrefix(p, r.dir+"/")) && (best == nil || len(r.dir) > len(best.dir)) {
			best = r
		}
	}
	return best
}
