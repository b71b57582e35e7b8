//go:build unix

package record

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

// everyPoint runs f for each point of the child's operations, some at once: with
// an old session there before, and, up to the first acknowledged operation, where
// the store has to be made. With nth, at every nth point, from a random one on.
func everyPoint(t *testing.T, nth int, f func(t *testing.T, home, root string, at int, old bool) (point string)) {
	type run struct {
		at  int
		old bool
	}
	var runs []run
	for _, old := range []bool{true, false} {
		home, root := memDir(t), memDir(t)
		if old {
			oldSession(t, home, root)
		}
		out, err := child(t, "play", home, root, "RECORD_AT=0").Output()
		must(t, err)
		first, all := "done 0 at ", "points "
		if !old {
			all = first
		}
		_, count, _ := strings.Cut(string(out), all)
		points := 0
		if _, err := fmt.Sscan(count, &points); err != nil || old && points < 150 {
			t.Fatalf("%v\n%s", err, out)
		}
		for at := 1 + rand.IntN(nth); at <= points; at += nth {
			runs = append(runs, run{at, old})
		}
	}
	var next atomic.Int64
	var mu sync.Mutex
	names := map[string]bool{}
	var workers sync.WaitGroup
	for range 6 {
		workers.Go(func() {
			for i := next.Add(1) - 1; i < int64(len(runs)); i = next.Add(1) - 1 {
				r := runs[i]
				t.Run(fmt.Sprintf("%d/old=%v", r.at, r.old), func(t *testing.T) {
					home, root := memDir(t), memDir(t)
					if r.old {
						oldSession(t, home, root)
					}
					point := f(t, home, root, r.at, r.old)
					mu.Lock()
					names[point] = true
					mu.Unlock()
				})
			}
		})
	}
	workers.Wait()
	t.Logf("%d points, %d names", len(runs), len(names))
	for _, name := range pointNames(t) {
		if nth > 1 {
			break
		}
		if !slices.ContainsFunc(slices.Collect(maps.Keys(names)), func(n string) bool { return strings.HasPrefix(n, name) }) {
			t.Errorf("nothing happened at %q, which the sources name", name)
		}
	}
}

// pointNames are those in the package's sources, so that a new one cannot be
// forgotten.
func pointNames(t *testing.T) (names []string) {
	sources, err := filepath.Glob("*.go")
	must(t, err)
	for _, path := range sources {
		raw, err := os.ReadFile(path)
		must(t, err)
		for _, m := range regexp.MustCompile(`fault\.at\("([^"]+)"`).FindAllStringSubmatch(string(raw), -1) {
			names = append(names, m[1])
		}
	}
	if len(names) < 10 {
		t.Fatalf("only %q", names)
	}
	return names
}
