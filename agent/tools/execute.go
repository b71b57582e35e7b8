package tools

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/stella-ls/stella-ls/guard"
)

// Execute runs the calls of one model message and calls done once for each, in
// call order, as soon as its result and all earlier ones are there. Neighbouring
// reads run in parallel; every other call waits for all before it and holds back
// all after it. Every call gets a result: when ctx ends, running calls are closed
// with a synthetic error within 200 ms and the rest is not started.
func (r *Registry) Execute(ctx context.Context, env Env, calls []Call, done func(i int, res Result)) {
	r.await(ctx, calls)
	for i := 0; i < len(calls); {
		n := r.groupAt(env, calls[i:])
		group := calls[i : i+n]
		if ctx.Err() != nil {
			for k, c := range group {
				done(i+k, NotRun(c.Tool))
			}
		} else if e := r.lookup(group[0].Tool); e != nil && e.spec.Effect == Mutates {
			r.mutate(ctx, env, i, group, done)
		} else {
			r.parallel(ctx, env, i, group, done)
		}
		i += n
	}
}

// await gives tools that are called and not here yet the time to come, before the
// calls are grouped: what a tool does decides what may run beside it.
func (r *Registry) await(ctx context.Context, calls []Call) {
	var absent []string
	for _, c := range calls {
		if !r.Has(c.Tool) {
			absent = append(absent, c.Tool)
		}
	}
	if len(absent) > 0 && r.o.Late != nil && ctx.Err() == nil {
		r.o.Late(ctx, absent)
	}
}

// groupAt is how many calls at the head of calls run together: a stretch of
// reads, a batch of joinable edits, or one call.
func (r *Registry) groupAt(env Env, calls []Call) int {
	n := 1
	first := r.lookup(calls[0].Tool)
	switch {
	case first == nil || first.spec.Effect == Reads:
		for n < len(calls) {
			if e := r.lookup(calls[n].Tool); e != nil && e.spec.Effect != Reads {
				break
			}
			n++
		}
	case joins(first):
		key, ok := batchKey(calls[0])
		for ok && n < len(calls) && calls[n].Tool == calls[0].Tool {
			if next, fine := batchKey(calls[n]); !fine || next != key {
				break
			}
			n++
		}
	}
	return n
}

func joins(e *entry) bool {
	m, ok := e.tool.(Mutator)
	return ok && m.Joins()
}

// parallel runs a group of calls that do not write through the guard.
func (r *Registry) parallel(ctx context.Context, env Env, at int, group []Call, done func(int, Result)) {
	results := make([]chan Result, len(group))
	slots := make(chan struct{}, maxParallelReads)
	for k, c := range group {
		results[k] = make(chan Result, 1)
		r.running.Add(1)
		go func() {
			defer r.running.Done()
			slots <- struct{}{}
			defer func() { <-slots }()
			if ctx.Err() != nil {
				results[k] <- NotRun(c.Tool)
				return
			}
			results[k] <- r.single(ctx, env, c)
		}()
	}
	grace := newGrace(ctx)
	defer grace.stop()
	for k, c := range group {
		select {
		case res := <-results[k]:
			done(at+k, res)
		case <-grace.over:
			select {
			case res := <-results[k]:
				done(at+k, res)
			default:
				done(at+k, Cancelled(c.Tool))
			}
		}
	}
}

// grace closes over when ctx has been over for cancelGrace.
type grace struct {
	over chan struct{}
	end  chan struct{}
	once sync.Once
}

func newGrace(ctx context.Context) *grace {
	g := &grace{over: make(chan struct{}), end: make(chan struct{})}
	go func() {
		select {
		case <-g.end:
			return
		case <-ctx.Done():
		}
		t := time.NewTimer(cancelGrace)
		defer t.Stop()
		select {
		case <-g.end:
		case <-t.C:
			close(g.over)
		}
	}()
	return g
}

func (g *grace) stop() { g.once.Do(func() { close(g.end) }) }

// single takes one call that is no Mutator through the whole gate.
func (r *Registry) single(ctx context.Context, env Env, call Call) (res Result) {
	defer r.protect(call.Tool, &res)
	if env.DerivedNow != nil {
		env.Derived = env.DerivedNow()
	}
	p := r.admit(ctx, env, 0, call)
	if p.result != nil {
		return *p.result
	}
	if res := r.checkPaths(ctx, env, p); res != nil {
		return *res
	}
	if why := r.permit(ctx, env, p); why != "" {
		return r.refused(ctx, p, why)
	}
	if res := r.checkPaths(ctx, env, p); res != nil { // a person may have taken minutes to answer
		return *res
	}
	return r.run(ctx, env, p)
}

func (r *Registry) refused(ctx context.Context, p *pending, why string) Result {
	if ctx.Err() != nil {
		return Cancelled(p.call.Tool)
	}
	return denied(p, why)
}

// run calls the tool within its time limit; an opaque one is bracketed.
func (r *Registry) run(ctx context.Context, env Env, p *pending) Result {
	limit := defaultTimeout
	if l, ok := p.entry.tool.(interface{ Limit() time.Duration }); ok {
		limit = l.Limit()
	}
	p.began = time.Now()
	limited, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	after := func(context.Context) []guard.Guarded { return nil }
	if p.entry.spec.Effect == Opaque && env.Guard != nil {
		env.Guard.Quiet(limited)
		after = env.Guard.Bracket(ctx, bracketDetail(p))
	}
	res, err := p.entry.tool.Run(limited, env, p.call)
	// What the call changed must be known even when the turn was cancelled.
	changed := after(context.WithoutCancel(ctx))
	switch {
	case err != nil && ctx.Err() != nil:
		res = Cancelled(p.call.Tool)
	case err != nil && errors.Is(limited.Err(), context.DeadlineExceeded):
		res = Failed("timed_out", "", fmt.Sprintf("%s gave no result within %s", p.call.Tool, limit), "")
	case err != nil:
		res = Failed("error", "", fmt.Sprintf("%s failed: %v", p.call.Tool, err), "")
	}
	if c, ok := p.entry.tool.(interface{ Caught([]guard.Guarded) string }); ok {
		if told := c.Caught(changed); told != "" {
			env.notice(told)
		}
	}
	return r.finish(ctx, env, p, withChanged(res, changed))
}

// withChanged tells the model which believed files an opaque call changed.
func withChanged(res Result, changed []guard.Guarded) Result {
	if len(changed) == 0 {
		return res
	}
	const most = 20
	note := "Files you had read were changed while this ran; read them again before you edit them:"
	for i, g := range changed {
		if i == most {
			note += fmt.Sprintf("\n  and %d more", len(changed)-most)
			break
		}
		note += "\n  " + g.Display
	}
	if res.Body != "" {
		note = res.Body + "\n\n" + note
	}
	res.Body = note
	return res
}

// checkPaths is the guard check for what an opaque call names in its input.
func (r *Registry) checkPaths(ctx context.Context, env Env, p *pending) *Result {
	if p.entry.spec.Effect != Opaque || env.Guard == nil {
		return nil
	}
	for _, path := range p.paths() {
		if refusal := env.Guard.Check(ctx, path); refusal != nil {
			res := fromGuard(*refusal)
			return &res
		}
	}
	return nil
}

// permit asks hooks and permissions. It is where a call may wait for a person.
func (r *Registry) permit(ctx context.Context, env Env, p *pending) string {
	need := Need{Permission: p.entry.spec.Permission, Rule: string(p.entry.spec.Permission) + ":" + p.call.Tool}
	if n, ok := p.entry.tool.(Needer); ok {
		need = n.Need(ctx, env, p.call)
	} else {
		need.Question = Question{Title: "Run " + p.call.Tool + "?", Detail: readable(p.call.Input)}
		if len(p.previews) > 0 {
			need.Question = writeQuestion(p.previews)
		}
	}
	forbidden, consent := r.protected(p)
	if forbidden != "" {
		return forbidden
	}
	if consent != "" {
		need.Ask, need.Rule = true, ""
		need.Question.Detail = strings.TrimSpace(consent + "\n" + need.Question.Detail)
	}
	switch verdict := r.o.Hooks.preTool(ctx, env, p.call, p.paths()); verdict.Decision {
	case "deny":
		return "a pre_tool hook denied it: " + verdict.Reason
	case "ask":
		need.Ask, need.Rule = true, ""
		if need.Permission == PermitNothing {
			need.Question.Kind = "command"
		}
		need.Question.Detail = "A pre_tool hook wants you to decide: " + verdict.Reason + "\n" + need.Question.Detail
	}
	denied := r.o.Permissions.Decide(ctx, env, need)
	if denied != "" && consent != "" {
		denied += "; " + consent
	}
	return denied
}

// finish runs what follows a call, hooks and bounds.
func (r *Registry) finish(_ context.Context, _ Env, p *pending, res Result) Result {
	if p.entry.spec.Effect == Opaque {
		res.Derived = true
	}
	if res.Status == "" {
		res.Status = statusOf(res.Object)
	}
	if !p.began.IsZero() {
		res.Took = time.Since(p.began)
	}
	return res
}
