package rust

import (
	"path"
	"slices"
	"strings"

	"github.com/stella-ls/stella-ls/graph/facts"
	"github.com/stella-ls/stella-ls/graph/lang"
	"github.com/stella-ls/stella-ls/internal/tomlfile"
)

type resolver struct {
	env    lang.Env
	crates map[string][]*crate // workspace root -> crates
}

// crate is one Cargo package.
type crate struct {
	dir   string
	lib   string            // path of the library's root file, "" if there is none
	name  string            // of the library, as code writes it
	roots map[string]bool   // root files of all targets
	deps  map[string]string // name in code -> package name
	pkg   string
}

func newResolver(env lang.Env) lang.Resolver {
	return &resolver{env: env, crates: map[string][]*crate{}}
}

func (r *resolver) Configs(p string, existence bool) bool {
	switch path.Base(p) {
	case "Cargo.toml":
		return true
	case "lib.rs", "main.rs", "build.rs":
		return existence
	}
	switch path.Base(path.Dir(p)) {
	case "bin", "tests", "examples", "benches":
		return existence
	}
	return false
}

func (r *resolver) Member(lang.Target, string) lang.Target { return lang.Target{} }

// Import resolves a use path or a mod declaration.
func (r *resolver) Import(from string, im *facts.Import) lang.Target {
	if im.Kind == facts.ModDecl {
		return r.mod(from, im)
	}
	parts := strings.Split(im.Spec, "::")
	switch parts[0] {
	case "crate", "super", "self":
		return r.path(from, parts, im.Start)
	}
	// A module, type or earlier import of this file comes before a crate.
	if f := r.env.Facts(from); f != nil && declares(f, parts[0], im) {
		t := r.Begin(from, "self", im.Start)
		t.Rest = append(t.Rest, parts...)
		return t
	}
	c := r.crateOf(from)
	name := parts[0]
	if c != nil {
		if renamed, ok := c.deps[name]; ok {
			name = strings.ReplaceAll(renamed, "-", "_")
		}
	}
	for _, o := range r.all(r.env.Root(from)) {
		if o.lib != "" && (o.name == name || strings.ReplaceAll(o.pkg, "-", "_") == name) {
			return lang.Target{Status: lang.Resolved, File: o.lib, Rest: parts[1:]}
		}
	}
	return lang.Target{Status: lang.External, Why: parts[0] + " is not a crate of this workspace"}
}

// declares reports whether a file names a module or item itself, other than by
// the import asked about.
func declares(f *facts.File, name string, im *facts.Import) bool {
	for _, o := range f.Imports {
		if o.Start == im.Start {
			continue
		}
		for _, b := range o.Bindings {
			if b.As == name && b.Binds {
				return true
			}
		}
	}
	for _, d := range f.Defs {
		if f.Names[d.Name] == name && (d.Kind == facts.Module || d.Kind == facts.Enum || d.Kind == facts.Trait) && d.Flags&facts.Local == 0 {
			return true
		}
	}
	return false
}

// path resolves a path that begins with crate, self or one or more super.
func (r *resolver) path(from string, parts []string, at uint32) lang.Target {
	t := r.Begin(from, parts[0], at)
	rest := parts[1:]
	for len(rest) > 0 && rest[0] == "super" && t.Status == lang.Resolved {
		t = r.up(t)
		rest = rest[1:]
	}
	t.Rest = append(t.Rest, rest...)
	return t
}

// Begin is the module that crate, self or super means at a place.
func (r *resolver) Begin(from, root string, at uint32) lang.Target {
	if root == "crate" {
		return lang.Target{Status: lang.Resolved, File: r.crateRoot(from)}
	}
	t := lang.Target{Status: lang.Resolved, File: from}
	if f := r.env.Facts(from); f != nil {
		t.Rest = inlineModules(f, at)
	}
	if root == "super" {
		return r.up(t)
	}
	return t
}

// up is the parent of a module.
func (r *resolver) up(t lang.Target) lang.Target {
	if n := len(t.Rest); n > 0 {
		t.Rest = append([]string(nil), t.Rest[:n-1]...)
		return t
	}
	parent := r.parent(t.File)
	if file, names := r.inlineParent(t.File); file != "" {
		return lang.Target{Status: lang.Resolved, File: file, Rest: names}
	}
	if parent == "" {
		return lang.Target{Why: path.Base(t.File) + " has no parent module"}
	}
	return lang.Target{Status: lang.Resolved, File: parent}
}

// inlineModules are the names of the mod blocks around a place, outermost first.
func inlineModules(f *facts.File, at uint32) (names []string) {
	for i := range f.Defs {
		d := &f.Defs[i]
		if d.Kind == facts.Module && d.Start <= at && at < d.End && d.NameStart != at {
			names = append(names, f.DefName(int32(i)))
		}
	}
	return names
}

// mod finds the file of a mod declaration.
func (r *resolver) mod(from string, im *facts.Import) lang.Target {
	var name string
	for _, b := range im.Bindings {
		name = strings.TrimPrefix(b.As, "r#")
	}
	var nested []string
	if f := r.env.Facts(from); f != nil {
		nested = inlineModules(f, im.Start)
	}
	if im.Spec != "" { // #[path]
		base := path.Dir(from)
		if len(nested) > 0 {
			base = path.Join(r.moduleDir(from), path.Join(nested...))
		}
		p := path.Join(base, im.Spec)
		if r.env.IsFile(p) {
			return lang.Target{Status: lang.Resolved, File: p}
		}
		return lang.Target{Why: "no file " + im.Spec}
	}
	dir := path.Join(r.moduleDir(from), path.Join(nested...))
	for _, p := range []string{dir + "/" + name + ".rs", dir + "/" + name + "/mod.rs"} {
		if r.env.IsFile(p) {
			return lang.Target{Status: lang.Resolved, File: p}
		}
	}
	return lang.Target{Why: "neither " + name + ".rs nor " + name + "/mod.rs in " + path.Base(dir)}
}

// moduleDir is where the modules that a file declares live.
func (r *resolver) moduleDir(file string) string {
	dir, base := path.Dir(file), path.Base(file)
	if base == "mod.rs" || base == "lib.rs" || base == "main.rs" {
		return dir
	}
	if c := r.crateOf(file); c != nil && c.roots[file] {
		return dir
	}
	return dir + "/" + strings.TrimSuffix(base, ".rs")
}

// parent is the file that declares a file as a module, "" for a crate's root.
func (r *resolver) parent(file string) string {
	c := r.crateOf(file)
	if c != nil && c.roots[file] {
		return ""
	}
	dir, base := path.Dir(file), path.Base(file)
	name := strings.TrimSuffix(base, ".rs")
	if base == "mod.rs" {
		name, dir = path.Base(dir), path.Dir(dir)
	}
	candidates := []string{dir + "/mod.rs", dir + ".rs", dir + "/lib.rs", dir + "/main.rs"}
	if c != nil {
		for root := range c.roots {
			if path.Dir(root) == dir {
				candidates = append(candidates, root)
			}
		}
	}
	fallback := ""
	for _, p := range candidates {
		if p == file || !r.env.IsFile(p) {
			continue
		}
		if fallback == "" {
			fallback = p
		}
		f := r.env.Facts(p)
		if f == nil {
			continue
		}
		for i := range f.Imports {
			im := &f.Imports[i]
			if im.Kind != facts.ModDecl {
				continue
			}
			if im.Spec == "" && len(im.Bindings) > 0 && im.Bindings[0].As == name || im.Spec != "" && path.Join(path.Dir(p), im.Spec) == file {
				return p
			}
		}
	}
	if fallback == "" {
		// #[path] may point anywhere below the root file's directory.
		if root := r.crateRoot(file); root != file {
			return root
		}
	}
	return fallback
}

// inlineParent finds the mod blocks that declare a file: src/a/b.rs may be
// declared as mod a { mod b; } in src/lib.rs.
func (r *resolver) inlineParent(file string) (parent string, names []string) {
	dir := path.Dir(file)
	name := strings.TrimSuffix(path.Base(file), ".rs")
	if name == "mod" {
		name, dir = path.Base(dir), path.Dir(dir)
	}
	root := r.env.Root(file)
	for d := dir; len(d) > len(root); d = path.Dir(d) {
		names = append([]string{path.Base(d)}, names...)
		up := path.Dir(d)
		for _, p := range []string{up + "/lib.rs", up + "/main.rs", up + "/mod.rs", up + ".rs"} {
			if f := r.env.Facts(p); f != nil && declaresInline(f, names, name) {
				return p, names
			}
		}
		if len(names) > 8 {
			break
		}
	}
	return "", nil
}

func declaresInline(f *facts.File, names []string, mod string) bool {
	for i := range f.Imports {
		im := &f.Imports[i]
		if im.Kind == facts.ModDecl && len(im.Bindings) > 0 && im.Bindings[0].As == mod && slices.Equal(inlineModules(f, im.Start), names) {
			return true
		}
	}
	return false
}

// crateRoot climbs to the root file of the target that a file belongs to.
func (r *resolver) crateRoot(file string) string {
	c := r.crateOf(file)
	if c == nil {
		for d := path.Dir(file); ; d = path.Dir(d) {
			for _, base := range []string{"/lib.rs", "/main.rs"} {
				if r.env.IsFile(d + base) {
					return d + base
				}
			}
			if d == r.env.Root(file) || d == "/" || d == "." {
				return file
			}
		}
	}
	if c.roots[file] {
		return file
	}
	// The nearest root at or above the file's directory; the library first.
	for d := path.Dir(file); len(d) >= len(c.dir); d = path.Dir(d) {
		if c.lib != "" && path.Dir(c.lib) == d {
			return c.lib
		}
		if p := d + "/main.rs"; c.roots[p] {
			return p
		}
		if p := d + ".rs"; c.roots[p] {
			return p
		}
	}
	if c.lib != "" {
		return c.lib
	}
	return file
}

// crateOf is the crate whose directory is the nearest above a file.
func (r *resolver) crateOf(file string) *crate {
	var best *crate
	for _, c := range r.all(r.env.Root(file)) {
		if strings.HasPrefix(file, c.dir+"/") && (best == nil || len(c.dir) > len(best.dir)) {
			best = c
		}
	}
	return best
}

type manifest struct {
	Package      struct{ Name string }
	Lib          struct{ Name, Path string }
	Bin          []struct{ Name, Path string }
	Test         []struct{ Path string }
	Example      []struct{ Path string }
	Bench        []struct{ Path string }
	Dependencies map[string]any
	DevDeps      map[string]any `toml:"dev-dependencies"`
	BuildDeps    map[string]any `toml:"build-dependencies"`
}

func (r *resolver) all(root string) []*crate {
	if cs, ok := r.crates[root]; ok {
		return cs
	}
	r.crates[root] = nil
	for _, f := range r.env.Named(root, "Cargo.toml") {
		var m manifest
		if tomlfile.Unmarshal(r.env.Config(f), &m) != nil || m.Package.Name == "" {
			continue
		}
		r.crates[root] = append(r.crates[root], r.crate(path.Dir(f), &m))
	}
	return r.crates[root]
}

func (r *resolver) crate(dir string, m *manifest) *crate {
	c := &crate{dir: dir, pkg: m.Package.Name, name: strings.ReplaceAll(m.Package.Name, "-", "_"), roots: map[string]bool{}, deps: map[string]string{}}
	if m.Lib.Name != "" {
		c.name = m.Lib.Name
	}
	c.lib = dir + "/src/lib.rs"
	if m.Lib.Path != "" {
		c.lib = path.Join(dir, m.Lib.Path)
	}
	if !r.env.IsFile(c.lib) {
		c.lib = ""
	}
	add := func(p string) {
		if p != "" && r.env.IsFile(p) {
			c.roots[p] = true
		}
	}
	add(c.lib)
	add(dir + "/src/main.rs")
	add(dir + "/build.rs")
	for _, b := range m.Bin {
		if b.Path != "" {
			add(path.Join(dir, b.Path))
		}
	}
	for _, list := range [][]struct{ Path string }{m.Test, m.Example, m.Bench} {
		for _, t := range list {
			if t.Path != "" {
				add(path.Join(dir, t.Path))
			}
		}
	}
	for _, sub := range []string{"/src/bin", "/tests", "/examples", "/benches"} {
		for _, e := range r.env.Entries(dir + sub) {
			if strings.HasSuffix(e, ".rs") {
				add(dir + sub + "/" + e)
			} else {
				add(dir + sub + "/" + e + "/main.rs")
			}
		}
	}
	for _, deps := range []map[string]any{m.Dependencies, m.DevDeps, m.BuildDeps} {
		for name, v := range deps {
			pkg := name
			if t, ok := v.(map[string]any); ok {
				if p, ok := t["package"].(string); ok {
					pkg = p
				}
			}
			c.deps[strings.ReplaceAll(name, "-", "_")] = pkg
		}
	}
	return c
}
