package graph

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stella-ls/stella-ls/internal/workspace"
)

// tree writes files below a fresh directory and returns it.
func tree(t *testing.T, files map[string]string) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range files {
		write(t, filepath.Join(dir, name), text)
	}
	return dir
}

func write(t *testing.T, p, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(p, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func ask(t *testing.T, g *Graph, op Op, target string) Answer {
	t.Helper()
	a, err := g.Query(context.Background(), Query{Op: op, Target: target})
	if err != nil {
		t.Fatalf("%s %s: %v", op, target, err)
	}
	return a
}

func wantAnswer(t *testing.T, g *Graph, op Op, target string, lines ...string) {
	t.Helper()
	if got, want := brief(ask(t, g, op, target)), strings.Join(lines, "\n"); got != want {
		t.Errorf("%s %s:\n got\n%s\nwant\n%s", op, target, indent(got), indent(want))
	}
}

// M01: type-only star re-exports are edges; what the grammar does not know costs
// nothing else in the file, and the gap is counted.
func TestTypeOnlyStar(t *testing.T) {
	g := indexed(t, Options{NoWatch: true}, tree(t, map[string]string{
		"index.ts": "export * from './a';\nexport type * from './b';\nexport const tail = 1;\n",
		"a.ts":     "export const one = 1;\n",
		"b.ts":     "export interface Two { x: number }\n",
		"use.ts":   "import { one, Two, tail } from '.';\nlet x: Two;\n",
	}))
	wantAnswer(t, g, OpImports, "index.ts", "./a -> a.ts resolved", "./b -> b.ts resolved")
	wantAnswer(t, g, OpReferences, "Two", "use.ts:1 import Two import", "use.ts:2 type Two in x import")
	wantAnswer(t, g, OpDefinitions, "tail", "index.ts:3 const tail name")
	if n := g.Status().Broken; n != 1 {
		t.Errorf("%d files counted as broken", n)
	}
}

// M06: every decorated definition is there; its range holds the decorator, its
// name range is the name.
func TestDecorated(t *testing.T) {
	text := "@app.get('/x')\n@other\ndef view(): pass\n\n@dataclass\nclass D:\n    @property\n    def p(self): pass\n    @staticmethod\n    async def s(): pass\n"
	g := indexed(t, Options{NoWatch: true}, tree(t, map[string]string{"m.py": text}))
	for name, want := range map[string]string{
		"view": "0:0-2:16 name 2:4-2:8", "D": "4:0-9:23 name 5:6-5:7", "p": "6:4-7:21 name 7:8-7:9", "s": "8:4-9:23 name 9:14-9:15",
	} {
		a := ask(t, g, OpDefinitions, name)
		if len(a.Results) != 1 {
			t.Errorf("%s: %d results", name, len(a.Results))
			continue
		}
		r, n := a.Results[0].Range, a.Results[0].NameRange
		got := fmt.Sprintf("%d:%d-%d:%d name %d:%d-%d:%d", r.Start.Line, r.Start.Character, r.End.Line, r.End.Character,
			n.Start.Line, n.Start.Character, n.End.Line, n.End.Character)
		if got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
}

// M07, M08: names in macro arguments are uses marked as text; what a macro
// defines is said to be unknown; what follows a macro is indexed.
func TestRustMacros(t *testing.T) {
	g := indexed(t, Options{NoWatch: true}, tree(t, map[string]string{
		"src/main.rs": "fn f() -> u8 { 1 }\nfn g(x: u8) -> u8 { x }\nmacro_rules! make { ($n:ident) => { fn $n() {} } }\nmake!(gen);\nfn main() { println!(\"{}\", f()); let v = vec![g(1)]; gen(); }\nfn tail() {}\n",
	}))
	wantAnswer(t, g, OpReferences, "f", "src/main.rs:5 text f in main local")
	wantAnswer(t, g, OpReferences, "g", "src/main.rs:5 text g in main local")
	wantAnswer(t, g, OpDefinitions, "tail", "src/main.rs:6 function tail name")
	a := ask(t, g, OpDefinitions, "gen")
	if a.Status != Nothing || !strings.Contains(a.Why, "macros") {
		t.Errorf("gen: %s %q", a.Status, a.Why)
	}
}

// M09: the same text has the same definitions in .ts and .tsx.
func TestArrowReturnType(t *testing.T) {
	text := "export const f = (a: number): Promise<Map<string, number>> => { return g(a); };\nconst g = async <T,>(x: T): Promise<T> => x;\nclass A<T> { m = (): T[] => []; }\n"
	g := indexed(t, Options{NoWatch: true}, tree(t, map[string]string{"a.ts": text, "b.tsx": text}))
	for _, name := range []string{"f", "g", "A", "m"} {
		var ts, tsx string
		for _, r := range ask(t, g, OpDefinitions, name).Results {
			s := fmt.Sprint(r.Kind, *r.Range, *r.NameRange, r.Container)
			if strings.HasSuffix(*r.Path, ".ts") {
				ts = s
			} else {
				tsx = s
			}
		}
		if ts == "" || ts != tsx {
			t.Errorf("%s: .ts %q, .tsx %q", name, ts, tsx)
		}
	}
}

// M11, M13, M14, M15.
func TestPythonModules(t *testing.T) {
	g := indexed(t, Options{NoWatch: true}, tree(t, map[string]string{
		"pkg/__init__.py":   "",
		"pkg/x/__init__.py": "from .x import y\nfrom .requests import get\n",
		"pkg/x/x.py":        "def y(): pass\n",
		"pkg/x/requests.py": "def get(): pass\n",
		"ns/one/a.py":       "from ns.two.b import B\n",
		"ns/two/b.py":       "class B: pass\n",
		"m.py":              "class A: pass\n",
		"A.py":              "wrong = 1\n",
		"user.py":           "from m import A\nimport requests\nA()\n",
	}))
	wantAnswer(t, g, OpImports, "pkg/x/__init__.py", ".x -> pkg/x/x.py resolved", ".requests -> pkg/x/requests.py resolved")
	wantAnswer(t, g, OpImports, "ns/one/a.py", "ns.two.b -> ns/two/b.py resolved")
	wantAnswer(t, g, OpImports, "user.py", "m -> m.py resolved", "requests -> - external")
	wantAnswer(t, g, OpReferences, "B", "ns/one/a.py:1 import B import")
	a, err := g.Query(context.Background(), Query{Op: OpDefinitions, Target: "A", Path: "user.py"})
	if err != nil || brief(a) != "m.py:1 class A import" {
		t.Errorf("A: %s %v", brief(a), err)
	}
}

// The four kinds of nothing, and wrong questions.
func TestNothing(t *testing.T) {
	dir := tree(t, map[string]string{"a.py": "def f(): pass\n", "q.sql": "CREATE TABLE t (a int);\n", "x.txt": "f\n",
		"big.py": strings.Repeat("x = 1\n", maxFile/6+1), "bin.py": "a\x00b", "node_modules/m.js": "let a", "min.js": "let a;" + strings.Repeat("f(1);", 2000)})
	g := indexed(t, Options{NoWatch: true}, dir)
	for _, c := range []struct {
		op     Op
		target string
		want   Status
		why    string
	}{
		{OpDefinitions, "f", Found, ""},
		{OpDefinitions, "nope", Nothing, "none in the index"},
		{OpReferences, "f", Nothing, "nothing in the index uses it"},
		{OpImports, "a.py", Nothing, "imports nothing"},
		{OpImports, "q.sql", NoInformation, "sql files import nothing"},
		{OpImports, "x.txt", NoInformation, "no information about files"},
		{OpImports, "big.py", NoInformation, "too large"},
		{OpImports, "bin.py", NoInformation, "binary"},
		{OpImports, "min.js", NoInformation, "minified"},
		{OpImports, "node_modules/m.js", NoInformation, "ignored"},
	} {
		a := ask(t, g, c.op, c.target)
		if a.Status != c.want || !strings.Contains(a.Why, c.why) {
			t.Errorf("%s %s: %s %q, want %s %q", c.op, c.target, a.Status, a.Why, c.want, c.why)
		}
	}
	for _, q := range []Query{{Op: "calls", Target: "f"}, {Op: OpImports, Target: "gone.py"}, {Op: OpDefinitions}} {
		if a, err := g.Query(context.Background(), q); err == nil {
			t.Errorf("%+v: no error, %s", q, a.Status)
		}
	}
	st := g.Status()
	if st.Skipped[skipLarge] != 1 || st.Skipped[skipBinary] != 1 || st.Skipped[skipMinified] != 1 {
		t.Errorf("skipped: %v", st.Skipped)
	}
	cold, err := Open(Options{Workspace: workspace.New(workspace.Options{Roots: []string{dir}})})
	if err != nil {
		t.Fatal(err)
	}
	defer cold.Close()
	if a := ask(t, cold, OpDefinitions, "f"); a.Status != NotIndexed || a.Complete {
		t.Errorf("before the first pass: %s, complete %v", a.Status, a.Complete)
	}
}

// A limit says what it left out; guesses are counted, and shown when asked for.
func TestLimits(t *testing.T) {
	var b strings.Builder
	b.WriteString("class A:\n    def go(self): pass\n\ndef use(x: A, y):\n    x.go()\n    y.go()\n")
	for range 30 {
		b.WriteString("    x.go()\n")
	}
	g := indexed(t, Options{NoWatch: true}, tree(t, map[string]string{"a.py": b.String()}))
	a, err := g.Query(context.Background(), Query{Op: OpReferences, Target: "go", Limit: 10})
	if err != nil || len(a.Results) != 10 || a.More != 21 || a.Guesses != 1 {
		t.Errorf("%d results, %d more, %d guesses, %v", len(a.Results), a.More, a.Guesses, err)
	}
	a, _ = g.Query(context.Background(), Query{Op: OpReferences, Target: "go", Guesses: true})
	if last := a.Results[len(a.Results)-1]; len(a.Results) != 32 || last.How != HowName {
		t.Errorf("%d results, the last by %s", len(a.Results), last.How)
	}
	if !strings.Contains(a.String(), "by name") || !strings.Contains(a.String(), "a.py:5:7") {
		t.Errorf("text form:\n%s", a)
	}
}

// Strings and comments are out, unless asked for.
func TestTextHits(t *testing.T) {
	g := indexed(t, Options{NoWatch: true}, tree(t, map[string]string{"a.go": "package a\n\n// Area is not a call of Area.\nfunc Area() string { return \"Area Areas\" }\n\nvar x = Area()\n"}))
	wantAnswer(t, g, OpReferences, "Area", "a.go:6 call Area in x local")
	a, err := g.Query(context.Background(), Query{Op: OpReferences, Target: "Area", Text: true})
	if err != nil || len(a.Results) != 4 || a.Results[1].Kind != "comment or string" || a.Results[1].NameRange.Start.Line != 2 {
		t.Errorf("%s %v", brief(a), err)
	}
}

// What only an export or import list names is found; a folder is no module that
// it does not hold; names are listed once, without gaps.
func TestListsOfNames(t *testing.T) {
	dir := tree(t, map[string]string{
		"geo.ts":   "class Square {}\nfunction make() {}\nexport { Square as Sq, make };\n",
		"use.ts":   "import { Sq as Form, make } from './geo';\nimport './geo';\nnew Form(); make();\n",
		"py/a.py":  "from . import sibling, b\n",
		"py/b.py":  "x = 1\n",
		"lone.ts":  "import './use';\n",
		"other.ts": "export class Other {}\n",
	})
	g := indexed(t, Options{NoWatch: true}, dir)
	for _, name := range []string{"Sq", "Form"} {
		wantAnswer(t, g, OpDefinitions, name, "geo.ts:1 class Square import")
	}
	wantAnswer(t, g, OpImports, "py/a.py", ". -> py/b.py resolved")
	for _, r := range ask(t, g, OpNeighbors, "use.ts").Results {
		if strings.HasPrefix(r.Name, ",") || strings.HasSuffix(strings.TrimSpace(r.Name), ",") || strings.Contains(r.Name, ", ,") {
			t.Errorf("names %q", r.Name)
		}
	}
	var out, errs strings.Builder
	code := Main(context.Background(), []string{"definitions", "area", "extra"}, MainEnv{Dir: dir, Stdout: &out, Stderr: &errs})
	if code != exitUsage || !strings.Contains(errs.String(), `"extra" is left over`) {
		t.Errorf("%d %s", code, errs.String())
	}
}
