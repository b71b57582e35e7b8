package graph

import (
	"context"
	"errors"
	"os"
	"path"
	"sync"
	"time"

	"github.com/stella-ls/stella-ls/graph/extract"
	"github.com/stella-ls/stella-ls/graph/internal/sitter"
	"github.com/stella-ls/stella-ls/internal/workspace"
)

// pass looks at every file of every root.
func (g *Graph) pass(ctx context.Context, w *watcher) {
	g.setRoots(ctx)
	g.setPassing(true)
	defer g.setPassing(false)
	var jobs []found
	dirs := []string{}
	for _, r := range g.allRoots() {
		if r.openOnly {
			continue
		}
		r.head = gitHead(r.gitDir, r.gitCommon, r.readRuleSet)
		r.baseRules = rootRules(r.dir, r.gitCommon, r.readRuleSet)
		found := r.walk(ctx, r.dir)
		if ctx.Err() != nil {
			return
		}
		dirs = append(dirs, found.dirs...)
		if found.cut {
			g.note(&g.state.tooMany, "The code index of "+r.dir+" stops at the first 400,000 files.")
		}
		jobs = append(jobs, g.compare(r, r.dir, found.files)...)
	}
	for p := range g.docs.all() {
		if r := g.rootOf(p); r != nil && !r.openOnly && !g.index.isFile(p) {
			g.gone(r, p)
		}
	}
	w.watch(dirs)
	g.process(ctx, jobs)
	if ctx.Err() != nil {
		return
	}
	g.writer.flush(ctx)
	now := g.o.Clock()
	for _, r := range g.allRoots() {
		if s, ws := g.storeOf(r); s != nil {
			if err := s.Passed(ctx, ws, now); err != nil {
				g.damaged(r, err)
			}
		}
	}
	g.stateMu.Lock()
	g.state.lastPass = now
	g.stateMu.Unlock()
	g.setReady()
	if len(jobs) > 100 {
		trim()
	}
}

// compare notes what exists below dir, drops what is gone, and returns what has
// to be looked at.
func (g *Graph) compare(r *root, dir string, files []found) []found {
	there := make(map[string]bool, len(files))
	var jobs []found
	for _, f := range files {
		there[f.path] = true
		if g.index.see(f.path) {
			g.linker.exists(f.path)
		}
		if f.lang == nil {
			continue
		}
		e := g.index.get(f.path)
		if e == nil || e.sig != f.sig || racy(e, g.o.Clock()) || (e.skip == skipGenerated) != f.generated {
			jobs = append(jobs, f)
		}
	}
	for _, p := range g.index.below(dir) {
		if !there[p] {
			g.gone(r, p)
		}
	}
	return jobs
}

// gone notes that the disk holds no such file. What is open in the editor is
// still there for those who import it.
func (g *Graph) gone(r *root, p string) {
	if !g.docs.has(p) {
		g.remove(r, p)
		return
	}
	if g.index.drop(p) != nil {
		g.linker.changed(p)
		g.writer.remove(r, p)
	}
	ok, _ := r.judge(p, false)
	if ok && g.index.see(p) || !ok && g.index.unsee(p) {
		g.linker.exists(p)
	}
}

// racy reports whether a file was written so shortly before it was looked at
// that a later write might have left the same stat.
func racy(e *entry, now time.Time) bool {
	return e.sig.CTime != 0 && now.UnixNano()-e.sig.CTime < int64(2*time.Second)
}

func (g *Graph) remove(r *root, p string) {
	if g.index.unsee(p) {
		g.linker.exists(p)
	}
	if g.index.drop(p) != nil {
		g.linker.changed(p)
		g.writer.remove(r, p)
	}
}

// process reads and indexes files, on all cores.
func (g *Graph) process(ctx context.Context, jobs []found) {
	total := len(jobs)
	if total == 0 {
		return
	}
	sortFound(jobs)
	g.demands.add(jobs)
	defer g.demands.clear()
	ch := make(chan found)
	var wg sync.WaitGroup
	var done sync.Mutex
	n := 0
	for range cap(g.workers.free) {
		wg.Go(func() {
			for f := range ch {
				g.demand(ctx, f.path)
				done.Lock()
				n++
				g.progress(n, total)
				done.Unlock()
			}
		})
	}
	for _, f := range jobs {
		if ctx.Err() != nil {
			break
		}
		ch <- f
	}
	close(ch)
	wg.Wait()
}

// file brings one file's entry up to date.
func (g *Graph) file(ctx context.Context, f found) {
	r := g.rootOf(f.path)
	if r == nil {
		return
	}
	e := &entry{path: f.path, root: r, lang: f.lang, sig: f.sig}
	var text []byte
	switch {
	case f.generated:
		e.skip = skipGenerated
	case f.sig.Size > maxFile:
		e.skip = skipLarge
	default:
		var err error
		text, err = g.source.Read(f.path, maxFile)
		switch {
		case errors.Is(err, os.ErrNotExist):
			g.gone(r, f.path)
			return
		case errors.Is(err, workspace.ErrTooLarge):
			e.skip = skipLarge
		case err != nil:
			e.skip = skipUnread
		default:
			e.skip = unfit(text)
		}
	}
	var blob []byte
	if e.skip == "" {
		e.key = keyOf(f.lang, text)
		var err error
		if blob, err = g.extractOrFind(ctx, e, text); err != nil {
			if ctx.Err() != nil {
				return
			}
			e.skip = skipSlow
			if !errors.Is(err, sitter.ErrTooSlow) {
				g.o.Log.Warn("graph: file not parsed", "path", f.path, "err", err)
				e.skip = skipUnread
			}
		}
	}
	old := g.index.put(e)
	if old == nil || old.key != e.key {
		g.linker.changed(e.path)
	}
	if old == nil || old.key != e.key || old.sig != e.sig || old.skip != e.skip {
		g.writer.add(e, blob)
	}
}

// extractOrFind fills an entry's hashes: from an entry or store that knows the
// same text, else by parsing; then the packed facts are returned.
func (g *Graph) extractOrFind(ctx context.Context, e *entry, text []byte) ([]byte, error) {
	if old := g.index.get(e.path); old != nil && old.key == e.key && old.skip == "" {
		e.names, e.defs, e.broken = old.names, old.defs, old.broken
		return nil, nil
	}
	if s, _ := g.storeOf(e.root); s != nil {
		h, ok, err := s.Head(ctx, e.key)
		if err != nil {
			g.damaged(e.root, err)
		} else if ok {
			e.names, e.defs, e.broken = h.Names, h.Defs, h.Broken
			return nil, nil
		}
	}
	w, err := g.workers.take(ctx)
	if err != nil {
		return nil, err
	}
	defer g.workers.give(w)
	if g.workers.parsed != nil {
		g.workers.parsed()
	}
	return fill(ctx, w, e, text)
}

func fill(ctx context.Context, w *extract.Worker, e *entry, text []byte) ([]byte, error) {
	f, err := w.File(ctx, e.lang, text)
	if err != nil {
		return nil, err
	}
	blob, head := blobOf(f)
	e.names, e.defs, e.broken = head.Names, head.Defs, head.Broken
	return blob, nil
}

// indexNow brings one file up to date on the way of a query.
func (g *Graph) indexNow(ctx context.Context, e *entry) {
	fi, err := os.Lstat(e.path)
	if err != nil || !fi.Mode().IsRegular() {
		g.indexer.changed(e.path)
		return
	}
	g.file(ctx, found{path: e.path, sig: signature(fi), lang: e.lang, generated: e.skip == skipGenerated})
}

// update looks at paths that may have changed.
func (g *Graph) update(ctx context.Context, w *watcher, paths map[string]bool) {
	var jobs []found
	var dirs []string
	for p := range paths {
		r := g.rootOf(p)
		if r == nil || r.openOnly {
			continue
		}
		if base := path.Base(p); base == ".gitignore" || base == ".gitattributes" {
			g.pass(ctx, w) // the rules changed for an unknown part of the tree
			return
		}
		if path.Base(p) == ".git" && path.Dir(p) != r.dir {
			p = path.Dir(p) // it became a checkout of its own, or is none any more
		}
		fi, err := os.Lstat(p)
		ok, generated := false, false
		if err == nil {
			ok, generated = r.judge(p, fi.IsDir())
		}
		switch {
		case !ok || !fi.IsDir() && !fi.Mode().IsRegular(): // gone, ignored, or a link or pipe took its place
			if err != nil || !fi.Mode().IsRegular() { // else it was never watched
				w.forget(p)
			}
			for _, q := range append(g.index.below(p), p) {
				g.gone(r, q)
			}
		case fi.IsDir():
			if g.index.isFile(p) {
				g.remove(r, p)
			}
			found := r.walk(ctx, p)
			dirs = append(dirs, found.dirs...)
			jobs = append(jobs, g.compare(r, p, found.files)...)
		default:
			for _, q := range g.index.below(p) {
				g.remove(r, q)
			}
			f := found{path: p, sig: signature(fi), lang: languageOf(p), generated: generated}
			if g.index.see(p) {
				g.linker.exists(p)
			} else {
				g.linker.changed(p)
			}
			if f.lang != nil {
				jobs = append(jobs, f)
			}
		}
	}
	w.watch(dirs)
	g.process(ctx, jobs)
	g.writer.flush(ctx)
	g.stateMu.Lock()
	g.state.lastPass = g.o.Clock()
	g.stateMu.Unlock()
}
