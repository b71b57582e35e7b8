package host

import (
	"regexp"
	"strings"
	"unicode"

	"github.com/stella-ls/stella-ls/contextengine/ocp"
)

// Block is the constant text around rendered frames.
type Block struct {
	Head, Tail string
}

// Render writes comp as one text: Head, the frames in canonical order, Tail.
// It is "" when nothing was admitted.
func (b Block) Render(comp Composition) string {
	if len(comp.Admitted) == 0 {
		return ""
	}
	var s strings.Builder
	s.WriteString(b.Head)
	for _, c := range comp.Admitted {
		s.WriteString(RenderFrame(c.ProviderID, c.Frame))
	}
	s.WriteString(b.Tail)
	return s.String()
}

// Cost is what the constant text takes of a token budget.
func (b Block) Cost() int { return int(ocp.Cost(b.Head + b.Tail)) }

// FrameCost is what f takes of a token budget when it is rendered.
func FrameCost(providerID string, f ocp.Frame) int { return int(ocp.Cost(RenderFrame(providerID, f))) }

// RenderFrame writes one frame as a delimited block. Attribute values are
// escaped and content cannot close or open a block.
func RenderFrame(providerID string, f ocp.Frame) string {
	var s strings.Builder
	s.WriteString(`<frame provider="` + attribute(providerID) + `" id="` + attribute(f.ID) +
		`" kind="` + attribute(string(f.Kind)) + `" cite="` + attribute(f.Label()) + `"`)
	if f.ValidFrom != "" {
		s.WriteString(` valid_from="` + attribute(f.ValidFrom) + `"`)
	}
	if f.ValidTo != "" {
		s.WriteString(` valid_to="` + attribute(f.ValidTo) + `"`)
	}
	s.WriteString(">\n")
	if body := Quote(f.Text()); body != "" {
		s.WriteString(body)
		if !strings.HasSuffix(body, "\n") {
			s.WriteByte('\n')
		}
	}
	s.WriteString("</frame>\n")
	return s.String()
}

// delimiter is any spelling of a frame tag that a reader could take for one,
// and the marker that opens a recall block.
var (
	delimiter = regexp.MustCompile(`(?i)<([\s\x{00AD}\x{200B}-\x{200F}\x{2060}\x{FEFF}]*/?[\s\x{00AD}\x{200B}-\x{200F}\x{2060}\x{FEFF}]*frame)`)
	marker    = regexp.MustCompile(`(?i)\[(auto-recalled\s+context\])`)
)

// Quote makes text safe inside a frame: a backslash after the "<" of anything
// that reads like a frame tag, and no control characters but newline and tab.
// Other markup stays as it is.
func Quote(text string) string {
	text = strings.ToValidUTF8(text, "\uFFFD")
	text = strings.ReplaceAll(text, "\r\n", "\n")
	text = strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t':
			return r
		case r == '\r':
			return '\n'
		case unicode.IsControl(r), r >= 0x202A && r <= 0x202E, r >= 0x2066 && r <= 0x2069:
			return -1 // terminal escapes and bidirectional overrides hide text from people
		}
		return r
	}, text)
	text = delimiter.ReplaceAllString(text, `<\$1`)
	return marker.ReplaceAllString(text, `[\$1`)
}

var attributeEscapes = strings.NewReplacer("&", "&amp;", `"`, "&quot;", "'", "&#39;", "<", "&lt;", ">", "&gt;",
	"\n", " ", "\r", " ", "\t", " ")

func attribute(s string) string {
	s = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && r != '\n' && r != '\r' && r != '\t' || r == '\u2028' || r == '\u2029' {
			return -1
		}
		return r
	}, strings.ToValidUTF8(s, "\uFFFD"))
	return attributeEscapes.Replace(s)
}
