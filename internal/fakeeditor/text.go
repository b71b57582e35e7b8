package fakeeditor

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// Position is a place in a text: 0-based line, and characters in the
// negotiated encoding.
type Position struct {
	Line      int `json:"line"`
	Character int `json:"character"`
}

// Range is [Start, End).
type Range struct {
	Start Position `json:"start"`
	End   Position `json:"end"`
}

// splice swaps the bytes [start, end) of a text for other text.
type splice struct {
	start, end int
	text       string
}

// coords is how an editor counts: characters in an encoding, and what ends a line.
type coords struct {
	enc string // "utf-8", "utf-16", "utf-32"
	// eol is the only line end of a Neovim buffer: there a stray "\r" is a
	// character of its line, although the protocol says that it ends one. Empty
	// for editors that go by the protocol.
	eol string
}

// lineStarts are the byte offsets at which lines begin.
func (c coords) lineStarts(text string) []int {
	starts := []int{0}
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '\n':
			starts = append(starts, i+1)
		case '\r':
			if c.eol != "" || i+1 < len(text) && text[i+1] == '\n' {
				continue
			}
			starts = append(starts, i+1)
		}
	}
	return starts
}

// width is how many characters the rune r takes.
func (c coords) width(r rune, size int) int {
	switch c.enc {
	case "utf-8":
		return size
	case "utf-32":
		return 1
	}
	if r > 0xFFFF {
		return 2
	}
	return 1
}

// position turns a byte offset into a position.
func (c coords) position(text string, offset int) Position {
	starts := c.lineStarts(text)
	line, found := slices.BinarySearch(starts, offset)
	if !found {
		line--
	}
	n := 0
	for rest := text[starts[line]:offset]; rest != ""; {
		r, size := utf8.DecodeRuneInString(rest)
		n += c.width(r, size)
		rest = rest[size:]
	}
	return Position{line, n}
}

// offset turns a position into a byte offset. Where the server names a place
// that is not in the text the editor does what editors do and clamps; strict
// callers compare the round trip.
func (c coords) offset(text string, p Position) int {
	starts := c.lineStarts(text)
	if p.Line >= len(starts) {
		return len(text)
	}
	at := starts[p.Line]
	end := len(text)
	if p.Line+1 < len(starts) {
		end = starts[p.Line+1]
	}
	end = at + len(c.withoutEnd(text[at:end]))
	for n := 0; at < end && n < p.Character; {
		r, size := utf8.DecodeRuneInString(text[at:])
		n += c.width(r, size)
		at += size
	}
	return at
}

func (c coords) withoutEnd(line string) string {
	if c.eol != "" {
		return strings.TrimSuffix(line, c.eol)
	}
	return strings.TrimSuffix(strings.TrimSuffix(line, "\n"), "\r")
}

// apply carries out splices on text; all offsets are of the old text.
func apply(text string, splices []splice) (string, error) {
	sorted := slices.Clone(splices)
	slices.SortStableFunc(sorted, func(a, b splice) int { return a.start - b.start })
	var out strings.Builder
	at := 0
	for _, s := range sorted {
		if s.start < at || s.end < s.start || s.end > len(text) {
			return "", fmt.Errorf("edits overlap or lie outside the text: [%d,%d) after %d of %d", s.start, s.end, at, len(text))
		}
		out.WriteString(text[at:s.start])
		out.WriteString(s.text)
		at = s.end
	}
	out.WriteString(text[at:])
	return out.String(), nil
}

// difference is the one splice that turns before into after, cut at runes and
// never between the two halves of a "\r\n".
func difference(before, after string) (splice, bool) {
	if before == after {
		return splice{}, false
	}
	head := 0
	for head < len(before) && head < len(after) && before[head] == after[head] {
		head++
	}
	for head > 0 && (!boundary(before, head) || !boundary(after, head)) {
		head--
	}
	tail := 0
	for tail < len(before)-head && tail < len(after)-head && before[len(before)-1-tail] == after[len(after)-1-tail] {
		tail++
	}
	for tail > 0 && (!boundary(before, len(before)-tail) || !boundary(after, len(after)-tail)) {
		tail--
	}
	return splice{head, len(before) - tail, after[head : len(after)-tail]}, true
}

func boundary(s string, i int) bool {
	if i <= 0 || i >= len(s) {
		return true
	}
	return utf8.RuneStart(s[i]) && !(s[i-1] == '\r' && s[i] == '\n')
}

// TextEdit is one edit as the server sends it.
type TextEdit struct {
	Range   Range  `json:"range"`
	NewText string `json:"newText"`
}

// toSplices reads a server's edits; all ranges are of the old text.
func (c coords) toSplices(text string, edits []TextEdit) []splice {
	out := make([]splice, 0, len(edits))
	for _, e := range edits {
		out = append(out, splice{c.offset(text, e.Range.Start), c.offset(text, e.Range.End), e.NewText})
	}
	return out
}
