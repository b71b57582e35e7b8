package fakeeditor

import (
	"encoding/json"
	"time"
)

// Kind is which editor's habits are played.
type Kind string

const (
	VSCode Kind = "vscode"
	Neovim Kind = "nvim"
)

func (k Kind) neovim() bool { return k == Neovim }

// Options describe the editor. The zero value is a VS Code without our extension.
type Options struct {
	Kind  Kind
	Roots []string
	// Encodings are offered in this order; empty is the kind's own habit.
	Encodings []string

	// Extension answers stella/applyEdit, stella/permission and
	// stella/diagnostics, as our own extensions do.
	Extension bool
	// Trusted is passed as initializationOptions.trusted when set.
	Trusted *bool
	// ProcessID is sent as the editor's own; 0 sends none.
	ProcessID int
	// Settings is the stella section of the editor's settings.
	Settings json.RawMessage

	// FormatOnSave changes a buffer's text when the person (or our extension)
	// saves it; nil does nothing.
	FormatOnSave func(path, text string) string
	// FixEndOfLine is Neovim's 'fixendofline' (on by default there).
	FixEndOfLine bool
	// AutoSave saves each buffer right after each change by the person.
	AutoSave bool

	Quirks Quirks
}

// Quirks are habits of clients that a server must live with.
type Quirks struct {
	// NoApplyEdit declares no workspace.applyEdit, and answers it with an error.
	NoApplyEdit bool
	// NoVersions declares no documentChanges.
	NoVersions bool
	// SaysYes skips an edit for an older version and still answers applied:
	// true; Neovim does.
	SaysYes bool
	// NoVersionCheck applies edits whatever version they were made for.
	NoVersionCheck bool
	// ZeroApplies applies an edit marked version 0 however old it is; Neovim does.
	ZeroApplies bool
	// LateChange sends didChange this long after the change (Neovim's debounce),
	// so that answers overtake it. Saving, flushing and later requests of the
	// person send what is due.
	LateChange time.Duration
	// Lies answers every edit with success and changes nothing.
	Lies bool
	// NeverAnswers leaves every edit request without an answer.
	NeverAnswers bool
	// DropsAnswer applies an edit and then never answers.
	DropsAnswer bool
	// FullSync sends whole texts instead of ranges.
	FullSync bool
}

// Habits returns the quirks a kind has by nature.
func (k Kind) Habits() Quirks {
	if k.neovim() {
		return Quirks{SaysYes: true, ZeroApplies: true}
	}
	return Quirks{}
}
