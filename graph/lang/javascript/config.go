package javascript

import (
	"encoding/json"
	"path"
	"strings"
)

// tsconfig is what a tsconfig.json or jsconfig.json says about imports, with
// what it extends merged in. Paths are absolute.
type tsconfig struct {
	file    string
	baseURL string
	paths   []pathRule
	refs    []string // referenced configurations
	files   bool     // has files or include of its own
}

// pathRule is one entry of "paths", relative to dir.
type pathRule struct {
	pattern string
	targets []string
	dir     string
}

type rawConfig struct {
	Extends         json.RawMessage
	CompilerOptions struct {
		BaseURL *string             `json:"baseUrl"`
		Paths   map[string][]string `json:"paths"`
	} `json:"compilerOptions"`
	References []struct{ Path string }
	Files      []string
	Include    []string
}

// maxExtends bounds a chain of configurations.
const maxExtends = 16

// configFor is the configuration that holds for a file: the nearest one above
// it, or the one that this refers to when it holds no files itself.
func (r *resolver) configFor(file string) *tsconfig {
	root := r.env.Root(file)
	for d := path.Dir(file); ; d = path.Dir(d) {
		if c, ok := r.configs[d]; ok {
			if c != nil {
				return r.referenced(c, file)
			}
		} else {
			c = nil
			for _, base := range []string{"/tsconfig.json", "/jsconfig.json"} {
				if r.env.IsFile(d + base) {
					c = r.loadConfig(d+base, 0)
					break
				}
			}
			r.configs[d] = c
			if c != nil {
				return r.referenced(c, file)
			}
		}
		if d == root || len(d) <= len(root) {
			return nil
		}
	}
}

// referenced follows "references" of a solution-style configuration to one that
// knows paths.
func (r *resolver) referenced(c *tsconfig, file string) *tsconfig {
	if len(c.paths) > 0 || c.baseURL != "" || c.files {
		return c
	}
	for _, ref := range c.refs {
		p := path.Join(path.Dir(c.file), ref)
		if r.env.IsDir(p) {
			p += "/tsconfig.json"
		}
		if o := r.loadConfig(p, 0); o != nil && strings.HasPrefix(file, path.Dir(p)+"/") && (len(o.paths) > 0 || o.baseURL != "") {
			return o
		}
	}
	return c
}

func (r *resolver) loadConfig(file string, depth int) *tsconfig {
	text := r.env.Config(file)
	if text == nil || depth > maxExtends {
		return nil
	}
	var raw rawConfig
	c := &tsconfig{file: file}
	if json.Unmarshal(stripJSONC(text), &raw) != nil {
		return c // a broken configuration still ends the search
	}
	for _, e := range extendsList(raw.Extends) {
		if base := r.loadConfig(r.extended(path.Dir(file), e), depth+1); base != nil {
			c.baseURL, c.paths = base.baseURL, base.paths
		}
	}
	if raw.CompilerOptions.BaseURL != nil {
		c.baseURL = path.Join(path.Dir(file), *raw.CompilerOptions.BaseURL)
	}
	if raw.CompilerOptions.Paths != nil {
		dir := c.baseURL
		if dir == "" {
			dir = path.Dir(file)
		}
		c.paths = nil
		for pattern, targets := range raw.CompilerOptions.Paths {
			c.paths = append(c.paths, pathRule{pattern, targets, dir})
		}
	}
	for _, x := range raw.References {
		c.refs = append(c.refs, x.Path)
	}
	c.files = len(raw.Files) > 0 || len(raw.Include) > 0
	return c
}

func extendsList(raw json.RawMessage) []string {
	var one string
	if json.Unmarshal(raw, &one) == nil && one != "" {
		return []string{one}
	}
	var many []string
	_ = json.Unmarshal(raw, &many)
	return many
}

// extended is the file that "extends" names.
func (r *resolver) extended(dir, spec string) string {
	p := path.Join(dir, spec)
	if !strings.HasPrefix(spec, ".") && !path.IsAbs(spec) {
		if t := r.workspacePackage(dir, spec); t != "" {
			return t
		}
		return ""
	}
	if path.IsAbs(spec) {
		p = spec
	}
	for _, c := range []string{p, p + ".json", p + "/tsconfig.json"} {
		if r.env.IsFile(c) {
			return c
		}
	}
	return p
}

// matchStar matches a pattern with at most one star; more is how specific it is.
func matchStar(pattern, s string) (star string, more int, ok bool) {
	before, after, has := strings.Cut(pattern, "*")
	if !has {
		return "", len(pattern) + 1, pattern == s
	}
	if len(s) < len(before)+len(after) || !strings.HasPrefix(s, before) || !strings.HasSuffix(s, after) {
		return "", 0, false
	}
	return s[len(before) : len(s)-len(after)], len(before), true
}

// pkg is a package.json.
type pkg struct {
	dir     string
	Name    string          `json:"name"`
	Main    string          `json:"main"`
	Module  string          `json:"module"`
	Types   string          `json:"types"`
	Typings string          `json:"typings"`
	Source  json.RawMessage `json:"source"`
	Exports json.RawMessage `json:"exports"`
	Imports json.RawMessage `json:"imports"`
}

// loadPackage reads a package.json, nil when there is none.
func (r *resolver) loadPackage(file string) *pkg {
	if p, ok := r.packages[file]; ok {
		return p
	}
	var p *pkg
	if text := r.env.Config(file); text != nil {
		p = &pkg{dir: path.Dir(file)}
		if json.Unmarshal(text, p) != nil {
			p = &pkg{dir: path.Dir(file)}
		}
	}
	r.packages[file] = p
	return p
}

// conditions of exports and imports, in our order of preference: what leads to
// source first.
var conditions = []string{"source", "development", "types", "import", "module", "node", "require", "default", "browser"}

// pick finds the files that a value of exports or imports may mean, best first.
func pick(raw json.RawMessage, depth int) []string {
	if depth > 8 {
		return nil
	}
	var s string
	if json.Unmarshal(raw, &s) == nil && s != "" {
		return []string{s}
	}
	var list []json.RawMessage
	if json.Unmarshal(raw, &list) == nil {
		var out []string
		for _, x := range list {
			out = append(out, pick(x, depth+1)...)
		}
		return out
	}
	var m map[string]json.RawMessage
	if json.Unmarshal(raw, &m) != nil {
		return nil
	}
	var out []string
	for _, c := range conditions {
		if v, ok := m[c]; ok {
			out = append(out, pick(v, depth+1)...)
		}
	}
	return out
}

// subpath looks a key ("." or "./x" or "#x") up in exports or imports, with star patterns.
func subpath(raw json.RawMessage, key string) []string {
	var m map[string]json.RawMessage
	if json.Unmarshal(raw, &m) != nil || !hasSubpaths(m) {
		if key == "." {
			return pick(raw, 0)
		}
		return nil
	}
	best, star := -1, ""
	var value json.RawMessage
	for pattern, v := range m {
		if s, more, ok := matchStar(pattern, key); ok && more > best {
			best, star, value = more, s, v
		}
	}
	if value == nil {
		return nil
	}
	out := pick(value, 0)
	for i := range out {
		out[i] = strings.ReplaceAll(out[i], "*", star)
	}
	return out
}

func hasSubpaths(m map[string]json.RawMessage) bool {
	for k := range m {
		if strings.HasPrefix(k, ".") || strings.HasPrefix(k, "#") {
			return true
		}
	}
	return false
}
