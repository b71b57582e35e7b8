package record

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/stella-ls/stella-ls/guard"
)

// Version is the format that this program writes. It reads this and older ones.
const Version = 1

var (
	// ErrDamaged: something in the record is cut off or altered.
	ErrDamaged = errors.New("the work record is damaged")
	// ErrNewer: a newer program wrote it.
	ErrNewer = errors.New("the work record was written by a newer stella-ls")
	// ErrBusy: another process runs the session.
	ErrBusy = errors.New("the session is open in another process")
	// ErrConflict: somebody else moved the session's ref.
	ErrConflict = errors.New("the session was continued elsewhere")
	// ErrNotFound: no such session.
	ErrNotFound = errors.New("no such session")
	// ErrExists: a session of that id is there already.
	ErrExists = errors.New("the session exists already")
	// ErrName: an id that cannot name a session.
	ErrName = errors.New("not a session id")
)

// Error says what failed on which session and what to do about it.
type Error struct {
	Op      string // "load", "step", "open", ...
	Session string
	Err     error
	Hint    string
}

func (e *Error) Error() string {
	s := "work record: " + e.Op
	if e.Session != "" {
		s += " " + e.Session
	}
	s += ": " + e.Err.Error()
	if e.Hint != "" {
		s += " (" + e.Hint + ")"
	}
	return s
}

func (e *Error) Unwrap() error { return e.Err }

func wrap(op, session string, err error) error {
	if err == nil {
		return nil
	}
	var already *Error
	if errors.As(err, &already) {
		return err
	}
	e := &Error{Op: op, Session: session, Err: err}
	switch {
	case errors.Is(err, ErrDamaged):
		e.Hint = "nothing of your files is lost; the session can go on with every file unread, or be left alone"
	case errors.Is(err, ErrNewer):
		e.Hint = "use that version, or start a new session"
	case errors.Is(err, ErrBusy):
		e.Hint = "use it there, or close it first"
	}
	return e
}

func damaged(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrDamaged, fmt.Sprintf(format, args...))
}

// Header is what a list of sessions shows.
type Header struct {
	Version int       `json:"version"`
	Session string    `json:"session"`
	Title   string    `json:"title,omitempty"`
	Model   string    `json:"model,omitempty"`
	Root    string    `json:"root,omitempty"`
	Places  []string  `json:"places,omitempty"` // of the workspace while the session was written, the last one last
	Created time.Time `json:"created"`
	Updated time.Time `json:"updated"`
	Turn    int       `json:"turn"` // turns begun
	Step    int       `json:"step"` // steps recorded
	Guarded int       `json:"guarded"`
	Edits   int       `json:"edits"`
}

// Step is what one step boundary records.
type Step struct {
	Turn int
	// Title and Model replace the header's when not empty.
	Title, Model string
	// Beliefs are all of the session's beliefs, as guard.Session.Snapshot gives them.
	Beliefs []guard.Belief
	// Entry is the step's piece of the transcript; nil adds none.
	Entry json.RawMessage
	// State replaces the agent's opaque state; nil keeps it.
	State json.RawMessage
	// Resume is where to go on after a crash; nil retracts it: the turn is over.
	Resume json.RawMessage
}

// EditState is how far an edit got.
type EditState string

const (
	// EditPending: the pre-image is there, and nothing says whether the write
	// happened: the process died in between. The file itself can tell.
	EditPending   EditState = "pending"
	EditApplied   EditState = "applied"
	EditAbandoned EditState = "abandoned"
)

// Edit is a recorded edit. Images are fetched with Loaded.Record.
type Edit struct {
	guard.EditRecord
	State         EditState
	before, after image
}

// Loaded is a session as its record has it.
type Loaded struct {
	Header
	Beliefs    []guard.Belief
	Transcript []json.RawMessage
	State      json.RawMessage
	// Resume is not nil when a turn was running at the end.
	Resume json.RawMessage
	// Edits are in the order of their pre-images.
	Edits []Edit

	store *Store
}

// Info is a row of the list of sessions.
type Info struct {
	Header
	// Interrupted: a turn was running and no process has it now.
	Interrupted bool
	// Running: a turn is, in the process that has it.
	Running bool
	// Live: a process has the session open.
	Live bool
	// Err is why the session cannot be read; the header is then empty but for its id.
	Err error
}
