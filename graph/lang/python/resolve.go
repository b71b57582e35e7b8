package python

import (
	"path"
	"slices"
	"strings"

	"github.com/stella-ls/stella-ls/graph/facts"
	"github.com/stella-ls/stella-ls/graph/lang"
	"github.com/stella-ls/stella-ls/internal/tomlfile"
)

type resolver struct {
	env   lang.Env
	roots map[string][]string // workspace root -> source roots
}

func newResolver(env lang.Env) lang.Resolver {
	return &resolver{env: env, roots: map[string][]string{}}
}

func (r *resolver) Configs(p string, existence bool) bool {
	base := path.Base(p)
	if i := strings.Index(p, "/src/"); existence && i >= 0 && !r.knows(p[:i+4]) {
		return true // perhaps a new source root
	}
	return base == "pyproject.toml" || base == "setup.cfg" || base == "setup.py"
}

func (r *resolver) knows(dir string) bool {
	for _, roots := range r.roots {
		if slices.Contains(roots, dir) {
			return true
		}
	}
	return len(r.roots) == 0
}

func (r *resolver) Begin(string, string, uint32) lang.Target { return lang.Target{} }

// Import resolves a dotted module name; leading dots count from the importing
// file's package.
func (r *resolver) Import(from string, im *facts.Import) lang.Target {
	spec := strings.Join(strings.Fields(im.Spec), "")
	name := strings.TrimLeft(spec, ".")
	level := len(spec) - len(name)
	var parts []string
	if name != "" {
		parts = strings.Split(name, ".")
	}
	if level > 0 {
		// In pkg/x/__init__.py one dot is pkg/x itself, as in any file of pkg/x.
		dir := path.Dir(from)
		for range level - 1 {
			dir = path.Dir(dir)
		}
		if t, ok := r.module(dir, parts); ok {
			return t
		}
		return lang.Target{Why: "no module " + spec + " relative to " + path.Base(from)}
	}
	known := false
	for _, root := range r.searchPath(from) {
		t, ok := r.module(root, parts)
		if ok && (t.File != "" || len(parts) > 0 && r.holdsPython(t.Dir)) {
			return t
		}
		if _, first := r.module(root, parts[:1]); first && root != path.Dir(from) {
			known = known || r.regular(path.Join(root, parts[0]))
		}
	}
	if known {
		return lang.Target{Why: "no module " + spec + " in the package " + parts[0] + " of this repository"}
	}
	return lang.Target{Status: lang.External, Why: parts[0] + " is not a package of this repository"}
}

func (r *resolver) regular(dir string) bool {
	return r.env.IsFile(dir+"/__init__.py") || r.env.IsFile(dir+"/__init__.pyi")
}

// holdsPython keeps a directory that only shares its name with a library from
// being taken for a namespace package.
func (r *resolver) holdsPython(dir string) bool {
	for _, e := range r.env.Entries(dir) {
		if strings.HasSuffix(e, ".py") || strings.HasSuffix(e, ".pyi") {
			return true
		}
		if !strings.Contains(e, ".") && r.env.IsDir(dir+"/"+e) {
			for _, f := range r.env.Entries(dir + "/" + e) {
				if strings.HasSuffix(f, ".py") || strings.HasSuffix(f, ".pyi") {
					return true
				}
			}
		}
	}
	return false
}

// module finds a/b/c below dir: a package or module file, else a namespace
// package (a directory).
func (r *resolver) module(dir string, parts []string) (lang.Target, bool) {
	p := dir
	for i, part := range parts {
		p = p + "/" + part
		if i+1 < len(parts) && !r.env.IsDir(p) {
			return lang.Target{}, false
		}
	}
	if len(parts) > 0 && !r.env.IsDir(p) || len(parts) > 0 && !r.regular(p) {
		for _, ext := range []string{".py", ".pyi"} {
			if r.env.IsFile(p + ext) {
				return lang.Target{Status: lang.Resolved, File: p + ext}, true
			}
		}
	}
	if !r.env.IsDir(p) {
		return lang.Target{}, false
	}
	t := lang.Target{Status: lang.Resolved, Dir: p}
	for _, init := range []string{"/__init__.py", "/__init__.pyi"} {
		if r.env.IsFile(p + init) {
			t.File = p + init
			break
		}
	}
	return t, true
}

// Member finds a submodule of a package.
func (r *resolver) Member(t lang.Target, name string) lang.Target {
	dir := t.Dir
	if dir == "" && strings.HasPrefix(path.Base(t.File), "__init__.py") {
		dir = path.Dir(t.File)
	}
	if dir == "" {
		return lang.Target{}
	}
	m, _ := r.module(dir, []string{name})
	return m
}

// searchPath is where absolute imports of a file look, in order: the source
// roots around the file from the nearest, the file's own directory when it is a
// script, and the other source roots of the workspace.
func (r *resolver) searchPath(from string) []string {
	root := r.env.Root(from)
	var out []string
	add := func(d string) {
		if !slices.Contains(out, d) {
			out = append(out, d)
		}
	}
	all := r.sourceRoots(root)
	dir := path.Dir(from)
	if !r.regular(dir) {
		add(dir)
	}
	// The parent of the outermost package around the file.
	top := dir
	for top != root && r.regular(top) {
		top = path.Dir(top)
	}
	add(top)
	for d := dir; ; d = path.Dir(d) {
		if slices.Contains(all, d) {
			add(d)
		}
		if slices.Contains(all, d+"/src") {
			add(d + "/src")
		}
		if d == root || len(d) <= len(root) {
			break
		}
	}
	for _, d := range all {
		add(d)
	}
	return out
}

// sourceRoots are the workspace root, src folders and what the manifests name.
func (r *resolver) sourceRoots(root string) []string {
	if s, ok := r.roots[root]; ok {
		return s
	}
	var out []string
	add := func(d string) {
		if d = path.Clean(d); !slices.Contains(out, d) && r.env.IsDir(d) {
			out = append(out, d)
		}
	}
	for _, manifest := range []string{"pyproject.toml", "setup.cfg", "setup.py"} {
		for _, f := range r.env.Named(root, manifest) {
			dir := path.Dir(f)
			var named []string
			switch manifest {
			case "pyproject.toml":
				named = pyprojectRoots(r.env.Config(f))
			case "setup.cfg":
				named = setupRoots(r.env.Config(f))
			}
			for _, n := range named {
				add(path.Join(dir, n))
			}
			add(dir + "/src")
			add(dir)
		}
	}
	add(root + "/src")
	add(root)
	r.roots[root] = out
	return out
}

// pyprojectRoots are the folders that a pyproject.toml says packages are in.
func pyprojectRoots(text []byte) (out []string) {
	var p struct {
		Tool struct {
			Setuptools struct {
				PackageDir map[string]string `toml:"package-dir"`
				Packages   any               `toml:"packages"`
			}
			Poetry struct {
				Packages []struct {
					From string
				}
			}
			Pyright struct {
				ExtraPaths []string `toml:"extraPaths"`
			}
			Pdm struct {
				Build struct {
					PackageDir string `toml:"package-dir"`
				}
			}
		}
	}
	if tomlfile.Unmarshal(text, &p) != nil {
		return nil
	}
	s := p.Tool.Setuptools
	if d := s.PackageDir[""]; d != "" {
		out = append(out, d)
	}
	if m, ok := s.Packages.(map[string]any); ok {
		if find, ok := m["find"].(map[string]any); ok {
			if where, ok := find["where"].([]any); ok {
				for _, w := range where {
					if d, ok := w.(string); ok {
						out = append(out, d)
					}
				}
			}
		}
	}
	for _, x := range p.Tool.Poetry.Packages {
		if x.From != "" {
			out = append(out, x.From)
		}
	}
	if d := p.Tool.Pdm.Build.PackageDir; d != "" {
		out = append(out, d)
	}
	return append(out, p.Tool.Pyright.ExtraPaths...)
}

// setupRoots reads package_dir and where of a setup.cfg, whose values may stand
// on lines of their own ("= src").
func setupRoots(text []byte) (out []string) {
	key := ""
	for line := range strings.Lines(string(text)) {
		trimmed := strings.TrimSpace(line)
		indented := line != "" && (line[0] == ' ' || line[0] == '\t')
		if !indented {
			k, v, ok := strings.Cut(trimmed, "=")
			if !ok {
				key = ""
				continue
			}
			key, trimmed = strings.TrimSpace(k), strings.TrimSpace(v)
		}
		if key != "package_dir" && key != "where" || trimmed == "" {
			continue
		}
		if key == "where" {
			out = append(out, strings.TrimPrefix(trimmed, "="))
			continue
		}
		if pkg, d, ok := strings.Cut(trimmed, "="); ok && strings.TrimSpace(pkg) == "" {
			out = append(out, strings.TrimSpace(d))
		}
	}
	return out
}
