package agent

import (
	"strings"

	"github.com/stella-ls/stella-ls/agent/model"
)

// price is in USD for a million tokens.
type price struct{ input, output, cacheRead, cacheWrite float64 }

// prices are list prices of the models' makers, found by the longest prefix of
// the name behind "provider/". They change: a model that is not here has no
// known price, which is not a price of zero, and its limits are in tokens.
var prices = map[string]price{
	"claude-opus-4-5":   {5, 25, 0.50, 6.25},
	"claude-opus-4-1":   {15, 75, 1.50, 18.75},
	"claude-opus-4":     {15, 75, 1.50, 18.75},
	"claude-sonnet-4":   {3, 15, 0.30, 3.75},
	"claude-3-7-sonnet": {3, 15, 0.30, 3.75},
	"claude-haiku-4-5":  {1, 5, 0.10, 1.25},
	"claude-3-5-haiku":  {0.80, 4, 0.08, 1},
	"gpt-5-mini":        {0.25, 2, 0.025, 0.25},
	"gpt-5-nano":        {0.05, 0.40, 0.005, 0.05},
	"gpt-5":             {1.25, 10, 0.125, 1.25},
	"gpt-4.1-mini":      {0.40, 1.60, 0.10, 0.40},
	"gpt-4.1":           {2, 8, 0.50, 2},
	"gpt-4o-mini":       {0.15, 0.60, 0.075, 0.15},
	"gpt-4o":            {2.50, 10, 1.25, 2.50},
}

// priced fills in the price of a usage where the model has a known one and the
// provider did not say.
func priced(name string, u model.Usage) model.Usage {
	if u.USD != nil || !reported(u) {
		return u
	}
	p, ok := priceOf(name)
	if !ok {
		return u
	}
	usd := (float64(value(u.Input))*p.input + float64(value(u.Output))*p.output +
		float64(value(u.CacheRead))*p.cacheRead + float64(value(u.CacheWrite))*p.cacheWrite) / 1e6
	u.USD = &usd
	return u
}

func priceOf(name string) (price, bool) {
	provider, rest, ok := strings.Cut(name, "/")
	if !ok || (provider != "anthropic" && provider != "openai") {
		return price{}, false // a gateway has its own prices
	}
	best := ""
	for prefix := range prices {
		if strings.HasPrefix(rest, prefix) && len(prefix) > len(best) {
			best = prefix
		}
	}
	if best == "" {
		return price{}, false
	}
	// "claude-opus-4-7" must not be priced as "claude-opus-4": only a date or an
	// alias may follow the known name.
	tail := strings.TrimPrefix(rest[len(best):], "-")
	if tail != "" && tail != "latest" && !isDate(tail) {
		return price{}, false
	}
	return prices[best], true
}

// isDate accepts 20250929, 2025-09-29 and a minor version 0 before them.
func isDate(s string) bool {
	s = strings.TrimPrefix(s, "0-")
	digits := strings.ReplaceAll(s, "-", "")
	return len(digits) == 8 && strings.Trim(digits, "0123456789") == ""
}
