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
	r := rand.New(rand.NewPCG(1, 2))
	for i := 0; t.Typed < n; i++ {
		if t.Typed%c.Burst < 2 {
			if err := rest(ctx, begin.Add(c.at(t.Typed))); err != nil {
				return t, err
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

// at is when, after the beginning, change number n is due. Every second holds
// Rate changes in bursts, and ends in a rest as long as three tenths of it: the
// moment in which an edit can land, and the next burst falls right into others.
func (c config) at(n int) time.Duration {
	whole, part := n/c.Rate, n%c.Rate
	return time.Duration(whole)*time.Second + time.Duration(part)*7*time.Second/time.Duration(10*c.Rate)
}

func rest(ctx context.Context, until time.Time) error {
	timer := time.NewTimer(time.Until(until))
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func line(i int) string { return fmt.Sprintf("# person %d.\n", i) }
