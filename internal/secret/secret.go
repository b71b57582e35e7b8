// Package secret finds key-shaped strings and masks them, for everything that
// is logged, shown in notifications or remembered. It errs on the side of
// masking; file contents that go to the model are never masked, because a masked
// file could not be edited.
package secret

import (
	"regexp"
	"sort"
	"strings"
)

// Masked stands where a secret was.
const Masked = "[masked]"

// shapes are keys that are recognised by their form alone.
var shapes = regexp.MustCompile(strings.Join([]string{
	`sk-[A-Za-z0-9_-]{16,}`, // OpenAI, Anthropic, OpenRouter
	`gh[pousr]_[A-Za-z0-9]{20,}`, `github_pat_[A-Za-z0-9_]{20,}`, `glpat-[A-Za-z0-9_-]{16,}`,
	`(?:AKIA|ASIA)[0-9A-Z]{16}`, `AIza[0-9A-Za-z_-]{30,}`, `ya29\.[0-9A-Za-z_-]{20,}`,
	`xox[abeoprs]-[A-Za-z0-9-]{10,}`, `[sr]k_(?:live|test)_[A-Za-z0-9]{16,}`, `npm_[A-Za-z0-9]{30,}`, `pypi-[A-Za-z0-9_-]{30,}`,
	`hf_[A-Za-z0-9]{30,}`, `SG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}`,
	`eyJ[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}`, // JWT
	`-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z ]*PRIVATE KEY-----|\z)`,
}, "|"))

// assigned are values whose name says that they are secret; the name stays.
var assigned = regexp.MustCompile(`(?i)((?:api[_-]?key|secret[_-]?(?:access[_-]?)?key|access[_-]?token|auth[_-]?token|client[_-]?secret|password|passwd)["'\\]{0,2}\s{0,3}[:=]\s{0,3}["'\\]{0,2}|authorization["']?\s{0,3}[:=]\s{0,3}["']?(?:bearer|basic)\s+)([A-Za-z0-9+/=_.~-]{12,})`)

// Mask replaces what looks like a key.
func Mask(s string) string {
	if len(s) < 12 {
		return s
	}
	return maskFrom(s, 0)
}

// maskFrom is s[from:] with its secrets masked, found with what stands before.
func maskFrom(s string, from int) string {
	spans := shapes.FindAllStringIndex(s, -1)
	for _, m := range assigned.FindAllStringSubmatchIndex(s, -1) {
		spans = append(spans, []int{m[4], m[5]}) // the value, without its name
	}
	if len(spans) == 0 {
		return s[from:]
	}
	sort.Slice(spans, func(i, j int) bool { return spans[i][0] < spans[j][0] })
	var b strings.Builder
	at := from
	for _, span := range spans {
		if span[1] <= at {
			continue // inside the one before, or already out
		}
		b.WriteString(s[at:max(at, span[0])])
		if span[0] >= at {
			b.WriteString(Masked)
		}
		at = span[1]
	}
	return b.String() + s[at:]
}

// Has reports whether s holds something that looks like a key.
func Has(s string) bool { return shapes.MatchString(s) || assigned.MatchString(s) }

// holdMost bounds what a Stream holds back, in bytes; a private key may be longer.
const (
	holdMost    = 1 << 10
	holdKeyMost = 32 << 10
)

// intros are how the shapes begin.
var intros = []string{
	"sk-", "ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_", "glpat-", "AKIA", "ASIA", "AIza", "ya29.", "xoxa-", "xoxb-", "xoxe-", "xoxo-",
	"xoxp-", "xoxr-", "xoxs-", "sk_", "rk_", "npm_", "pypi-", "hf_", "SG.", "eyJ",
}

// growing are endings of a text that the next piece may turn into a secret.
var growing = regexp.MustCompile(strings.Join([]string{
	`(?i:(?:api[_-]?key|secret[_-]?(?:access[_-]?)?key|access[_-]?token|auth[_-]?token|client[_-]?secret|password|passwd)["'\\]{0,2}\s{0,3}(?:[:=]\s{0,3}["'\\]{0,2}[A-Za-z0-9+/=_.~-]*)?$)`,
	`(?i:authorization["']?\s{0,3}(?:[:=]\s{0,3}["']?(?:bearer|basic)?\s*[A-Za-z0-9+/=_.~-]*)?$)`,
	`-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*$`, `-{1,5}(?:B|BE|BEG|BEGI|BEGIN(?: [A-Z -]*)?)?$`,
}, "|"))

// Stream masks a text that comes in pieces. It holds back an end that may be
// the beginning of a secret, and nothing else: people wait for the text.
type Stream struct {
	held string
	out  string // the end of what came out, which may hold a secret's name
}

// nameMost is how far before a value its name can begin, in bytes.
const nameMost = 64

// Next takes a piece and returns what may be shown so far.
func (m *Stream) Next(piece string) string {
	m.held += piece
	text := m.out + m.held
	cut := len(text)
	if at := wordAtEnd(text); mayGrow(text[at:]) && cut-at < holdMost {
		cut = at
	}
	if at := grows(text); at < cut {
		cut = at
	}
	return m.release(max(cut-len(m.out), 0))
}

var endOfKey = regexp.MustCompile(`-----END [A-Z ]*PRIVATE KEY-----`)

// grows is where an ending begins that the next piece may turn into a secret,
// len(s) when there is none.
func grows(s string) int {
	from := 0
	for {
		at := growing.FindStringIndex(s[from:])
		if at == nil {
			return len(s)
		}
		begin, most := from+at[0], holdMost
		if strings.HasPrefix(s[begin:], "-----BEGIN") {
			if end := endOfKey.FindStringIndex(s[begin:]); end != nil {
				from = begin + end[1] // a whole key; look behind it
				continue
			}
			most = holdKeyMost
		}
		if len(s)-begin >= most {
			return len(s)
		}
		return begin
	}
}

// release lets the first n held bytes out.
func (m *Stream) release(n int) string {
	text := m.out + m.held[:n]
	shown := maskFrom(text, len(m.out))
	m.out, m.held = text[max(0, len(text)-nameMost):], m.held[n:]
	return shown
}

// Flush returns what was held back.
func (m *Stream) Flush() string {
	return m.release(len(m.held))
}

// wordAtEnd is where the last run of characters that a key consists of begins.
func wordAtEnd(s string) int {
	i := len(s)
	for i > 0 && strings.IndexByte("_-.", s[i-1]) >= 0 || i > 0 && isAlnum(s[i-1]) {
		i--
	}
	return i
}

func isAlnum(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

// mayGrow reports whether a word holds the beginning of a key, or could be one.
func mayGrow(word string) bool {
	if word == "" {
		return false
	}
	for _, intro := range intros {
		if strings.Contains(word, intro) || strings.HasPrefix(intro, word) {
			return true
		}
	}
	return false
}
