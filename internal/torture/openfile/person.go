package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/stella-ls/stella-ls/internal/fakeeditor"
)

// kept is how many of the person's lines stand in the text at a time.
const kept = 200

// person types n changes in bursts, and counts the lines that are not there
// when they are to be taken out.
func person(ctx context.Context, ed *fakeeditor.Editor, path string, c config, n int) (t tally, err error) {
	begin := time.Now()
	defer func() { t.Took = time.Since(begin) }()
	pace := time.NewTicker(time.Second * time.Duration(c.Burst) / time.Duration(c.Rate))
	defer pace.Stop()
	r := rand.New(rand.NewPCG(1, 2))
	for i := 0; t.Typed < n; i++ {
		if t.Typed > 0 && t.Typed%c.Burst < 2 {
			select {
			case <-pace.C:
			case <-ctx.Done():
				return t, context.Cause(ctx)
			}
		}
		if err := ed.Insert(path, 1+r.IntN(kept), 1, line(i)); err != nil {
			return t, err
		}
		t.Typed++
		if i < kept {
			continue
		}
		if err := ed.Replace(path, line(i-kept), ""); err != nil {
			t.Lost++
		}
		t.Typed++
	}
	text, _, _, _ := ed.Buffer(path)
	last := (t.Typed + kept) / 2
	for i := max(0, last-kept); i < last; i++ {
		if strings.Count(text, line(i)) != 1 {
			t.Lost++
		}
	}
	return t, nil
}

func line(i int) string { return fmt.Sprintf("# person %d.\n", i) }
