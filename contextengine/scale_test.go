package contextengine

import (
	"fmt"
	"os"
	"slices"
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

var prompts = []string{
	"how are shipment entries archived before the nightly export of the warehouse?",
	"why does the carrier reject a voucher for the pallet?",
	"the tariff on the manifest is wrong after a refund, what rounds it?",
	"fix the failing test in the ledger",
	"What is the capital of France?",
	"split the invoice by driver and fuel, then print the customs manifest number 4711",
	"please look at the dock scanner: it weighs each pallet twice when the route delays and the carrier signs",
}

// BenchmarkRecall measures a whole recall, rendering included, over n memories.
// It reports the 99th percentile in milliseconds.
func BenchmarkRecall(b *testing.B) {
	for _, n := range []int{400, 10_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			p := newProject(b)
			e := p.open()
			fill(b, e, n)
			p.ask(e, "warm", prompts[0])
			b.ResetTimer()
			all := latencies(b.N, func(i int) {
				if _, err := e.Preview(ctx, Query{Prompt: prompts[i%len(prompts)]}); err != nil {
					b.Fatal(err)
				}
			})
			b.ReportMetric(float64(all[len(all)*99/100].Microseconds())/1000, "p99-ms")
			b.ReportMetric(float64(all[len(all)/2].Microseconds())/1000, "p50-ms")
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
