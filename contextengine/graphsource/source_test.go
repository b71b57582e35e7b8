package graphsource

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stella-ls/stella-ls/contextengine"
	"github.com/stella-ls/stella-ls/graph"
	"github.com/stella-ls/stella-ls/internal/workspace"
)

// indexed is a real graph over a few files.
func indexed(t *testing.T, files map[string]string) (*graph.Graph, string) {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range files {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	g, err := graph.Open(graph.Options{Workspace: workspace.New(workspace.Options{Roots: []string{dir}}), NoWatch: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { g.Close() })
	g.Start(context.Background())
	if err := g.Wait(context.Background()); err != nil {
		t.Fatal(err)
	}
	return g, dir
}

func TestDefinitions(t *testing.T) {
	g, dir := indexed(t, map[string]string{
		"a.py":     "def rate(x):\n    return x\n",
		"z/b.py":   "class Tax:\n    def rate(self, y):\n        return y\n\n",
		"notes.md": "rate\n",
	})
	s := New(g)
	ctx := context.Background()

	// The one in the file at hand comes first, whatever its path; lines are
	// 1-based and whole.
	got, err := s.Definitions(ctx, "rate", dir+"/z/b.py")
	if err != nil || len(got) != 2 {
		t.Fatalf("%+v %v", got, err)
	}
	first := contextengine.Definition{Name: "rate", Kind: "method", Container: "Tax", Path: dir + "/z/b.py", First: 2, Last: 3, Signature: got[0].Signature, How: got[0].How}
	if got[0] != first || !strings.Contains(got[0].Signature, "rate(self, y)") {
		t.Errorf("first %+v", got[0])
	}
	if got[1].Path != dir+"/a.py" || got[1].First != 1 || got[1].Last != 2 {
		t.Errorf("second %+v", got[1])
	}
	// A member by its owner, and nothing at all: no error.
	if got, err := s.Definitions(ctx, "Tax.rate", ""); err != nil || len(got) != 1 || got[0].Container != "Tax" {
		t.Errorf("%+v %v", got, err)
	}
	if got, err := s.Definitions(ctx, "nowhere", ""); err != nil || len(got) != 0 {
		t.Errorf("%+v %v", got, err)
	}
	if _, err := s.Definitions(ctx, " ", ""); err == nil {
		t.Error("an empty name is taken")
	}
}

func TestNeighbors(t *testing.T) {
	g, dir := indexed(t, map[string]string{
		"a.ts": "import { b } from './b';\nb();\n", "b.ts": "export function b() {}\n", "c.ts": "import './a';\n", "lone.ts": "let x = 1;\n", "d.sql": "CREATE TABLE t (a int);\n",
	})
	s := New(g)
	got, err := s.Neighbors(context.Background(), dir+"/a.ts")
	if err != nil || strings.Join(got, " ") != dir+"/b.ts "+dir+"/c.ts" {
		t.Errorf("%v %v", got, err)
	}
	if got, err := s.Neighbors(context.Background(), dir+"/lone.ts"); err != nil || len(got) != 0 {
		t.Errorf("%v %v", got, err)
	}
	if _, err := s.Neighbors(context.Background(), dir+"/d.sql"); err == nil {
		t.Error("a language without imports is taken for a file without neighbours")
	}
}

type fixed struct {
	a   graph.Answer
	err error
}

func (f fixed) Query(context.Context, graph.Query) (graph.Answer, error) { return f.a, f.err }

// What could not be told is an error and never "nothing".
func TestCouldNotTell(t *testing.T) {
	for _, status := range []graph.Status{graph.NotIndexed, graph.Failed, graph.NoInformation} {
		s := New(fixed{a: graph.Answer{Status: status, Why: "because"}})
		if _, err := s.Definitions(context.Background(), "x", ""); err == nil || !strings.Contains(err.Error(), "because") {
			t.Errorf("%s: definitions %v", status, err)
		}
		if _, err := s.Neighbors(context.Background(), "x"); err == nil || !strings.Contains(err.Error(), string(status)) {
			t.Errorf("%s: neighbors %v", status, err)
		}
	}
	if _, err := New(fixed{err: context.Canceled}).Neighbors(context.Background(), "x"); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	// A result without a place (an import that leads nowhere) is left out.
	got, err := New(fixed{a: graph.Answer{Status: graph.Found, Results: []graph.Result{{Name: "x"}}}}).Definitions(context.Background(), "x", "")
	if err != nil || len(got) != 0 {
		t.Errorf("%+v %v", got, err)
	}
}
