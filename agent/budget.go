package agent

import (
	"fmt"

	"github.com/stella-ls/stella-ls/agent/model"
	"github.com/stella-ls/stella-ls/internal/config"
)

// overBudget says which limit is reached, "" when none. A limit of zero is off.
// unpriced is true when a limit in USD cannot be held because no price is known.
func overBudget(b config.Budget, turn, session model.Usage) (why string, unpriced bool) {
	if b.TurnTokens > 0 && tokens(turn) >= b.TurnTokens {
		return fmt.Sprintf("this turn used %d tokens, the limit is %d (budget.turn_tokens)", tokens(turn), b.TurnTokens), false
	}
	if b.SessionTokens > 0 && tokens(session) >= b.SessionTokens {
		return fmt.Sprintf("this session used %d tokens, the limit is %d (budget.session_tokens)", tokens(session), b.SessionTokens), false
	}
	for _, l := range []struct {
		limit float64
		used  model.Usage
		name  string
	}{{b.TurnUSD, turn, "turn"}, {b.SessionUSD, session, "session"}} {
		switch {
		case l.limit <= 0:
		case l.used.USD == nil:
			unpriced = unpriced || tokens(l.used) > 0
		case *l.used.USD >= l.limit:
			return fmt.Sprintf("this %s cost %.4f USD, the limit is %.2f (budget.%s_usd)", l.name, *l.used.USD, l.limit, l.name), false
		}
	}
	return "", unpriced
}
