package model

// Price is USD for a million tokens of each kind. Prices change and differ by
// contract, so none is built in: the settings say them, or the
// provider says what a call cost (OpenRouter), or money is not counted.
type Price struct {
	Input, CacheRead, CacheWrite, Output float64
}

// apply fills in Usage.USD when a price is known and the provider reported what
// it applies to. What the provider itself says it charged stands.
func (p Price) apply(u Usage) Usage {
	if u.USD != nil || p == (Price{}) || u.Input == nil || u.Output == nil {
		return u
	}
	usd := p.Input*count(u.Input) + p.Output*count(u.Output) + p.CacheRead*count(u.CacheRead) + p.CacheWrite*count(u.CacheWrite)
	usd /= 1e6
	u.USD = &usd
	return u
}

func count(n *int64) float64 {
	if n == nil {
		return 0
	}
	return float64(*n)
}
