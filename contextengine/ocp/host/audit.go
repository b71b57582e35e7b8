package host

import (
	"fmt"

	"github.com/stella-ls/stella-ls/contextengine/ocp"
)

// Audit judges a provider's answer: a broken budget drops the leg whole (B1
// first, then B4, both boundaries inclusive); a broken frame is dropped alone.
//
// The budget is taken from the larger of the claimed and the recomputed cost,
// so that understating a cost buys nothing.
func Audit(leg *Leg, res ocp.Result, q ocp.Query) {
	leg.Offered, leg.Truncated = len(res.Frames), res.Truncated
	var claimed, real uint64
	for _, f := range res.Frames {
		claimed += uint64(f.TokenCost)
		real += uint64(ocp.Cost(f.Text()))
	}
	switch {
	case max(claimed, real) > uint64(q.MaxTokens):
		leg.Outcome = OverBudget
		leg.Detail = fmt.Sprintf("claims %d tokens, holds %d, asked for %d: all %d frames dropped",
			claimed, real, q.MaxTokens, len(res.Frames))
		return
	case len(res.Frames) > int(q.MaxFrames):
		leg.Outcome = Flood
		leg.Detail = fmt.Sprintf("returned %d frames, asked for %d: all dropped", len(res.Frames), q.MaxFrames)
		return
	}
	leg.Outcome = Accepted
	seen := map[string]bool{}
	for _, f := range res.Frames {
		err := ocp.CheckFrame(f, q)
		if err == nil && seen[f.ID] {
			err = fmt.Errorf("the id %q came twice", f.ID)
		}
		if err != nil {
			leg.Refused = append(leg.Refused, Refused{f, err.Error()})
			continue
		}
		seen[f.ID] = true
		leg.Frames = append(leg.Frames, f)
	}
}
