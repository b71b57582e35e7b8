package agent

import (
	"fmt"

	"github.com/stella-ls/stella-ls/agent/model"
	"github.com/stella-ls/stella-ls/internal/config"
)

// overBudget says which limit is reached, "" when none. A limit of zero is off.
// unheld says which limit cannot be held, and what to do, "" when all can: what
// a provider does not report, or nobody priced, is not zero.
func overBudget(b config.Budget, turn, session model.Usage) (why, unheld string) {
	for _, l := range []struct {
		name   string
		tokens int64
		usd    float64
		used   model.Usage
	}{{"turn", b.TurnTokens, b.TurnUSD, turn}, {"session", b.SessionTokens, b.SessionUSD, session}} {
		switch {
		case l.tokens > 0 && tokens(l.used) >= l.tokens:
			return fmt.Sprintf("this %s used %d tokens, the limit is %d (budget.%s_tokens)", l.name, tokens(l.used), l.tokens, l.name), unheld
		case l.usd > 0 && l.used.USD != nil && *l.used.USD >= l.usd:
			return fmt.Sprintf("this %s cost %.4f USD, the limit is %.2f (budget.%s_usd)", l.name, *l.used.USD, l.usd, l.name), unheld
		case (l.tokens > 0 || l.usd > 0) && !reported(l.used):
			unheld = "the server reports no usage, so budget." + l.name + "_tokens and _usd cannot be held; budget.steps can"
		case l.usd > 0 && l.used.USD == nil:
			unheld = "no price is known, so budget." + l.name + "_usd cannot be held: say what it costs in [model.price], or set budget." + l.name + "_tokens"
		}
	}
	return "", unheld
}
