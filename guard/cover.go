package guard

import "strings"

// spanHunks turns replacements into line hunks, and says of each new line
// whether the caller wrote all of it.
func spanHunks(body string, spans []located) (hunks []hunk, wrote [][]bool) {
	shift, at, line := 0, 0, 0
	for i := 0; i < len(spans); {
		g := groupAt(body, spans, i)
		line += strings.Count(body[at:g.start], "\n")
		at = g.start
		h := hunk{old: line, oldN: countLines(body[g.start:g.end]), new: line + shift, newN: countLines(g.text)}
		shift += h.newN - h.oldN
		hunks = append(hunks, h)
		wrote = append(wrote, g.wrote(h.newN))
		i = g.next
	}
	return hunks, wrote
}

// group is a run of replacements that share lines, widened to whole lines.
type group struct {
	start, end, next int
	text             string // what body[start:end] becomes
	single           *located
	prefix, suffix   string // of a single replacement: what stays of its lines
}

func groupAt(body string, spans []located, i int) group {
	l := spans[i]
	if wholeLines(body, l) {
		return group{start: l.start, end: l.end, next: i + 1, text: l.text, single: &spans[i]}
	}
	g := group{start: lineStart(body, l.start), end: lineEnd(body, l.end), next: i + 1}
	for g.next < len(spans) && spans[g.next].start < g.end {
		// One that ends before g.end stays in the last line: looking for its end
		// each time would be quadratic where one line has many replacements.
		if end := spans[g.next].end; end >= g.end {
			g.end = max(g.end, lineEnd(body, end))
		}
		g.next++
	}
	var b strings.Builder
	at := g.start
	for _, s := range spans[i:g.next] {
		b.WriteString(body[at:s.start])
		b.WriteString(s.text)
		at = s.end
	}
	b.WriteString(body[at:g.end])
	g.text = b.String()
	if g.next == i+1 {
		g.single, g.prefix, g.suffix = &spans[i], body[g.start:l.start], body[l.end:g.end]
	}
	return g
}

func (g group) wrote(lines int) []bool {
	out := make([]bool, lines)
	if g.single == nil {
		return out
	}
	last := strings.Count(g.single.text, "\n")
	ends := chomp(g.suffix) == "" // nothing but the line end stays
	for i := range out {
		first := i > 0 || g.prefix == ""
		out[i] = first && (i < last || i == last && ends)
	}
	return out
}

// wholeLines reports whether l replaces lines by lines.
func wholeLines(body string, l located) bool {
	bol := l.start == 0 || body[l.start-1] == '\n'
	if !bol {
		return false
	}
	if l.end == len(body) {
		return true
	}
	endBOL := l.end == l.start || body[l.end-1] == '\n'
	return endBOL && (l.text == "" || strings.HasSuffix(l.text, "\n"))
}

func lineStart(body string, i int) int { return strings.LastIndexByte(body[:i], '\n') + 1 }

func lineEnd(body string, i int) int {
	if j := strings.IndexByte(body[i:], '\n'); j >= 0 {
		return i + j + 1
	}
	return len(body)
}

// coverage is what the session has seen of the new content: what the caller
// wrote, what it had seen and that stayed, and of what a formatter changed only
// lines that the result shows.
func (p *plan) coverage(final string, shown bool) ranges {
	var r ranges
	if p.whole {
		r = r.add(1, countLines(p.plain))
	} else {
		hunks, wrote := spanHunks(p.form.body, p.spans)
		r = ranges(p.belief.Seen).through(hunks, countLines(p.form.body), func(h, l int, oldSeen bool) bool {
			return oldSeen || wrote[h][l]
		})
	}
	if final == p.plain {
		return r
	}
	return r.through(lineHunks(p.plain, final), countLines(p.plain), func(_, _ int, oldSeen bool) bool { return shown && oldSeen })
}

// changedLines is where change i of the batch landed in the final body: first
// and last line, 1-based.
func (p *plan) changedLines(i int, final string) [2]int {
	first, last := 0, 0
	shift, at, line := 0, 0, 0
	for _, l := range p.spans {
		line += strings.Count(p.form.body[at:l.start], "\n")
		at = l.start
		a := line + shift + 1
		b := a + max(countLines(l.text), 1) - 1
		if strings.HasSuffix(l.text, "\n") && !wholeLines(p.form.body, l) {
			b++ // its end runs into the next line
		}
		if l.change == i {
			if first == 0 {
				first = a
			}
			last = b
		}
		shift += strings.Count(l.text, "\n") - strings.Count(p.form.body[l.start:l.end], "\n")
	}
	if p.whole {
		first, last = 1, countLines(p.plain)
	}
	if final != p.plain {
		h := lineHunks(p.plain, final)
		first, last = mapLine(h, first, false), mapLine(h, last, true)
	}
	n := countLines(final)
	last = min(last, n)
	return [2]int{min(first, max(last, 1)), max(last, min(first, n))}
}

// mapLine carries a 1-based line through hunks; inside a hunk it goes to an edge.
func mapLine(hunks []hunk, line int, end bool) int {
	shift := 0
	for _, h := range hunks {
		switch {
		case line-1 < h.old:
			return line + shift
		case line-1 < h.old+h.oldN && end:
			return h.new + max(h.newN, 1)
		case line-1 < h.old+h.oldN:
			return h.new + 1
		}
		shift += h.newN - h.oldN
	}
	return line + shift
}
