package ocp

import (
	"bytes"
	"strconv"
	"strings"
)

// LineRange is a range of 1-based lines, both ends included.
type LineRange struct{ First, Last uint64 }

// ParseRange reads "L5" or "L5-9". Any other spelling is not verifiable: it
// never means the whole file.
func ParseRange(s string) (LineRange, bool) {
	rest, ok := strings.CutPrefix(s, "L")
	if !ok {
		return LineRange{}, false
	}
	first, last, isRange := strings.Cut(rest, "-")
	if !isRange {
		last = first
	}
	a, ok1 := lineNumber(first)
	b, ok2 := lineNumber(last)
	return LineRange{a, b}, ok1 && ok2 && b >= a
}

func lineNumber(s string) (uint64, bool) {
	if s == "" || s[0] < '1' || s[0] > '9' {
		return 0, false
	}
	for i := 0; i < len(s); i++ {
		if s[i] < '0' || s[i] > '9' {
			return 0, false
		}
	}
	n, err := strconv.ParseUint(s, 10, 64)
	if err != nil {
		n = 1<<64 - 1 // any size is legal; saturate
	}
	return n, true
}

// Lines returns the bytes of the lines that r names, each with its LF. An end
// past the file clamps; a start past it is not verifiable.
func (r LineRange) Lines(b []byte) ([]byte, bool) {
	start, line := 0, uint64(1)
	for ; line < r.First; line++ {
		i := bytes.IndexByte(b[start:], '\n')
		if i < 0 {
			return nil, false
		}
		start += i + 1
	}
	if start >= len(b) {
		return nil, false
	}
	end := start
	for ; line <= r.Last && end < len(b); line++ {
		i := bytes.IndexByte(b[end:], '\n')
		if i < 0 {
			return b[start:], true
		}
		end += i + 1
	}
	return b[start:end], true
}
