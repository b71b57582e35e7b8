package graph

import (
	"container/list"
	"sync"

	"github.com/stella-ls/stella-ls/graph/facts"
	"github.com/stella-ls/stella-ls/graph/lang"
	"github.com/stella-ls/stella-ls/graph/store"
)

// view is the facts of one file as a query sees them: of the open buffer if
// there is one, else of the text that the index knows. It never changes.
type view struct {
	*facts.File
	path    string
	lang    *lang.Language
	version int32 // of the document; 0 for the disk
	open    bool
	text    []byte    // of the document; nil for the disk, see Graph.textOf
	key     store.Key // of the indexed text
}

// nameID is the number of a name in the file, or -1.
func (v *view) nameID(name string) int {
	if v.lang.FoldCase {
		return v.foldedID(name)
	}
	for i, n := range v.Names {
		if n == name {
			return i
		}
	}
	return -1
}

func (v *view) foldedID(name string) int {
	h := facts.FoldedHash(name)
	for i, n := range v.Names {
		if len(n) == len(name) && facts.FoldedHash(n) == h {
			return i
		}
	}
	return -1
}

// same reports whether two names are one in this language.
func (v *view) same(a, b string) bool {
	return a == b || v.lang.FoldCase && len(a) == len(b) && facts.FoldedHash(a) == facts.FoldedHash(b)
}

// defsNamed calls f for every definition with a name, until it returns false.
func (v *view) defsNamed(name string, f func(i int32, d *facts.Def) bool) {
	if v.lang.FoldCase {
		for i := range v.Defs {
			if v.same(v.DefName(int32(i)), name) && !f(int32(i), &v.Defs[i]) {
				return
			}
		}
		return
	}
	id := v.nameID(name)
	if id < 0 {
		return
	}
	for i := range v.Defs {
		if v.Defs[i].Name == uint32(id) && !f(int32(i), &v.Defs[i]) {
			return
		}
	}
}

// factsCache keeps decoded facts, bounded by what they take in memory.
type factsCache struct {
	mu    sync.Mutex
	max   int
	size  int
	order *list.List // of *cached, newest first
	items map[store.Key]*list.Element
}

type cached struct {
	key  store.Key
	file *facts.File
	cost int
}

func newFactsCache(bytes int) *factsCache {
	return &factsCache{max: bytes, order: list.New(), items: map[store.Key]*list.Element{}}
}

func (c *factsCache) get(k store.Key) *facts.File {
	c.mu.Lock()
	defer c.mu.Unlock()
	e := c.items[k]
	if e == nil {
		return nil
	}
	c.order.MoveToFront(e)
	return e.Value.(*cached).file
}

func (c *factsCache) put(k store.Key, f *facts.File) {
	cost := 512 + len(f.Occs)*20 + len(f.Defs)*104 + len(f.Names)*40 + len(f.Lines)*4 + len(f.Imports)*200 + len(f.Scopes)*16
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.items[k] != nil {
		return
	}
	c.items[k] = c.order.PushFront(&cached{k, f, cost})
	c.size += cost
	for c.size > c.max && c.order.Len() > 1 {
		e := c.order.Back()
		x := e.Value.(*cached)
		c.order.Remove(e)
		delete(c.items, x.key)
		c.size -= x.cost
	}
}
