package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
)

// generated says what was written.
type generated struct {
	Files, Lines int
	Bytes        int64
}

// generate writes about lines lines of Rust, Python and TypeScript, a third
// each, the same for the same number: modules of some 250 lines that import
// one another, with classes, methods, functions, comments and calls.
func generate(dir string, lines int) (generated, error) {
	g := gen{rng: rand.New(rand.NewPCG(1, 2)), dir: dir, per: lines / 3}
	for _, write := range []func() error{g.python, g.typescript, g.rust} {
		if err := write(); err != nil {
			return generated{}, err
		}
	}
	return g.out, nil
}

type gen struct {
	rng *rand.Rand
	dir string
	per int
	out generated
}

var words = strings.Fields(`order item account price total user session token cache index parse build render query store load save merge split
filter group limit offset window buffer stream packet header payload schema table column record entry value label status error result
report invoice ledger branch commit change patch merge state event queue worker task job plan step rule policy check guard scope`)

func (g *gen) word() string { return words[g.rng.IntN(len(words))] }

func (g *gen) snake(n int) string { return g.word() + "_" + g.word() + fmt.Sprintf("_%d", n) }

func camel(s string) string {
	parts := strings.Split(s, "_")
	for i := 1; i < len(parts); i++ {
		parts[i] = strings.ToUpper(parts[i][:1]) + parts[i][1:]
	}
	return strings.Join(parts, "")
}

func pascal(s string) string { c := camel(s); return strings.ToUpper(c[:1]) + c[1:] }

func (g *gen) file(path, text string) (int, error) {
	p := filepath.Join(g.dir, path)
	if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
		return 0, err
	}
	n := strings.Count(text, "\n")
	g.out.Files++
	g.out.Lines += n
	g.out.Bytes += int64(len(text))
	return n, os.WriteFile(p, []byte(text), 0o644)
}

// module is what later modules can import.
type module struct {
	path, class string
	funcs       []string
	methods     []string
}

func (g *gen) python() error {
	var mods []module
	for n := 0; n < g.per; {
		i := len(mods)
		m := module{path: fmt.Sprintf("py/pkg%d/mod%d", i/40, i), class: pascal(g.snake(i))}
		var b strings.Builder
		fmt.Fprintf(&b, "\"\"\"Module %d.\"\"\"\nimport os\nfrom dataclasses import dataclass\n", i)
		used := g.imports(mods, func(o module) {
			fmt.Fprintf(&b, "from %s import %s, %s\n", strings.ReplaceAll(o.path, "/", "."), o.class, o.funcs[0])
		})
		fmt.Fprintf(&b, "\n\nclass %s:\n    \"\"\"Keeps %s and %s.\"\"\"\n\n    def __init__(self, size: int, name: str = \"x\"):\n        self.size = size\n        self.name = name\n        self.items = []\n\n", m.class, g.word(), g.word())
		for k := range 10 {
			name := g.snake(i*100 + k)
			m.methods = append(m.methods, name)
			prev := m.methods[max(0, k-1)]
			fmt.Fprintf(&b, "    def %s(self, %s: int, %s=None):\n        # %s the %s before the %s\n        result = self.size + %d\n        for value in self.items:\n            if value is not None and result < len(self.name):\n                result += self.%s(value)\n        return result\n\n", name, g.word()+"_a", g.word()+"_b", g.word(), g.word(), g.word(), k, prev)
		}
		for k := range 12 {
			name := g.snake(i*100 + 50 + k)
			m.funcs = append(m.funcs, name)
			fmt.Fprintf(&b, "\ndef %s(count: int, path: str) -> int:\n    total = os.path.getsize(path)\n    box = %s(count)\n    total += box.%s(count)\n", name, m.class, m.methods[k%10])
			for _, o := range used {
				fmt.Fprintf(&b, "    other = %s(total)\n    total += other.%s(count) + %s(count, path)\n", o.class, o.methods[k%10], o.funcs[0])
			}
			b.WriteString("    return total\n\n")
		}
		k, err := g.file(m.path+".py", b.String())
		if err != nil {
			return err
		}
		n += k
		mods = append(mods, m)
	}
	return nil
}

func (g *gen) imports(mods []module, f func(module)) []module {
	var used []module
	for range min(3, len(mods)) {
		o := mods[g.rng.IntN(len(mods))]
		dup := false
		for _, u := range used {
			dup = dup || u.path == o.path
		}
		if !dup {
			used = append(used, o)
			f(o)
		}
	}
	return used
}

func (g *gen) typescript() error {
	var mods []module
	for n := 0; n < g.per; {
		i := len(mods)
		m := module{path: fmt.Sprintf("ts/src/area%d/file%d", i/40, i), class: pascal(g.snake(i))}
		var b strings.Builder
		b.WriteString("import { readFile } from \"node:fs\";\n")
		used := g.imports(mods, func(o module) {
			rel, _ := filepath.Rel(filepath.Dir(m.path), o.path)
			if !strings.HasPrefix(rel, ".") {
				rel = "./" + rel
			}
			fmt.Fprintf(&b, "import { %s, %s } from \"%s\";\n", o.class, o.funcs[0], rel)
		})
		fmt.Fprintf(&b, "\nexport interface %sOptions {\n  size: number;\n  label?: string;\n}\n\n/** Keeps %s. */\nexport class %s {\n  private items: string[] = [];\n  constructor(readonly options: %sOptions) {}\n\n", m.class, g.word(), m.class, m.class)
		for k := range 10 {
			name := camel(g.snake(i*100 + k))
			m.methods = append(m.methods, name)
			fmt.Fprintf(&b, "  %s(%s: number, scale = 1): number {\n    let result = this.options.size * scale;\n    for (const item of this.items) {\n      if (item.length > result) {\n        result += this.%s(item.length); // %s %s\n      }\n    }\n    return result;\n  }\n\n", name, g.word(), m.methods[max(0, k-1)], g.word(), g.word())
		}
		b.WriteString("}\n\n")
		for k := range 12 {
			name := camel(g.snake(i*100 + 50 + k))
			m.funcs = append(m.funcs, name)
			fmt.Fprintf(&b, "export function %s(count: number, path: string): number {\n  const box = new %s({ size: count });\n  let total = box.%s(count);\n  readFile(path, () => undefined);\n", name, m.class, m.methods[k%10])
			for _, o := range used {
				fmt.Fprintf(&b, "  const at%d = new %s({ size: total });\n  total += at%d.%s(count) + %s(count, path);\n", k, o.class, k, o.methods[k%10], o.funcs[0])
			}
			b.WriteString("  return total;\n}\n\n")
		}
		k, err := g.file(m.path+".ts", b.String())
		if err != nil {
			return err
		}
		n += k
		mods = append(mods, m)
	}
	return nil
}

func (g *gen) rust() error {
	if _, err := g.file("rs/Cargo.toml", "[package]\nname = \"big\"\n"); err != nil {
		return err
	}
	var mods []module
	var lib strings.Builder
	for n := 0; n < g.per; {
		i := len(mods)
		m := module{path: fmt.Sprintf("m%d", i), class: pascal(g.snake(i))}
		fmt.Fprintf(&lib, "pub mod %s;\n", m.path)
		var b strings.Builder
		b.WriteString("use std::collections::HashMap;\n")
		used := g.imports(mods, func(o module) { fmt.Fprintf(&b, "use crate::%s::{%s, %s};\n", o.path, o.class, o.funcs[0]) })
		fmt.Fprintf(&b, "\n/// Keeps %s.\n#[derive(Debug, Clone)]\npub struct %s {\n    pub size: usize,\n    items: Vec<usize>,\n    names: HashMap<String, usize>,\n}\n\nimpl %s {\n    pub fn new(size: usize) -> Self {\n        %s { size, items: Vec::new(), names: HashMap::new() }\n    }\n\n", g.word(), m.class, m.class, m.class)
		for k := range 10 {
			name := g.snake(i*100 + k)
			m.methods = append(m.methods, name)
			fmt.Fprintf(&b, "    pub fn %s(&self, %s: usize) -> usize {\n        let mut result = self.size + %d;\n        for value in &self.items {\n            if *value < result {\n                result += self.%s(*value); // %s\n            }\n        }\n        result\n    }\n\n", name, g.word(), k, m.methods[max(0, k-1)], g.word())
		}
		b.WriteString("}\n\n")
		for k := range 12 {
			name := g.snake(i*100 + 50 + k)
			m.funcs = append(m.funcs, name)
			fmt.Fprintf(&b, "pub fn %s(count: usize) -> usize {\n    let holder = %s::new(count);\n    let mut total = holder.%s(count);\n    println!(\"{}\", total);\n", name, m.class, m.methods[k%10])
			for _, o := range used {
				fmt.Fprintf(&b, "    let at = %s::new(total);\n    total += at.%s(count) + %s(count);\n", o.class, o.methods[k%10], o.funcs[0])
			}
			b.WriteString("    total\n}\n\n")
		}
		k, err := g.file("rs/src/"+m.path+".rs", b.String())
		if err != nil {
			return err
		}
		n += k
		mods = append(mods, m)
	}
	_, err := g.file("rs/src/lib.rs", lib.String())
	return err
}
