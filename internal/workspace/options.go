package workspace

import "time"

// Options configure a Workspace.
type Options struct {
	Roots []string
	// Clock stamps journal entries; nil is time.Now.
	Clock func() time.Time
	// Own reports paths of our own (databases, logs, locks, temporaries); they
	// never appear as workspace changes.
	Own func(Path) bool
	// Log is told about client input that was ignored or did not fit.
	Log func(msg string, args ...any)
}

// Encoding is how the client counts characters in a line.
type Encoding string

const (
	UTF8  Encoding = "utf-8"
	UTF16 Encoding = "utf-16"
	UTF32 Encoding = "utf-32"
)

// Lines is what the client takes for a line end when it counts lines.
type Lines int

const (
	// SpecLines ends lines at \n, \r\n and \r, as LSP says.
	SpecLines Lines = iota
	// NewlineLines ends lines at \n alone, and leaves a \r before it in the
	// line: Neovim counts so. A text with \r and no \n is split at \r.
	NewlineLines
)

// Position is a place in a text: 0-based line, and characters of the client's encoding.
type Position struct{ Line, Character uint32 }

// Range is [Start, End).
type Range struct{ Start, End Position }

// ContentChange is one item of a didChange; a nil Range is a whole text.
type ContentChange struct {
	Range *Range
	Text  string
}
