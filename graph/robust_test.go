package graph

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stella-ls/stella-ls/graph/facts"
	"github.com/stella-ls/stella-ls/graph/lang/all"
	"github.com/stella-ls/stella-ls/internal/workspace"
)

// 20,000-deep nesting in every language: no crash, no hang, and what stands
// around it is indexed. Files are also opened and edited.
func TestDeepNesting(t *testing.T) {
	const deep = 20000
	open, shut := strings.Repeat("(", deep), strings.Repeat(")", deep)
	files := map[string]string{
		"a.py":  "def before(): pass\nx = " + open + "1" + shut + "\ndef after(): pass\n",
		"b.js":  "function before() {}\nlet x = " + strings.Repeat("[", deep) + strings.Repeat("]", deep) + ";\nfunction after() {}\n",
		"c.ts":  "function before() {}\nlet x: " + strings.Repeat("Array<", deep) + "A" + strings.Repeat(">", deep) + ";\nfunction after() {}\n",
		"d.tsx": "function before() {}\nlet x = " + strings.Repeat("<a>", deep) + strings.Repeat("</a>", deep) + ";\nfunction after() {}\n",
		"e.rs":  "fn before() {}\nfn m() { " + strings.Repeat("{", deep) + strings.Repeat("}", deep) + " }\nfn after() {}\n",
		"f.go":  "package f\nfunc before() {}\nvar x = " + open + "1" + shut + "\nfunc after() {}\n",
		"g.sql": "CREATE TABLE before (a int);\nSELECT " + open + "1" + shut + ";\nCREATE TABLE after (a int);\n",
		"h.js":  "function before() {}\n" + strings.Repeat("function f(){", deep) + strings.Repeat("}", deep) + "\nfunction after() {}\n",
		"i.py":  "def before(): pass\n" + open[:deep/4] + "\n", // never closed
		"j.rs":  "use " + strings.Repeat("a::{", deep) + strings.Repeat("}", deep) + ";\nfn before() {}\nfn after() {}\n",
		"k.ts":  "function before() {}\nclass c { " + strings.Repeat("m(){ return class { ", deep/4) + "\n",
	}
	// Long lines are minified by the rule; these tests are of the depth.
	for name, text := range files {
		files[name] = strings.ReplaceAll(text, "(((((((((((((((((((((((((((((((((((((((((", strings.Repeat("(", 40)+"\n(")
	}
	dir := tree(t, files)
	ws := workspace.New(workspace.Options{Roots: []string{dir}})
	g := indexed(t, Options{Workspace: ws, NoWatch: true})
	for name := range files {
		p := filepath.Join(dir, name)
		if err := ws.DidOpen("file://"+p, "", 1, files[name]); err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		v := g.view(p)
		t.Logf("%s: %v", name, time.Since(began))
		if v == nil {
			t.Errorf("%s: no facts", name)
			continue
		}
		found := false
		v.defsNamed("before", func(int32, *facts.Def) bool { found = true; return false })
		if !found {
			t.Errorf("%s: the definition before the nesting is lost", name)
		}
		ctx := context.Background()
		at := At{workspace.Path(p), workspace.Position{Line: 1, Character: 60}, workspace.UTF16}
		if _, err := g.Definition(ctx, at); err != nil {
			t.Error(err)
		}
		if chain, err := g.SelectionRanges(ctx, at); err != nil || len(chain) > maxSelections {
			t.Errorf("%s: %d selections, %v", name, len(chain), err)
		} else if n := len(chain); n > 1 && chain[n-1].Start.Line != 0 {
			t.Errorf("%s: the outermost selection begins in line %d", name, chain[n-1].Start.Line)
		}
		if _, err := g.DocumentSymbols(ctx, at.Path, at.Enc); err != nil {
			t.Error(err)
		}
		if _, err := g.FoldingRanges(ctx, at.Path); err != nil {
			t.Error(err)
		}
		if err := ws.DidChange("file://"+p, 2, []workspace.ContentChange{{Text: files[name] + "x"}}); err != nil {
			t.Fatal(err)
		}
		g.view(p)
		g.Broken(at.Path, nil, []byte(files[name]))
	}
}

// A file of 100 MB is skipped by its size, without being read; one that is
// minified by its lines. Both are counted.
func TestHugeFile(t *testing.T) {
	if testing.Short() {
		t.Skip("writes 100 MB")
	}
	dir := tree(t, map[string]string{"ok.js": "function ok() {}\n"})
	line := []byte(strings.Repeat("function a(b){return b+1};", 40330))
	f, err := os.Create(dir + "/bundle.js")
	if err != nil {
		t.Fatal(err)
	}
	for range 100 {
		if _, err := f.Write(line); err != nil {
			t.Fatal(err)
		}
	}
	f.Close()
	ws := workspace.New(workspace.Options{Roots: []string{dir}})
	g := indexed(t, Options{Workspace: ws, NoWatch: true})
	wantAnswer(t, g, OpDefinitions, "ok", "ok.js:1 function ok name")
	if a := ask(t, g, OpImports, "bundle.js"); a.Status != NoInformation || !strings.Contains(a.Why, "too large") {
		t.Errorf("%s %q", a.Status, a.Why)
	}
	// Opened in the editor all the same.
	if err := ws.DidOpen("file://"+dir+"/bundle.js", "javascript", 1, strings.Repeat(string(line), 8)); err != nil {
		t.Fatal(err)
	}
	if _, err := g.Definition(context.Background(), At{Path: workspace.Path(dir + "/bundle.js"), Enc: workspace.UTF16}); err != nil {
		t.Error(err)
	}
	// One that is minified and below that limit is not parsed at each key either.
	small := strings.Repeat(string(line[:26]), maxMinified/26+1)
	if err := ws.DidOpen("file://"+dir+"/small.js", "javascript", 1, small); err != nil {
		t.Fatal(err)
	}
	if v := g.view(dir + "/small.js"); v != nil {
		t.Errorf("%d definitions of a minified buffer", len(v.Defs))
	}
}

// Odd bytes: nothing of this may crash or hang, and every answer's offsets fit
// the text.
func TestOddTexts(t *testing.T) {
	texts := []string{"", "\n", "\r", "\r\n\r\n", "\xff\xfe\xfd", "\xef\xbb\xbfdef f(): pass\n", "a\rb\rc", "é", "x = '\xed\xa0\x80'", strings.Repeat("a\n", 5000),
		"\"", "'''", "`", "/*", "{", "fn", "def", "class", "import", "from . import", "export {", "use a::{", "CREATE TABLE", "package", "let a = {[(", "x." + strings.Repeat("y.", 3000)}
	files := map[string]string{}
	for i, text := range texts {
		for _, l := range all.Languages {
			files[fmt.Sprintf("t%d%s", i, l.Exts[0])] = text
		}
	}
	dir := tree(t, files)
	g := indexed(t, Options{NoWatch: true}, dir)
	for name, text := range files {
		p := workspace.Path(filepath.Join(dir, name))
		for _, pos := range []workspace.Position{{}, {Line: 0, Character: 3}, {Line: 1_000_000, Character: 1_000_000}} {
			locs, err := g.Definition(context.Background(), At{p, pos, workspace.UTF16})
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
			for _, l := range locs {
				if l.Path == p && (l.End > len(text) || l.NameEnd > len(text)) {
					t.Errorf("%s: %+v beyond %d", name, l, len(text))
				}
			}
		}
	}
}

// A symlink is not followed, a nested checkout not entered, a FIFO not opened,
// and only the part of a path below the root is judged.
func TestWalkRules(t *testing.T) {
	base := tree(t, map[string]string{
		"build/ws/a.py":              "def a(): pass\n",
		"build/ws/target/b.py":       "def b(): pass\n",
		"build/ws/other/.git/HEAD":   "ref: refs/heads/x\n",
		"build/ws/other/c.py":        "def c(): pass\n",
		"build/ws/gen/d.py":          "def d(): pass\n",
		"build/ws/.gitattributes":    "gen/** linguist-generated\n",
		"build/ws/sub/.gitignore":    "/e.py\n*.py\n!f.py\n[!g]x.py\n",
		"build/ws/sub/e.py":          "def e(): pass\n",
		"build/ws/sub/f.py":          "def f(): pass\n",
		"build/ws/.git/info/exclude": "excluded.py\n",
		"build/ws/.git/HEAD":         "ref: refs/heads/x\n",
		"build/ws/excluded.py":       "def x(): pass\n",
		"outside/o.py":               "def o(): pass\n",
	})
	dir := base + "/build/ws"
	if err := os.Symlink(base+"/outside", dir+"/link"); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(base+"/outside/o.py", dir+"/o.py"); err != nil {
		t.Fatal(err)
	}
	mkfifo(t, dir+"/pipe.py")
	g := indexed(t, Options{NoWatch: true}, dir)
	var got []string
	for _, e := range g.index.entries() {
		got = append(got, strings.TrimPrefix(e.path, dir+"/")+" "+e.skip)
	}
	if s := strings.Join(got, ", "); s != "a.py , gen/d.py generated, sub/f.py " {
		t.Errorf("indexed: %s", s)
	}
}

// A lone file in a home directory is not a reason to index the home directory.
func TestHomeIsNotIndexed(t *testing.T) {
	dir := tree(t, map[string]string{"a.py": "def a(): pass\n", "x/b.py": "def b(): pass\n"})
	t.Setenv("HOME", dir)
	ws := workspace.New(workspace.Options{Roots: []string{dir}})
	var notices []string
	g, err := Open(Options{Workspace: ws, NoWatch: true, Notice: func(s string) { notices = append(notices, s) }})
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	g.Start(context.Background())
	if err := g.Wait(context.Background()); err != nil {
		t.Fatal(err)
	}
	if g.Status().Files != 0 || len(notices) != 1 {
		t.Errorf("%d files, %q", g.Status().Files, notices)
	}
	if err := ws.DidOpen("file://"+dir+"/a.py", "python", 1, "def a(): pass\n"); err != nil {
		t.Fatal(err)
	}
	wantAnswer(t, g, OpDefinitions, "a", "a.py:1 function a name")
}

// J01: two roots with the same relative path; what is printed is accepted back.
func TestTwoRoots(t *testing.T) {
	base := tree(t, map[string]string{"one/src/a.py": "import b\n", "one/src/b.py": "def f(): pass\n", "two/src/a.py": "def f(): pass\n"})
	g := indexed(t, Options{NoWatch: true}, base+"/one", base+"/two")
	for _, r := range ask(t, g, OpDefinitions, "f").Results {
		a, err := g.Query(context.Background(), Query{Op: OpDefinitions, Target: "f", Path: *r.Path})
		if err != nil || len(a.Results) != 1 || a.Results[0].File != r.File {
			t.Errorf("%s is not accepted back: %v %v", *r.Path, brief(a), err)
		}
	}
	if _, err := g.Query(context.Background(), Query{Op: OpImports, Target: "src/a.py"}); err == nil {
		t.Error("an ambiguous path is taken")
	}
}

func TestBroken(t *testing.T) {
	g := indexed(t, Options{NoWatch: true}, tree(t, map[string]string{"a.py": ""}))
	for _, c := range []struct{ path, before, after, want string }{
		{"a.py", "x = 1\n", "x = 2\n", ""},
		{"a.py", "x = 1\n", "x = (\n", "1:"},
		{"a.py", "x = (\n", "y = (\n", ""},
		{"a.go", "package a\n", "package a\n\nfunc f() {\n", "3:"},
		{"a.ts", "", "let x = ;\n", "1:"},
		{"a.txt", "", "(((", ""},
		{"a.sql", "", "CREATE TABLE (((", ""},
	} {
		got := g.Broken(workspace.Path(c.path), []byte(c.before), []byte(c.after))
		if (c.want == "") != (got == "") || !strings.Contains(got, c.want) {
			t.Errorf("%s %q -> %q: %q, want %q", c.path, c.before, c.after, got, c.want)
		}
	}
	text := "package a\n\n// M does.\nfunc (s *S) M() {\n}\n\nfunc (t *T) M() {}\n"
	got := g.SymbolRange("a.go", []byte(text), "S.M")
	if len(got) != 1 || text[got[0][0]:got[0][1]] != "// M does.\nfunc (s *S) M() {\n}" {
		t.Errorf("S.M: %v", got)
	}
	if got := g.SymbolRange("a.go", []byte(text), "M"); len(got) != 2 {
		t.Errorf("M: %v", got)
	}
}

// Many files: all are indexed and answered about, a deleted folder of them is
// gone in one pass, and memory stays small. STELLA_GRAPH_FILES=100000 runs the
// full size.
func TestManyFiles(t *testing.T) {
	n := 2000
	if s := os.Getenv("STELLA_GRAPH_FILES"); s != "" {
		var err error
		if n, err = strconv.Atoi(s); err != nil {
			t.Fatal(err)
		}
	}
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for i := range n {
		d := fmt.Sprintf("%s/p%d/q%d", dir, i/1000, i/100%10)
		if i%100 == 0 {
			if err := os.MkdirAll(d, 0o755); err != nil {
				t.Fatal(err)
			}
		}
		text := fmt.Sprintf("from p%d.q%d.m%d import f%d\n\ndef f%d():\n    return f%d()\n", (i+1)%n/1000, (i+1)%n/100%10, (i+1)%n, (i+1)%n, i, (i+1)%n)
		if err := os.WriteFile(fmt.Sprintf("%s/m%d.py", d, i), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	began := time.Now()
	took := func(what string) {
		t.Logf("%s: %v", what, time.Since(began).Round(time.Millisecond))
		began = time.Now()
	}
	g := indexed(t, Options{NoWatch: true, CacheDir: t.TempDir()}, dir)
	took("indexed")
	if files := g.Status().Files; files != n {
		t.Errorf("%d files of %d", files, n)
	}
	for _, i := range []int{0, n / 2, n - 1} {
		a := ask(t, g, OpReferences, fmt.Sprintf("f%d", i))
		took("references")
		if len(a.Results) != 2 || a.Results[1].How != HowImport {
			t.Errorf("references of f%d: %s", i, brief(a))
		}
	}
	if err := os.RemoveAll(dir + "/p0"); err != nil {
		t.Fatal(err)
	}
	g.Reindex()
	if err := g.Wait(context.Background()); err != nil {
		t.Fatal(err)
	}
	took("a pass after a folder of 1000 was deleted")
	if files := g.Status().Files; files != n-1000 {
		t.Errorf("%d files are left of %d", files, n-1000)
	}
	wantAnswer(t, g, OpDefinitions, "f7", "nothing")
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	t.Logf("%d files: heap %d MB, %d B a file", n, m.HeapAlloc>>20, m.HeapAlloc/uint64(n))
	if most := uint64(80<<20 + n*4000); m.HeapAlloc > most {
		t.Errorf("heap of %d MB for %d files", m.HeapAlloc>>20, n)
	}
}
