package workspace

import (
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// root is a directory of the workspace.
type root struct {
	name string      // unique among the roots
	dir  string      // canonical
	fi   os.FileInfo // of dir when it was made canonical; nil when it was not there
}

// base is the root that contains abs by its spelling, as the place to resolve
// from: dir was canonical once, and is while the same directory is there. (An
// ancestor may have been moved and linked since: every path below keeps its name.)
func base(roots []root, abs string) string {
	for _, r := range roots {
		if r.fi == nil {
			continue
		}
		if _, ok := Below(r.dir, abs); !ok {
			continue
		}
		if fi, err := os.Stat(r.dir); err == nil && os.SameFile(fi, r.fi) {
			return r.dir
		}
	}
	return ""
}

func makeRoots(dirs []string) []root {
	var roots []root
	taken := map[string]int{}
	for _, d := range dirs {
		abs, err := filepath.Abs(d)
		if err != nil {
			abs = d
		}
		dir := abs
		if t, _, err := canonical("", abs); err == nil {
			dir = t
		}
		fi, err := os.Stat(dir)
		if err != nil {
			fi = nil
		}
		name := filepath.Base(dir)
		if taken[name]++; taken[name] > 1 {
			name += "~" + strconv.Itoa(taken[name])
		}
		roots = append(roots, root{name: name, dir: dir, fi: fi})
	}
	return roots
}

// Roots are the canonical directories, in order.
func (w *Workspace) Roots() []string {
	var dirs []string
	for _, r := range *w.roots.Load() {
		dirs = append(dirs, r.dir)
	}
	return dirs
}

// SetRoots replaces the roots. Open documents stay.
func (w *Workspace) SetRoots(dirs []string) {
	roots := makeRoots(dirs)
	w.roots.Store(&roots)
}

// Resolve reads a path as a model or a person spells it: as Display shows it,
// relative to the directory rootDir (empty: the first root), absolute, or a
// file URI. A path that exists in several roots is ErrAmbiguous and the error
// lists them. A path outside all roots resolves; Name.Inside says so.
func (w *Workspace) Resolve(rootDir, spelled string) (Name, error) {
	if spelled == "" || strings.ContainsRune(spelled, 0) {
		return Name{}, &PathError{Op: "resolve", Path: strconv.Quote(spelled), Err: ErrBadPath, Hint: "give a path relative to the workspace's root"}
	}
	if strings.HasPrefix(spelled, "file:") {
		return w.ResolveURI(spelled)
	}
	if filepath.IsAbs(spelled) {
		return w.name(w.decoded(spelled))
	}
	roots := *w.roots.Load()
	rel := filepath.FromSlash(spelled)
	if len(roots) > 1 {
		return w.resolveInSeveral(roots, rootDir, rel)
	}
	if rootDir == "" {
		if len(roots) == 0 {
			return Name{}, &PathError{Op: "resolve", Path: spelled, Err: ErrOutside, Hint: "no folder is open; give an absolute path"}
		}
		rootDir = roots[0].dir
	}
	return w.name(w.decoded(filepath.Join(rootDir, rel)))
}

// ResolveIn is Resolve for somebody who chose the directory dir: a relative path is
// there, whatever the other roots hold. Only what begins like Display shows another
// root's files names one of those, unless dir has a directory of that name.
func (w *Workspace) ResolveIn(dir, spelled string) (Name, error) {
	if filepath.IsAbs(spelled) || strings.HasPrefix(spelled, "file:") || strings.ContainsRune(spelled, 0) || spelled == "" {
		return w.Resolve(dir, spelled)
	}
	rel := filepath.FromSlash(spelled)
	if roots := *w.roots.Load(); len(roots) > 1 {
		first, _, more := strings.Cut(filepath.Clean(rel), string(filepath.Separator))
		if abs, there := w.shown(roots, rel); there || (abs != "" && more && !w.there(filepath.Join(dir, first))) {
			return w.name(abs)
		}
	}
	return w.name(w.decoded(filepath.Join(dir, rel)))
}

// shown reads a path as Display shows it where there are several roots: a root's
// name, then what is in it. there says whether anything is; abs is empty when no
// root has that name.
func (w *Workspace) shown(roots []root, rel string) (abs string, there bool) {
	first, rest, _ := strings.Cut(filepath.ToSlash(filepath.Clean(rel)), "/")
	for _, r := range roots {
		if r.name == first { // names are unique
			abs = filepath.Join(r.dir, filepath.FromSlash(rest))
			return abs, w.there(abs)
		}
	}
	return "", false
}

func (w *Workspace) resolveInSeveral(roots []root, rootDir, rel string) (Name, error) {
	var found []string
	var shown []string
	add := func(r root, abs string) {
		if !w.there(abs) {
			return
		}
		for _, f := range found {
			if f == abs {
				return
			}
		}
		found = append(found, abs)
		within, _ := Below(r.dir, abs)
		shown = append(shown, r.name+"/"+filepath.ToSlash(within))
	}
	named, there := w.shown(roots, rel)
	if there {
		return w.name(named)
	}
	for _, r := range roots {
		add(r, w.decoded(filepath.Join(r.dir, rel)))
	}
	switch {
	case len(found) > 1:
		return Name{}, &PathError{Op: "resolve", Path: filepath.ToSlash(rel), Err: ErrAmbiguous, Hint: "name one of " + strings.Join(shown, ", ")}
	case len(found) == 1:
		return w.name(found[0])
	case named != "" && strings.ContainsRune(filepath.ToSlash(filepath.Clean(rel)), '/'):
		return w.name(named)
	case rootDir == "":
		rootDir = roots[0].dir
	}
	return w.name(filepath.Join(rootDir, rel))
}

// there reports whether a path has a directory entry or an open document.
func (w *Workspace) there(abs string) bool {
	if _, err := os.Lstat(abs); err == nil {
		return true
	}
	target, _, err := canonical(base(*w.roots.Load(), abs), abs)
	if err != nil {
		return false
	}
	if _, err := os.Lstat(target); err == nil {
		return true
	}
	_, open := w.Document(Path(target))
	return open
}

// decoded undoes percent-encoding when only the decoded spelling exists: models
// copy names out of URIs.
func (w *Workspace) decoded(abs string) string {
	if !strings.Contains(abs, "%") || w.there(abs) {
		return abs
	}
	if plain, err := url.PathUnescape(abs); err == nil && plain != abs && w.there(plain) {
		return plain
	}
	return abs
}

// ResolveURI reads a client's URI. A URI that is not a file names itself.
func (w *Workspace) ResolveURI(uri string) (Name, error) {
	path, isFile, err := pathOfURI(uri)
	if err != nil {
		return Name{}, err
	}
	if !isFile {
		return Name{Path: Path(uri), Display: uri}, nil
	}
	return w.name(path)
}

// NameOf is the Name of a canonical path.
func (w *Workspace) NameOf(p Path) Name {
	n, err := w.name(string(p))
	if err != nil {
		return Name{Path: p, Link: string(p), Display: string(p)}
	}
	return n
}

func (w *Workspace) name(abs string) (Name, error) {
	if !filepath.IsAbs(abs) {
		if strings.Contains(abs, ":") { // untitled:Untitled-1
			return Name{Path: Path(abs), Display: abs}, nil
		}
		return Name{}, &PathError{Op: "resolve", Path: abs, Err: ErrBadPath}
	}
	roots := *w.roots.Load()
	target, entry, err := canonical(base(roots, abs), abs)
	if err != nil {
		return Name{}, err
	}
	n := Name{Path: Path(target), Link: entry, Display: filepath.ToSlash(target)}
	best := -1
	for i, r := range roots { // the innermost of nested roots
		if _, ok := Below(r.dir, target); ok && (best < 0 || len(r.dir) > len(roots[best].dir)) {
			best = i
		}
	}
	if best < 0 {
		return n, nil
	}
	r := roots[best]
	n.Root = r.dir
	rel, _ := Below(r.dir, target)
	if entryRel, ok := Below(r.dir, entry); ok && entry != target {
		rel = entryRel // show the link that was named
	}
	n.Display = filepath.ToSlash(rel)
	if len(roots) > 1 {
		n.Display = r.name + "/" + n.Display
	}
	return n, nil
}

// URI is the client's spelling of an open document, else the canonical file URI.
func (w *Workspace) URI(p Path) string {
	if b, ok := w.Document(p); ok {
		return b.URI
	}
	if !filepath.IsAbs(string(p)) {
		return string(p)
	}
	return uriOfPath(string(p))
}

// Own reports whether a path is a file of this program itself: nobody's file,
// and never to be listed as one.
func (w *Workspace) Own(p Path) bool { return w.own(p) }
