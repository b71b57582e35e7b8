package graph

import (
	"context"
	"sync"
)

// demands are the files that a pass has found and not indexed yet. A query that
// needs one does not wait for the pass to come to it: the file is indexed on the
// way, and so are those that its imports lead to. The first right answer after a
// cold start needs a handful of files, not all of them.
type demands struct {
	mu sync.Mutex
	m  map[string]*demand
}

type demand struct {
	found found
	once  sync.Once
}

// add notes what a pass is about to do.
func (d *demands) add(jobs []found) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.m == nil {
		d.m = make(map[string]*demand, len(jobs))
	}
	for _, f := range jobs {
		d.m[f.path] = &demand{found: f}
	}
}

// get is the demand of a path, or nil when it was met.
func (d *demands) get(p string) *demand {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.m[p]
}

// done forgets a demand, unless another pass made a new one.
func (d *demands) done(p string, x *demand) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.m[p] == x {
		delete(d.m, p)
	}
}

// clear forgets what a pass that was cut short left.
func (d *demands) clear() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.m = nil
}

// demand indexes a file that a pass has found, once, whoever comes first: the
// pass or a query. It returns when the file is indexed. The linker's lock must not be held.
func (g *Graph) demand(ctx context.Context, p string) {
	x := g.demands.get(p)
	if x == nil {
		return
	}
	x.once.Do(func() { g.file(ctx, x.found) })
	if ctx.Err() == nil {
		g.demands.done(p, x)
	}
}
