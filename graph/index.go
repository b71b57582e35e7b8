package graph

import (
	"path"
	"sort"
	"strings"
	"sync"

	"github.com/stella-ls/stella-ls/graph/facts"
	"github.com/stella-ls/stella-ls/graph/lang"
	"github.com/stella-ls/stella-ls/graph/store"
)

// entry is a file with a language, as the index knows it. Entries never change;
// a new one takes the place of an old one.
type entry struct {
	path   string // absolute, slash separated
	root   *root
	lang   *lang.Language
	key    store.Key
	sig    store.Sig
	names  []uint32
	defs   []uint32
	skip   string // why there are no facts
	broken bool
}

// index is what is kept in memory of all files: paths, and hashes of names. For a
// million lines that is a few megabytes.
type index struct {
	mu    sync.RWMutex
	files map[string]*entry
	// all are all files that are not ignored, code or not, and their directories.
	all  map[string]bool
	dirs map[string]map[string]bool // directory -> names in it; true for a directory
	list []*entry                   // files in path order; nil when it must be made anew
	gen  uint64                     // grows with every change
}

func newIndex() *index {
	return &index{files: map[string]*entry{}, all: map[string]bool{}, dirs: map[string]map[string]bool{}}
}

// get is the entry of a path, or nil.
func (x *index) get(p string) *entry {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return x.files[p]
}

// entries are all entries in path order. The slice must not be changed.
func (x *index) entries() []*entry {
	x.mu.RLock()
	l := x.list
	x.mu.RUnlock()
	if l != nil {
		return l
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.list == nil {
		x.list = make([]*entry, 0, len(x.files))
		for _, e := range x.files {
			x.list = append(x.list, e)
		}
		sort.Slice(x.list, func(i, j int) bool { return x.list[i].path < x.list[j].path })
	}
	return x.list
}

// put adds or replaces an entry and returns the old one.
func (x *index) put(e *entry) *entry {
	x.mu.Lock()
	defer x.mu.Unlock()
	old := x.files[e.path]
	x.files[e.path] = e
	x.gen++
	if old != nil && x.list != nil {
		i := sort.Search(len(x.list), func(i int) bool { return x.list[i].path >= e.path })
		l := append([]*entry(nil), x.list...)
		l[i] = e
		x.list = l
		return old
	}
	x.list = nil
	return old
}

// putAll adds many entries at once.
func (x *index) putAll(es []*entry) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, e := range es {
		x.files[e.path] = e
	}
	x.list = nil
	x.gen++
}

// drop removes an entry.
func (x *index) drop(p string) *entry {
	x.mu.Lock()
	defer x.mu.Unlock()
	old := x.files[p]
	delete(x.files, p)
	x.list = nil
	x.gen++
	return old
}

// see notes that a file exists; it reports whether that is news.
func (x *index) see(p string) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.all[p] {
		return false
	}
	x.all[p] = true
	x.gen++
	for child, dir := p, path.Dir(p); ; child, dir = dir, path.Dir(dir) {
		m := x.dirs[dir]
		if m == nil {
			m = map[string]bool{}
			x.dirs[dir] = m
		}
		name, isDir := path.Base(child), child != p
		if is, ok := m[name]; ok && is == isDir {
			break
		}
		m[name] = isDir
		if dir == child || dir == "/" || dir == "." {
			break
		}
	}
	return true
}

// unsee notes that a file is gone, and directories that became empty with it.
func (x *index) unsee(p string) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	if !x.all[p] {
		return false
	}
	delete(x.all, p)
	x.gen++
	for child, dir := p, path.Dir(p); ; child, dir = dir, path.Dir(dir) {
		m := x.dirs[dir]
		delete(m, path.Base(child))
		if len(m) > 0 || dir == child {
			break
		}
		delete(x.dirs, dir)
	}
	return true
}

func (x *index) isFile(p string) bool {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return x.all[p]
}

func (x *index) isDir(p string) bool {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return x.dirs[p] != nil
}

func (x *index) names(dir string) []string {
	x.mu.RLock()
	defer x.mu.RUnlock()
	out := make([]string, 0, len(x.dirs[dir]))
	for n := range x.dirs[dir] {
		out = append(out, n)
	}
	sort.Strings(out)
	return out
}

// below are the known files under a directory.
func (x *index) below(dir string) []string {
	x.mu.RLock()
	defer x.mu.RUnlock()
	var out []string
	prefix := strings.TrimSuffix(dir, "/") + "/"
	var walk func(d string)
	walk = func(d string) {
		for n, isDir := range x.dirs[d] {
			if isDir {
				walk(d + "/" + n)
			} else {
				out = append(out, d+"/"+n)
			}
		}
	}
	walk(strings.TrimSuffix(prefix, "/"))
	return out
}

// filesNamed are the files with a base name below a root, in path order.
func (x *index) filesNamed(root, base string) []string {
	x.mu.RLock()
	defer x.mu.RUnlock()
	var out []string
	for d, m := range x.dirs {
		if isDir, ok := m[base]; ok && !isDir && (d == root || strings.HasPrefix(d, root+"/")) {
			out = append(out, d+"/"+base)
		}
	}
	sort.Strings(out)
	return out
}

// with are the entries that have h in one of their lists: the names their text
// holds, or those they define.
func (x *index) with(h uint32, list func(*entry) []uint32) []*entry {
	var out []*entry
	for _, e := range x.entries() {
		if facts.Has(list(e), h) {
			out = append(out, e)
		}
	}
	return out
}
