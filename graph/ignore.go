package graph

import (
	"bytes"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/go-git/go-git/v5/plumbing/format/gitignore"
)

// builtin are directories that hold nothing people write, or copies of it.
var builtin = map[string]bool{
	".git": true, ".hg": true, ".svn": true, ".jj": true, "node_modules": true, "target": true, "dist": true, "build": true, "vendor": true,
	"venv": true, ".venv": true, "__pycache__": true, ".tox": true, ".mypy_cache": true, ".pytest_cache": true, ".ruff_cache": true,
	"bower_components": true, ".next": true, ".nuxt": true, ".cache": true, ".gradle": true, ".idea": true, "site-packages": true,
}

// rules are the ignore rules that hold in one directory: those of the directories
// above, then its own. They are kept apart by kind.
type rules struct {
	read      func(path string) []byte
	ignore    []gitignore.Pattern
	generated []gitignore.Pattern // of .gitattributes, linguist-generated
	plain     []gitignore.Pattern // of .gitattributes, -linguist-generated
}

// rootRules reads what holds in all of a root: the user's own excludes and
// those of the repository.
func rootRules(root, gitDir string, read func(string) []byte) *rules {
	r := &rules{read: read}
	r.ignore = append(r.ignore, globalPatterns(read)...)
	if gitDir != "" {
		r.ignore = append(r.ignore, patterns(read(filepath.Join(gitDir, "info", "exclude")), nil)...)
	}
	return r.enter(root, nil)
}

// globalPatterns are those of core.excludesFile, or of its default place.
func globalPatterns(read func(string) []byte) []gitignore.Pattern {
	if home, err := os.UserHomeDir(); err == nil {
		dir := os.Getenv("XDG_CONFIG_HOME")
		if dir == "" {
			dir = filepath.Join(home, ".config")
		}
		return patterns(read(filepath.Join(dir, "git", "ignore")), nil)
	}
	return nil
}

// maxRules bounds a rules file, in bytes.
const maxRules = 1 << 20

// enter adds the rules of a directory, domain being its parts below the root.
func (r *rules) enter(dir string, domain []string) *rules {
	ignore := r.read(dir + "/.gitignore")
	attributes := r.read(dir + "/.gitattributes")
	if ignore == nil && attributes == nil {
		return r
	}
	out := &rules{read: r.read, ignore: r.ignore[:len(r.ignore):len(r.ignore)], generated: r.generated, plain: r.plain}
	domain = append([]string(nil), domain...)
	out.ignore = append(out.ignore, patterns(ignore, domain)...)
	for line := range bytes.Lines(attributes) {
		f := strings.Fields(string(line))
		if len(f) < 2 || strings.HasPrefix(f[0], "#") {
			continue
		}
		for _, a := range f[1:] {
			switch a {
			case "linguist-generated", "linguist-generated=true":
				out.generated = append(out.generated[:len(out.generated):len(out.generated)], gitignore.ParsePattern(f[0], domain))
			case "-linguist-generated", "linguist-generated=false":
				out.plain = append(out.plain[:len(out.plain):len(out.plain)], gitignore.ParsePattern(f[0], domain))
			}
		}
	}
	return out
}

func patterns(text []byte, domain []string) (out []gitignore.Pattern) {
	for line := range bytes.Lines(text) {
		s := strings.TrimRight(string(line), "\r\n")
		if strings.TrimSpace(s) == "" || strings.HasPrefix(s, "#") {
			continue
		}
		// The library knows only one of the two ways to negate a class.
		out = append(out, gitignore.ParsePattern(strings.ReplaceAll(s, "[!", "[^"), domain))
	}
	return out
}

// ignored judges a path whose directories were not ignored; the last rule that
// matches decides.
func (r *rules) ignored(parts []string, isDir bool) bool {
	if isDir && builtin[parts[len(parts)-1]] {
		return true
	}
	for i := len(r.ignore) - 1; i >= 0; i-- {
		switch r.ignore[i].Match(parts, isDir) {
		case gitignore.Exclude:
			return true
		case gitignore.Include:
			return false
		}
	}
	return false
}

func (r *rules) isGenerated(parts []string) bool {
	hit := func(ps []gitignore.Pattern) bool {
		for _, p := range ps {
			if p.Match(parts, false) == gitignore.Exclude {
				return true
			}
		}
		return false
	}
	return hit(r.generated) && !hit(r.plain)
}

// gitDirs finds a root's git directory and the one that its worktrees share;
// both are empty outside of git. Roots below a repository's top count too.
func gitDirs(root string, read func(string) []byte) (dir, common string) {
	for d := root; ; d = path.Dir(d) {
		g := d + "/.git"
		fi, err := os.Stat(g)
		if err != nil {
			if d == "/" || d == "." || path.Dir(d) == d {
				return "", ""
			}
			continue
		}
		if fi.IsDir() {
			return g, g
		}
		line, _, _ := strings.Cut(string(read(g)), "\n")
		target, ok := strings.CutPrefix(strings.TrimSpace(line), "gitdir:")
		if !ok {
			return "", ""
		}
		target = strings.TrimSpace(target)
		if !filepath.IsAbs(target) {
			target = filepath.Join(d, target)
		}
		common = target
		if c := strings.TrimSpace(string(read(filepath.Join(target, "commondir")))); c != "" {
			common = c
			if !filepath.IsAbs(c) {
				common = filepath.Join(target, c)
			}
		}
		return filepath.ToSlash(filepath.Clean(target)), filepath.ToSlash(filepath.Clean(common))
	}
}

// gitHead is what HEAD points at, resolved one step, for noticing that it moved.
func gitHead(dir, common string, read func(string) []byte) string {
	if dir == "" {
		return ""
	}
	head := strings.TrimSpace(string(read(dir + "/HEAD")))
	ref, ok := strings.CutPrefix(head, "ref: ")
	if !ok {
		return head
	}
	return head + " " + strings.TrimSpace(string(read(common+"/"+ref)))
}
