package golang

import (
	"path"
	"regexp"
	"strings"

	"github.com/stella-ls/stella-ls/graph/facts"
	"github.com/stella-ls/stella-ls/graph/lang"
)

func init() { Language.Fix = bindPackages }

var version = regexp.MustCompile(`^v[0-9]+$`)

// bindPackages names what an import without a name binds: the last part of its
// path, without a version. (The package clause may differ; that needs another file.)
func bindPackages(_ []byte, _, _ uint32, f *facts.File) {
	for i := range f.Imports {
		im := &f.Imports[i]
		if len(im.Bindings) > 0 {
			for j := range im.Bindings {
				if im.Bindings[j].As == "_" {
					im.Bindings[j].Binds, im.Bindings[j].As = false, ""
				}
			}
			continue
		}
		dir, name := path.Split(im.Spec)
		if version.MatchString(name) && dir != "" {
			name = path.Base(dir)
		}
		name = strings.TrimPrefix(name, "go-")
		if i := strings.IndexByte(name, '.'); i > 0 && version.MatchString(name[i+1:]) {
			name = name[:i]
		}
		im.Bindings = []facts.Binding{{Kind: facts.Whole, As: name, AsStart: im.SpecStart, NameStart: im.SpecStart, Binds: true}}
	}
}

type resolver struct {
	env     lang.Env
	modules map[string][]module
}

type module struct{ path, dir string }

func newResolver(env lang.Env) lang.Resolver {
	return &resolver{env: env, modules: map[string][]module{}}
}

func (r *resolver) Configs(p string, _ bool) bool {
	base := path.Base(p)
	return base == "go.mod" || base == "go.work"
}

func (r *resolver) Member(lang.Target, string) lang.Target   { return lang.Target{} }
func (r *resolver) Begin(string, string, uint32) lang.Target { return lang.Target{} }

var moduleLine = regexp.MustCompile(`(?m)^module\s+"?([^\s"]+)`)

// Import resolves a package path through the modules of the workspace.
func (r *resolver) Import(from string, im *facts.Import) lang.Target {
	root := r.env.Root(from)
	mods, ok := r.modules[root]
	if !ok {
		for _, f := range r.env.Named(root, "go.mod") {
			if m := moduleLine.FindSubmatch(r.env.Config(f)); m != nil {
				mods = append(mods, module{string(m[1]), path.Dir(f)})
			}
		}
		r.modules[root] = mods
	}
	best := module{}
	for _, m := range mods {
		if (im.Spec == m.path || strings.HasPrefix(im.Spec, m.path+"/")) && len(m.path) > len(best.path) {
			best = m
		}
	}
	if best.path == "" {
		return lang.Target{Status: lang.External, Why: im.Spec + " is not of a module of this workspace"}
	}
	dir := path.Join(best.dir, strings.TrimPrefix(im.Spec, best.path))
	if !r.env.IsDir(dir) {
		return lang.Target{Why: "module " + best.path + " has no directory " + strings.TrimPrefix(im.Spec, best.path+"/")}
	}
	return lang.Target{Status: lang.Resolved, Dir: dir}
}
