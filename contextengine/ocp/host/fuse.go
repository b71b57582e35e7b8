package host

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/stella-ls/stella-ls/contextengine/ocp"
)

// Candidate is a frame of an accepted leg.
type Candidate struct {
	ProviderID string
	Frame      ocp.Frame
	// Rank is its place in its provider's own order, from 0. Scores of two
	// providers are not comparable, so ranks decide first.
	Rank     int
	Anchored bool
	// RenderedCost is what it costs with its delimiters, in tokens.
	RenderedCost int
}

// ID is the candidate's identity.
func (c Candidate) ID() ocp.FrameID { return ocp.Identity(c.ProviderID, c.Frame) }

// DropReason says why an offered frame is not in the composition.
type DropReason string

const (
	DropFrameCount  DropReason = "frame_count"
	DropTokenBudget DropReason = "token_budget"
	DropDuplicate   DropReason = "duplicate"
	DropRefused     DropReason = "refused"
)

// Dropped is one offered frame that was left out.
type Dropped struct {
	ID     ocp.FrameID
	Label  string
	Reason DropReason
	Detail string
}

// Limits bound a composition.
type Limits struct {
	Frames int
	// Tokens bounds the sum of Cost over admitted frames.
	Tokens int
	// Anchors of the query: an anchored hit gives its provider a seat.
	Anchors []string
	// Cost is what a frame costs; nil is its recomputed content cost.
	Cost func(providerID string, f ocp.Frame) int
}

// Composition is what was admitted, in canonical render order, and what was not.
type Composition struct {
	Admitted []Candidate
	Dropped  []Dropped
	Tokens   int
}

// Fuse packs the frames of all accepted legs under one budget. Selection goes
// by (rank within its provider, score descending, identity), with a seat for
// each provider that has an anchored hit; a frame that does not fit is passed
// over, never stopped at; every offered frame is admitted or reported.
func Fuse(legs []Leg, l Limits) Composition {
	var comp Composition
	all := collect(legs, l, &comp)
	slices.SortFunc(all, bySelection)
	all = dedupe(all, &comp)

	taken := make([]bool, len(all))
	admit := func(i int) bool {
		c := all[i]
		if len(comp.Admitted) >= l.Frames || comp.Tokens+c.RenderedCost > l.Tokens {
			return false
		}
		taken[i] = true
		comp.Admitted = append(comp.Admitted, c)
		comp.Tokens += c.RenderedCost
		return true
	}
	seatAnchored(all, admit)
	for i := range all {
		if !taken[i] && !admit(i) {
			comp.Dropped = append(comp.Dropped, overflow(all[i], len(comp.Admitted) >= l.Frames, l.Tokens-comp.Tokens))
		}
	}
	slices.SortFunc(comp.Admitted, func(a, b Candidate) int { return a.ID().Compare(b.ID()) })
	slices.SortStableFunc(comp.Dropped, func(a, b Dropped) int { return a.ID.Compare(b.ID) })
	return comp
}

func collect(legs []Leg, l Limits, comp *Composition) []Candidate {
	cost := l.Cost
	if cost == nil {
		cost = func(_ string, f ocp.Frame) int { return int(max(f.TokenCost, ocp.Cost(f.Text()))) }
	}
	var all []Candidate
	for _, leg := range legs {
		for _, r := range leg.Refused {
			comp.Dropped = append(comp.Dropped, Dropped{ocp.Identity(leg.ProviderID, r.Frame), r.Frame.Label(), DropRefused, r.Reason})
		}
		if leg.Outcome != Accepted {
			continue
		}
		for rank, f := range leg.Frames {
			all = append(all, Candidate{
				ProviderID: leg.ProviderID, Frame: f, Rank: rank,
				Anchored:     f.AnchoredBy(l.Anchors),
				RenderedCost: cost(leg.ProviderID, f),
			})
		}
	}
	return all
}

func bySelection(a, b Candidate) int {
	if c := cmp.Compare(a.Rank, b.Rank); c != 0 {
		return c
	}
	if c := cmp.Compare(b.Frame.Score, a.Frame.Score); c != 0 {
		return c
	}
	return a.ID().Compare(b.ID())
}

// seatAnchored admits each provider's best anchored frame before all others.
func seatAnchored(all []Candidate, admit func(int) bool) {
	seated := map[string]bool{}
	for i, c := range all {
		if c.Anchored && !seated[c.ProviderID] {
			seated[c.ProviderID] = admit(i)
		}
	}
}

func overflow(c Candidate, full bool, remaining int) Dropped {
	d := Dropped{ID: c.ID(), Label: c.Frame.Label(), Reason: DropTokenBudget,
		Detail: fmt.Sprintf("costs %d tokens, %d remain", c.RenderedCost, remaining)}
	if full {
		d.Reason, d.Detail = DropFrameCount, "the block holds as many frames as it may"
	}
	return d
}

// dedupe joins frames that are the same evidence: one identity, or across
// providers the same content or the same file range. The one with the higher
// score survives and takes over the other's provenance. Frame ids alone say
// nothing across providers.
func dedupe(all []Candidate, comp *Composition) []Candidate {
	var kept []Candidate
next:
	for _, c := range all {
		for i := range kept {
			k := &kept[i]
			if k.ID().Compare(c.ID()) == 0 || k.ProviderID != c.ProviderID && sameEvidence(k.Frame, c.Frame) {
				survivor, loser := *k, c
				if c.Frame.Score > k.Frame.Score || c.Frame.Score == k.Frame.Score && c.ID().Compare(k.ID()) < 0 {
					survivor, loser = c, *k
				}
				survivor.Rank = min(k.Rank, c.Rank)
				survivor.Anchored = k.Anchored || c.Anchored
				survivor.Frame.Provenance = union(survivor.Frame.Provenance, loser.Frame.Provenance)
				*k = survivor
				comp.Dropped = append(comp.Dropped, Dropped{loser.ID(), loser.Frame.Label(), DropDuplicate,
					fmt.Sprintf("same evidence as %s of %s", survivor.Frame.ID, survivor.ProviderID)})
				continue next
			}
		}
		kept = append(kept, c)
	}
	slices.SortFunc(kept, bySelection)
	return kept
}

func sameEvidence(a, b ocp.Frame) bool {
	if a.ContentDigest != nil && b.ContentDigest != nil && *a.ContentDigest == *b.ContentDigest && *a.ContentDigest != "" {
		return true
	}
	for _, p := range a.Provenance {
		for _, q := range b.Provenance {
			if p.Type == "file" && q.Type == "file" && p.URI != "" && p.URI == q.URI && p.Range == q.Range {
				return true
			}
		}
	}
	return false
}

func union(a, b []ocp.Provenance) []ocp.Provenance {
	out := slices.Clone(a)
	for _, p := range b {
		if !slices.Contains(out, p) {
			out = append(out, p)
		}
	}
	return out
}
