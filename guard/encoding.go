package guard

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// textForm is how a content's bytes hold its text. Positions of edits are byte
// offsets of body; encode turns a body back into bytes, and of the bytes it was
// decoded from every one is the same again.
type textForm struct {
	bom   string    // kept in front, never part of body
	order byteOrder // UTF-16 when set
	body  string
	lossy string // why body does not stand for the bytes exactly; empty when it does
}

type byteOrder interface {
	binary.ByteOrder
	binary.AppendByteOrder
}

const bom8 = "\xEF\xBB\xBF"

// decodeTruth reads a truth. Bytes that are not UTF-8 stay in body as they are:
// splices leave them alone.
func decodeTruth(raw []byte) textForm {
	switch {
	case bytes.HasPrefix(raw, []byte(bom8)):
		return textForm{bom: bom8, body: string(raw[3:])}
	case bytes.HasPrefix(raw, []byte("\xFF\xFE")) && !bytes.HasPrefix(raw, []byte("\xFF\xFE\x00\x00")):
		return decode16(raw, binary.LittleEndian)
	case bytes.HasPrefix(raw, []byte("\xFE\xFF")):
		return decode16(raw, binary.BigEndian)
	}
	return textForm{body: string(raw)}
}

func decode16(raw []byte, order byteOrder) textForm {
	units := make([]uint16, 0, len(raw)/2)
	for i := 2; i+1 < len(raw); i += 2 {
		units = append(units, order.Uint16(raw[i:]))
	}
	t := textForm{bom: string(raw[:2]), order: order, body: string(utf16.Decode(units))}
	if !bytes.Equal(t.encode(t.body), raw) {
		t.lossy = "it is UTF-16 that does not decode exactly"
	}
	return t
}

func (t textForm) encode(body string) []byte {
	if t.order == nil {
		return []byte(t.bom + body)
	}
	out := []byte(t.bom)
	for _, u := range utf16.Encode([]rune(body)) {
		out = t.order.AppendUint16(out, u)
	}
	return out
}

func (t textForm) validText() bool { return utf8.ValidString(t.body) }

func (t textForm) binary() bool {
	return strings.IndexByte(t.body[:min(len(t.body), 32<<10)], 0) >= 0
}

func (t textForm) name() string {
	switch {
	case t.order == binary.LittleEndian:
		return "UTF-16LE"
	case t.order == binary.BigEndian:
		return "UTF-16BE"
	case t.bom != "":
		return "UTF-8 with a byte order mark"
	case !t.validText():
		return "bytes that are not UTF-8"
	}
	return "UTF-8"
}

// mayTake reports why text cannot be put into this content.
func (t textForm) mayTake(text string) error {
	if t.lossy != "" {
		return fmt.Errorf("%s: changing it as text would change bytes that nobody touched", t.lossy)
	}
	if t.order == nil && !t.validText() && !isASCII(text) {
		return fmt.Errorf("it is not valid UTF-8 (Latin-1, perhaps), so only ASCII text can be put into it without mixing two encodings")
	}
	if !utf8.ValidString(text) {
		return fmt.Errorf("the new text is not valid UTF-8")
	}
	return nil
}

func isASCII(s string) bool {
	for i := 0; i < len(s); i++ {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// eolAt is the line end that most lines around byte off of body have, else that
// of the whole body, else \n.
func eolAt(body string, off int) string {
	crlf, lf := 0, 0
	count := func(i int) {
		if i > 0 && body[i-1] == '\r' {
			crlf++
		} else {
			lf++
		}
	}
	for at, n := off, 0; n < 8; n++ {
		i := strings.LastIndexByte(body[:at], '\n')
		if i < 0 {
			break
		}
		count(i)
		at = i
	}
	for at, n := off, 0; n < 8; n++ {
		i := strings.IndexByte(body[at:], '\n')
		if i < 0 {
			break
		}
		count(at + i)
		at += i + 1
	}
	if crlf > lf || crlf == lf && crlf > 0 && lastEOLIsCRLF(body[:off]) {
		return "\r\n"
	}
	return "\n"
}

func lastEOLIsCRLF(s string) bool {
	i := strings.LastIndexByte(s, '\n')
	return i < 0 || i > 0 && s[i-1] == '\r'
}

// withEOLs gives each line of text the line end it should have where old stood:
// an unchanged line keeps its own, a changed one takes that of the line it
// replaces, and more lines take eol. Nothing is changed in a body without \r\n.
func withEOLs(old, text, eol string) string {
	text = strings.ReplaceAll(text, "\r\n", "\n")
	if !strings.Contains(text, "\n") {
		return text
	}
	oldLines, newLines := strings.SplitAfter(old, "\n"), strings.SplitAfter(text, "\n")
	same := func(a, b string) bool { return chomp(a) == chomp(b) }
	head := 0
	for head < len(oldLines) && head < len(newLines) && same(oldLines[head], newLines[head]) {
		head++
	}
	tail := 0
	for tail < len(oldLines)-head && tail < len(newLines)-head && same(oldLines[len(oldLines)-1-tail], newLines[len(newLines)-1-tail]) {
		tail++
	}
	var b strings.Builder
	for i, l := range newLines {
		if !strings.HasSuffix(l, "\n") {
			b.WriteString(l)
			continue
		}
		end, j := eol, -1
		if i >= len(newLines)-tail {
			j = len(oldLines) - (len(newLines) - i)
		} else if i < len(oldLines)-tail {
			j = i
		}
		if j >= 0 && strings.HasSuffix(oldLines[j], "\n") {
			end = oldLines[j][len(chomp(oldLines[j])):]
		}
		b.WriteString(l[:len(l)-1])
		b.WriteString(end)
	}
	return b.String()
}

// chomp drops one line end.
func chomp(l string) string {
	if n := len(l); n > 0 && l[n-1] == '\n' {
		l = l[:n-1]
		if n := len(l); n > 0 && l[n-1] == '\r' {
			l = l[:n-1]
		}
	}
	return l
}
