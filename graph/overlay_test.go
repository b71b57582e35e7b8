package graph

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
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

	// A buffer that has no file yet is what an import of it leads to.
	settle := func() {
		t.Helper()
		if err := g.Wait(context.Background()); err != nil {
			t.Fatal(err)
		}
	}
	uri := "file://" + dir + "/new.ts"
	if err := ws.DidOpen(uri, "typescript", 1, "export function nu() {}\n"); err != nil {
		t.Fatal(err)
	}
	settle()
	wantAnswer(t, g, OpImports, "a.ts", "./new -> new.ts resolved")
	wantAnswer(t, g, OpReferences, "nu", "a.ts:1 import nu import", "a.ts:2 call nu import")
	g.Reindex() // which finds no such file
	settle()
	wantAnswer(t, g, OpImports, "a.ts", "./new -> new.ts resolved")

	// Deleted while it is open, it is still what people see.
	write(t, dir+"/new.ts", "export function nu() {}\n")
	g.FilesChanged(workspace.Path(dir + "/new.ts"))
	settle()
	if err := os.Remove(dir + "/new.ts"); err != nil {
		t.Fatal(err)
	}
	g.FilesChanged(workspace.Path(dir + "/new.ts"))
	settle()
	wantAnswer(t, g, OpImports, "a.ts", "./new -> new.ts resolved")
	if err := ws.DidClose(uri); err != nil {
		t.Fatal(err)
	}
	settle()
	wantAnswer(t, g, OpImports, "a.ts", "./new -> - unresolved")
	wantAnswer(t, g, OpDefinitions, "nu", "nothing")
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
