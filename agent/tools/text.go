package tools

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// shownText is a file's truth as lines for the model.
type shownText struct {
	lines    []string // without their line ends
	encoding string   // empty: UTF-8
	crlf     bool     // line ends are mostly \r\n
	mixed    bool     // both kinds of line ends
	noFinal  bool     // the last line has no line end
	binary   string   // what it is instead of text; lines is then empty
}

// textOf reads a truth the way the guard counts lines: they end at \n, a last
// line without a line end counts, a byte order mark is no character.
func textOf(truth []byte) shownText {
	var t shownText
	body := string(truth)
	switch {
	case bytes.HasPrefix(truth, []byte("\xEF\xBB\xBF")):
		t.encoding, body = "UTF-8 with a byte order mark", body[3:]
	case bytes.HasPrefix(truth, []byte("\xFF\xFE")) && !bytes.HasPrefix(truth, []byte("\xFF\xFE\x00\x00")):
		t.encoding, body = "UTF-16LE", decode16(truth, binary.LittleEndian)
	case bytes.HasPrefix(truth, []byte("\xFE\xFF")):
		t.encoding, body = "UTF-16BE", decode16(truth, binary.BigEndian)
	case bytes.IndexByte(truth, 0) >= 0:
		t.binary = binaryKind(truth)
		return t
	}
	if !utf8.ValidString(body) {
		t.encoding = "not UTF-8 (bytes that are no UTF-8 are shown as \uFFFD)"
		body = strings.ToValidUTF8(body, "\uFFFD")
	}
	t.noFinal = body != "" && !strings.HasSuffix(body, "\n")
	all, crlf := strings.Count(body, "\n"), strings.Count(body, "\r\n")
	t.crlf, t.mixed = crlf > 0 && 2*crlf >= all, crlf > 0 && crlf < all
	if body == "" {
		return t
	}
	t.lines = strings.Split(strings.TrimSuffix(body, "\n"), "\n")
	for i, l := range t.lines {
		t.lines[i] = strings.TrimSuffix(l, "\r")
	}
	return t
}

func decode16(raw []byte, order binary.ByteOrder) string {
	units := make([]uint16, 0, len(raw)/2)
	for i := 2; i+1 < len(raw); i += 2 {
		units = append(units, order.Uint16(raw[i:]))
	}
	return string(utf16.Decode(units))
}

// binaryKind names content that is not text.
func binaryKind(b []byte) string {
	for _, m := range []struct{ magic, name string }{
		{"\x7fELF", "an ELF executable"}, {"\x89PNG", "a PNG image"}, {"\xff\xd8\xff", "a JPEG image"},
		{"GIF8", "a GIF image"}, {"PK\x03\x04", "a ZIP archive (or a document in that format)"}, {"%PDF", "a PDF document"},
		{"\x1f\x8b", "gzip data"}, {"SQLite format 3\x00", "a SQLite database"}, {"MZ", "a Windows executable"},
	} {
		if bytes.HasPrefix(b, []byte(m.magic)) {
			return m.name
		}
	}
	return "binary data"
}

// remarks are what a reader must know beyond the lines.
func (t shownText) remarks() []string {
	var out []string
	if t.encoding != "" {
		out = append(out, "encoding: "+t.encoding)
	}
	switch {
	case t.mixed:
		out = append(out, "line ends are mixed (\\n and \\r\\n); edits keep each as it is")
	case t.crlf:
		out = append(out, "line ends are \\r\\n; write \\n in edits, they are kept")
	}
	if t.noFinal {
		out = append(out, "the last line has no line end")
	}
	return out
}

// size says a number of bytes the way people do.
func size(n int) string {
	switch {
	case n >= 1<<20:
		return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
	case n >= 1<<10:
		return fmt.Sprintf("%.1f KiB", float64(n)/(1<<10))
	}
	return fmt.Sprintf("%d bytes", n)
}
