// Package secret finds key-shaped strings and masks them, for everything that
// is logged, shown in notifications or remembered. It errs on the side of
// masking; file contents that go to the model are never masked, because a masked
// file could not be edited.
package secret

import (
	"regexp"
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
	s = shapes.ReplaceAllString(s, Masked)
	return assigned.ReplaceAllString(s, "${1}"+Masked)
}

// Has reports whether s holds something that looks like a key.
func Has(s string) bool { return shapes.MatchString(s) || assigned.MatchString(s) }

// holdMost bounds what a Stream holds back.
const holdMost = 512

// Stream masks a text that comes in pieces: it holds back the end of a piece
// that may be the beginning of a key.
type Stream struct{ held string }

// Next takes a piece and returns what may be shown so far.
func (m *Stream) Next(piece string) string {
	m.held += piece
	cut := strings.LastIndexAny(m.held, " \t\n")
	if len(m.held)-cut-1 > holdMost {
		cut = len(m.held) - 1 // too long for a key
	}
	// A key's name and its value are masked together, so the last word before
	// the border is held as well when it could be a name.
	if cut >= 0 {
		if prev := strings.LastIndexAny(m.held[:cut], " \t\n"); nameAtEnd.MatchString(m.held[prev+1:cut+1]) && len(m.held)-prev < holdMost {
			cut = prev
		}
	}
	if strings.Contains(m.held, "-----BEGIN") && !strings.Contains(m.held, "-----END") && len(m.held) < 64*holdMost {
		return ""
	}
	out := Mask(m.held[:cut+1])
	m.held = m.held[cut+1:]
	return out
}

var nameAtEnd = regexp.MustCompile(`(?i)(key|token|secret|password|passwd|authorization|bearer|basic)["':=\s]*$`)

// Idle is for a pause in the text: it returns what is held back when that is
// plain words, which no key begins with, so that a reader does not wait for the
// last word of a sentence. Anything else stays held.
func (m *Stream) Idle() string {
	if !plainWords.MatchString(m.held) || nameAtEnd.MatchString(m.held) {
		return ""
	}
	return m.Flush()
}

var plainWords = regexp.MustCompile(`^[A-Za-z'’]{1,20}[.,:;!?)]?$`)

// Flush returns what was held back.
func (m *Stream) Flush() string {
	out := Mask(m.held)
	m.held = ""
	return out
}
