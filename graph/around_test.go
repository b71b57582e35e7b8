package graph

import (
	"context"
	"testing"

	"github.com/stella-ls/stella-ls/internal/workspace"
)

func TestAround(t *testing.T) {
	dir := tree(t, map[string]string{
		"a.py": "import os\n\nclass Shape:\n    def area(self):\n        x = 1\n\n        return x\n\ndef f():\n    pass\n",
		"a.rs": "struct S;\n\nimpl S {\n    fn m(&self) {\n        1;\n    }\n}\n",
		"a.ts": "export class C {\r\n  m() {\r\n    return 1;\r\n  }\r\n}\r\n",
	})
	ws := workspace.New(workspace.Options{Roots: []string{dir}})
	g := indexed(t, Options{Workspace: ws, NoWatch: true})
	for _, c := range []struct {
		file string
		line int
		want string
	}{
		{"a.py", 1, ""}, {"a.py", 3, "Shape"}, {"a.py", 4, "Shape.area"}, {"a.py", 6, "Shape.area"}, {"a.py", 7, "Shape.area"},
		{"a.py", 9, "f"}, {"a.py", 10, "f"}, {"a.py", 0, ""}, {"a.py", 99, ""},
		{"a.rs", 5, "S.m"}, {"a.ts", 2, "C.m"}, {"a.ts", 4, "C.m"}, {"none.ts", 1, ""},
	} {
		if got := g.Around(context.Background(), workspace.Path(dir+"/"+c.file), c.line); got != c.want {
			t.Errorf("%s:%d is in %q, want %q", c.file, c.line, got, c.want)
		}
	}
	// Of the unsaved text.
	if err := ws.DidOpen("file://"+dir+"/a.py", "python", 1, "def typed():\n    pass\n"); err != nil {
		t.Fatal(err)
	}
	if got := g.Around(context.Background(), workspace.Path(dir+"/a.py"), 2); got != "typed" {
		t.Errorf("in the buffer: %q", got)
	}
}
