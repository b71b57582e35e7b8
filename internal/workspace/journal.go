package workspace

import "time"

// CauseKind says who or what changed a file.
type CauseKind string

const (
	HumanTyping   CauseKind = "typing"         // didChange, not saved
	HumanSave     CauseKind = "save"           // the typing that a save ended, or a save alone
	HumanDiscard  CauseKind = "discard"        // a dirty buffer closed or reverted
	SessionEdit   CauseKind = "session"        // edit n of a session, at its step m
	PostWriteHook CauseKind = "hook"           // a command with side effects after a write
	DuringTool    CauseKind = "during"         // seen to have changed while a tool ran
	Restart       CauseKind = "before restart" // the journal is not durable
	Outside       CauseKind = "outside"        // anything this server did not see happen
)

// Cause is one line of a refusal's changed_by, as data.
type Cause struct {
	Kind    CauseKind
	Session string // SessionEdit: whose
	Edit    int    // SessionEdit: its number in that session, from 1
	Step    int    // SessionEdit: the step that made it
	Detail  string // hook command line, tool and its command, ...
}

// State is a file's two digests at one moment; a zero Digest is absence.
type State struct{ Text, Disk Digest }

// Entry is one change of one path.
type Entry struct {
	Seq    uint64 // grows by one with each entry of the journal
	At     time.Time
	Path   Path
	Cause  Cause
	Before State
	After  State
}

// Event tells subscribers that a path may hold something new. Events are
// hints: they may be merged, and nothing that decides about a write trusts them.
type Event struct {
	Path  Path
	Kind  EventKind
	Cause Cause
}

// EventKind is what happened to a path.
type EventKind int

const (
	Opened EventKind = iota
	TextChanged
	Saved
	Closed
	DiskChanged // created, changed or deleted on disk
)
