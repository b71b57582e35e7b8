package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/stella-ls/stella-ls/contextengine"
	"github.com/stella-ls/stella-ls/internal/config"
)

// design is where recalled context goes.
type design string

const (
	splice       design = "splice into the prefix"
	afterPrefix  design = "after-prefix"
	beforePrompt design = "before-prompt"
	nothing      design = "no recall"
)

var designs = []design{splice, afterPrefix, beforePrompt, nothing}

// turn is one turn of a recorded session: everything but the place of the
// recalled context is the same for all designs.
type turn struct {
	prompt string
	recall string
	steps  []string // what each model call added: its calls and their results
	pause  float64  // seconds the human took before the prompt
}

// load is a simulated session over the labelled project: real prompts, and for
// each the block that the real engine recalls.
type load struct {
	base  string // base instructions and tool schemas
	bake  string // the engine's own prefix with memories and rules
	turns []turn
	// system is the baked prefix as a block.
	system block
}

const (
	turnsOfSession = 50
	toolTokens     = 3200 // schemas of the tools
	baseTokens     = 1800
	compactAt      = 150_000
	stepSeconds    = 9
)

// workspace writes the labelled project's memories and opens an engine on it.
func workspace(dir, data string, clock func() time.Time) (*contextengine.Engine, []string, error) {
	memories, err := os.ReadFile(filepath.Join(data, "memories.txt"))
	if err != nil {
		return nil, nil, fmt.Errorf("run it from the repository's root: %w", err)
	}
	folder := filepath.Join(dir, ".stella", "memories")
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return nil, nil, err
	}
	for line := range strings.Lines(string(memories)) {
		slug, text, ok := strings.Cut(strings.TrimSpace(line), ": ")
		if !ok || strings.HasPrefix(line, "#") {
			continue
		}
		if err := os.WriteFile(filepath.Join(folder, slug+".md"), []byte(text+"\n"), 0o600); err != nil {
			return nil, nil, err
		}
	}
	raw, err := os.ReadFile(filepath.Join(data, "prompts.txt"))
	if err != nil {
		return nil, nil, err
	}
	var prompts []string
	for line := range strings.Lines(string(raw)) {
		if prompt, _, ok := strings.Cut(line, "=>"); ok && !strings.HasPrefix(line, "#") {
			prompts = append(prompts, strings.TrimSpace(prompt))
		}
	}
	settings := config.Default().Recall
	e := contextengine.New(contextengine.Options{Root: dir, Clock: clock, Settings: func() config.Recall { return settings }})
	return e, prompts, nil
}

// record plays one session. Prompts follow each other as in the file, which is
// by topic; every third is a follow-up on the same topic. One turn in ten is a control.
// In a broken session the human goes away now and then, and the cache grows cold.
func record(ctx context.Context, e *contextengine.Engine, prompts []string, seed uint64, broken bool) (load, error) {
	rnd := rand.New(rand.NewPCG(seed, 7))
	prefix, err := e.Prefix(ctx, "", "")
	if err != nil {
		return load{}, err
	}
	l := load{base: filler(rnd, toolTokens+baseTokens), bake: prefix.Text}
	at := rnd.IntN(len(prompts))
	for i := range turnsOfSession {
		prompt := prompts[at%len(prompts)]
		if rnd.IntN(3) > 0 {
			at++
		}
		t := turn{prompt: prompt + " " + filler(rnd, 20+rnd.IntN(60)), pause: 20 + 120*rnd.Float64()}
		if away := rnd.IntN(12) == 0; away && broken {
			t.pause = 600
		}
		r, err := e.Preview(ctx, contextengine.Query{Prompt: prompt})
		if err != nil {
			return load{}, err
		}
		if i%10 != 3 { // a control turn
			t.recall = r.Block
		}
		for range 2 + rnd.IntN(7) {
			t.steps = append(t.steps, filler(rnd, 60+rnd.IntN(120))+"\n"+filler(rnd, 120+rnd.IntN(1100)))
		}
		l.turns = append(l.turns, t)
	}
	return l, nil
}

// filler is text of about n tokens that occurs nowhere else.
func filler(rnd *rand.Rand, n int) string {
	var b strings.Builder
	for b.Len() < 4*n {
		fmt.Fprintf(&b, "%x ", rnd.Uint32())
	}
	return b.String()
}

// play sends every request of the session under one design and one provider's
// rules, with the marks the agent sets: after the prefix, after the last message,
// and after what was the last message of the request before.
func (l load) play(d design, r rules) bill {
	l.system = piece(l.base + l.bake)
	var total bill
	var history []block
	previous := -1 // index in history of the last message of the request before
	at := 0.0
	for _, t := range l.turns {
		at += t.pause
		start := len(history)
		history = append(history, piece(t.prompt))
		for s := 0; s <= len(t.steps); s++ {
			total.add(r.send(l.request(d, t, history, start, previous), at))
			previous = len(history) - 1
			at += stepSeconds
			if s < len(t.steps) {
				history = append(history, piece(t.steps[s]))
			}
		}
		if cut := compact(history); cut > 0 {
			history = history[cut:]
			previous = -1
		}
	}
	return total
}

func (l load) request(d design, t turn, history []block, start, previous int) []block {
	system := l.system
	if d == splice && t.recall != "" {
		system = piece(l.base + l.bake + t.recall)
	}
	system.mark = true
	out := []block{system}
	if d == afterPrefix && t.recall != "" {
		out = append(out, piece(t.recall))
	}
	for i, b := range history {
		if d == beforePrompt && i == start && t.recall != "" {
			out = append(out, piece(t.recall))
		}
		b.mark = i == previous || i == len(history)-1
		out = append(out, b)
	}
	return out
}

// compact drops the older half of a history that has grown over the limit.
func compact(history []block) int {
	sum := 0
	for _, b := range history {
		sum += b.tokens
	}
	if sum < compactAt {
		return 0
	}
	return len(history) / 2
}
