package workspace

import (
	"strings"
	"unicode/utf8"
)

// fit says how a position met the text.
type fit int

const (
	fits fit = iota
	// clamped: a character past the line's end, or the line after the last;
	// LSP defines both.
	clamped
	// misfit: a line that does not exist, or the inside of a character. The
	// client's text is not the mirror's.
	misfit
)

// OffsetAt turns a position into a byte offset of text. A character past the
// line's end means the line's end, a line past the last means the end of the
// text, and a position inside a character means its start.
func OffsetAt(text string, pos Position, e Encoding) int {
	off, _ := offsetAt(text, pos, e, SpecLines)
	return off
}

// PositionAt turns a byte offset of text into a position; an offset past the
// end means the end, one inside a character its start.
func PositionAt(text string, offset int, e Encoding) Position {
	return positionAt(text, offset, e, SpecLines)
}

// OffsetIn and PositionIn count lines as the client does.
func OffsetIn(text string, pos Position, e Encoding, l Lines) int {
	off, _ := offsetAt(text, pos, e, l)
	return off
}

// PositionIn is PositionAt with the client's idea of a line.
func PositionIn(text string, offset int, e Encoding, l Lines) Position {
	return positionAt(text, offset, e, l)
}

func offsetAt(text string, pos Position, e Encoding, l Lines) (int, fit) {
	start, ok, next := lineStart(text, pos.Line, l)
	if !ok {
		if next && pos.Character == 0 {
			return len(text), clamped // one line past the last: "the end of the document"
		}
		return len(text), misfit
	}
	line := text[start:lineEnd(text, start, l)]
	col, f := columnOffset(line, pos.Character, e)
	return start + col, f
}

// lineStart returns where line n begins. When there is no such line, next tells
// whether n is exactly one past the last.
func lineStart(text string, n uint32, l Lines) (start int, ok, next bool) {
	for i := uint32(0); i < n; i++ {
		end := lineEnd(text, start, l)
		if end == len(text) {
			return 0, false, i+1 == n
		}
		start = end + terminator(text, end, l)
	}
	return start, true, false
}

// lineEnd returns the offset of the terminator of the line that begins at
// start, or len(text).
func lineEnd(text string, start int, l Lines) int {
	rest := text[start:]
	nl := strings.IndexByte(rest, '\n')
	if l == NewlineLines {
		if nl < 0 && strings.IndexByte(text, '\n') < 0 {
			nl = strings.IndexByte(rest, '\r') // Neovim's fileformat=mac
		}
	} else {
		scope := rest
		if nl >= 0 {
			scope = rest[:nl]
		}
		if cr := strings.IndexByte(scope, '\r'); cr >= 0 {
			nl = cr
		}
	}
	if nl < 0 {
		return len(text)
	}
	return start + nl
}

// terminator returns the length of the line end at off.
func terminator(text string, off int, l Lines) int {
	if l == SpecLines && text[off] == '\r' && off+1 < len(text) && text[off+1] == '\n' {
		return 2
	}
	return 1
}

// columnOffset turns a character count into a byte offset of line.
func columnOffset(line string, character uint32, e Encoding) (int, fit) {
	if e == UTF8 {
		if int64(character) > int64(len(line)) {
			return len(line), clamped
		}
		off := int(character)
		for off > 0 && off < len(line) && !utf8.RuneStart(line[off]) {
			off--
		}
		if off != int(character) {
			return off, misfit
		}
		return off, fits
	}
	units := uint32(0)
	for i, r := range line {
		if units == character {
			return i, fits
		}
		n := uint32(1)
		if e != UTF32 && r > 0xFFFF {
			n = 2
		}
		if units+n > character {
			return i, misfit // inside a surrogate pair
		}
		units += n
	}
	if units == character {
		return len(line), fits
	}
	return len(line), clamped
}

func positionAt(text string, offset int, e Encoding, l Lines) Position {
	offset = max(0, min(offset, len(text)))
	for offset > 0 && offset < len(text) && !utf8.RuneStart(text[offset]) {
		offset--
	}
	var line uint32
	start := 0
	for {
		end := lineEnd(text, start, l)
		if end == len(text) {
			break
		}
		next := end + terminator(text, end, l)
		if offset < next {
			break
		}
		start = next
		line++
	}
	if end := lineEnd(text, start, l); offset > end {
		offset = end // between \r and \n
	}
	return Position{Line: line, Character: columns(text[start:offset], e)}
}

// columns counts the characters of s.
func columns(s string, e Encoding) uint32 {
	switch e {
	case UTF8:
		return uint32(len(s))
	case UTF32:
		return uint32(utf8.RuneCountInString(s))
	}
	n := uint32(0)
	for _, r := range s {
		n++
		if r > 0xFFFF {
			n++
		}
	}
	return n
}

// applyChange returns text with one content change applied, and how it fitted.
func applyChange(text string, c ContentChange, e Encoding, l Lines) (string, fit) {
	if c.Range == nil {
		return c.Text, fits
	}
	start, f1 := offsetAt(text, c.Range.Start, e, l)
	end, f2 := offsetAt(text, c.Range.End, e, l)
	f := max(f1, f2)
	if end < start {
		start, end, f = end, start, misfit
	}
	var b strings.Builder
	b.Grow(start + len(c.Text) + len(text) - end)
	b.WriteString(text[:start])
	b.WriteString(c.Text)
	b.WriteString(text[end:])
	return b.String(), f
}
