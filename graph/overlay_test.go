package graph

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/stella-ls/stella-ls/graph/facts"
	"github.com/stella-ls/stella-ls/graph/internal/sitter"
	"github.com/stella-ls/stella-ls/internal/workspace"
)

// Answers are for the unsaved text; closing the buffer brings the disk back.
func TestUnsavedText(t *testing.T) {
	dir := tree(t, map[string]string{
		"a.py": "def area(): return 1\n",
		"b.py": "from a import area\narea()\n",
	})
	ws := workspace.New(workspace.Options{Roots: []string{dir}})
	g := indexed(t, Options{Workspace: ws, NoWatch: true})
	uri := "file://" + dir + "/a.py"
	if err := ws.DidOpen(uri, "python", 1, "x = '😀'; y = 2\ndef surface(): return y\n"); err != nil {
		t.Fatal(err)
	}
	wantAnswer(t, g, OpDefinitions, "surface", "a.py:2 function surface name")
	wantAnswer(t, g, OpDefinitions, "area", "nothing")
	wantAnswer(t, g, OpReferences, "y", "a.py:2 read y in surface local")
	// E05: a position after an astral character, in each encoding.
	for enc, col := range map[workspace.Encoding]uint32{workspace.UTF8: 12, workspace.UTF16: 10, workspace.UTF32: 9} {
		locs, err := g.Definition(context.Background(), At{workspace.Path(dir + "/a.py"), workspace.Position{Line: 0, Character: col}, enc})
		if err != nil || len(locs) != 1 || locs[0].Name != "y" || locs[0].NameRange.Start.Character != col {
			t.Errorf("%s: %+v %v", enc, locs, err)
		}
	}
	change := workspace.ContentChange{Range: &workspace.Range{Start: workspace.Position{Line: 1, Character: 4}, End: workspace.Position{Line: 1, Character: 11}}, Text: "area"}
	if err := ws.DidChange(uri, 2, []workspace.ContentChange{change}); err != nil {
		t.Fatal(err)
	}
	wantAnswer(t, g, OpReferences, "area", "b.py:1 import area import", "b.py:2 call area import")
	if locs, _ := g.Definition(context.Background(), At{workspace.Path(dir + "/b.py"), workspace.Position{Line: 1, Character: 1}, workspace.UTF16}); len(locs) != 1 || locs[0].Version != 2 {
		t.Errorf("definition in the buffer: %+v", locs)
	}
	if err := ws.DidClose(uri); err != nil {
		t.Fatal(err)
	}
	wantAnswer(t, g, OpDefinitions, "surface", "nothing")
	wantAnswer(t, g, OpDefinitions, "area", "a.py:1 function area name")
}

// A buffer without a file, in a file that is ignored, and with a name that says
// nothing about its language.
func TestUnsavedNewFile(t *testing.T) {
	dir := tree(t, map[string]string{"a.ts": "import { nu } from './new';\nnu();\n"})
	ws := workspace.New(workspace.Options{Roots: []string{dir}})
	g := indexed(t, Options{Workspace: ws, NoWatch: true})
	wantAnswer(t, g, OpImports, "a.ts", "./new -> - unresolved")
	if err := ws.DidOpen("file://"+dir+"/script", "python", 1, "def lone(): pass\n"); err != nil {
		t.Fatal(err)
	}
	wantAnswer(t, g, OpDefinitions, "lone", "script:1 function lone name")
}

var editTexts = map[string]string{
	"a.py": "import os\n\n@deco\nclass A(B):\n    def m(self, x):\n        self.y = x\n        return self.m(1)\n\ndef f(a, b=2):\n    c = A()\n    return c.m(a) + b\n\n# note\nLIMIT = f(1)\n",
	"a.ts": "import { x } from './x';\n/** doc */\nexport class A<T> extends B {\n  m(a: T): A<T> { return this.m(a); }\n}\nexport const f = (n: number) => { const z = new A(); return z.m(n); };\nfunction g() { return f(x); }\n",
	"a.rs": "use a::{b, c::*};\n#[derive(Debug)]\npub struct S { x: u8 }\n#[path = \"o.rs\"]\nmod o;\nimpl S { fn m(&self) -> u8 { self.x + h(b) } }\nfn h(v: u8) -> u8 { let w = v; println!(\"{}\", w); w }\n",
	"a.go": "package a\n\nimport \"fmt\"\n\ntype S struct{ n int }\n\nfunc (s *S) M() int { fmt.Println(s.n); return s.n }\n\nfunc f() { x := &S{}; x.M() }\n",
	"a.js": "const { a } = require('./a');\nclass C { #p = 1; constructor() { this.q = a(); } get() { return this.q; } }\nmodule.exports = { C, d() { return new C().get(); } };\n",
}

// Whatever is typed, the facts of the incremental way are those of a fresh parse.
func TestIncrementalEqualsFresh(t *testing.T) {
	for name, text := range editTexts {
		// Short texts are near every change as a whole; long ones have parts
		// whose captures are kept and moved.
		for _, repeat := range []int{3, 16} {
			t.Run(fmt.Sprintf("%s/%d", name, repeat), func(t *testing.T) { incrementalEqualsFresh(t, name, text, repeat) })
		}
	}
}

func incrementalEqualsFresh(t *testing.T, name, text string, repeat int) {
	dir := tree(t, map[string]string{name: text})
	ws := workspace.New(workspace.Options{Roots: []string{dir}})
	g := indexed(t, Options{Workspace: ws, NoWatch: true})
	uri, p := "file://"+filepath.Join(dir, name), filepath.Join(dir, name)
	if err := ws.DidOpen(uri, "", 1, strings.Repeat(text, repeat)); err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(7, uint64(len(name))))
	pieces := []string{"x", "(", ")", "{", "}", "\n", " ", "def q():\n    pass\n", "\"", "'", "fn z() {}\n", "export ", ".", ",", "é😀", "/*", "*/", "#", "class Q:\n", "//", ";"}
	compared := 0
	for i := range 200 / (1 + repeat/4) {
		b, _ := ws.Document(workspace.Path(p))
		at, n := rng.IntN(len(b.Text)+1), 0
		if rng.IntN(3) == 0 {
			n = min(rng.IntN(12), len(b.Text)-at)
		}
		r := workspace.Range{Start: workspace.PositionAt(b.Text, at, workspace.UTF16), End: workspace.PositionAt(b.Text, at+n, workspace.UTF16)}
		piece := pieces[rng.IntN(len(pieces))]
		if rng.IntN(4) == 0 {
			piece = ""
		}
		if err := ws.DidChange(uri, int32(2*i+2), []workspace.ContentChange{{Range: &r, Text: piece}}); err != nil {
			t.Fatal(err)
		}
		clean := compareFacts(t, g, p, i)
		if clean {
			compared++
		} else { // taken back: from a broken tree to a whole one
			if err := ws.DidChange(uri, int32(2*i+3), []workspace.ContentChange{{Text: b.Text}}); err != nil {
				t.Fatal(err)
			}
			if !compareFacts(t, g, p, i) {
				t.Fatalf("step %d: the text that was whole before has errors", i)
			}
		}
	}
	if compared < 8 {
		t.Errorf("only %d edits left the text whole", compared)
	}
}

// compareFacts reports whether the text has no errors, and so was compared.
func compareFacts(t *testing.T, g *Graph, p string, step int) bool {
	t.Helper()
	v := g.view(p)
	fresh, err := g.workers.extract(context.Background(), v.lang, v.text)
	if err != nil {
		t.Fatal(err)
	}
	got, want := facts.Describe(v.File), facts.Describe(fresh)
	clean := len(fresh.Errors) == 0
	if got == want {
		return clean
	}
	// Tree-sitter may recover from an error in another way when it parses only
	// what changed; only trees without errors must agree.
	if !clean {
		return false
	}
	gl, wl := strings.Split(got, "\n"), strings.Split(want, "\n")
	for i := range min(len(gl), len(wl)) {
		if gl[i] != wl[i] {
			t.Fatalf("step %d: incremental %q, fresh %q, in\n%s", step, gl[i], wl[i], v.text)
		}
	}
	t.Fatalf("step %d: %d lines, fresh %d, in\n%s", step, len(gl), len(wl), v.text)
	return false
}

// Every facts blob of real text survives packing.
func TestBlobRoundTrip(t *testing.T) {
	g := indexed(t, Options{NoWatch: true}, tree(t, editTexts))
	for name := range editTexts {
		for _, e := range g.index.entries() {
			if filepath.Base(e.path) != name {
				continue
			}
			f := g.factsOf(e)
			back, err := facts.Decode(facts.Encode(f))
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if facts.Describe(back) != facts.Describe(f) || !reflect.DeepEqual(back.Imports, f.Imports) {
				t.Errorf("%s changed", name)
			}
		}
	}
}

// All trees, parsers, queries and cursors are closed, exactly once, whatever
// happened in between.
func TestNothingOfCLeaks(t *testing.T) {
	before := live()
	dir := tree(t, editTexts)
	ws := workspace.New(workspace.Options{Roots: []string{dir}})
	g, err := Open(Options{Workspace: ws, CacheDir: t.TempDir(), NoWatch: true})
	if err != nil {
		t.Fatal(err)
	}
	g.Start(context.Background())
	if err := g.Wait(context.Background()); err != nil {
		t.Fatal(err)
	}
	for i := range maxTrees + 10 { // more documents than trees are kept
		p := fmt.Sprintf("%s/f%d.py", dir, i)
		if err := os.WriteFile(p, []byte("def f(): pass\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		uri := "file://" + p
		if err := ws.DidOpen(uri, "python", 1, "def f(): pass\n"); err != nil {
			t.Fatal(err)
		}
		g.view(p)
		for v := range 3 {
			if err := ws.DidChange(uri, int32(v+2), []workspace.ContentChange{{Text: fmt.Sprintf("def f%d(: pass\nclass A: pass\n", v)}}); err != nil {
				t.Fatal(err)
			}
			g.view(p)
		}
		if i%3 == 0 {
			if err := ws.DidClose(uri); err != nil {
				t.Fatal(err)
			}
		}
	}
	if n := sitter.Live.Trees.Load() - before["trees"]; n > maxTrees+2 {
		t.Errorf("%d trees are kept", n)
	}
	ctx := context.Background()
	g.Broken(workspace.Path(dir+"/a.py"), []byte("x = 1\n"), []byte("x = (\n"))
	if _, err := g.SelectionRanges(ctx, At{Path: workspace.Path(dir + "/a.py"), Enc: workspace.UTF16}); err != nil {
		t.Error(err)
	}
	g.Close()
	for what, n := range live() {
		if n != before[what] {
			t.Errorf("%d %s are still open", n-before[what], what)
		}
	}
}

func live() map[string]int64 {
	return map[string]int64{"trees": sitter.Live.Trees.Load(), "parsers": sitter.Live.Parsers.Load(),
		"queries": sitter.Live.Queries.Load(), "cursors": sitter.Live.Cursors.Load()}
}
