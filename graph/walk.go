package graph

import (
	"bytes"
	"context"
	"io/fs"
	"os"
	"sort"
	"strings"

	"github.com/stella-ls/stella-ls/graph/lang"
	"github.com/stella-ls/stella-ls/graph/lang/all"
	"github.com/stella-ls/stella-ls/graph/store"
)

// Limits of what is indexed.
const (
	maxFile     = 4 << 20 // bytes
	maxLine     = 2000    // bytes; with maxMeanLine
	maxMeanLine = 500     // bytes
	maxFiles    = 400_000 // of one root
	maxMinified = 512_000 // bytes of an open buffer that would not be indexed as a file
)

// Reasons for which a file has no facts.
const (
	skipLarge     = "too large"
	skipBinary    = "binary"
	skipMinified  = "minified"
	skipGenerated = "generated"
	skipUnread    = "unreadable"
	skipSlow      = "too slow to parse"
)

func languageOf(p string) *lang.Language { return all.For(p) }

// found is a file that a walk came upon.
type found struct {
	path      string
	sig       store.Sig
	lang      *lang.Language // nil for what is not code
	generated bool
}

// walked is what a walk found.
type walked struct {
	files []found
	dirs  []string
	cut   bool // maxFiles was reached
}

// walker walks a root, or a directory of it, by the ignore rules.
type walker struct {
	ctx  context.Context
	root *root
	out  walked
}

// walk lists what is below dir (the root itself or a directory in it).
func (r *root) walk(ctx context.Context, dir string) walked {
	w := &walker{ctx: ctx, root: r}
	rs := r.baseRules
	var parts []string
	if rel := relTo(r.dir, dir); dir != r.dir {
		for _, name := range strings.Split(rel, "/") {
			parts = append(parts, name)
			if rs.ignored(parts, true) || nestedCheckout(r.dir+"/"+strings.Join(parts, "/")) {
				return walked{}
			}
			rs = rs.enter(r.dir+"/"+strings.Join(parts, "/"), parts)
		}
	}
	w.dir(dir, parts, rs)
	return w.out
}

func (w *walker) dir(dir string, parts []string, rs *rules) {
	if w.ctx.Err() != nil || w.out.cut {
		return
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return
	}
	w.out.dirs = append(w.out.dirs, dir)
	for _, e := range entries {
		sub := append(parts, e.Name())
		p := dir + "/" + e.Name()
		switch {
		case e.IsDir():
			if rs.ignored(sub, true) || nestedCheckout(p) {
				continue
			}
			w.dir(p, sub, rs.enter(p, sub))
		case e.Type().IsRegular():
			if rs.ignored(sub, false) {
				continue
			}
			w.file(p, e, sub, rs)
		}
		if w.out.cut {
			return
		}
	}
}

func (w *walker) file(p string, e fs.DirEntry, parts []string, rs *rules) {
	f := found{path: p, lang: languageOf(p)}
	if f.lang != nil {
		fi, err := e.Info()
		if err != nil {
			return
		}
		f.sig = signature(fi)
		f.generated = rs.isGenerated(parts)
	}
	if len(w.out.files) >= maxFiles {
		w.out.cut = true
		return
	}
	w.out.files = append(w.out.files, f)
}

// nestedCheckout reports whether a directory is a repository of its own.
func nestedCheckout(dir string) bool {
	_, err := os.Lstat(dir + "/.git")
	return err == nil
}

// judge says whether a path below the root would be walked to; generated as in found.
func (r *root) judge(p string, isDir bool) (ok, generated bool) {
	rel := relTo(r.dir, p)
	if rel == p {
		return p == r.dir, false
	}
	rs := r.baseRules
	var parts []string
	names := strings.Split(rel, "/")
	for i, name := range names {
		parts = append(parts, name)
		last := i == len(names)-1
		if rs.ignored(parts, !last || isDir) {
			return false, false
		}
		if !last || isDir {
			d := r.dir + "/" + strings.Join(parts, "/")
			if nestedCheckout(d) {
				return false, false
			}
			rs = rs.enter(d, parts)
		}
	}
	return true, rs.isGenerated(parts)
}

// unfit says why a text is not indexed; empty when it is.
func unfit(text []byte) string {
	head := text[:min(len(text), 8000)]
	if bytes.IndexByte(head, 0) >= 0 {
		return skipBinary
	}
	longest, count := 0, 1
	for rest := text; ; count++ {
		i := bytes.IndexByte(rest, '\n')
		if i < 0 {
			longest = max(longest, len(rest))
			break
		}
		longest = max(longest, i)
		rest = rest[i+1:]
	}
	if longest > maxLine && len(text)/count > maxMeanLine {
		return skipMinified
	}
	return ""
}

func sortFound(fs []found) {
	sort.Slice(fs, func(i, j int) bool { return fs[i].path < fs[j].path })
}
