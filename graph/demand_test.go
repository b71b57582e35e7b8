package graph

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stella-ls/stella-ls/internal/workspace"
)

// waiting is a graph whose pass has found the files and indexed none of them.
func waiting(t *testing.T, dir string) (*Graph, []found) {
	t.Helper()
	g, err := Open(Options{Workspace: workspace.New(workspace.Options{Roots: []string{dir}}), NoWatch: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { g.Close() })
	r := g.allRoots()[0]
	return g, g.compare(r, r.dir, r.walk(context.Background(), r.dir).files)
}

// A question during a cold start is answered from the files that it needs: the
// asked one, those that its imports lead to through a barrel, and no others.
func TestQuestionBeforeThePass(t *testing.T) {
	dir := tree(t, map[string]string{
		"a.ts":     "import { make } from './lib';\nmake().run();\n",
		"lib.ts":   "export { make } from './deep';\n",
		"deep.ts":  "export class Job { run() {} }\nexport function make(): Job { return new Job(); }\n",
		"other.ts": "export function make() {}\n",
	})
	g, jobs := waiting(t, dir)
	g.demands.add(jobs)
	for _, q := range []struct {
		col  uint32
		want string
	}{{1, "make"}, {8, "run"}} {
		locs, err := g.Definition(context.Background(), At{workspace.Path(dir + "/a.ts"), workspace.Position{Line: 1, Character: q.col}, workspace.UTF16})
		if err != nil || len(locs) != 1 || locs[0].Name != q.want || string(locs[0].Path) != dir+"/deep.ts" {
			t.Errorf("%s: %+v %v", q.want, locs, err)
		}
	}
	if g.index.get(dir+"/other.ts") != nil {
		t.Error("a file was indexed that the question did not need")
	}
	// A question that is given up leaves nothing out.
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, _ = g.Definition(ctx, At{workspace.Path(dir + "/other.ts"), workspace.Position{}, workspace.UTF16})
	if e := g.index.get(dir + "/other.ts"); e == nil || e.skip != "" {
		t.Errorf("after a cancelled question: %+v", e)
	}
}

// Pass and questions meet: every file is parsed once.
func TestQuestionsDuringThePass(t *testing.T) {
	files := map[string]string{}
	for i := range 40 {
		files[fmt.Sprintf("m%d.ts", i)] = fmt.Sprintf("import { f%d } from './m%d';\nexport function f%d() { return f%[1]d(); }\n", (i+1)%40, (i+1)%40, i)
	}
	dir := tree(t, files)
	g, jobs := waiting(t, dir)
	var parsed atomic.Int64
	first, asked := make(chan bool), make(chan bool)
	g.workers.parsed = func() {
		if parsed.Add(1) == 1 {
			close(first)
			<-asked
		}
	}
	var wg sync.WaitGroup
	wg.Go(func() { g.process(context.Background(), jobs) })
	<-first // the pass is at work
	for i := range 40 {
		wg.Go(func() {
			at := At{workspace.Path(fmt.Sprintf("%s/m%d.ts", dir, i)), workspace.Position{Line: 1, Character: 29 + uint32(len(fmt.Sprint(i)))}, workspace.UTF16}
			locs, err := g.Definition(context.Background(), at)
			if err != nil || len(locs) != 1 || locs[0].How != HowImport {
				t.Errorf("%d: %+v %v", i, locs, err)
			}
		})
	}
	close(asked)
	wg.Wait()
	if n := parsed.Load(); n != 40 {
		t.Errorf("%d parses of 40 files", n)
	}
}
