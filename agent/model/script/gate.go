package script

import (
	"context"
	"sync"
)

// Gate lets a test decide when an answer goes on. A Release that comes before
// its wait is kept; each lets one wait through. The zero Gate is closed and
// ready to use, and it is safe for concurrent use.
type Gate struct {
	mu      sync.Mutex
	free    map[string]int
	waiters map[string][]chan struct{}
	changed chan struct{} // closed when somebody starts to wait
}

// Release lets one wait for name through.
func (g *Gate) Release(name string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if ws := g.waiters[name]; len(ws) > 0 {
		g.waiters[name] = ws[1:]
		close(ws[0])
		return
	}
	if g.free == nil {
		g.free = map[string]int{}
	}
	g.free[name]++
}

// Wait returns when name is released, or with ctx's error.
func (g *Gate) Wait(ctx context.Context, name string) error {
	g.mu.Lock()
	if g.free[name] > 0 {
		g.free[name]--
		g.mu.Unlock()
		return nil
	}
	ch := make(chan struct{})
	if g.waiters == nil {
		g.waiters = map[string][]chan struct{}{}
	}
	g.waiters[name] = append(g.waiters[name], ch)
	if g.changed != nil {
		close(g.changed)
		g.changed = nil
	}
	g.mu.Unlock()
	select {
	case <-ch:
		return nil
	case <-ctx.Done():
		g.abandon(name, ch)
		return ctx.Err()
	}
}

// abandon takes ch off the list; a release that already went to it is given back.
func (g *Gate) abandon(name string, ch chan struct{}) {
	g.mu.Lock()
	defer g.mu.Unlock()
	ws := g.waiters[name]
	for i, w := range ws {
		if w == ch {
			g.waiters[name] = append(ws[:i:i], ws[i+1:]...)
			return
		}
	}
	if g.free == nil {
		g.free = map[string]int{}
	}
	g.free[name]++
}

// Reached returns when somebody waits for name, or with ctx's error.
func (g *Gate) Reached(ctx context.Context, name string) error {
	for {
		g.mu.Lock()
		if len(g.waiters[name]) > 0 {
			g.mu.Unlock()
			return nil
		}
		if g.changed == nil {
			g.changed = make(chan struct{})
		}
		changed := g.changed
		g.mu.Unlock()
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
