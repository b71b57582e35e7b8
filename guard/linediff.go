package guard

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/aymanbagabas/go-udiff"
)

// Bounds of a difference that goes into a result.
const (
	diffLines   = 160
	diffBytes   = 12 << 10
	diffLineMax = 400 // longer lines are shortened
)

// lineHunks compares two texts line by line.
func lineHunks(before, after string) []hunk {
	if before == after {
		return nil
	}
	var out []hunk
	shift, at, line := 0, 0, 0
	for _, e := range udiff.Lines(before, after) {
		line += strings.Count(before[at:e.Start], "\n")
		h := hunk{old: line, oldN: countLines(before[e.Start:e.End]), newN: countLines(e.New)}
		h.new = h.old + shift
		shift += h.newN - h.oldN
		line += strings.Count(before[e.Start:e.End], "\n")
		at = e.End
		out = append(out, h)
	}
	return out
}

// unified is the difference of two contents for people and models, without file
// headers. cut is the number of lines left out.
func unified(before, after []byte) (diff string, cut int) {
	if string(before) == string(after) {
		return "", 0
	}
	a, b := decodeTruth(before), decodeTruth(after)
	if a.binary() || b.binary() {
		return fmt.Sprintf("binary content: %d bytes became %d", len(before), len(after)), 0
	}
	if a.body == b.body {
		return fmt.Sprintf("same text in another encoding: %s became %s", a.name(), b.name()), 0
	}
	edits := udiff.Lines(a.body, b.body)
	full, err := udiff.ToUnified("a", "b", a.body, edits, 3)
	if err != nil {
		return "no diff: " + err.Error(), 0
	}
	_, full, _ = strings.Cut(full, "\n") // --- a
	_, full, _ = strings.Cut(full, "\n") // +++ b
	return boundDiff(showCR(full))
}

// showCR keeps a carriage return visible where it is what differs: models and
// terminals drop it.
func showCR(diff string) string {
	if !strings.Contains(diff, "\r") {
		return diff
	}
	return strings.ReplaceAll(diff, "\r", "␍")
}

func boundDiff(full string) (diff string, cut int) {
	var b strings.Builder
	lines := strings.SplitAfter(full, "\n")
	if n := len(lines); n > 0 && lines[n-1] == "" {
		lines = lines[:n-1]
	}
	for i, l := range lines {
		if len(l) > diffLineMax {
			l = strings.ToValidUTF8(l[:diffLineMax], "") + fmt.Sprintf("… (%d bytes more)\n", len(l)-diffLineMax)
			cut++ // part of it is left out
		}
		if i >= diffLines || b.Len()+len(l) > diffBytes {
			return b.String(), cut + len(lines) - i
		}
		if !utf8.ValidString(l) {
			l = strings.ToValidUTF8(l, "\uFFFD")
		}
		b.WriteString(l)
	}
	return b.String(), cut
}
