package host

import (
	"context"
	"strings"
	"testing"

	"github.com/stella-ls/stella-ls/contextengine/ocp"
)

func frame(id string, score float32, tokens int, digest string) ocp.Frame {
	content := strings.Repeat("x", 4*tokens)
	f := ocp.Frame{ID: id, Kind: ocp.KindFact, Title: id, CitationLabel: id, Content: &content, Score: score, TokenCost: ocp.Cost(content)}
	if digest != "" {
		f.ContentDigest = &digest
	}
	return f
}

func leg(id string, frames ...ocp.Frame) Leg {
	return Leg{ProviderID: id, Outcome: Accepted, Frames: frames, Offered: len(frames)}
}

func names(c Composition) (out []string) {
	for _, a := range c.Admitted {
		out = append(out, a.ProviderID+"/"+a.Frame.ID)
	}
	return out
}

func TestFusionVectors(t *testing.T) {
	d := ocp.Digest("same")
	for name, test := range map[string]struct {
		legs    []Leg
		limits  Limits
		want    string
		dropped int
	}{
		"canonical order": {[]Leg{leg("b", frame("high", .9, 10, ""), frame("shared", .5, 10, "")), leg("a", frame("low", .2, 10, ""), frame("shared", .5, 10, ""))},
			Limits{Frames: 10, Tokens: 1000}, "a/low a/shared b/high b/shared", 0},
		"bound":          {[]Leg{leg("a", frame("a1", .9, 600, "")), leg("b", frame("b1", .8, 600, ""))}, Limits{Frames: 10, Tokens: 1000}, "a/a1", 1},
		"best first":     {[]Leg{leg("a", frame("aaa", .1, 600, "")), leg("z", frame("zzz", .9, 600, ""))}, Limits{Frames: 10, Tokens: 1000}, "z/zzz", 1},
		"passes over":    {[]Leg{leg("a", frame("big", .9, 900, ""), frame("small", .1, 10, "")), leg("b", frame("mid", .95, 500, ""))}, Limits{Frames: 10, Tokens: 1000}, "a/small b/mid", 1},
		"frame count":    {[]Leg{leg("a", frame("1", .9, 1, ""), frame("2", .8, 1, ""), frame("3", .7, 1, ""))}, Limits{Frames: 2, Tokens: 10}, "a/1 a/2", 1},
		"same evidence":  {[]Leg{leg("alpha", frame("cheap", .95, 1, ""), frame("dup_low", .30, 4, d)), leg("beta", frame("dup_high", .80, 4, d), frame("huge", .70, 100, ""))}, Limits{Frames: 10, Tokens: 5}, "alpha/cheap beta/dup_high", 2},
		"rejected leg":   {[]Leg{{ProviderID: "flood", Outcome: Flood, Frames: []ocp.Frame{frame("f", 1, 1, "")}}, leg("honest", frame("h", .1, 100, ""))}, Limits{Frames: 8, Tokens: 1000}, "honest/h", 0},
		"same id, apart": {[]Leg{leg("a", frame("x", .5, 10, "")), leg("b", frame("x", .5, 12, ""))}, Limits{Frames: 8, Tokens: 1000}, "a/x b/x", 0},
	} {
		got := Fuse(test.legs, test.limits)
		if strings.Join(names(got), " ") != test.want || len(got.Dropped) != test.dropped || got.Tokens > test.limits.Tokens {
			t.Errorf("%s: %v, dropped %+v, %d tokens", name, names(got), got.Dropped, got.Tokens)
		}
	}
}

func TestAuditDropsWholeLegsAndSingleFrames(t *testing.T) {
	q := ocp.Query{MaxFrames: 2, MaxTokens: 100, Kinds: []ocp.Kind{ocp.KindFact}}
	audit := func(frames ...ocp.Frame) (l Leg) { Audit(&l, ocp.Result{Frames: frames}, q); return l }
	lie := frame("lie", .5, 200, "")
	lie.TokenCost = 1
	if l := audit(lie); l.Outcome != OverBudget {
		t.Errorf("an understated cost: %+v", l)
	}
	if l := audit(frame("a", 1, 1, ""), frame("b", 1, 1, ""), frame("c", 1, 1, "")); l.Outcome != Flood {
		t.Errorf("%+v", l)
	}
	if l := audit(frame("a", 1, 50, ""), frame("b", 1, 50, "")); l.Outcome != Accepted || len(l.Frames) != 2 {
		t.Errorf("the bounds are inclusive: %+v", l)
	}
	bad := frame("bad", 2, 1, "")
	if l := audit(bad, frame("ok", 1, 1, "")); len(l.Frames) != 1 || len(l.Refused) != 1 {
		t.Errorf("%+v", l)
	}
}

type leaky struct{ asked bool }

func (p *leaky) Info() ocp.ProviderInfo {
	return ocp.ProviderInfo{Name: "leaky", Version: "1", DataFlow: ocp.DataFlow{Egress: true, EgressScopes: []string{"third-party-model"}}}
}
func (p *leaky) Capabilities() ocp.Capabilities { return ocp.Capabilities{} }
func (p *leaky) Shutdown(context.Context) error { return nil }
func (p *leaky) Query(context.Context, ocp.Query) (ocp.Result, error) {
	p.asked = true
	return ocp.Result{}, nil
}

func TestNothingLeavesWithoutConsent(t *testing.T) {
	h, p := New(), &leaky{}
	if err := h.Register(Registration{ID: "leaky", Provider: p}); err != nil {
		t.Fatal(err)
	}
	legs := h.FanOut(context.Background(), ocp.Query{Goal: "secret", MaxFrames: 1, MaxTokens: 1})
	if p.asked || legs[0].Outcome != ScopesMissing {
		t.Errorf("asked %v, %+v", p.asked, legs[0])
	}
}

func TestUsageAddsUp(t *testing.T) {
	u := Account([]Leg{leg("a", frame("1", 1, 10, ""), frame("2", 1, 5, "")), {ProviderID: "b", Outcome: Flood, Offered: 7}, {ProviderID: "c", Outcome: TimedOut}}, ocp.Query{MaxTokens: 100}, "")
	if u.BudgetConsumed != 15 || u.Providers[0].FramesServed != 2 || u.Providers[1].FramesRejected != 7 || u.Providers[2].FramesRejected != 0 {
		t.Errorf("%+v", u)
	}
}
