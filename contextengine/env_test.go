package contextengine

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stella-ls/stella-ls/contextengine/store"
	"github.com/stella-ls/stella-ls/internal/config"
)

var ctx = context.Background()

// whenEver drops the condition on world time.
var whenEver = store.When{Ever: true}

// project is a workspace folder with a clock that the test moves.
type project struct {
	t     testing.TB
	root  string
	graph Graph
	rate  int // of control turns; 0 makes none

	mu    sync.Mutex
	now   time.Time
	said  []string
	turns map[string]int
}

func newProject(t testing.TB) *project {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return &project{t: t, root: root, now: time.Date(2026, 5, 4, 9, 30, 0, 0, time.UTC), turns: map[string]int{}}
}

func (p *project) clock() time.Time { p.mu.Lock(); defer p.mu.Unlock(); return p.now }

func (p *project) wait(d time.Duration) time.Time {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.now = p.now.Add(d)
	return p.now
}

func (p *project) notes() string { p.mu.Lock(); defer p.mu.Unlock(); return strings.Join(p.said, "\n") }

// open starts what stands for a process.
func (p *project) open() *Engine {
	p.t.Helper()
	settings := config.Default().Recall
	settings.ControlRate = p.rate
	e := New(Options{Root: p.root, Graph: p.graph, Clock: p.clock, Settings: func() config.Recall { return settings },
		Report: func(s string) { p.mu.Lock(); p.said = append(p.said, s); p.mu.Unlock() }})
	p.t.Cleanup(func() { _ = e.Close() })
	return e
}

func (p *project) write(rel, text string) {
	p.t.Helper()
	path := filepath.Join(p.root, filepath.FromSlash(rel))
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		p.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		p.t.Fatal(err)
	}
}

func (p *project) memory(slug, text string) string {
	p.t.Helper()
	p.write(".stella/memories/"+slug+".md", text)
	return MemoryID(slug)
}

func (p *project) abs(rel string) string { return filepath.Join(p.root, filepath.FromSlash(rel)) }

// ask is one recall in a turn of its own.
func (p *project) ask(e *Engine, session, prompt string, change ...func(*Query)) Recalled {
	p.t.Helper()
	p.mu.Lock()
	p.turns[session]++
	q := Query{Session: session, Turn: p.turns[session], Prompt: prompt}
	p.mu.Unlock()
	for _, c := range change {
		c(&q)
	}
	r, err := e.Recall(ctx, q)
	if err != nil {
		p.t.Fatal(err)
	}
	return r
}

func (p *project) cite(e *Engine, session, id string, score int, truthful bool) CiteResult {
	p.t.Helper()
	p.mu.Lock()
	turn := p.turns[session]
	p.mu.Unlock()
	r, err := e.Cite(ctx, CiteRequest{Session: session, Turn: turn, MemoryID: id, Score: score, Truthful: truthful, Remark: "it helped"})
	if err != nil {
		p.t.Fatal(err)
	}
	return r
}

func ids(r Recalled) (out []string) {
	for _, f := range r.Frames {
		out = append(out, f.ID)
	}
	return out
}

func has(r Recalled, id string) bool {
	for _, f := range r.Frames {
		if f.ID == id {
			return true
		}
	}
	return false
}

// fakeGraph answers from tables.
type fakeGraph struct {
	defs map[string][]Definition
	near map[string][]string
}

func (g *fakeGraph) Definitions(_ context.Context, name, _ string) ([]Definition, error) {
	return g.defs[name], nil
}

func (g *fakeGraph) Neighbors(_ context.Context, path string) ([]string, error) {
	return g.near[path], nil
}

// filler is a realistic note that has nothing to do with the tests' prompts.
func filler(i int) string {
	nouns := []string{"invoice", "shipment", "warehouse", "carrier", "pallet", "customs", "tariff", "manifest", "dock", "route", "driver", "fuel", "ledger", "voucher", "refund"}
	verbs := []string{"rounds", "reorders", "archives", "splits", "merges", "signs", "scans", "weighs", "prints", "rejects", "delays", "books"}
	return fmt.Sprintf("The %s %s %s entries by the %s number %d before the nightly export.", nouns[i%len(nouns)],
		nouns[(i/7)%len(nouns)], verbs[(i/3)%len(verbs)], nouns[(i/5+3)%len(nouns)], i)
}
