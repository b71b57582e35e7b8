package fakeeditor

import (
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// layout is what an editor remembers of a file's bytes and puts back on save.
type layout struct {
	charset string // "utf-8", "utf-16le", "utf-16be", "latin1"
	bom     bool
	eol     string // what a line ends with in the buffer and on disk
	noEOL   bool   // Neovim: the last line had no end when it was read
}

var boms = []struct {
	mark    string
	charset string
}{{"\xEF\xBB\xBF", "utf-8"}, {"\xFF\xFE", "utf-16le"}, {"\xFE\xFF", "utf-16be"}}

// decode turns a file's bytes into the text the language server is shown.
func decode(raw []byte, kind Kind) (string, layout) {
	s, l := string(raw), layout{charset: "utf-8", eol: "\n"}
	for _, b := range boms {
		if strings.HasPrefix(s, b.mark) {
			s, l.charset, l.bom = s[len(b.mark):], b.charset, true
			break
		}
	}
	switch {
	case strings.HasPrefix(l.charset, "utf-16"):
		s = fromUTF16(s, l.charset == "utf-16be")
	case utf8.ValidString(s):
	case kind.neovim(): // 'fileencodings' ends in latin1
		l.charset = "latin1"
		s = fromLatin1(s)
	default: // VS Code reads all that has no mark as UTF-8, and loses bytes
		s = strings.ToValidUTF8(s, "\uFFFD")
	}
	if kind.neovim() {
		l.eol = neovimEOL(s)
		l.noEOL = s != "" && !strings.HasSuffix(s, "\n")
		return s, l
	}
	var mixed bool
	if l.eol, mixed = majorityEOL(s); mixed {
		s = unify(s, l.eol)
	}
	return s, l
}

// encode is the way back. fixEOL adds a missing last line end, as Neovim does
// without telling the server.
func encode(text string, l layout, fixEOL bool) []byte {
	if fixEOL && text != "" && !strings.HasSuffix(text, "\n") {
		text += l.eol
	}
	switch l.charset {
	case "latin1":
		return toLatin1(text)
	case "utf-16le", "utf-16be":
		return toUTF16(text, l)
	}
	if l.bom {
		text = "\xEF\xBB\xBF" + text
	}
	return []byte(text)
}

// neovimEOL is "\r\n" only when every line ends that way; otherwise a "\r" is
// just the last character of its line, and nothing is unified.
func neovimEOL(s string) string {
	if n := strings.Count(s, "\n"); n > 0 && strings.Count(s, "\r\n") == n {
		return "\r\n"
	}
	return "\n"
}

// majorityEOL is how VS Code chooses: more than half of all ends hold a "\r".
func majorityEOL(s string) (eol string, mixed bool) {
	crlf := strings.Count(s, "\r\n")
	cr := strings.Count(s, "\r") - crlf
	lf := strings.Count(s, "\n") - crlf
	eol = "\n"
	if (cr+crlf)*2 > cr+crlf+lf {
		eol = "\r\n"
	}
	mixed = cr > 0 || (eol == "\n" && crlf > 0) || (eol == "\r\n" && lf > 0)
	return eol, mixed
}

func unify(s, eol string) string {
	s = strings.ReplaceAll(s, "\r\n", "\n")
	s = strings.ReplaceAll(s, "\r", "\n")
	return strings.ReplaceAll(s, "\n", eol)
}

func fromUTF16(s string, big bool) string {
	units := make([]uint16, 0, len(s)/2)
	for i := 0; i+1 < len(s); i += 2 {
		a, b := uint16(s[i]), uint16(s[i+1])
		if big {
			a, b = b, a
		}
		units = append(units, a|b<<8)
	}
	return string(utf16.Decode(units))
}

func toUTF16(text string, l layout) []byte {
	units := utf16.Encode([]rune(text))
	if l.bom {
		units = append([]uint16{0xFEFF}, units...)
	}
	out := make([]byte, 0, 2*len(units))
	for _, u := range units {
		if l.charset == "utf-16be" {
			out = append(out, byte(u>>8), byte(u))
		} else {
			out = append(out, byte(u), byte(u>>8))
		}
	}
	return out
}

func fromLatin1(s string) string {
	var b strings.Builder
	for i := range len(s) {
		b.WriteRune(rune(s[i]))
	}
	return b.String()
}

func toLatin1(text string) []byte {
	out := make([]byte, 0, len(text))
	for _, r := range text {
		if r > 0xFF {
			r = '?'
		}
		out = append(out, byte(r))
	}
	return out
}
