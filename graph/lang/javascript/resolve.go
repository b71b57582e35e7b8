package javascript

import (
	"path"
	"sort"
	"strings"

	"github.com/stella-ls/stella-ls/graph/facts"
	"github.com/stella-ls/stella-ls/graph/lang"
)

type resolver struct {
	env      lang.Env
	configs  map[string]*tsconfig // by directory
	packages map[string]*pkg      // by file
	named    map[string]map[string]*pkg
}

// NewResolver makes the import rules of JavaScript, TypeScript and TSX.
func NewResolver(env lang.Env) lang.Resolver {
	return &resolver{env: env, configs: map[string]*tsconfig{}, packages: map[string]*pkg{}, named: map[string]map[string]*pkg{}}
}

func (r *resolver) Configs(p string, _ bool) bool {
	base := path.Base(p)
	return base == "package.json" || strings.HasPrefix(base, "tsconfig") && strings.HasSuffix(base, ".json") || base == "jsconfig.json"
}

func (r *resolver) Member(lang.Target, string) lang.Target   { return lang.Target{} }
func (r *resolver) Begin(string, string, uint32) lang.Target { return lang.Target{} }

// Import resolves a module specifier: relative, through tsconfig paths and
// baseUrl, through package.json imports, or as a package of the workspace.
func (r *resolver) Import(from string, im *facts.Import) lang.Target {
	spec := im.Spec
	if i := strings.IndexAny(spec, "?"); i > 0 { // bundlers' suffixes
		spec = spec[:i]
	}
	switch {
	case spec == "":
		return lang.Target{Why: "no specifier"}
	case spec == "." || spec == ".." || strings.HasPrefix(spec, "./") || strings.HasPrefix(spec, "../"):
		if f := r.file(path.Join(path.Dir(from), spec), strings.HasSuffix(spec, "/")); f != "" {
			return lang.Target{Status: lang.Resolved, File: f}
		}
		return lang.Target{Why: "no file " + spec + " beside " + path.Base(from)}
	case strings.HasPrefix(spec, "/"):
		if f := r.file(path.Join(r.env.Root(from), spec), false); f != "" {
			return lang.Target{Status: lang.Resolved, File: f}
		}
		return lang.Target{Why: "no file " + spec}
	case strings.HasPrefix(spec, "#"):
		return r.internal(from, spec)
	}
	c := r.configFor(from)
	if c != nil {
		if f, matched := r.throughPaths(c, spec); f != "" {
			return lang.Target{Status: lang.Resolved, File: f}
		} else if matched && r.workspacePackage(path.Dir(from), spec) == "" {
			return lang.Target{Why: path.Base(c.file) + " maps " + spec + " to no file"}
		}
	}
	if f := r.workspacePackage(path.Dir(from), spec); f != "" {
		return lang.Target{Status: lang.Resolved, File: f}
	}
	if c != nil && c.baseURL != "" {
		if f := r.file(path.Join(c.baseURL, spec), false); f != "" {
			return lang.Target{Status: lang.Resolved, File: f}
		}
	}
	name, sub := packageName(spec)
	if p := r.byName(from)[name]; p != nil {
		return lang.Target{Why: "the workspace's package " + name + " has no " + sub}
	}
	return lang.Target{Status: lang.External, Why: name + " is not a package of this workspace"}
}

// throughPaths applies the most specific rule of "paths". Only wildcards that
// say something count as matched.
func (r *resolver) throughPaths(c *tsconfig, spec string) (file string, matched bool) {
	best, star := -1, ""
	var rule pathRule
	for _, p := range c.paths {
		if s, more, ok := matchStar(p.pattern, spec); ok && more > best {
			best, star, rule = more, s, p
		}
	}
	for _, t := range rule.targets {
		if f := r.file(path.Join(rule.dir, strings.Replace(t, "*", star, 1)), false); f != "" {
			return f, true
		}
	}
	return "", best > 0
}

// internal resolves #name through the nearest package.json.
func (r *resolver) internal(from, spec string) lang.Target {
	root := r.env.Root(from)
	for d := path.Dir(from); ; d = path.Dir(d) {
		if p := r.loadPackage(d + "/package.json"); p != nil {
			for _, t := range subpath(p.Imports, spec) {
				if !strings.HasPrefix(t, ".") {
					return r.Import(from, &facts.Import{Spec: t})
				}
				if f := r.built(p.dir, t); f != "" {
					return lang.Target{Status: lang.Resolved, File: f}
				}
			}
			if c := r.configFor(from); c != nil {
				if f, _ := r.throughPaths(c, spec); f != "" {
					return lang.Target{Status: lang.Resolved, File: f}
				}
			}
			return lang.Target{Why: "package.json of " + path.Base(d) + " has no import " + spec}
		}
		if d == root || len(d) <= len(root) {
			return lang.Target{Why: "no package.json names " + spec}
		}
	}
}

func packageName(spec string) (name, sub string) {
	parts := strings.SplitN(spec, "/", 3)
	n := 1
	if strings.HasPrefix(spec, "@") && len(parts) > 1 {
		n = 2
	}
	name = strings.Join(parts[:n], "/")
	return name, strings.TrimPrefix(strings.TrimPrefix(spec, name), "/")
}

// byName are the packages of the workspace.
func (r *resolver) byName(at string) map[string]*pkg {
	root := r.env.Root(at)
	m, ok := r.named[root]
	if ok {
		return m
	}
	m = map[string]*pkg{}
	files := r.env.Named(root, "package.json")
	sort.Strings(files)
	for _, f := range files {
		if p := r.loadPackage(f); p != nil && p.Name != "" && m[p.Name] == nil {
			m[p.Name] = p
		}
	}
	r.named[root] = m
	return m
}

// workspacePackage resolves a specifier that names a package of the workspace;
// "" when it does not, or leads nowhere.
func (r *resolver) workspacePackage(at, spec string) string {
	name, sub := packageName(spec)
	p := r.byName(at + "/x")[name]
	if p == nil {
		return ""
	}
	key := "."
	if sub != "" {
		key = "./" + sub
	}
	if len(p.Exports) > 0 {
		for _, t := range subpath(p.Exports, key) {
			if f := r.built(p.dir, t); f != "" {
				return f
			}
		}
	}
	if sub != "" {
		if f := r.file(path.Join(p.dir, sub), false); f != "" {
			return f
		}
		return r.file(path.Join(p.dir, "src", sub), false)
	}
	for _, t := range append(pick(p.Source, 0), p.Types, p.Typings, p.Module, p.Main) {
		if t != "" {
			if f := r.built(p.dir, t); f != "" {
				return f
			}
		}
	}
	for _, d := range []string{"/index", "/src/index", "/src/main", "/lib/index"} {
		if f := r.file(p.dir+d, false); f != "" {
			return f
		}
	}
	return ""
}

// built finds a file that a manifest names; when it is build output that is not
// there, the source that it is built from.
func (r *resolver) built(dir, target string) string {
	p := path.Join(dir, target)
	if f := r.file(p, false); f != "" {
		return f
	}
	rel := strings.TrimPrefix(p, dir+"/")
	first, rest, ok := strings.Cut(rel, "/")
	if !ok || first == "src" {
		return ""
	}
	for _, sub := range []string{rest, afterFirst(rest)} {
		if sub == "" {
			continue
		}
		stem := path.Join(dir, "src", stripExt(sub))
		if f := r.file(stem, false); f != "" {
			return f
		}
	}
	return ""
}

// afterFirst drops the folder of a module format (esm/index.js).
func afterFirst(p string) string {
	_, rest, _ := strings.Cut(p, "/")
	return rest
}

func stripExt(p string) string {
	for _, e := range []string{".d.ts", ".d.mts", ".d.cts"} {
		if s, ok := strings.CutSuffix(p, e); ok {
			return s
		}
	}
	return strings.TrimSuffix(p, path.Ext(p))
}

// written maps an extension as written to those of the sources it is made from.
var written = map[string][]string{
	".js":  {".ts", ".tsx", ".d.ts", ".js", ".jsx"},
	".jsx": {".tsx", ".jsx", ".d.ts"},
	".mjs": {".mts", ".d.mts", ".mjs"},
	".cjs": {".cts", ".d.cts", ".cjs"},
}

var tried = []string{".ts", ".tsx", ".mts", ".cts", ".d.ts", ".js", ".jsx", ".mjs", ".cjs", ".d.mts", ".d.cts", ".json"}

// file finds the file that a path without or with extension means, or the index
// of a directory; "" if there is none.
func (r *resolver) file(p string, dirOnly bool) string {
	if !dirOnly {
		ext := path.Ext(p)
		if alt, ok := written[ext]; ok {
			stem := strings.TrimSuffix(p, ext)
			for _, e := range alt {
				if r.env.IsFile(stem + e) {
					return stem + e
				}
			}
		} else if ext != "" && r.env.IsFile(p) {
			return p
		}
		for _, e := range tried {
			if r.env.IsFile(p + e) {
				return p + e
			}
		}
	}
	if !r.env.IsDir(p) {
		return ""
	}
	if m := r.loadPackage(p + "/package.json"); m != nil {
		for _, t := range []string{m.Types, m.Typings, m.Module, m.Main} {
			if t != "" && path.Clean(t) != "." {
				if f := r.built(p, t); f != "" {
					return f
				}
			}
		}
	}
	for _, e := range tried {
		if f := p + "/index" + e; r.env.IsFile(f) {
			return f
		}
	}
	return ""
}
