package guard

import "strings"

// ranges are the lines a session has seen: 1-based, inclusive, ascending,
// joined where they touch.
type ranges [][2]int

// add joins the lines first to last.
func (r ranges) add(first, last int) ranges {
	if first < 1 {
		first = 1
	}
	if last < first {
		return r
	}
	out := make(ranges, 0, len(r)+1)
	placed := false
	for _, x := range r {
		switch {
		case x[1]+1 < first:
			out = append(out, x)
		case last+1 < x[0]:
			if !placed {
				out = append(out, [2]int{first, last})
				placed = true
			}
			out = append(out, x)
		default:
			first, last = min(first, x[0]), max(last, x[1])
		}
	}
	if !placed {
		out = append(out, [2]int{first, last})
	}
	return out
}

// covers reports whether all of first to last is in r; an empty span is.
func (r ranges) covers(first, last int) bool {
	if last < first {
		return true
	}
	for _, x := range r {
		if x[0] <= first && last <= x[1] {
			return true
		}
	}
	return false
}

// clip drops what lies behind line n.
func (r ranges) clip(n int) ranges {
	out := make(ranges, 0, len(r))
	for _, x := range r {
		if x[0] > n {
			break
		}
		out = append(out, [2]int{x[0], min(x[1], n)})
	}
	return out
}

// hunk is one place where two texts differ, in whole lines: lines
// [old, old+oldN) became [new, new+newN); all 0-based.
type hunk struct{ old, oldN, new, newN int }

// through carries r from the old text to the new one. Lines outside the hunks
// keep what they were and shift; of a hunk's new lines those stay for which
// seen answers true (nil: none), given whether all its old lines were in r.
func (r ranges) through(hunks []hunk, oldLines int, seen func(h int, line int, oldSeen bool) bool) ranges {
	var out ranges
	from, shift := 0, 0
	keep := func(to int) { // old lines [from, to) are unchanged
		for _, x := range r {
			a, b := max(x[0]-1, from), min(x[1], to)
			if a < b {
				out = out.add(a+1+shift, b+shift)
			}
		}
	}
	for i, h := range hunks {
		keep(h.old)
		if seen != nil {
			oldSeen := r.covers(h.old+1, h.old+h.oldN)
			for l := 0; l < h.newN; l++ {
				if seen(i, l, oldSeen) {
					out = out.add(h.new+l+1, h.new+l+1)
				}
			}
		}
		from, shift = h.old+h.oldN, h.new+h.newN-h.old-h.oldN
	}
	keep(oldLines)
	return out
}

// CountLines is the number of lines of a file as its truth: a last line without
// a newline counts, an empty file has none. Lines end at \n; UTF-16 with a byte
// order mark is decoded first.
func CountLines(truth []byte) int { return countLines(decodeTruth(truth).body) }

func countLines(body string) int {
	n := strings.Count(body, "\n")
	if body != "" && !strings.HasSuffix(body, "\n") {
		n++
	}
	return n
}

// join adds all of more, in any order.
func (r ranges) join(more [][2]int) ranges {
	for _, x := range more {
		r = r.add(x[0], x[1])
	}
	return r
}
