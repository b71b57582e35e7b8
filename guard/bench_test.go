package guard

import (
	"context"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stella-ls/stella-ls/internal/workspace"
)

// BenchmarkCheck40K measures the check of a believed file of 40 KB against what
// no check can do without: reading those bytes and hashing them. Both run by
// turns in one loop, so that a noisy machine disturbs them alike; the bar is a
// ratio of 1.2. "spelled" resolves the caller's spelling of the path as well.
func BenchmarkCheck40K(b *testing.B) {
	for _, name := range []string{"closed", "open", "closed-spelled", "open-spelled"} {
		b.Run(name, func(b *testing.B) {
			e := newEnv(b)
			content := strings.Repeat("0123456789abcdef0123456789abcde\n", 40<<10/32)
			e.disk("f.go", content)
			state, spelled, _ := strings.Cut(name, "-")
			if state == "open" {
				e.ed.load("f.go")
			}
			e.read("f.go")
			n, path := e.name("f.go"), e.path("f.go")
			ctx := context.Background()
			var check, floor time.Duration
			b.SetBytes(int64(len(content)))
			for b.Loop() {
				t0 := time.Now()
				if spelled != "" {
					var err error
					if n, err = e.ws.Resolve("", "f.go"); err != nil {
						b.Fatal(err)
					}
				}
				if r := e.s.check(ctx, n, true); r != nil {
					b.Fatal(r.Message)
				}
				t1 := time.Now()
				bytes, err := os.ReadFile(path)
				if err != nil || workspace.DigestOf(bytes) == "" {
					b.Fatal(err)
				}
				check += t1.Sub(t0)
				floor += time.Since(t1)
			}
			b.ReportMetric(float64(check)/float64(floor), "ratio")
			b.ReportMetric(float64(check.Nanoseconds())/float64(b.N), "check-ns")
			b.ReportMetric(float64(floor.Nanoseconds())/float64(b.N), "floor-ns")
		})
	}
}
