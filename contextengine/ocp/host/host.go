// Package host queries context providers and makes one answer of theirs.
//
// The flow of one recall: FanOut asks every provider concurrently, each behind
// its consent gate, its time-out and its own recover, so that one provider's
// fault is that leg's outcome and nothing else; Audit judges each answer by the
// protocol's rules; Fuse packs the accepted frames under one budget, reporting
// every drop; Render writes them as quoted blocks whose delimiters content
// cannot forge. The same frames give the same bytes, whatever their scores.
package host

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/stella-ls/stella-ls/contextengine/ocp"
)

// Provider answers queries. In-process providers implement it directly; one in
// another process is reached through an implementation that speaks the wire.
type Provider interface {
	// Info and Capabilities are cached values, cheap to read.
	Info() ocp.ProviderInfo
	Capabilities() ocp.Capabilities
	// Query must stop when ctx ends; the host does not wait for it then.
	Query(ctx context.Context, q ocp.Query) (ocp.Result, error)
	// Shutdown releases what the provider holds.
	Shutdown(ctx context.Context) error
}

// Consent decides whether a provider's data flow was agreed to.
type Consent interface {
	// Missing returns the scopes without a live receipt; recorded reports
	// whether the plain egress of the provider was agreed to.
	Missing(providerID string, scopes []string) []string
	Recorded(providerID string) bool
}

// Registration is one provider under the host's own id for it.
type Registration struct {
	ID       string
	Provider Provider
	// Native marks a provider of this program: its frames are judged by its own
	// evidence gate, and it is held to every rule.
	Native bool
	// Timeout of a query; 0 takes the host's.
	Timeout time.Duration
}

// Host holds the registered providers.
type Host struct {
	// Timeout is what a query may take when a registration says nothing.
	Timeout time.Duration
	// Consent is asked before a query leaves for a provider with egress; nil
	// refuses every such provider.
	Consent Consent

	mu   sync.Mutex // guards regs
	regs []Registration
}

// DefaultTimeout is what one provider may cost a recall.
const DefaultTimeout = 2 * time.Second

// New returns a host without providers.
func New() *Host { return &Host{Timeout: DefaultTimeout} }

// Register adds a provider. Its declaration is checked here, once.
func (h *Host) Register(r Registration) error {
	info := r.Provider.Info()
	switch {
	case r.ID == "":
		return errors.New("register a provider: its id is empty")
	case ocp.Blank(info.Name) || ocp.Blank(info.Version):
		return fmt.Errorf("register %s: the provider states no name or version (H2)", r.ID)
	}
	if err := info.DataFlow.Consistent(); err != nil {
		return fmt.Errorf("register %s: %w (C5)", r.ID, err)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, other := range h.regs {
		if other.ID == r.ID {
			return fmt.Errorf("register %s: the id is taken", r.ID)
		}
	}
	h.regs = append(h.regs, r)
	return nil
}

// Providers are the registrations, in order.
func (h *Host) Providers() []Registration {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.regs)
}

// Shutdown ends all providers; the first error is returned, all are tried.
func (h *Host) Shutdown(ctx context.Context) error {
	var first error
	for _, r := range h.Providers() {
		if err := r.Provider.Shutdown(ctx); err != nil && first == nil {
			first = fmt.Errorf("shut down %s: %w", r.ID, err)
		}
	}
	return first
}

// Outcome is how one leg of a fan-out ended.
type Outcome string

const (
	Accepted       Outcome = "frames"
	OverBudget     Outcome = "over_budget" // claims more tokens than asked for: dropped whole (B2)
	Flood          Outcome = "flood"       // more frames than asked for: dropped whole (B4)
	ConsentMissing Outcome = "consent_required"
	ScopesMissing  Outcome = "scope_receipts_required"
	TimedOut       Outcome = "timeout"
	Failed         Outcome = "failed"
)

// Leg is one provider's part of a fan-out.
type Leg struct {
	ProviderID string
	Native     bool
	Outcome    Outcome
	// Frames passed the audit, in the provider's own order.
	Frames []ocp.Frame
	// Refused are frames that broke a rule, dropped one by one.
	Refused   []Refused
	Truncated bool
	// Offered is how many frames came, before any was dropped.
	Offered int
	// Detail is for people: what was claimed, missing, or failed.
	Detail string
	Err    error
	Took   time.Duration
}

// Refused is one frame that a leg offered and the audit did not let pass.
type Refused struct {
	Frame  ocp.Frame
	Reason string
}

// FanOut asks every provider that serves q's kinds, all at once. It returns
// when each has answered or used up its time, with legs in registration order.
func (h *Host) FanOut(ctx context.Context, q ocp.Query) []Leg {
	var asked []Registration
	for _, r := range h.Providers() {
		if routed(r.Provider.Capabilities(), q.Kinds) {
			asked = append(asked, r)
		}
	}
	legs := make([]Leg, len(asked))
	var wg sync.WaitGroup
	for i, r := range asked {
		wg.Go(func() { legs[i] = h.leg(ctx, r, q) })
	}
	wg.Wait()
	return legs
}

func routed(c ocp.Capabilities, kinds []ocp.Kind) bool {
	return len(kinds) == 0 || slices.ContainsFunc(kinds, func(k ocp.Kind) bool {
		return slices.Contains(c.Query.Kinds, k)
	})
}

func (h *Host) leg(ctx context.Context, r Registration, q ocp.Query) Leg {
	leg := Leg{ProviderID: r.ID, Native: r.Native}
	if !h.permitted(r, &leg) {
		return leg
	}
	limit := r.Timeout
	if limit == 0 {
		limit = h.Timeout
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	start := time.Now()
	res, err := ask(ctx, r.Provider, q)
	leg.Took = time.Since(start)
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		leg.Outcome, leg.Err = TimedOut, err
		leg.Detail = fmt.Sprintf("no answer within %s", limit)
	case err != nil:
		leg.Outcome, leg.Err, leg.Detail = Failed, err, err.Error()
	default:
		Audit(&leg, res, q)
	}
	return leg
}

// permitted is the consent gate: nothing of the query reaches a provider that
// does not pass it.
func (h *Host) permitted(r Registration, leg *Leg) bool {
	flow := r.Provider.Info().DataFlow
	if off := flow.OffMachine(); len(off) > 0 {
		missing := off
		if h.Consent != nil {
			missing = h.Consent.Missing(r.ID, off)
		}
		if len(missing) > 0 {
			leg.Outcome = ScopesMissing
			leg.Detail = fmt.Sprintf("needs a receipt for %v (stella-ls ocp consent grant %s --scope ...)", missing, r.ID)
			return false
		}
		return true
	}
	if flow.Egress && (h.Consent == nil || !h.Consent.Recorded(r.ID)) {
		leg.Outcome = ConsentMissing
		leg.Detail = fmt.Sprintf("sends content off this machine (stella-ls ocp consent grant %s)", r.ID)
		return false
	}
	return true
}

// ask runs the provider in a goroutine of its own, so that one that ignores its
// context costs its time-out and no more, and one that panics is a failed leg.
func ask(ctx context.Context, p Provider, q ocp.Query) (ocp.Result, error) {
	type answer struct {
		res ocp.Result
		err error
	}
	done := make(chan answer, 1) // buffered: a late answer has a place to go
	go func() {
		var a answer
		defer func() {
			if v := recover(); v != nil {
				a = answer{err: fmt.Errorf("the provider panicked: %v", v)}
			}
			done <- a
		}()
		a.res, a.err = p.Query(ctx, q)
	}()
	select {
	case a := <-done:
		if a.err != nil && ctx.Err() != nil {
			return a.res, ctx.Err()
		}
		return a.res, a.err
	case <-ctx.Done():
		return ocp.Result{}, ctx.Err()
	}
}
