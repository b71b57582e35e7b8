package lsp

import (
	"context"
	"fmt"
	"sync"
	"time"

	"go.lsp.dev/protocol"
)

// indexDelay keeps a pass that is over in a moment from flickering in the
// editor, and indexReport is the time between two reports.
const (
	indexDelay  = 300 * time.Millisecond
	indexReport = 100 * time.Millisecond
)

// indexing shows the code graph's passes as work-done progress. The graph's
// callback only leaves the newest numbers here and never waits.
type indexing struct {
	s *Server

	mu          sync.Mutex // guards what follows
	done, total int
	showing     bool
	serial      int
}

// step is the graph's Progress: files done of all; done == total ends the pass.
func (x *indexing) step(done, total int) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.done, x.total = done, total
	if !x.showing && done < total && x.s.client.caps.progress {
		x.showing = true
		x.serial++
		go x.show(x.s.dispatch.base, fmt.Sprintf("stella-index-%d", x.serial))
	}
}

// now returns the numbers, and ends the showing when the pass is over.
func (x *indexing) now() (done, total int, over bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	over = x.done >= x.total
	if over {
		x.showing = false
	}
	return x.done, x.total, over
}

func (x *indexing) show(ctx context.Context, token string) {
	if !pause(ctx, indexDelay) {
		return
	}
	if _, _, over := x.now(); over {
		return
	}
	p := &progress{client: x.s.client, token: token}
	if !p.begin(ctx, "Stella: indexing", "", false) {
		x.mu.Lock()
		x.showing = false
		x.mu.Unlock()
		return
	}
	for {
		done, total, over := x.now()
		if over {
			p.end(fmt.Sprintf("%d files", total))
			return
		}
		percent := uint32(100 * done / max(total, 1))
		message := fmt.Sprintf("%d of %d files", done, total)
		p.send(&protocol.WorkDoneProgressReport{Kind: "report", Message: &message, Percentage: &percent})
		if !pause(ctx, indexReport) {
			return
		}
	}
}

func pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
