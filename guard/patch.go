package guard

import (
	"fmt"
	"strconv"
	"strings"
)

// patchLine is one line of a hunk's body, without its line end.
type patchLine struct {
	kind byte // ' ', '-', '+'
	text string
	noNL bool // "\ No newline at end of file" follows
}

// patchHunk is one hunk; at is the 1-based line its header names, 0 when it names none.
type patchHunk struct {
	at    int
	lines []patchLine
}

// Bounds of a patch.
const (
	patchMaxBytes = 8 << 20
	patchMaxHunks = 1000
)

// parsePatch reads a unified diff of one file. Names, index lines and counts
// are not needed; the hunks' own lines are what decides.
func parsePatch(s string) ([]patchHunk, error) {
	if len(s) > patchMaxBytes {
		return nil, fmt.Errorf("the patch is over %d MiB", patchMaxBytes>>20)
	}
	lines := strings.Split(s, "\n")
	for len(lines) > 0 && strings.TrimSuffix(lines[len(lines)-1], "\r") == "" {
		lines = lines[:len(lines)-1]
	}
	var hunks []patchHunk
	files := 0
	for i := 0; i < len(lines); {
		l := strings.TrimSuffix(lines[i], "\r")
		switch {
		case strings.HasPrefix(l, "@@"):
			h, next, err := parseHunk(lines, i, len(hunks)+1)
			if err != nil {
				return nil, err
			}
			hunks = append(hunks, h)
			i = next
		case strings.HasPrefix(l, "+++ "):
			files++
			i++
		case len(hunks) > 0 && l != "" && !fileHeader(l):
			return nil, fmt.Errorf("line %d of the patch, %q, belongs to no hunk: each line of a hunk begins with a space, + or -", i+1, clip(l, 60))
		default:
			i++
		}
		if files > 1 {
			return nil, fmt.Errorf("the patch names more than one file")
		}
		if len(hunks) > patchMaxHunks {
			return nil, fmt.Errorf("the patch has over %d hunks", patchMaxHunks)
		}
	}
	if len(hunks) == 0 {
		return nil, fmt.Errorf("the patch has no hunk: a hunk begins with a line like @@ -3,7 +3,8 @@")
	}
	return hunks, nil
}

func fileHeader(l string) bool {
	for _, p := range []string{"diff ", "index ", "--- ", "+++ ", "old mode", "new mode", "similarity ", "rename "} {
		if strings.HasPrefix(l, p) {
			return true
		}
	}
	return false
}

func parseHunk(lines []string, i, number int) (patchHunk, int, error) {
	at, oldN, newN, err := hunkHeader(strings.TrimSuffix(lines[i], "\r"))
	if err != nil {
		return patchHunk{}, 0, fmt.Errorf("hunk %d: %w", number, err)
	}
	h := patchHunk{at: at}
	seenOld, seenNew, changed := 0, 0, false
	for i++; i < len(lines); i++ {
		l := lines[i]
		full := oldN >= 0 && seenOld >= oldN && seenNew >= newN
		if strings.HasPrefix(l, "@@") || endsHunk(lines, i, full) {
			break
		}
		if strings.HasPrefix(l, `\`) {
			if len(h.lines) > 0 {
				h.lines[len(h.lines)-1].noNL = true
			}
			continue
		}
		if strings.TrimSuffix(l, "\r") == "" { // an empty context line whose space was lost
			if full {
				break
			}
			l = " " + l
		}
		switch l[0] {
		case ' ':
			seenOld, seenNew = seenOld+1, seenNew+1
		case '-':
			seenOld, changed = seenOld+1, true
		case '+':
			seenNew, changed = seenNew+1, true
		default:
			return h, 0, fmt.Errorf("hunk %d: its line %q begins with neither a space, + nor -", number, clip(l, 60))
		}
		h.lines = append(h.lines, patchLine{kind: l[0], text: l[1:]})
	}
	if !changed {
		return h, 0, fmt.Errorf("hunk %d changes nothing", number)
	}
	return h, i, nil
}

// endsHunk: "--- x" may be a removed line "-- x"; a following "+++ " says that
// it is the next file's header, unless the hunk's counts want more.
func endsHunk(lines []string, i int, full bool) bool {
	l := lines[i]
	if strings.HasPrefix(l, "diff --git ") {
		return true
	}
	return full && strings.HasPrefix(l, "--- ") && i+1 < len(lines) && strings.HasPrefix(lines[i+1], "+++ ")
}

// hunkHeader reads @@ -a,b +c,d @@; the numbers may be missing altogether.
func hunkHeader(l string) (at, oldN, newN int, err error) {
	bad := fmt.Errorf("its header %q is not like @@ -3,7 +3,8 @@", clip(l, 60))
	inner, _, ok := strings.Cut(strings.TrimPrefix(l, "@@"), "@@")
	f := strings.Fields(inner)
	if len(f) == 0 || !ok && len(f) == 0 {
		return 0, -1, -1, nil
	}
	if len(f) < 2 || f[0][0] != '-' || f[1][0] != '+' {
		if !ok || f[0][0] == '-' {
			return 0, 0, 0, bad
		}
		return 0, -1, -1, nil // @@ func name @@
	}
	at, oldN, err1 := numberPair(f[0][1:])
	_, newN, err2 := numberPair(f[1][1:])
	if err1 != nil || err2 != nil {
		return 0, 0, 0, bad
	}
	return at, oldN, newN, nil
}

func numberPair(s string) (at, n int, err error) {
	a, b, two := strings.Cut(s, ",")
	if at, err = strconv.Atoi(a); err != nil || at < 0 {
		return 0, 0, fmt.Errorf("not a line number")
	}
	if !two {
		return at, 1, nil
	}
	if n, err = strconv.Atoi(b); err != nil || n < 0 {
		return 0, 0, fmt.Errorf("not a count")
	}
	return at, n, nil
}

// bodyLine is a line of a file with where it lies.
type bodyLine struct {
	start int
	text  string // without its line end
	eol   string // "", "\n", "\r\n"
}

func bodyLines(body string) []bodyLine {
	var out []bodyLine
	for at := 0; at < len(body); {
		end := len(body)
		if i := strings.IndexByte(body[at:], '\n'); i >= 0 {
			end = at + i + 1
		}
		l := body[at:end]
		text := chomp(l)
		out = append(out, bodyLine{at, text, l[len(text):]})
		at = end
	}
	return out
}

// locatePatch finds the hunks of a patch in body. Context must be exact; line
// numbers only choose between equal places.
func locatePatch(t textForm, patch string, inside symbolFilter) ([]located, *misfit) {
	hunks, err := parsePatch(patch)
	if err != nil {
		return nil, &misfit{StatusInvalid, err.Error(), "send a unified diff of this one file, or use edits"}
	}
	lines := bodyLines(t.body)
	var out []located
	from, shift := 0, 0 // hunks come in the order of the file
	for i, h := range hunks {
		at, m := findHunk(t.body, lines, h, i+1, from, shift)
		if m != nil {
			return nil, m
		}
		if h.at > 0 {
			shift = at + 1 - h.at
		}
		spots, m := hunkSpans(t, lines, h, at)
		if m != nil {
			return nil, m
		}
		for _, s := range spots {
			if inside != nil && !inside(s.start, s.end) {
				return nil, &misfit{StatusOutsideSymbol, fmt.Sprintf("hunk %d is outside the named symbol", i+1), "name the symbol that holds the text, or leave symbol out"}
			}
		}
		out = append(out, spots...)
		from = at + h.oldCount()
	}
	return out, nil
}

func (h patchHunk) oldCount() (n int) {
	for _, l := range h.lines {
		if l.kind != '+' {
			n++
		}
	}
	return n
}

// fits reports whether the hunk's old lines stand at line at.
func (h patchHunk) fits(lines []bodyLine, at int) bool {
	for _, p := range h.lines {
		if p.kind == '+' {
			continue
		}
		if at >= len(lines) {
			return false
		}
		l := lines[at]
		if l.text != p.text && !(l.eol != "" && l.text == strings.TrimSuffix(p.text, "\r")) {
			return false
		}
		if p.noNL && l.eol != "" {
			return false
		}
		at++
	}
	return true
}

func findHunk(body string, lines []bodyLine, h patchHunk, number, from, shift int) (int, *misfit) {
	if h.oldCount() == 0 {
		if body == "" {
			return 0, nil
		}
		return 0, &misfit{StatusInvalid, fmt.Sprintf("hunk %d has no line of the file in it, so its place cannot be checked", number), "put unchanged lines around what you insert"}
	}
	if h.at > 0 {
		for _, hint := range []int{h.at - 1, h.at - 1 + shift} {
			if hint >= from && h.fits(lines, hint) {
				return hint, nil
			}
		}
	}
	var found []int
	for at := from; at+h.oldCount() <= len(lines); at++ {
		if h.fits(lines, at) {
			found = append(found, at)
		}
	}
	switch len(found) {
	case 0:
		return 0, &misfit{StatusNoMatch, fmt.Sprintf("the context of hunk %d is not in the file", number) + firstDifference(lines, h), "read the lines again and make the patch from exactly what is there"}
	case 1:
		return found[0], nil
	}
	spots := make([][2]int, len(found))
	for i, at := range found {
		spots[i] = [2]int{lines[at].start, lines[at].start}
	}
	return 0, &misfit{StatusAmbiguous, fmt.Sprintf("hunk %d fits at %d places (lines %s) and its line number names none of them", number, len(found), lineList(body, spots)), "put more context lines into it"}
}

// firstDifference names the first line of the hunk that is not where its header says.
func firstDifference(lines []bodyLine, h patchHunk) string {
	if h.at < 1 {
		return ""
	}
	at := h.at - 1
	for _, p := range h.lines {
		if p.kind == '+' {
			continue
		}
		if at >= len(lines) {
			return fmt.Sprintf("; the file ends at line %d", len(lines))
		}
		if lines[at].text != p.text {
			return fmt.Sprintf("; line %d is %q, not %q", at+1, clip(strings.ToValidUTF8(lines[at].text, "\uFFFD"), 80), clip(p.text, 80))
		}
		at++
	}
	return ""
}

// hunkSpans turns a hunk at line at into replacements of whole lines, one for
// each run of changed lines.
func hunkSpans(t textForm, lines []bodyLine, h patchHunk, at int) ([]located, *misfit) {
	var out []located
	for i := 0; i < len(h.lines); {
		if h.lines[i].kind == ' ' {
			at++
			i++
			continue
		}
		first := at
		var added []patchLine
		oldNoNL := false
		for ; i < len(h.lines) && h.lines[i].kind != ' '; i++ {
			if h.lines[i].kind == '+' {
				added = append(added, h.lines[i])
			} else {
				oldNoNL = oldNoNL || h.lines[i].noNL
				at++
			}
		}
		l, err := runSpan(t, lines, first, at, added, oldNoNL)
		if err != nil {
			return nil, &misfit{StatusDenied, "the patch cannot be made: " + err.Error(), "use ASCII text, or convert the file first"}
		}
		out = append(out, l...)
	}
	return out, nil
}

// runSpan replaces lines [first, last) by added, keeping line ends: a line that
// takes another's place takes its line end, more lines take that of the place,
// and the end of the file gains or loses a newline only when the patch says so.
func runSpan(t textForm, lines []bodyLine, first, last int, added []patchLine, oldNoNL bool) ([]located, error) {
	start, end := len(t.body), len(t.body)
	if first < len(lines) {
		start = lines[first].start
	}
	if last < len(lines) {
		end = lines[last].start
	}
	eol := eolAt(t.body, start)
	atEOF := last >= len(lines)
	openEnd := atEOF && len(lines) > 0 && lines[len(lines)-1].eol == ""
	var b strings.Builder
	for i, p := range added {
		text, e := p.text, eol
		if j := first + i; j < last && lines[j].eol != "" {
			e = lines[j].eol
		}
		if e == "\r\n" || strings.Contains(t.body, "\r\n") {
			text = strings.TrimSuffix(text, "\r")
		}
		if err := t.mayTake(text); err != nil {
			return nil, err
		}
		b.WriteString(text)
		lastLine := i == len(added)-1
		if lastLine && atEOF && (p.noNL || openEnd && !oldNoNL && first < len(lines)) {
			continue
		}
		b.WriteString(e)
	}
	text := b.String()
	if openEnd && first >= len(lines) {
		// Behind a last line without newline: that one gets it, the new last line has none.
		text = eol + strings.TrimSuffix(text, eol)
	}
	return []located{{start: start, end: end, text: text}}, nil
}
