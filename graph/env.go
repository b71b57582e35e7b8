package graph

import (
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/stella-ls/stella-ls/graph/facts"
	"github.com/stella-ls/stella-ls/graph/lang"
	"github.com/stella-ls/stella-ls/graph/store"
	"github.com/zeebo/xxh3"
)

// linker resolves imports and remembers the answers until a file that an answer
// looked at is created, changed or deleted.
type linker struct {
	g    *Graph
	mu   sync.Mutex // held while import rules run; they look only at memory and small files
	rule map[string]lang.Resolver
	memo map[string]*linked // by importing file
	// looks are the paths that the import being resolved asked about.
	looks    []uint32
	contents []uint32 // those whose facts were read
}

// linked are the resolved imports of one file.
type linked struct {
	file     *facts.File // of these facts, or with this key
	key      store.Key
	targets  []lang.Target
	looks    []uint32 // sorted hashes
	contents []uint32
	edges    []edge // see solver.edges
	hasEdges bool
}

func newLinker(g *Graph) *linker {
	return &linker{g: g, rule: map[string]lang.Resolver{}, memo: map[string]*linked{}}
}

func pathHash(p string) uint32 { return uint32(xxh3.HashString(p)) }

// targets resolves all imports of a file, in the order of its facts.
func (l *linker) targets(v *view) []lang.Target {
	if v.lang.Resolver == nil || len(v.Imports) == 0 {
		return make([]lang.Target, len(v.Imports))
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if m := l.memo[v.path]; m != nil && (m.file == v.File || !v.open && m.key == v.key && m.key != (store.Key{})) {
		return m.targets
	}
	l.looks, l.contents = nil, nil
	m := &linked{file: v.File, key: v.key, targets: make([]lang.Target, len(v.Imports))}
	r := l.resolver(v.lang)
	for i := range v.Imports {
		if v.Imports[i].Kind == facts.LocalExport {
			m.targets[i] = lang.Target{Status: lang.Resolved, File: v.path}
			continue
		}
		m.targets[i] = r.Import(v.path, &v.Imports[i])
	}
	m.looks, m.contents = sortedSet(l.looks), sortedSet(l.contents)
	l.memo[v.path] = m
	return m.targets
}

func sortedSet(v []uint32) []uint32 {
	slices.Sort(v)
	return slices.Compact(v)
}

// one resolves a module name that no import statement holds as such.
func (l *linker) one(v *view, im *facts.Import) lang.Target {
	if v.lang.Resolver == nil {
		return lang.Target{}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.resolver(v.lang).Import(v.path, im)
}

func (l *linker) member(v *lang.Language, t lang.Target, name string) lang.Target {
	if v.Resolver == nil {
		return lang.Target{}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.resolver(v).Member(t, name)
}

func (l *linker) begin(v *view, root string, at uint32) lang.Target {
	if v.lang.Resolver == nil {
		return lang.Target{}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.resolver(v.lang).Begin(v.path, root, at)
}

func (l *linker) resolver(la *lang.Language) lang.Resolver {
	f := la.FamilyName()
	r := l.rule[f]
	if r == nil {
		r = la.Resolver(l)
		l.rule[f] = r
	}
	return r
}

// exists tells that a file appeared or is gone: what looked for it is resolved
// again when it is next asked for. It returns the files that this concerns.
func (l *linker) exists(p string) []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	h, dir := pathHash(p), pathHash(path.Dir(p))
	if l.config(p, true) {
		return nil
	}
	var out []string
	for from, m := range l.memo {
		if facts.Has(m.looks, h) || facts.Has(m.looks, dir) {
			delete(l.memo, from)
			out = append(out, from)
		}
	}
	return out
}

// changed tells that a file's content changed.
func (l *linker) changed(p string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.config(p, false) {
		return
	}
	h := pathHash(p)
	for from, m := range l.memo {
		if facts.Has(m.contents, h) {
			delete(l.memo, from)
		}
	}
}

// config starts the rules of a language anew when one of its manifests moved.
func (l *linker) config(p string, existence bool) bool {
	hit := false
	for f, r := range l.rule {
		if r.Configs(p, existence) {
			delete(l.rule, f)
			hit = true
		}
	}
	if hit {
		clear(l.memo)
	}
	return hit
}

// reset forgets everything.
func (l *linker) reset() {
	l.mu.Lock()
	defer l.mu.Unlock()
	clear(l.rule)
	clear(l.memo)
}

// cachedEdges are the edges that were found for these very targets.
func (l *linker) cachedEdges(v *view, targets []lang.Target) ([]edge, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	m := l.memo[v.path]
	if m == nil || !m.hasEdges || len(targets) != len(m.targets) || len(targets) > 0 && &targets[0] != &m.targets[0] {
		return nil, false
	}
	return m.edges, true
}

func (l *linker) keepEdges(v *view, targets []lang.Target, es []edge) {
	l.mu.Lock()
	defer l.mu.Unlock()
	m := l.memo[v.path]
	if m == nil || len(targets) != len(m.targets) || len(targets) > 0 && &targets[0] != &m.targets[0] {
		return
	}
	m.edges, m.hasEdges = es, true
}

// edgesOf are the cached edges of a file on disk, without reading its facts.
func (l *linker) edgesOf(p string, e *entry) ([]edge, bool) {
	if e == nil || l.g.docs.has(p) {
		return nil, false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	m := l.memo[p]
	if m == nil || !m.hasEdges || m.key != e.key {
		return nil, false
	}
	return m.edges, true
}

func (l *linker) look(p string) { l.looks = append(l.looks, pathHash(p)) }

// The methods of lang.Env. They run with l.mu held.

func (l *linker) Root(p string) string {
	if r := l.g.rootOf(p); r != nil {
		return r.dir
	}
	return path.Dir(p)
}

func (l *linker) IsFile(p string) bool {
	l.look(p)
	return l.g.index.isFile(p) || l.g.docs.has(p)
}

func (l *linker) IsDir(p string) bool {
	l.look(p)
	return l.g.index.isDir(p)
}

func (l *linker) Config(p string) []byte {
	l.look(p)
	if !l.g.index.isFile(p) {
		return nil
	}
	b, err := l.g.source.Read(p, maxConfig)
	if err != nil {
		return nil
	}
	return b
}

func (l *linker) Named(root, name string) []string { return l.g.index.filesNamed(root, name) }

func (l *linker) Entries(dir string) []string {
	l.look(dir)
	return l.g.index.names(dir)
}

func (l *linker) Facts(p string) *facts.File {
	l.look(p)
	l.contents = append(l.contents, pathHash(p))
	v := l.g.view(p)
	if v == nil {
		return nil
	}
	return v.File
}

// maxConfig bounds a manifest, in bytes.
const maxConfig = 1 << 20

// relTo is p relative to dir, slash separated; p itself when it is not below.
func relTo(dir, p string) string {
	if r, ok := strings.CutPrefix(p, strings.TrimSuffix(dir, "/")+"/"); ok {
		return r
	}
	return p
}
