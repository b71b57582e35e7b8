package graph

import (
	"context"
	"os"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stella-ls/stella-ls/internal/workspace"
)

// A byte order mark is no character of the first line: a place there is the same
// whether the editor shows the file or the disk was read.
func TestByteOrderMark(t *testing.T) {
	text := "def area():\r\n    return 1\r\n"
	dir := tree(t, map[string]string{"a.py": "\xef\xbb\xbf" + text, "b.py": "from a import area\r\narea()\r\n"})
	ws := workspace.New(workspace.Options{Roots: []string{dir}})
	g := indexed(t, Options{Workspace: ws, NoWatch: true})
	look := func(when string) {
		t.Helper()
		locs, err := g.Definition(context.Background(), At{workspace.Path(dir + "/b.py"), workspace.Position{Line: 1, Character: 1}, workspace.UTF16})
		if err != nil || len(locs) != 1 || locs[0].NameRange.Start != (workspace.Position{Line: 0, Character: 4}) {
			t.Errorf("%s: %+v %v", when, locs, err)
		}
	}
	look("on disk")
	if err := ws.DidOpen("file://"+dir+"/a.py", "python", 1, text); err != nil {
		t.Fatal(err)
	}
	look("open")
}

// Bytes that are no UTF-8 are columns of their own, and no answer prints them.
func TestLatin1(t *testing.T) {
	dir := tree(t, map[string]string{"a.py": "def f(): pass\ns = '\xe9\xe8'; f()\n"})
	g := indexed(t, Options{NoWatch: true}, dir)
	a := ask(t, g, OpReferences, "f")
	if len(a.Results) != 1 || a.Results[0].NameRange.Start != (Position{1, 10}) {
		t.Errorf("%s", brief(a))
	}
	if !utf8.ValidString(a.String()) {
		t.Errorf("%q", a.String())
	}
}

// A folder that a link takes the place of, or that becomes a checkout of its own,
// takes its files out of the index.
func TestFolderTurnsAway(t *testing.T) {
	dir := tree(t, map[string]string{"sub/a.py": "def one(): pass\n", "lib/b.py": "def two(): pass\n", "lib/deep/c.py": "def three(): pass\n"})
	outside := t.TempDir()
	w := watch(t, dir, 0)
	w.until(t, "begin", w.has(t, OpDefinitions, "one", "sub/a.py:1 function one name"))
	if err := os.Rename(dir+"/sub", outside+"/sub"); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(outside+"/sub", dir+"/sub"); err != nil {
		t.Fatal(err)
	}
	w.until(t, "a link", w.has(t, OpDefinitions, "one", "nothing"))
	write(t, dir+"/lib/.git/HEAD", "ref: refs/heads/main\n")
	w.until(t, "a checkout", w.has(t, OpDefinitions, "three", "nothing"))
	wantAnswer(t, w.Graph, OpDefinitions, "two", "nothing")
	if n := w.Status().Watches; n != 1 {
		t.Errorf("%d folders are watched", n)
	}
	if err := os.RemoveAll(dir + "/lib/.git"); err != nil {
		t.Fatal(err)
	}
	w.FilesChanged(workspace.Path(dir + "/lib/.git")) // the editor's watcher would tell
	w.until(t, "no checkout any more", w.has(t, OpDefinitions, "three", "lib/deep/c.py:1 function three name"))
}

// A root that is deleted takes all with it; when it is there again, the next look
// finds it and watches it, and such looks come soon.
func TestRootComesBack(t *testing.T) {
	dir := tree(t, map[string]string{"a.py": "def one(): pass\n"}) + "/sub"
	write(t, dir+"/b.py", "def two(): pass\n")
	w := watch(t, dir, 0)
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	w.until(t, "the root is gone", w.has(t, OpDefinitions, "two", "nothing"))
	w.until(t, "its watch is gone", func() bool { return w.Status().Watches == 0 })
	write(t, dir+"/c.py", "def three(): pass\n")
	w.Reindex()
	w.until(t, "the root is back", w.has(t, OpDefinitions, "three", "c.py:1 function three name"))
	write(t, dir+"/d.py", "def four(): pass\n")
	w.until(t, "and watched", w.has(t, OpDefinitions, "four", "d.py:1 function four name"))
}

// J01: a folder that an answer names can be asked about.
func TestFolders(t *testing.T) {
	g := indexed(t, Options{NoWatch: true}, tree(t, map[string]string{
		"go.mod": "module ex\n", "main.go": "package main\n\nimport (\n\t\"ex/util\"\n\t\"fmt\"\n)\n\nfunc main() { fmt.Println(util.A()) }\n",
		"util/a.go": "package util\n\nimport \"ex/base\"\n\nfunc A() int { return base.B() + b() }\n",
		"util/b.go": "package util\n\nimport \"ex/base\"\n\nfunc b() int { return base.B() }\n",
		"base/b.go": "package base\n\nfunc B() int { return 1 }\n",
		"sql/a.sql": "CREATE TABLE t (a int);\n",
	}))
	wantAnswer(t, g, OpNeighbors, "main.go", "util imports")
	wantAnswer(t, g, OpImporters, "util", "main.go util")
	wantAnswer(t, g, OpImports, "util", "ex/base -> base resolved")
	wantAnswer(t, g, OpNeighbors, "util", "base imports", "main.go imported by")
	for target, want := range map[string]Status{"sql": NoInformation, "base": Found, "util/a.go": Found} {
		if a := ask(t, g, OpImporters, target); a.Status != want {
			t.Errorf("%s: %s %q", target, a.Status, a.Why)
		}
	}
}

// A buffer that grows beyond the limit has no facts, not those of an earlier text.
func TestBufferGrowsTooLarge(t *testing.T) {
	dir := tree(t, map[string]string{"a.py": "def one(): pass\none()\n", "b.py": "from a import one\none()\n"})
	ws := workspace.New(workspace.Options{Roots: []string{dir}})
	g := indexed(t, Options{Workspace: ws, NoWatch: true})
	uri, b := "file://"+dir+"/a.py", At{workspace.Path(dir + "/b.py"), workspace.Position{Line: 1, Character: 1}, workspace.UTF16}
	text := "def one(): pass\none()\n"
	if err := ws.DidOpen(uri, "python", 1, text); err != nil {
		t.Fatal(err)
	}
	large := strings.Repeat("# filler\n", maxFile/9+1) + text
	for i, c := range []struct {
		text string
		line uint32 // of the definition, 0-based
		want int
	}{{text, 0, 1}, {large, 0, 0}, {"\n" + text, 1, 1}} {
		if err := ws.DidChange(uri, int32(i+2), []workspace.ContentChange{{Text: c.text}}); err != nil {
			t.Fatal(err)
		}
		locs, err := g.Definition(context.Background(), b)
		found := 0
		for _, l := range locs {
			if l.Path == workspace.Path(dir+"/a.py") && l.Name == "one" {
				found++
				if l.NameRange.Start.Line != c.line {
					t.Errorf("change %d: line %d", i, l.NameRange.Start.Line)
				}
			}
		}
		if err != nil || found != c.want {
			t.Errorf("change %d: %+v %v", i, locs, err)
		}
	}
	if err := ws.DidChange(uri, 9, []workspace.ContentChange{{Text: large}}); err != nil {
		t.Fatal(err)
	}
	if a := ask(t, g, OpImports, "a.py"); a.Status != NoInformation || !strings.Contains(a.Why, "too large") {
		t.Errorf("%s %q", a.Status, a.Why)
	}
	if err := ws.DidClose(uri); err != nil {
		t.Fatal(err)
	}
	wantAnswer(t, g, OpDefinitions, "one", "a.py:1 function one name")
}

// What is left out of the index is said where nothing was found.
func TestLeftOutIsSaid(t *testing.T) {
	g := indexed(t, Options{NoWatch: true}, tree(t, map[string]string{"a.py": "x = 1\n", "b.py": "a\x00b", "c.js": strings.Repeat("f();", 1000)}))
	if a := ask(t, g, OpDefinitions, "gone"); a.Status != Nothing || !strings.HasSuffix(a.Why, "not indexed: 1 binary, 1 minified") {
		t.Errorf("%s %q", a.Status, a.Why)
	}
}
