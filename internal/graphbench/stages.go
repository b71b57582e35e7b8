package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/stella-ls/stella-ls/graph"
	"github.com/stella-ls/stella-ls/graph/bench"
	"github.com/stella-ls/stella-ls/internal/workspace"
)

// cpu is the processor time that this process took, in seconds.
func cpu() float64 {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano()).Seconds()
}

// memory reads a field of /proc/self/status in MB.
func memory(field string) float64 {
	b, _ := os.ReadFile("/proc/self/status")
	m := regexp.MustCompile(field + `:\s+(\d+) kB`).FindSubmatch(b)
	if m == nil {
		return 0
	}
	n, _ := strconv.Atoi(string(m[1]))
	return float64(n) / 1024
}

// floor reads and parses all files with all cores and runs one symbol query over
// each: what no index can do without.
func floor() (numbers, error) {
	var files []string
	err := filepath.Walk(*dir, func(p string, fi os.FileInfo, err error) error {
		if err == nil && fi.Mode().IsRegular() && bench.Knows(p) {
			files = append(files, p)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	began, used := time.Now(), cpu()
	ch := make(chan string)
	var wg sync.WaitGroup
	var mu sync.Mutex
	var first error
	symbols := 0
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			f := bench.NewFloor()
			defer f.Close()
			for p := range ch {
				text, err := os.ReadFile(p)
				n := 0
				if err == nil {
					n, err = f.File(p, text)
				}
				mu.Lock()
				symbols += n
				if err != nil && first == nil {
					first = err
				}
				mu.Unlock()
			}
		})
	}
	for _, p := range files {
		ch <- p
	}
	close(ch)
	wg.Wait()
	if symbols == 0 && first == nil {
		first = fmt.Errorf("the symbol query found nothing")
	}
	return numbers{"seconds": time.Since(began).Seconds(), "cpu": cpu() - used, "symbols": float64(symbols)}, first
}

func open() (*graph.Graph, *workspace.Workspace, error) {
	ws := workspace.New(workspace.Options{Roots: []string{*dir}})
	g, err := graph.Open(graph.Options{Workspace: ws, CacheDir: *cache, NoWatch: true})
	return g, ws, err
}

func cold() (numbers, error) {
	began, used := time.Now(), cpu()
	g, _, err := open()
	if err != nil {
		return nil, err
	}
	defer g.Close()
	g.Start(context.Background())
	if err := g.Wait(context.Background()); err != nil {
		return nil, err
	}
	n := numbers{"seconds": time.Since(began).Seconds(), "cpu": cpu() - used, "peak": memory("VmHWM"), "rss": memory("VmRSS"), "files": float64(g.Status().Files)}
	if n["files"] < 100 {
		return nil, fmt.Errorf("only %v files were indexed", n["files"])
	}
	return n, nil
}

// site is a call across files whose definition is known from the way the tree is
// generated: the imported name of a line.
type site struct {
	path string
	line int
	col  int
	name string
}

var imported = regexp.MustCompile(`(?m)^(?:from \S+ import (\w+), \w+|import \{ (\w+), \w+ \}|use crate::\w+::\{(\w+), \w+\};)`)

// sites picks uses of imported classes in random files.
func sites(n int) ([]site, error) {
	files, err := filepath.Glob(*dir + "/*/*/*")
	if err != nil {
		return nil, err
	}
	deeper, _ := filepath.Glob(*dir + "/*/*/*/*")
	files = append(files, deeper...)
	rng := rand.New(rand.NewPCG(3, 4))
	var out []site
	for tries := 0; len(out) < n && tries < n*20; tries++ {
		p := files[rng.IntN(len(files))]
		b, err := os.ReadFile(p)
		if err != nil {
			continue
		}
		m := imported.FindSubmatch(b)
		if m == nil {
			continue
		}
		name := string(m[1]) + string(m[2]) + string(m[3])
		lines := strings.Split(string(b), "\n")
		for i := len(lines) - 1; i > 8; i-- {
			if c := strings.Index(lines[i], name); c >= 0 {
				out = append(out, site{p, i, c, name})
				break
			}
		}
	}
	if len(out) < n {
		return out, fmt.Errorf("only %d sites of %d", len(out), n)
	}
	return out, nil
}

func (s site) at() graph.At {
	return graph.At{Path: workspace.Path(s.path), Pos: workspace.Position{Line: uint32(s.line), Character: uint32(s.col)}, Enc: workspace.UTF16}
}

// define asks for a site's definition and checks the answer.
func define(g *graph.Graph, s site) error {
	locs, err := g.Definition(context.Background(), s.at())
	if err != nil {
		return err
	}
	if len(locs) != 1 || locs[0].Name != s.name || string(locs[0].Path) == s.path || locs[0].How != graph.HowImport {
		return fmt.Errorf("%s:%d %s: %+v", s.path, s.line+1, s.name, locs)
	}
	return nil
}

func warm() (numbers, error) {
	ss, err := sites(2000)
	if err != nil {
		return nil, err
	}
	began, used := time.Now(), cpu()
	g, _, err := open()
	if err != nil {
		return nil, err
	}
	defer g.Close()
	g.Start(context.Background())
	<-g.Ready()
	if err := define(g, ss[0]); err != nil {
		return nil, err
	}
	n := numbers{"first": ms(time.Since(began)), "firstcpu": (cpu() - used) * 1000}
	if err := g.Wait(context.Background()); err != nil {
		return nil, err
	}
	n["settled"] = ms(time.Since(began))
	n["rss"] = memory("VmRSS")
	var defs, refs []float64
	for _, s := range ss {
		t := time.Now()
		if err := define(g, s); err != nil {
			return nil, err
		}
		defs = append(defs, ms(time.Since(t)))
	}
	for _, s := range ss[:500] {
		t := time.Now()
		locs, err := g.References(context.Background(), s.at(), false)
		if err != nil || len(locs) == 0 {
			return nil, fmt.Errorf("references of %s: %d %v", s.name, len(locs), err)
		}
		refs = append(refs, ms(time.Since(t)))
	}
	n["def50"], n["def99"] = percentile(defs, 0.5), percentile(defs, 0.99)
	n["ref50"], n["ref99"] = percentile(refs, 0.5), percentile(refs, 0.99)
	for _, key := range []string{"importers", "importers2"} {
		t := time.Now()
		if _, err := g.Query(context.Background(), graph.Query{Op: graph.OpImporters, Target: ss[0].path}); err != nil {
			return nil, err
		}
		n[key] = ms(time.Since(t))
	}
	return n, nil
}
