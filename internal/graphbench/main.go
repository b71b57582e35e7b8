// Command graphbench measures the code graph on a generated tree: cold and warm
// start, questions, edits of a large open file, memory; each beside the floor
// that the same run measures. Every stage is a process of its own, so that
// memory is of that stage alone.
//
//	go run ./internal/graphbench [-lines 1000000] [-rounds 3]
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/pprof"
	"sort"
	"strings"
	"time"
)

var (
	lines   = flag.Int("lines", 1_000_000, "size of the generated tree")
	rounds  = flag.Int("rounds", 3, "how often each stage runs")
	stage   = flag.String("stage", "", "runs one stage; used by graphbench itself")
	dir     = flag.String("dir", "", "the generated tree, for -stage")
	cache   = flag.String("cache", "", "the index, for -stage")
	profile = flag.String("cpuprofile", "", "with -stage: writes a CPU profile")
	one     = flag.String("typing", "", "with -stage edit: only this of go, ts, tstype, tsany")
	only    = flag.String("stages", "floor,cold,warm,edit", "the stages to run")
	keep    = flag.String("keep", "", "generate into this folder and keep it")
)

// numbers are a stage's results by name.
type numbers map[string]float64

var stages = map[string]func() (numbers, error){"floor": floor, "cold": cold, "warm": warm, "edit": edit}

func main() {
	flag.Parse()
	if *stage != "" {
		if *profile != "" {
			f, err := os.Create(*profile)
			if err == nil && pprof.StartCPUProfile(f) == nil {
				defer pprof.StopCPUProfile()
			}
		}
		n, err := stages[*stage]()
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		_ = json.NewEncoder(os.Stdout).Encode(n)
		return
	}
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "graphbench:", err)
		os.Exit(1)
	}
}

func run() error {
	base, err := os.MkdirTemp("", "graphbench")
	if err != nil {
		return err
	}
	defer os.RemoveAll(base)
	tree := filepath.Join(base, "tree")
	if *keep != "" {
		tree = *keep
	}
	g, err := generate(tree, *lines)
	if err != nil {
		return err
	}
	fmt.Printf("%d files, %d lines, %.1f MB\n\n", g.Files, g.Lines, float64(g.Bytes)/1e6)
	all := map[string]map[string][]float64{}
	for round := range *rounds {
		store := filepath.Join(base, fmt.Sprintf("cache%d", round))
		for _, name := range strings.Split(*only, ",") {
			if stages[name] == nil {
				return fmt.Errorf("no stage %q", name)
			}
			n, err := child(name, tree, store)
			if err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
			if all[name] == nil {
				all[name] = map[string][]float64{}
			}
			for k, v := range n {
				all[name][k] = append(all[name][k], v)
			}
		}
	}
	report(all)
	return nil
}

func child(name, tree, store string) (numbers, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(self, "-stage", name, "-dir", tree, "-cache", store)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, err
	}
	var n numbers
	return n, json.Unmarshal(out, &n)
}

// row is a line of the table: a value, what it is measured against, and the bar.
type row struct {
	what       string
	stage, key string
	unit       string
	floorStage string // the control in the same run; empty: an absolute bar
	floorKey   string
	bar        float64
}

var rows = []row{
	{"cold index", "cold", "seconds", "s", "floor", "seconds", 2},
	{"cold index, CPU", "cold", "cpu", "s", "floor", "cpu", 2},
	{"peak memory of the cold index", "cold", "peak", "MB", "", "", 400},
	{"memory after it", "cold", "rss", "MB", "", "", 400},
	{"warm start to the first right answer", "warm", "first", "ms", "", "", 150},
	{"warm start, CPU (the pass beside it included)", "warm", "firstcpu", "ms", "", "", 0},
	{"memory, warm", "warm", "rss", "MB", "", "", 400},
	{"definition, p50", "warm", "def50", "ms", "", "", 5},
	{"definition, p99", "warm", "def99", "ms", "", "", 5},
	{"references, p50", "warm", "ref50", "ms", "", "", 25},
	{"references, p99", "warm", "ref99", "ms", "", "", 25},
	{"importers, first", "warm", "importers", "ms", "", "", 0},
	{"importers, later", "warm", "importers2", "ms", "", "", 0},
	{"edit of 10,000 lines of Go, anywhere, to a right answer, CPU p50", "edit", "ours50go", "ms", "edit", "bare50go", 2},
	{"the same, CPU p99", "edit", "ours99go", "ms", "edit", "bare99go", 2},
	{"in names in TypeScript, to a right answer for a name, CPU p50", "edit", "ours50ts", "ms", "edit", "bare50ts", 2},
	{"the same, CPU p99", "edit", "ours99ts", "ms", "edit", "bare99ts", 2},
	{"in names in TypeScript, to a right answer for a member that needs types, CPU p50", "edit", "ours50tstype", "ms", "edit", "bare50tstype", 2},
	{"the same, CPU p99", "edit", "ours99tstype", "ms", "edit", "bare99tstype", 2},
	{"anywhere in TypeScript, to a right answer for such a member, CPU p50", "edit", "ours50tsany", "ms", "edit", "bare50tsany", 2},
	{"the same, CPU p99", "edit", "ours99tsany", "ms", "edit", "bare99tsany", 2},
}

func report(all map[string]map[string][]float64) {
	fmt.Println("| what | min | median | max | against | ratio of medians | bar | |")
	fmt.Println("|---|---|---|---|---|---|---|---|")
	for _, r := range rows {
		v := all[r.stage][r.key]
		if len(v) == 0 || r.floorStage != "" && len(all[r.floorStage][r.floorKey]) == 0 {
			continue
		}
		sort.Float64s(v)
		mid := v[len(v)/2]
		against, ratio, bar, verdict := "", "", "", ""
		value := mid
		if r.floorStage != "" {
			f := all[r.floorStage][r.floorKey]
			sort.Float64s(f)
			value = mid / f[len(f)/2]
			against, ratio, bar = fmt.Sprintf("%.2f %s", f[len(f)/2], r.unit), fmt.Sprintf("%.2f", value), fmt.Sprintf("%.0f x", r.bar)
		} else if r.bar > 0 {
			bar = fmt.Sprintf("%.0f %s", r.bar, r.unit)
		}
		if r.bar > 0 {
			verdict = "met"
			if value > r.bar {
				verdict = "**missed**"
			}
		}
		fmt.Printf("| %s | %.2f | %.2f %s | %.2f | %s | %s | %s | %s |\n", r.what, v[0], mid, r.unit, v[len(v)-1], against, ratio, bar, verdict)
	}
}

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

func percentile(v []float64, p float64) float64 {
	if len(v) == 0 {
		return 0
	}
	sort.Float64s(v)
	return v[min(len(v)-1, int(float64(len(v))*p))]
}
