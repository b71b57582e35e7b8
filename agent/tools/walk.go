package tools

import (
	"context"
	"os"
	"path"
	"path/filepath"
	"sort"
	"strings"

	"github.com/bmatcuk/doublestar/v4"
	"github.com/go-git/go-git/v5/plumbing/format/gitignore"

	"github.com/stella-ls/stella-ls/internal/workspace"
)

// walkMost bounds the directory entries that one call looks at.
const walkMost = 200_000

// ignoredDirs are never entered from above; naming one as the path does.
var ignoredDirs = map[string]bool{
	".git": true, ".hg": true, ".svn": true, ".jj": true, "node_modules": true, "target": true, "dist": true, "build": true,
	"vendor": true, "venv": true, ".venv": true, "__pycache__": true, ".tox": true, ".mypy_cache": true, ".pytest_cache": true,
	".ruff_cache": true, ".next": true, ".gradle": true, ".idea": true,
}

// tree is what a walk found.
type tree struct {
	files   []string // absolute, in path order
	ignored int      // entries left out by ignore rules
	outside int      // links left out because they lead out of the workspace
	// cut is true when the walk stopped at its bound.
	cut bool
	// unreadable counts directories that could not be listed.
	unreadable int
}

// walker lists the files below a directory as git and a person see them: ignore
// rules hold, links are not followed, unsaved new files are there.
type walker struct {
	files
	ctx  context.Context
	glob string // relative to the start, empty: all
	base string // absolute start
	left int
	out  tree
}

// walk lists the files at or below a resolved path. A file is itself.
func (f files) walk(ctx context.Context, start workspace.Name, glob string) (tree, error) {
	dir := string(start.Path)
	fi, err := os.Stat(dir)
	if err != nil || !fi.IsDir() {
		if _, open := f.ws.Document(start.Path); err != nil && !open {
			return tree{}, err
		}
		return tree{files: []string{dir}}, nil
	}
	w := walker{files: f, ctx: ctx, glob: glob, base: dir, left: walkMost}
	top, rules := w.rulesAbove(dir)
	w.enter(dir, top, rules)
	w.addUnsaved()
	sort.Strings(w.out.files)
	return w.out, ctx.Err()
}

// rulesAbove reads the ignore files from the top of the git work tree down to
// the parent of dir. Without a work tree dir itself is the top.
func (w *walker) rulesAbove(dir string) (top string, rules []gitignore.Pattern) {
	top = dir
	for d := dir; ; d = filepath.Dir(d) {
		if _, err := os.Lstat(filepath.Join(d, ".git")); err == nil {
			top = d
			break
		}
		if d == filepath.Dir(d) {
			break
		}
	}
	rules = w.rulesIn(filepath.Join(top, ".git", "info", "exclude"), nil)
	rel, _ := filepath.Rel(top, dir)
	at, domain := top, []string(nil)
	for _, part := range strings.Split(filepath.ToSlash(rel), "/") {
		if part == "." {
			break
		}
		rules = append(rules, w.rulesIn(filepath.Join(at, ".gitignore"), domain)...)
		at, domain = filepath.Join(at, part), append(domain[:len(domain):len(domain)], part)
	}
	return top, rules
}

// rulesIn reads one ignore file as the user sees it.
func (w *walker) rulesIn(file string, domain []string) []gitignore.Pattern {
	name, err := w.ws.Resolve("", file)
	if err != nil {
		return nil
	}
	view, err := w.ws.View(w.ctx, name)
	if err != nil || !view.Exists() {
		return nil
	}
	var rules []gitignore.Pattern
	for _, line := range strings.Split(string(view.Truth()), "\n") {
		line = strings.TrimSuffix(line, "\r")
		if strings.HasPrefix(line, "#") || strings.TrimSpace(line) == "" {
			continue
		}
		// The library knows only the [^x] spelling of a negated class.
		line = strings.ReplaceAll(line, "[!", "[^")
		rules = append(rules, gitignore.ParsePattern(line, domain))
	}
	return rules
}

func (w *walker) enter(dir, top string, rules []gitignore.Pattern) {
	if w.ctx.Err() != nil || w.out.cut {
		return
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		w.out.unreadable++
		return
	}
	rel, _ := filepath.Rel(top, dir)
	var domain []string
	if rel != "." {
		domain = strings.Split(filepath.ToSlash(rel), "/")
	}
	own := rules[:len(rules):len(rules)]
	own = append(own, w.rulesIn(filepath.Join(dir, ".gitignore"), domain)...)
	own = append(own, w.rulesIn(filepath.Join(dir, ".ignore"), domain)...)
	match := gitignore.NewMatcher(own)
	for _, e := range entries {
		if w.left--; w.left < 0 {
			w.out.cut = true
			return
		}
		parts := append(domain[:len(domain):len(domain)], e.Name())
		if (e.IsDir() && ignoredDirs[e.Name()]) || match.Match(parts, e.IsDir()) {
			w.out.ignored++
			continue
		}
		full := filepath.Join(dir, e.Name())
		switch {
		case w.ws.Own(workspace.Path(full)): // nobody's file
		case e.IsDir():
			w.enter(full, top, own)
		case e.Type()&os.ModeSymlink != 0 && w.leadsOut(full):
			w.out.outside++
		case e.Type().IsRegular() || e.Type()&os.ModeSymlink != 0:
			w.add(full)
		}
	}
}

// leadsOut reports whether a link's target is outside of every root. A link that
// cannot be followed leads nowhere.
func (w *walker) leadsOut(full string) bool {
	name, err := w.ws.Resolve("", full)
	return err == nil && !name.Inside()
}

// add keeps a file that fits the glob. A glob without a slash fits the name in
// any directory.
func (w *walker) add(full string) {
	if w.glob != "" {
		rel, err := filepath.Rel(w.base, full)
		if err != nil {
			return
		}
		subject := filepath.ToSlash(rel)
		if !strings.Contains(w.glob, "/") {
			subject = path.Base(subject)
		}
		if ok, _ := doublestar.Match(w.glob, subject); !ok {
			return
		}
	}
	w.out.files = append(w.out.files, full)
}

// addUnsaved adds open documents below the start that the disk does not have.
func (w *walker) addUnsaved() {
	have := map[string]bool{}
	for _, f := range w.out.files {
		have[f] = true
	}
	for _, d := range w.ws.Documents() {
		p := string(d.Name.Path)
		rel, err := filepath.Rel(w.base, p)
		if err != nil || rel == ".." || strings.HasPrefix(rel, ".."+string(filepath.Separator)) || have[p] {
			continue
		}
		if _, err := os.Lstat(p); os.IsNotExist(err) {
			w.add(p)
		}
	}
}

// badGlob says what is wrong with a glob, nil when nothing is.
func badGlob(tool, glob string) *Result {
	if glob == "" || doublestar.ValidatePattern(glob) {
		return nil
	}
	r := Invalid("%s: the glob %q cannot be read; write it like **/*.go", tool, glob)
	return &r
}

// under is the path that a listing starts from, the session's root by default.
func (f files) under(env Env, spelled string) (workspace.Name, *Result) {
	if spelled == "" || spelled == "." {
		if env.Root != "" {
			spelled = env.Root
		} else if roots := f.ws.Roots(); len(roots) > 0 {
			spelled = roots[0]
		}
	}
	return f.resolve(env, spelled)
}

// display is how a found file is shown; it can be passed back to every tool.
func (f files) display(full string) string {
	name, err := f.ws.Resolve("", full)
	if err != nil {
		return filepath.ToSlash(full)
	}
	return name.Display
}

func (f files) insideEntry(link string) bool {
	for _, r := range f.ws.Roots() {
		if _, ok := workspace.Below(r, link); ok {
			return true
		}
	}
	return false
}
