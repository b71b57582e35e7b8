package main

import "hash/fnv"

// block is one piece of a request as a provider's cache sees it.
type block struct {
	hash   uint64
	tokens int
	mark   bool // a cache mark of ours stands after it
}

// bill is what one or more requests cost.
type bill struct {
	full int // input tokens billed at the full price or above (not read from the cache)
	read int // input tokens read from the cache
}

func (b *bill) add(o bill) { b.full += o.full; b.read += o.read }

// rules simulates one provider's prompt cache by its documented rules.
type rules interface {
	name() string
	// send bills a request made at a time in seconds and remembers it.
	send(request []block, at float64) bill
}

// marked is explicit caching by marks: an entry is written at each mark; a
// request reads the longest entry that ends at one of its marks or at one of the
// twenty blocks before it; an entry lives five minutes from its last use, and one
// below 1,024 tokens is not kept.
type marked struct{ entries map[uint64]float64 }

func newMarked() rules { return &marked{map[uint64]float64{}} }

func (*marked) name() string { return "explicit marks" }

const (
	minimum  = 1024
	lifetime = 300.0
	lookBack = 20
)

func (m *marked) send(request []block, at float64) bill {
	hashes, sums := prefixes(request)
	best := 0
	for i, b := range request {
		if !b.mark {
			continue
		}
		for j := i; j >= 0 && j > i-lookBack; j-- {
			if seen, ok := m.entries[hashes[j]]; ok && at-seen <= lifetime && sums[j] >= minimum {
				if j+1 > best {
					best = j + 1
				}
				break
			}
		}
	}
	if best > 0 {
		m.entries[hashes[best-1]] = at
	}
	for i, b := range request {
		if b.mark {
			m.entries[hashes[i]] = at
		}
	}
	return split(sums, best)
}

// automatic is prefix caching without marks: the longest beginning that an
// earlier request shared, from 1,024 tokens in steps of 128, for five minutes.
// Blocks are compared whole, so a hit is rounded down to a block, which hurts
// every design alike.
type automatic struct{ seen map[uint64]float64 }

func newAutomatic() rules { return &automatic{map[uint64]float64{}} }

func (*automatic) name() string { return "automatic prefix" }

func (a *automatic) send(request []block, at float64) bill {
	hashes, sums := prefixes(request)
	best := 0
	for i := range request {
		if seen, ok := a.seen[hashes[i]]; !ok || at-seen > lifetime {
			break
		}
		best = i + 1
	}
	for _, h := range hashes {
		a.seen[h] = at
	}
	b := split(sums, best)
	if b.read < minimum {
		return bill{full: b.full + b.read}
	}
	step := b.read % 128
	return bill{full: b.full + step, read: b.read - step}
}

// piece makes a block of a text.
func piece(text string) block {
	h := fnv.New64a()
	_, _ = h.Write([]byte(text))
	return block{hash: h.Sum64(), tokens: (len(text) + 3) / 4}
}

func prefixes(request []block) (hashes []uint64, sums []int) {
	h, sum := uint64(0), 0
	for _, b := range request {
		h = (h ^ b.hash) * 1099511628211 // the FNV prime: order matters
		h ^= h >> 29
		sum += b.tokens
		hashes, sums = append(hashes, h), append(sums, sum)
	}
	return hashes, sums
}

func split(sums []int, cached int) bill {
	total := sums[len(sums)-1]
	if cached == 0 {
		return bill{full: total}
	}
	return bill{full: total - sums[cached-1], read: sums[cached-1]}
}
