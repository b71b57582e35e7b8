package agent

import "github.com/stella-ls/stella-ls/agent/model"

// addUsage sums two usages. What neither reported stays "not reported".
func addUsage(a, b model.Usage) model.Usage {
	return model.Usage{
		Input:      addInt(a.Input, b.Input),
		CacheRead:  addInt(a.CacheRead, b.CacheRead),
		CacheWrite: addInt(a.CacheWrite, b.CacheWrite),
		Output:     addInt(a.Output, b.Output),
		USD:        addFloat(a.USD, b.USD),
	}
}

func addInt(a, b *int64) *int64 {
	if a == nil && b == nil {
		return nil
	}
	sum := value(a) + value(b)
	return &sum
}

func addFloat(a, b *float64) *float64 {
	if a == nil && b == nil {
		return nil
	}
	sum := 0.0
	for _, p := range []*float64{a, b} {
		if p != nil {
			sum += *p
		}
	}
	return &sum
}

func value(p *int64) int64 {
	if p == nil {
		return 0
	}
	return *p
}

// tokens is everything a usage counts, cached input included.
func tokens(u model.Usage) int64 {
	return value(u.Input) + value(u.CacheRead) + value(u.CacheWrite) + value(u.Output)
}

// reported tells a usage of nothing from no usage at all.
func reported(u model.Usage) bool {
	return u.Input != nil || u.Output != nil || u.CacheRead != nil || u.CacheWrite != nil
}
