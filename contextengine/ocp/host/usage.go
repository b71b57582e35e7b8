package host

import "github.com/stella-ls/stella-ls/contextengine/ocp"

// Usage accounts for one query, from the fan-out and before fusion (UR1).
type Usage struct {
	BudgetRequested uint64          `json:"budget_requested"`
	BudgetConsumed  uint64          `json:"budget_consumed"`
	AsOf            string          `json:"as_of,omitempty"` // the host's clock
	Providers       []ProviderUsage `json:"providers,omitempty"`
}

// ProviderUsage is one provider's part.
type ProviderUsage struct {
	ProviderID     string        `json:"provider_id"`
	FramesServed   int           `json:"frames_served"`
	FramesRejected int           `json:"frames_rejected"`
	TokenCost      uint64        `json:"token_cost"`
	Served         []ServedFrame `json:"served_frames,omitempty"`
}

// ServedFrame is one frame with its cost.
type ServedFrame struct {
	Frame     ocp.FrameID `json:"frame"`
	TokenCost uint32      `json:"token_cost"`
}

// Account builds the usage report of a fan-out.
func Account(legs []Leg, q ocp.Query, asOf string) Usage {
	u := Usage{BudgetRequested: uint64(q.MaxTokens), AsOf: asOf}
	for _, leg := range legs {
		p := ProviderUsage{ProviderID: leg.ProviderID}
		switch leg.Outcome {
		case Accepted:
			p.FramesRejected = len(leg.Refused)
			for _, f := range leg.Frames {
				p.Served = append(p.Served, ServedFrame{ocp.Identity(leg.ProviderID, f), f.TokenCost})
				p.TokenCost += uint64(f.TokenCost)
			}
			p.FramesServed = len(p.Served)
		case OverBudget, Flood:
			p.FramesRejected = leg.Offered
		}
		u.BudgetConsumed += p.TokenCost
		u.Providers = append(u.Providers, p)
	}
	return u
}
