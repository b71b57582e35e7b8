// Package text turns prose and identifiers into the terms that recall compares.
//
// The same function makes terms of memories when they are stored and of prompts
// when they are asked, so both sides always agree; nothing of it depends on the
// locale, a clock or map order.
package text

import (
	"hash/fnv"
	"slices"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// Term is one comparable word.
type Term struct {
	Text string
	// Identifier is true for the joined form of a compound name (TEST_DB,
	// parseConfig): such a word is never in a prompt by accident.
	Identifier bool
}

// maxTerms bounds what one text can contribute.
const maxTerms = 4000

// Terms returns the terms of s in order, repeats included, stop words left out.
func Terms(s string) []Term {
	s = norm.NFKC.String(s)
	var out []Term
	for _, word := range words(s) {
		if len(out) >= maxTerms {
			break
		}
		out = appendWord(out, word)
	}
	return out
}

// words splits at everything that cannot be part of an identifier.
func words(s string) []string {
	return strings.FieldsFunc(s, func(r rune) bool {
		return !(unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.Is(unicode.Mn, r) || r == '_')
	})
}

func appendWord(out []Term, word string) []Term {
	if isCJK(word) {
		return appendBigrams(out, word)
	}
	parts := splitIdentifier(word)
	if len(parts) > 1 {
		out = append(out, Term{fold(strings.Join(parts, "")), true})
	}
	for _, p := range parts {
		if t := normalize(p); t != "" {
			out = append(out, Term{Text: t})
		}
	}
	return out
}

// normalize folds and stems one plain word; "" for stop words and single characters.
func normalize(word string) string {
	w := fold(word)
	if len(w) < 2 || stop[w] {
		return ""
	}
	if full, ok := abbreviations[w]; ok {
		w = full
	}
	return stem(w)
}

// fold lower-cases and drops diacritics.
func fold(s string) string {
	s = strings.ToLower(s)
	if isASCII(s) {
		return s
	}
	return strings.Map(func(r rune) rune {
		if unicode.Is(unicode.Mn, r) {
			return -1
		}
		return r
	}, norm.NFKD.String(s))
}

func isASCII(s string) bool {
	for i := 0; i < len(s); i++ {
		if s[i] >= 0x80 {
			return false
		}
	}
	return true
}

// splitIdentifier cuts at underscores, at humps (parseHTTPBody: parse, HTTP,
// Body) and leaves digits with the letters before them (sha256, utf8).
func splitIdentifier(word string) []string {
	var parts []string
	runes := []rune(word)
	if n := len(runes) - 1; n > 1 && runes[n] == 's' && strings.ToUpper(word[:len(word)-1]) == word[:len(word)-1] {
		runes = runes[:n] // URLs, IDs
	}
	start := 0
	cut := func(end int) {
		if end > start {
			parts = append(parts, string(runes[start:end]))
		}
	}
	for i, r := range runes {
		switch {
		case r == '_':
			cut(i)
			start = i + 1
		case i > start && unicode.IsUpper(r) && (unicode.IsLower(runes[i-1]) || unicode.IsDigit(runes[i-1])),
			i > start && unicode.IsUpper(r) && i+1 < len(runes) && unicode.IsLower(runes[i+1]) && unicode.IsUpper(runes[i-1]):
			cut(i)
			start = i
		}
	}
	cut(len(runes))
	return parts
}

func isCJK(word string) bool {
	for _, r := range word {
		if unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul) {
			return true
		}
	}
	return false
}

// appendBigrams stands in for a word segmenter in scripts without spaces.
func appendBigrams(out []Term, word string) []Term {
	runes := []rune(word)
	if len(runes) == 1 {
		return append(out, Term{Text: word})
	}
	for i := 0; i+1 < len(runes); i++ {
		out = append(out, Term{Text: string(runes[i : i+2])})
	}
	return out
}

// Joined is the terms as one string, for the full-text index.
func Joined(terms []Term) string {
	var b strings.Builder
	for i, t := range terms {
		if i > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(t.Text)
	}
	return b.String()
}

// Set is the distinct terms of a text as sorted hashes.
type Set []uint32

// SetOf returns the set of s.
func SetOf(s string) Set { return SetOfTerms(Terms(s)) }

// SetOfTerms returns the set of terms.
func SetOfTerms(terms []Term) Set {
	set := make(Set, 0, len(terms))
	for _, t := range terms {
		set = append(set, Hash(t.Text))
	}
	slices.Sort(set)
	return slices.Compact(set)
}

// Hash is the stable hash of one term.
func Hash(term string) uint32 {
	h := fnv.New32a()
	_, _ = h.Write([]byte(term))
	return h.Sum32()
}

// Has reports whether the term with this hash is in the set.
func (s Set) Has(hash uint32) bool {
	_, ok := slices.BinarySearch(s, hash)
	return ok
}

// Jaccard is the size of the intersection over that of the union; 0 for two empty sets.
func (s Set) Jaccard(t Set) float64 {
	var both, i, j int
	for i < len(s) && j < len(t) {
		switch {
		case s[i] == t[j]:
			both, i, j = both+1, i+1, j+1
		case s[i] < t[j]:
			i++
		default:
			j++
		}
	}
	union := len(s) + len(t) - both
	if union == 0 {
		return 0
	}
	return float64(both) / float64(union)
}

// Bytes packs the set; FromBytes reads it back.
func (s Set) Bytes() []byte {
	b := make([]byte, 0, 4*len(s))
	for _, h := range s {
		b = append(b, byte(h>>24), byte(h>>16), byte(h>>8), byte(h))
	}
	return b
}

// FromBytes unpacks what Bytes packed; a torn tail is left out.
func FromBytes(b []byte) Set {
	s := make(Set, 0, len(b)/4)
	for ; len(b) >= 4; b = b[4:] {
		s = append(s, uint32(b[0])<<24|uint32(b[1])<<16|uint32(b[2])<<8|uint32(b[3]))
	}
	return s
}

// FirstLine is the first line of s that is not blank, without a Markdown
// heading mark, at most max runes.
func FirstLine(s string, max int) string {
	for line := range strings.Lines(s) {
		line = strings.TrimSpace(strings.TrimLeft(strings.TrimSpace(line), "#"))
		if line != "" {
			return Clip(line, max)
		}
	}
	return ""
}

// Clip shortens s to at most max runes, with an ellipsis when something was cut.
func Clip(s string, max int) string {
	if len(s) <= max {
		return s
	}
	runes := []rune(s)
	if len(runes) <= max {
		return s
	}
	return strings.TrimRightFunc(string(runes[:max-1]), unicode.IsSpace) + "…"
}
