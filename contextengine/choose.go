package contextengine

import (
	"cmp"
	"slices"
	"strings"
)

// Weights of the reciprocal-rank fusion within the memory provider.
const (
	rrfK          = 60.0
	weightLexical = 1.0 // by BM25
	weightTelling = 1.0 // by the weight of the distinctive words
	weightAnchor  = 1.0
	weightHop     = 0.4
	weightDomain  = 0.3
	weightRecency = 0.15
)

// Thresholds of the evidence gate. They are set by testdata/recall/prompts.txt;
// TestRecallQuality fails when a change makes recall worse.
const (
	coverThree = 0.10 // three distinctive words, at least this share of the query's
	coverTwo   = 0.20 // two
	coverOne   = 0.45 // a single one, with another word of the query beside it
	relative   = 0.55 // of the best lexical evidence, for frames without another reason
	labelBonus = 0.6  // of a word's weight on top, when it is in the label
	duplicate  = 0.70 // word-set likeness of two frames that say the same
	anchorOnly = 2    // frames that only an open, unsaved or touched file speaks for
)

// evidence is the gate: why a frame may be shown, "" when nothing speaks for it.
func (r *ranking) evidence(c *candidate) string {
	words := c.strong >= 3 && c.coverage >= coverThree || c.strong == 2 && c.coverage >= coverTwo ||
		c.strong == 1 && c.matched >= 2 && c.coverage >= coverOne
	switch {
	case c.anchor >= 0:
		return "anchored"
	case c.identifier:
		return "names it"
	case words && (c.Kind != kindEpisode || c.strong >= 2 && c.coverage >= 2*coverTwo):
		return "words"
	case c.hop && c.strong > 0:
		return "one hop from an anchor"
	case c.domain && c.strong > 0:
		return "domain"
	}
	return ""
}

// choose orders the candidates with a reason and drops those that say the same
// as a better one. dropped counts what had a reason and no place.
func (r *ranking) choose() (kept []*candidate, dropped int) {
	r.fuse()
	slices.SortFunc(r.order, func(a, b *candidate) int {
		if c := cmp.Compare(b.score, a.score); c != 0 {
			return c
		}
		return strings.Compare(a.ID, b.ID)
	})
	best := 0.0
	for _, c := range r.order {
		if c.strong > 0 && r.evidence(c) != "" {
			best = max(best, c.strength)
		}
	}
	onlyAnchored := 0
	for _, c := range r.order {
		reason := r.evidence(c)
		if reason == "" {
			continue
		}
		if reason != "anchored" && c.strength < relative*best {
			dropped++
			continue
		}
		if reason == "anchored" && c.strong == 0 && !r.named[c.anchor] {
			if onlyAnchored++; onlyAnchored > anchorOnly {
				dropped++
				continue
			}
		}
		if slices.ContainsFunc(kept, func(k *candidate) bool { return k.Terms.Jaccard(c.Terms) >= duplicate }) {
			dropped++
			continue
		}
		kept = append(kept, c)
	}
	return kept, dropped
}

// fuse gives every candidate its score in [0,1]: reciprocal ranks in the lists
// it is on, weighted, over the best sum there can be.
func (r *ranking) fuse() {
	anchored := slices.Clone(r.order)
	slices.SortStableFunc(anchored, func(a, b *candidate) int {
		if c := cmp.Compare(a.anchor, b.anchor); c != 0 {
			return c
		}
		if c := cmp.Compare(b.strength, a.strength); c != 0 {
			return c
		}
		return strings.Compare(a.ID, b.ID)
	})
	recent := slices.Clone(r.order)
	slices.SortFunc(recent, func(a, b *candidate) int {
		if c := b.ValidFrom.Compare(a.ValidFrom); c != 0 {
			return c
		}
		return strings.Compare(a.ID, b.ID)
	})
	telling := slices.Clone(r.order)
	slices.SortFunc(telling, func(a, b *candidate) int {
		if c := cmp.Compare(b.strength, a.strength); c != 0 {
			return c
		}
		return strings.Compare(a.ID, b.ID)
	})
	for i, c := range telling {
		if c.strength > 0 {
			c.score += weightTelling / (rrfK + 1 + float64(i))
		}
	}
	place := 0
	for _, c := range anchored {
		if c.anchor >= 0 {
			c.score += weightAnchor / (rrfK + 1 + float64(place))
			place++
		}
	}
	for i, c := range recent {
		c.score += weightRecency / (rrfK + 1 + float64(i))
	}
	for _, c := range r.order {
		if c.lexical >= 0 {
			c.score += weightLexical / (rrfK + 1 + float64(c.lexical))
		}
		if c.hop {
			c.score += weightHop / (rrfK + 1)
		}
		if c.domain {
			c.score += weightDomain / (rrfK + 1)
		}
		c.score /= (weightLexical + weightTelling + weightAnchor + weightHop + weightDomain + weightRecency) / (rrfK + 1)
	}
}
