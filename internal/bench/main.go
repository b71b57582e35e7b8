// Command bench measures the built server from outside, as an editor meets it,
// and prints a table. Each figure stands beside a control that was measured in
// the same run, because machines are noisy and only ratios travel.
//
//	go run ./internal/bench --server bin/stella-ls [--write docs/bench.md]
package main

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"
)

// figure is one row: what was measured, its samples, and those of its control.
type figure struct {
	what    string
	samples []time.Duration
	control string // what the control is
	against []time.Duration
	bar     string // in words
	met     func(f figure) bool
}

// measures are run in this order; each gets the path of the server.
var measures = []func(ctx context.Context, server string) (figure, error){
	startToInitialize, cancelOfATurn, keystrokeToStatus, checkOf40KB,
}

func main() {
	server := flag.String("server", "bin/stella-ls", "the built `binary`, without the race detector")
	write := flag.String("write", "", "also put the table, with date and machine, into this `file`")
	strict := flag.Bool("strict", false, "fail when a bar is not met; without it only a failed measurement does")
	flag.Parse()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute)
	defer cancel()
	var rows []figure
	failed := false
	for _, m := range measures {
		f, err := m(ctx, *server)
		if err != nil {
			fmt.Fprintf(os.Stderr, "bench: %s: %v\n", f.what, err)
			failed = true
			continue
		}
		rows = append(rows, f)
		failed = failed || *strict && !f.met(f)
	}
	text := table(rows)
	fmt.Print(text)
	if *write != "" {
		head := fmt.Sprintf("# Measured\n\n`make bench` on %s, %s/%s, %d cores, %s. Take the ratios, not the times.\n\n",
			time.Now().Format(time.DateOnly), runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), runtime.Version())
		if err := os.WriteFile(*write, []byte(head+text), 0o644); err != nil {
			fmt.Fprintln(os.Stderr, "bench:", err)
			failed = true
		}
	}
	if failed {
		os.Exit(1)
	}
}

func table(rows []figure) string {
	var b strings.Builder
	b.WriteString("| what | runs | min | median | p99 | max | control | its min | its median | ratio | bar | met |\n")
	b.WriteString("|---|---|---|---|---|---|---|---|---|---|---|---|\n")
	for _, f := range rows {
		least, median, ratio := "-", "-", "-"
		if len(f.against) > 0 {
			least, median = round(quantile(f.against, 0)), round(quantile(f.against, 0.5))
			ratio = fmt.Sprintf("%.2f", f.ratio())
		}
		met := "yes"
		if !f.met(f) {
			met = "**no**"
		}
		fmt.Fprintf(&b, "| %s | %d | %s | %s | %s | %s | %s | %s | %s | %s | %s | %s |\n", f.what, len(f.samples),
			round(quantile(f.samples, 0)), round(quantile(f.samples, 0.5)), round(quantile(f.samples, 0.99)), round(quantile(f.samples, 1)),
			cmp.Or(f.control, "-"), least, median, ratio, f.bar, met)
	}
	return b.String()
}

// ratio compares the fastest runs, which other programs disturb least.
func (f figure) ratio() float64 {
	return float64(quantile(f.samples, 0)) / float64(quantile(f.against, 0))
}

// quantile is the smallest sample that at least a share q of all do not exceed.
func quantile(samples []time.Duration, q float64) time.Duration {
	s := slices.Sorted(slices.Values(samples))
	i := int(q * float64(len(s)))
	return s[min(i, len(s)-1)]
}

func round(d time.Duration) string {
	switch {
	case d >= 10*time.Millisecond:
		return d.Round(time.Millisecond).String()
	case d >= time.Millisecond:
		return d.Round(10 * time.Microsecond).String()
	}
	return d.Round(100 * time.Nanosecond).String()
}

// below is the bar "the q-quantile is below limit".
func below(q float64, limit time.Duration) func(figure) bool {
	return func(f figure) bool { return quantile(f.samples, q) < limit }
}
