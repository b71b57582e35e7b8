package server

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/stella-ls/stella-ls/agent/tools"
	"github.com/stella-ls/stella-ls/internal/config"
)

// trust decides whether what a project brings (commands, servers, hooks,
// formatters) may run. An editor that says no wins over everything; then the
// command line, what the editor said, and what the user decided before.
type trust struct {
	editor *bool
	forced bool
	roots  func() []string
	store  *config.Trust
	log    *slog.Logger

	once sync.Once

	mu      sync.Mutex // guards what follows
	answer  *bool      // of the question asked in this run
	decided map[string]decision
}

// decision is what the store said about a root at a time. Another process may
// change its mind, so it counts for settingsPoll.
type decision struct {
	trusted, known bool
	at             time.Time
}

func (t *trust) trusted() bool {
	if t.editor != nil && !*t.editor {
		return false
	}
	if t.forced || t.editor != nil {
		return true
	}
	yes, _ := t.remembered()
	return yes
}

// remembered is what was decided about all roots: trusted when each is.
func (t *trust) remembered() (trusted, decided bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.answer != nil {
		return *t.answer, true
	}
	roots := t.roots()
	trusted, decided = len(roots) > 0, len(roots) > 0
	for _, root := range roots {
		d := t.decided[root]
		if time.Since(d.at) > settingsPoll {
			var err error
			d.at = time.Now()
			if d.trusted, d.known, err = t.store.Trusted(root); err != nil {
				t.log.Warn("trust cannot be told; the workspace is untrusted", "error", err)
			}
			t.decided[root] = d
		}
		trusted, decided = trusted && d.trusted, decided && d.known
	}
	return trusted, decided
}

// ask puts the question once, if nobody decided before. It waits for the person.
func (t *trust) ask(ctx context.Context, who tools.Asker) {
	t.once.Do(func() {
		if t.editor != nil || t.forced || len(t.roots()) == 0 {
			return
		}
		if _, decided := t.remembered(); decided {
			return
		}
		a, err := who.Ask(ctx, "", tools.Question{
			Kind: "trust", Title: "Do you trust the files in this workspace?",
			Detail: "Only then may sessions run commands, and may the project's own servers, tools, hooks and formatters run.",
			Options: []tools.Option{
				{ID: "always", Title: "Trust this folder"}, {ID: "once", Title: "Trust it this time"}, {ID: "deny", Title: "Do not trust"},
			},
		})
		if err != nil || a.Choice == "" {
			return
		}
		yes := a.Choice != "deny"
		t.mu.Lock()
		t.answer = &yes
		t.mu.Unlock()
		if a.Choice == "once" {
			return
		}
		for _, root := range t.roots() {
			if err := t.store.Set(root, yes); err != nil {
				t.log.Warn("the decision about trust could not be kept", "error", err)
			}
		}
	})
}
