package guard

import (
	"fmt"
	"sort"
	"strings"
	"unicode/utf8"
)

// located is one wanted replacement at its place in a body. The span is what
// the caller named (its whole old text); minimal makes it smaller for writing.
type located struct {
	start, end int
	text       string
	change     int // which Change of the batch
}

// misfit is why a change cannot be made as stated.
type misfit struct {
	status Status
	text   string // what is wrong, a clause about "edit 2"
	next   string
}

// symbolFilter answers whether a span lies inside the wanted definition; nil
// filters nothing.
type symbolFilter func(start, end int) bool

// locateEdits finds every replacement of one Change in body.
func locateEdits(t textForm, edits []Replacement, inside symbolFilter) ([]located, *misfit) {
	if len(edits) == 0 {
		return nil, &misfit{StatusInvalid, "it has no edits", "give at least one edit with old and new, or a patch"}
	}
	nt := newNormalized(t.body)
	var out []located
	for i, e := range edits {
		name := "the edit"
		if len(edits) > 1 {
			name = fmt.Sprintf("edit %d of %d", i+1, len(edits))
		}
		spots, m := locateOne(t, nt, name, e, inside)
		if m != nil {
			return nil, m
		}
		out = append(out, spots...)
	}
	return out, nil
}

func locateOne(t textForm, nt normalized, name string, e Replacement, inside symbolFilter) ([]located, *misfit) {
	if m := checkReplacement(t, name, e); m != nil {
		return nil, m
	}
	spots := nt.find(strings.TrimPrefix(e.Old, bomRune))
	if e.Old == "" { // checkReplacement lets it pass for an empty file only
		spots = [][2]int{{0, 0}}
	}
	if inside != nil && len(spots) > 0 {
		spots = filterSpans(spots, inside)
		if len(spots) == 0 {
			return nil, &misfit{StatusOutsideSymbol, name + " is outside the named symbol", "name the symbol that holds the text, or leave symbol out"}
		}
	}
	switch {
	case len(spots) == 0:
		return nil, noMatch(t, name, e.Old)
	case len(spots) > 1 && !e.All:
		return nil, &misfit{
			StatusAmbiguous, fmt.Sprintf("the old text of %s is there %d times (lines %s)", name, len(spots), lineList(t.body, spots)),
			"put more of the lines around it into old, or set all",
		}
	}
	out := make([]located, len(spots))
	for i, s := range spots {
		out[i] = located{start: s[0], end: s[1], text: nt.replacement(s, strings.TrimPrefix(e.New, bomRune))}
	}
	return out, nil
}

const bomRune = "\uFEFF"

func checkReplacement(t textForm, name string, e Replacement) *misfit {
	switch {
	case e.Old == "" && t.body != "":
		return &misfit{StatusInvalid, "the old text of " + name + " is empty", "old must be text that is in the file; to insert, repeat a line beside the place in both old and new"}
	case e.Old == e.New:
		return &misfit{StatusInvalid, "old and new of " + name + " are the same", "leave it out, or say what shall change"}
	}
	if err := t.mayTake(e.New); err != nil {
		return &misfit{StatusDenied, name + " cannot be made: " + err.Error(), "use ASCII text, or convert the file first"}
	}
	return nil
}

// noMatch helps a caller to find out how its old text differs.
func noMatch(t textForm, name, old string) *misfit {
	m := &misfit{StatusNoMatch, "the old text of " + name + " is not in the file", "read the lines again and copy them exactly, white space included, without the line numbers"}
	if !t.validText() && !isASCII(old) {
		m.text += "; the file is not valid UTF-8, and what read shows for its other bytes cannot be matched"
		m.next = "choose an old text of ASCII characters only"
		return m
	}
	for _, l := range strings.Split(old, "\n") {
		want := strings.TrimSpace(l)
		if len(want) < 4 {
			continue
		}
		if i := strings.Index(t.body, want); i >= 0 {
			m.text += fmt.Sprintf("; %q is at line %d, but what stands around it differs", clip(want, 60), lineOf(t.body, i))
			return m
		}
	}
	return m
}

func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + "…"
}

func filterSpans(spots [][2]int, inside symbolFilter) [][2]int {
	var kept [][2]int
	for _, s := range spots {
		if inside(s[0], s[1]) {
			kept = append(kept, s)
		}
	}
	return kept
}

func lineOf(body string, off int) int { return 1 + strings.Count(body[:off], "\n") }

func lineList(body string, spots [][2]int) string {
	var b strings.Builder
	for i, s := range spots {
		if i == 5 {
			b.WriteString(", …")
			break
		}
		if i > 0 {
			b.WriteString(", ")
		}
		fmt.Fprint(&b, lineOf(body, s[0]))
	}
	return b.String()
}

// normalized is a body in which \r\n is \n, with the way back. A caller sees
// and writes \n; which line end the file has at a place is the file's affair.
type normalized struct {
	body string // as it is
	text string // normalized
	cuts []int  // positions in text of every \n that was \r\n
}

func newNormalized(body string) normalized {
	if !strings.Contains(body, "\r\n") {
		return normalized{body: body, text: body}
	}
	var b strings.Builder
	b.Grow(len(body))
	n := normalized{body: body}
	for i := 0; i < len(body); i++ {
		if body[i] == '\r' && i+1 < len(body) && body[i+1] == '\n' {
			n.cuts = append(n.cuts, b.Len())
			continue
		}
		b.WriteByte(body[i])
	}
	n.text = b.String()
	return n
}

// raw turns a position of text into one of body; a \n that was \r\n begins at its \r.
func (n normalized) raw(i int) int { return i + sort.SearchInts(n.cuts, i) }

// find returns the places of old, from left to right, not overlapping.
func (n normalized) find(old string) [][2]int {
	if n.cuts == nil {
		// \r\n in old matches nothing else here; but a caller that wrote \r\n for
		// a file with \n means the same lines.
		if spots := findAll(n.body, old); len(spots) > 0 || !strings.Contains(old, "\r\n") {
			return spots
		}
		return findAll(n.body, strings.ReplaceAll(old, "\r\n", "\n"))
	}
	if strings.Contains(old, "\r\n") {
		if spots := findAll(n.body, old); len(spots) == 1 {
			return spots
		}
	}
	spots := findAll(n.text, strings.ReplaceAll(old, "\r\n", "\n"))
	for i, s := range spots {
		spots[i] = [2]int{n.raw(s[0]), n.raw(s[1])}
	}
	if len(spots) == 0 {
		return findAll(n.body, old) // a \r on its own at the end of old
	}
	return spots
}

// replacement is text with the line ends that fit at span.
func (n normalized) replacement(span [2]int, text string) string {
	if n.cuts == nil {
		return text
	}
	return withEOLs(n.body[span[0]:span[1]], text, eolAt(n.body, span[0]))
}

func findAll(s, old string) (spots [][2]int) {
	if old == "" {
		return nil
	}
	for at := 0; ; {
		i := strings.Index(s[at:], old)
		if i < 0 {
			return spots
		}
		spots = append(spots, [2]int{at + i, at + i + len(old)})
		at += i + len(old)
	}
}

// order sorts what a batch wants to change and returns two changes that want
// the same bytes, if any do.
func order(all []located) (a, b int, overlap bool) {
	sort.SliceStable(all, func(i, j int) bool {
		if all[i].start != all[j].start {
			return all[i].start < all[j].start
		}
		return all[i].end < all[j].end
	})
	for i := 1; i < len(all); i++ {
		p, q := all[i-1], all[i]
		if q.start < p.end || q.start == p.start && q.end == p.end {
			return p.change, q.change, true
		}
	}
	return 0, 0, false
}

// splice applies sorted replacements to body.
func splice(body string, all []located) string {
	var b strings.Builder
	at := 0
	for _, l := range all {
		b.WriteString(body[at:l.start])
		b.WriteString(l.text)
		at = l.end
	}
	b.WriteString(body[at:])
	return b.String()
}

// minimal takes off what a replacement leaves as it is, so that the editor
// moves no mark that it need not move. Whole characters only, and never between
// \r and \n, where an editor has no position.
func minimal(body string, l located) located {
	old := body[l.start:l.end]
	n := 0
	for n < len(old) && n < len(l.text) && old[n] == l.text[n] {
		n++
	}
	for n > 0 && (!boundary(old, n) || !boundary(l.text, n)) {
		n--
	}
	old, text := old[n:], l.text[n:]
	m := 0
	for m < len(old) && m < len(text) && old[len(old)-1-m] == text[len(text)-1-m] {
		m++
	}
	for m > 0 && (!boundary(old, len(old)-m) || !boundary(text, len(text)-m)) {
		m--
	}
	start, end := l.start+n, l.end-m
	text = text[:len(text)-m]
	// The cut must also be a position in the body around it.
	for start > 0 && !boundary(body, start) {
		start--
		text = body[start:start+1] + text
	}
	for end < len(body) && !boundary(body, end) {
		text += body[end : end+1]
		end++
	}
	return located{start: start, end: end, text: text, change: l.change}
}

// boundary reports whether s can be cut at i.
func boundary(s string, i int) bool {
	if i <= 0 || i >= len(s) {
		return true
	}
	return utf8.RuneStart(s[i]) && !(s[i] == '\n' && s[i-1] == '\r')
}
