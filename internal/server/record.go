package server

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/stella-ls/stella-ls/internal/record"
	"github.com/stella-ls/stella-ls/lsp"
)

// openRecord makes the durable work record of the workspace's roots. Where one
// cannot be opened the human is told, sessions there end with the process, and
// nothing else depends on it.
func (p *parts) openRecord(o Options, op lsp.Opening) {
	p.record = record.NewSet(record.SetOptions{
		Home:  o.Home,
		Roots: op.Workspace.Roots,
		Failed: func(root string, err error) {
			op.Tell("Stella: sessions in " + root + " cannot be recorded or resumed now: " + err.Error())
		},
	})
	if root := firstRoot(op.Workspace); root != "" {
		_, _ = p.record.Store(root) // what fails was told
	}
}

// tidying removes old sessions behind a start's back.
type tidying struct {
	end  context.CancelFunc
	work sync.WaitGroup
}

func (t *tidying) start(set *record.Set, keepDays int, log *slog.Logger) {
	if keepDays <= 0 {
		return
	}
	var ctx context.Context
	ctx, t.end = context.WithCancel(context.Background())
	t.work.Go(func() {
		gone, err := set.Prune(ctx, time.Now().AddDate(0, 0, -keepDays))
		if len(gone) > 0 {
			log.Info("old sessions were removed from the work record", "sessions", gone, "record.keep_days", keepDays)
		}
		if err != nil && ctx.Err() == nil {
			log.Warn("old sessions could not all be removed from the work record", "err", err.Error())
		}
	})
}

func (t *tidying) stop() {
	if t.end != nil {
		t.end()
	}
	t.work.Wait()
}
