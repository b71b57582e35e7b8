//go:build unix

package contextengine

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stella-ls/stella-ls/contextengine/store"
)

// latencies runs f n times and returns the sorted times.
func latencies(n int, f func(i int)) []time.Duration {
	out := make([]time.Duration, n)
	for i := range out {
		start := time.Now()
		f(i)
		out[i] = time.Since(start)
	}
	slices.Sort(out)
	return out
}

// realistic makes n notes whose words fall as they do in real ones: each is the
// beginning of one labelled memory and the end of another.
func realistic(b *testing.B, n int) []store.Node {
	memories := readMemories(b)
	rnd := rand.New(rand.NewPCG(1, 2))
	out := make([]store.Node, n)
	for i := range out {
		x, y := memories[rnd.IntN(len(memories))], memories[rnd.IntN(len(memories))]
		xs, ys := strings.Fields(x[1]), strings.Fields(y[1])
		text := strings.Join(xs[:(len(xs)+1)/2], " ") + " " + strings.Join(ys[len(ys)/2:], " ") + fmt.Sprintf(" See case %d.", i)
		out[i] = store.Node{Kind: kindReflection, Key: fmt.Sprint(i), Label: fmt.Sprintf("%s %d", x[0], i), Content: text, Origin: "agent", Source: "reflection"}
	}
	return out
}

func fillRealistic(b *testing.B, e *Engine, n int) {
	b.Helper()
	s, err := e.openStore(ctx, true)
	if err != nil {
		b.Fatal(err)
	}
	err = s.Write(ctx, "fill", func(tx *store.Tx) error {
		for _, node := range realistic(b, n) {
			if _, err := tx.Put(node); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		b.Fatal(err)
	}
}

// cpu is the processor time of this process so far: what remains to be said
// about a machine that others use as well.
func cpu() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkRecall measures a whole recall, rendering included, over n memories.
// It reports wall-clock percentiles and mean processor time in milliseconds.
func BenchmarkRecall(b *testing.B) {
	for _, n := range []int{400, 10_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			p := newProject(b)
			e := p.open()
			fillRealistic(b, e, n)
			prompts := readPrompts(b, "prompts.txt")
			p.ask(e, "warm", prompts[0].prompt)
			b.ResetTimer()
			before, frames := cpu(), 0
			all := latencies(b.N, func(i int) {
				r, err := e.Preview(ctx, Query{Prompt: prompts[i%len(prompts)].prompt})
				if err != nil {
					b.Fatal(err)
				}
				frames += len(r.Frames)
			})
			b.ReportMetric(float64((cpu()-before).Microseconds())/1000/float64(b.N), "cpu-ms")
			b.ReportMetric(float64(all[len(all)*99/100].Microseconds())/1000, "p99-ms")
			b.ReportMetric(float64(all[len(all)/2].Microseconds())/1000, "p50-ms")
			b.ReportMetric(float64(frames)/float64(b.N), "frames")
		})
	}
}

// BenchmarkOpen measures opening a store of 100,000 records and reading one.
func BenchmarkOpen(b *testing.B) {
	p := newProject(b)
	e := p.open()
	fill(b, e, 100_000)
	if err := e.Close(); err != nil {
		b.Fatal(err)
	}
	info, err := os.Stat(e.lay.ContextDB())
	if err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(float64(info.Size())/1e6, "MB")
	b.ResetTimer()
	all := latencies(b.N, func(int) {
		s, err := store.Open(ctx, e.lay.ContextDB(), false, nil, func(s string) { b.Error(s) })
		if err != nil {
			b.Fatal(err)
		}
		if _, ok, err := s.Get(ctx, store.ID(kindReflection, "99999"), store.When{}); err != nil || !ok {
			b.Fatal(ok, err)
		}
		b.StopTimer()
		_ = s.Close()
		b.StartTimer()
	})
	b.ReportMetric(float64(all[len(all)-1].Microseconds())/1000, "max-ms")
}
