// Command contextbench compares where recalled context may stand in a prompt by
// what it costs: input tokens billed at the full price over a 50-turn session.
//
// The prompts and the recalled blocks are real (the engine recalls from the
// labelled project); the rest of the session is filler of realistic size. The
// providers' caches are simulated by their documented rules. Run it from the
// repository's root:
//
//	go run ./internal/contextbench
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"time"
)

func main() {
	data := flag.String("data", "contextengine/testdata/recall", "the labelled project")
	sessions := flag.Int("sessions", 12, "how many sessions to play")
	flag.Parse()
	if err := run(context.Background(), os.Stdout, *data, *sessions); err != nil {
		fmt.Fprintln(os.Stderr, "contextbench:", err)
		os.Exit(1)
	}
}

// row is one design under one provider's rules, over all sessions.
type row struct {
	design design
	full   []int
	read   []int
	ratio  []float64 // of full to that of splice, session by session
	cost   []float64 // weighted, relative to splice
}

func run(ctx context.Context, w io.Writer, data string, sessions int) error {
	tables, err := measure(ctx, data, sessions)
	if err != nil {
		return err
	}
	for _, t := range tables {
		fmt.Fprintf(w, "%s, %d sessions of %d turns, input tokens in thousands (min / median / max)\n", t.rules, sessions, turnsOfSession)
		fmt.Fprintf(w, "%-24s %24s %24s %22s %8s\n", "design", "full price", "from the cache", "full price : splice", "cost")
		for _, r := range t.rows {
			fmt.Fprintf(w, "%-24s %24s %24s %22s %8.2f\n", r.design, thousands(r.full), thousands(r.read), spread(r.ratio), median(r.cost))
		}
		fmt.Fprintln(w)
	}
	fmt.Fprintf(w, "default by this table: %s\n", pick(tables))
	return nil
}

type table struct {
	rules string
	rows  []row
}

func measure(ctx context.Context, data string, sessions int) ([]table, error) {
	dir, err := os.MkdirTemp("", "contextbench")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	clock := func() time.Time { return time.Date(2026, 5, 4, 9, 30, 0, 0, time.UTC) }
	e, prompts, err := workspace(dir, data, clock)
	if err != nil {
		return nil, err
	}
	defer e.Close()
	if err := e.Mirror(ctx, true); err != nil {
		return nil, err
	}
	var tables []table
	for _, broken := range []bool{false, true} {
		pair := []table{{rules: newMarked().name()}, {rules: newAutomatic().name()}}
		for k := range pair {
			pair[k].rules += map[bool]string{false: ", steady work", true: ", with pauses that let the cache grow cold"}[broken]
		}
		for s := range sessions {
			l, err := record(ctx, e, prompts, uint64(s), broken)
			if err != nil {
				return nil, err
			}
			pair[0].add(l, newMarked)
			pair[1].add(l, newAutomatic)
		}
		tables = append(tables, pair...)
	}
	return tables, nil
}

func (t *table) add(l load, fresh func() rules) {
	if t.rows == nil {
		t.rows = make([]row, len(designs))
	}
	var base bill
	for i, d := range designs {
		b := l.play(d, fresh())
		if d == splice {
			base = b // the first of designs
		}
		r := &t.rows[i]
		r.design = d
		r.full, r.read = append(r.full, b.full), append(r.read, b.read)
		r.ratio = append(r.ratio, float64(b.full)/float64(base.full))
		r.cost = append(r.cost, weigh(b)/weigh(base))
	}
}

// weigh is the price of a bill in full-price tokens, a cache read at a tenth.
func weigh(b bill) float64 { return float64(b.full) + 0.1*float64(b.read) }

// pick is the placement that costs less under both rules, by median.
func pick(tables []table) design {
	sum := map[design]float64{}
	for _, t := range tables {
		for _, r := range t.rows {
			sum[r.design] += median(r.cost)
		}
	}
	if sum[beforePrompt] < sum[afterPrefix] {
		return beforePrompt
	}
	return afterPrefix
}

func median(v []float64) float64 {
	v = slices.Sorted(slices.Values(v))
	return v[len(v)/2]
}

func thousands(v []int) string {
	v = slices.Sorted(slices.Values(v))
	return fmt.Sprintf("%d / %d / %d", v[0]/1000, v[len(v)/2]/1000, v[len(v)-1]/1000)
}

func spread(v []float64) string {
	v = slices.Sorted(slices.Values(v))
	return fmt.Sprintf("%.2f / %.2f / %.2f", v[0], v[len(v)/2], v[len(v)-1])
}
