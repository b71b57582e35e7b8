package tools

import (
	"context"
	"encoding/json"
	"path/filepath"
	"time"

	"github.com/stella-ls/stella-ls/guard"
)

// batchKey is equal for calls that one transaction may carry out together: the
// same path and the same base. ok is false when the call has no readable base.
func batchKey(c Call) (key [2]string, ok bool) {
	var in struct{ Path, Base string }
	if c.BadInput != "" || json.Unmarshal(c.Input, &in) != nil || in.Path == "" || in.Base == "" {
		return key, false
	}
	return [2]string{filepath.Clean(in.Path), in.Base}, true
}

// mutate takes a batch of mutating calls through the gate: each is admitted and
// permitted for itself, then all that may run are one transaction.
func (r *Registry) mutate(ctx context.Context, env Env, at int, group []Call, done func(int, Result)) {
	results := make([]*Result, len(group))
	finished := make(chan struct{})
	r.running.Add(1)
	go func() {
		defer r.running.Done()
		defer close(finished)
		r.transact(ctx, env, group, results)
	}()
	g := newGrace(ctx)
	defer g.stop()
	select {
	case <-finished:
	case <-g.over:
		select {
		case <-finished:
		default: // abandoned; results belongs to the goroutine until it ends
			for k, c := range group {
				done(at+k, Cancelled(c.Tool))
			}
			return
		}
	}
	for k := range group {
		done(at+k, *results[k])
	}
}

// transact fills results, one for each call.
func (r *Registry) transact(ctx context.Context, env Env, group []Call, results []*Result) {
	var panicked Result
	defer func() {
		for k := range results {
			if results[k] == nil {
				results[k] = &panicked
			}
		}
	}()
	defer r.protect(group[0].Tool, &panicked)
	if env.DerivedNow != nil {
		env.Derived = env.DerivedNow()
	}
	var ready []*pending
	for k, c := range group {
		p := r.admit(ctx, env, k, c)
		if p.result == nil {
			p.result = r.clear(ctx, env, p)
		}
		if p.result != nil {
			results[k] = p.result
			continue
		}
		ready = append(ready, p)
	}
	if len(ready) == 0 {
		return
	}
	if ctx.Err() != nil {
		for _, p := range ready {
			res := NotRun(p.call.Tool)
			results[p.i] = &res
		}
		return
	}
	r.apply(ctx, env, ready, results)
}

// clear is what stands between an admitted mutating call and its transaction:
// an early check, so that nobody is asked about a change that would be refused,
// then hooks and permission. The transaction checks again. Where nobody would be
// asked the transaction alone decides: it knows the base and says more.
func (r *Registry) clear(ctx context.Context, env Env, p *pending) *Result {
	if r.unattended(p) {
		return nil
	}
	for _, c := range p.changes {
		if refusal := env.Guard.Check(ctx, c.Path); refusal != nil {
			early := *refusal
			if c.Base != "" {
				early.Expected = c.Base
			}
			res := fromGuard(early)
			return &res
		}
	}
	p.previews = env.Guard.Preview(ctx, p.changes)
	if len(p.previews) == 1 && p.previews[0].Refusal != nil && !severalFiles(p) {
		res := fromGuard(*p.previews[0].Refusal)
		return &res
	}
	if why := r.permit(ctx, env, p); why != "" {
		res := r.refused(ctx, p, why)
		return &res
	}
	return nil
}

// unattended reports that neither a hook nor a person has a say in the call.
func (r *Registry) unattended(p *pending) bool {
	_, needs := p.entry.tool.(Needer)
	if needs || !r.o.Hooks.none("pre_tool", p.call.Tool) || r.o.Permissions.mode(p.entry.spec.Permission) != "allow" {
		return false
	}
	forbidden, consent := r.protected(p)
	return forbidden == "" && consent == ""
}

// apply hands the changes of all ready calls to the guard as one transaction
// and deals its results out again.
func (r *Registry) apply(ctx context.Context, env Env, ready []*pending, results []*Result) {
	var origins []guard.Origin
	var changes []guard.Change
	for _, p := range ready {
		p.began = time.Now()
		for _, c := range p.changes {
			origins = append(origins, guard.Origin{Turn: p.call.Turn, Step: p.call.Step, Tool: p.call.Tool, CallID: p.call.ID})
			changes = append(changes, c)
		}
	}
	allOrNone := len(ready) == 1 && len(changes) > 1
	applied := env.Guard.Apply(ctx, origins, allOrNone, changes)
	for _, p := range ready {
		own := applied[:len(p.changes)]
		applied = applied[len(p.changes):]
		res := r.finish(ctx, env, p, mutationResult(p, own))
		results[p.i] = &res
		if a, ok := p.entry.tool.(Afterer); ok {
			a.After(ctx, env, p.call, &res)
		}
		r.o.Hooks.postWrite(ctx, env, p.call, own, &res)
	}
}

// mutationResult is one result for the changes of one call.
func mutationResult(p *pending, own []guard.Result) Result {
	if len(own) == 1 && !severalFiles(p) {
		return fromGuard(own[0])
	}
	return fromGuard(joinResults(own))
}

func severalFiles(p *pending) bool {
	s, ok := p.entry.tool.(interface{ Several() bool })
	return ok && s.Several()
}
