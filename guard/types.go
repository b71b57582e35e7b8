// Package guard refuses a write that was planned against content that is no
// longer there.
//
// Each agent session keeps one map: path -> what it saw there (a Belief).
// There is no registry, lease or channel between sessions: another process, a
// container, a CI job and a person typing are one case, because their write is
// what makes the belief stale. A mutation runs in a transaction: the path's lock
// is taken, the file is viewed (buffer or disk), compared with the belief, and
// committed with nothing in between that could wait for a person, a model or a
// hook. What cannot be measured is refused; it is never taken for unchanged.
//
// The package knows nothing of protocols, models or tools. What it needs of
// them it states as small interfaces (Editor, SyntaxChecker, Recorder).
package guard

import (
	"context"
	"errors"

	"github.com/stella-ls/stella-ls/internal/workspace"
)

// Status is the first member of every result that a file tool gives.
type Status string

const (
	StatusOK               Status = "ok"
	StatusApplied          Status = "applied"
	StatusStale            Status = "stale_base"
	StatusUnseen           Status = "unseen"            // coverage: the file was not seen whole
	StatusMissingBase      Status = "missing_base"      // read it, pass its base
	StatusExists           Status = "exists"            // a create met a file or an unsaved buffer
	StatusNotFound         Status = "not_found"         // no such file
	StatusNoMatch          Status = "no_match"          // an edit's old text is not there
	StatusAmbiguous        Status = "ambiguous"         // an edit's old text is there more than once
	StatusOutsideSymbol    Status = "outside_symbol"    // the edit lands outside the named symbol
	StatusBusy             Status = "busy"              // another program has it open for writing
	StatusDenied           Status = "denied"            // read-only, permission, a buffer that cannot be edited
	StatusOutsideWorkspace Status = "outside_workspace" // not below any root
	StatusUnreadable       Status = "unreadable"        // could not tell what is there
	StatusGuardUnavailable Status = "guard_unavailable" // the guard cannot measure
	StatusCancelled        Status = "cancelled"
	StatusInvalid          Status = "invalid" // the call itself is wrong
)

// Result is the JSON object on line 2 of a file tool's result, and the refusal
// that stella/session/update carries. Which members are set follows Status;
// docs/protocol.md lists them.
type Result struct {
	Status Status `json:"status"`
	Path   string `json:"path,omitempty"`

	// Refusals.
	Expected  workspace.Digest  `json:"expected,omitempty"`
	Actual    *workspace.Digest `json:"actual,omitempty"` // points at "" (rendered null) when the file is gone
	ChangedBy []string          `json:"changed_by,omitempty"`
	Diff      string            `json:"diff_since_read,omitempty"` // unified, bounded
	DiffCut   *int              `json:"diff_cut,omitempty"`        // lines left out of Diff
	Next      string            `json:"next,omitempty"`            // what to do, one sentence

	// Applied.
	Base         workspace.Digest `json:"base,omitempty"`
	ChangedLines *[2]int          `json:"changed_lines,omitempty"` // first, last; 1-based, in the new text
	HookDiff     string           `json:"hook_diff,omitempty"`     // what formatters and save participants changed
	HookError    string           `json:"hook_error,omitempty"`
	Saved        *bool            `json:"saved,omitempty"` // false: the disk does not have it
	Syntax       string           `json:"syntax,omitempty"`
	Mode         string           `json:"mode,omitempty"` // how it was committed: "editor", "lease", ...
	Note         string           `json:"note,omitempty"`
	EditID       string           `json:"edit_id,omitempty"` // for stella/content and stella/undo

	// Several files.
	Files []Result `json:"files,omitempty"`

	// Message is line 1, for people; never part of the object.
	Message string `json:"-"`
	// Mine is true when every cause of a refusal is this session's own.
	Mine bool `json:"-"`

	text string // Message in paragraphs; see Text
}

// OK reports whether the call did what it was asked to do.
func (r Result) OK() bool { return r.Status == StatusOK || r.Status == StatusApplied }

// ChangeKind is what a Change does to its path.
type ChangeKind string

const (
	ChangeEdit   ChangeKind = "edit"   // Edits or Patch on an existing file
	ChangeWrite  ChangeKind = "write"  // whole content: create without Base, replace with it
	ChangeDelete ChangeKind = "delete" // a link itself, not its target
	ChangeMove   ChangeKind = "move"   // to To, which must not exist
)

// Replacement swaps one exact text for another.
type Replacement struct {
	Old string `json:"old"`
	New string `json:"new"`
	All bool   `json:"all,omitempty"`
}

// Change is one wanted mutation, as a tool's input states it.
type Change struct {
	Kind    ChangeKind
	Path    string           // as the caller spelled it
	Base    workspace.Digest // what the plan was made against; empty when not given
	Edits   []Replacement
	Patch   string // unified diff, instead of Edits
	Symbol  string // when set, every edit must land inside this definition
	Content string
	To      string
}

// Origin says which call of a session asks, for attribution and undo.
type Origin struct {
	Turn, Step int
	Tool       string
	CallID     string
}

// Observation is what a call showed to the model. It becomes (part of) a belief
// when Session.Deliver is called with it, which the agent does once the result
// is in the transcript, and not before.
type Observation struct {
	// File is exactly what was viewed and delivered, never a re-read.
	File workspace.File
	// First and Last are the 1-based lines shown, inclusive; 0,0 shows none.
	// Several ranges of one file are several observations.
	First, Last int
	// DiskShown is true when the disk's bytes, or the whole difference between
	// buffer and disk, were shown too (disk_diff).
	DiskShown bool
	// Gone is true when the read found nothing: it drops the belief.
	Gone bool
	Origin
}

// FileState is how a guarded file stands.
type FileState string

const (
	Fresh   FileState = "fresh"
	Stale   FileState = "stale"
	Writing FileState = "writing"
)

// Guarded is one row of stella/guard/files.
type Guarded struct {
	Path      workspace.Path
	Display   string
	Session   string
	State     FileState
	SeenAt    string // RFC 3339
	ChangedBy []string
	Diff      string
}

// Editor is the compare-and-set on an open document. lsp implements it.
type Editor interface {
	// Abilities tells what the client can do.
	Abilities() EditorAbilities
	// Apply compares the buffer's version and text digest with w and, if both
	// fit, applies the splices at once. It returns when the editor has answered;
	// an error means that the outcome is unknown.
	Apply(ctx context.Context, w EditorWrite) (EditorAnswer, error)
}

// EditorAbilities is what a client declared.
type EditorAbilities struct {
	CompareAndSet bool // answers stella/applyEdit
	ApplyEdit     bool // answers workspace/applyEdit
	Versioned     bool // takes documentChanges with versions
}

// Splice replaces the bytes [Start, End) of the old text, counted in UTF-8.
type Splice struct {
	Start, End int
	New        string
}

// EditorWrite is one wanted change of one buffer.
type EditorWrite struct {
	Buffer  workspace.Buffer // what the change was computed from
	Splices []Splice         // ascending, not overlapping
	After   workspace.Digest // of the whole text when all are applied
	Save    bool
	Label   string // names the undo step
}

// EditorAnswer is what the editor says it did. It is no proof: the guard waits
// for the mirror to hold EditorWrite.After.
type EditorAnswer struct {
	Applied       bool
	Reason        string // "version", "content", "closed", "readonly", "error"
	Version       int32
	SHA256Applied workspace.Digest
	Saved         bool
	SaveReason    string
	SHA256After   workspace.Digest // after save participants; empty when not saved
}

// SyntaxChecker judges a candidate before it is written. graph implements it.
type SyntaxChecker interface {
	// Broken returns where the candidate fails to parse ("41:7 unexpected ...",
	// 1-based line and byte column) when before parsed and after does not; ""
	// when it is fine or the language is not known.
	Broken(path workspace.Path, before, after []byte) string
	// SymbolRange returns the byte ranges of definitions called name in text.
	SymbolRange(path workspace.Path, text []byte, name string) [][2]int
}

// EditRecord is one applied edit with its pre-image, as undo and review need it.
type EditRecord struct {
	ID      string // unique within the session, "e1", "e2", ...
	Session string
	Origin
	Kind          ChangeKind
	Path          workspace.Path
	Display       string
	To            string // for a move
	Before, After []byte // truth before and after; nil with BeforeAbsent / AfterAbsent
	BeforeAbsent  bool
	AfterAbsent   bool
	InBuffer      bool     // applied in the editor
	CreatedDirs   []string // directories that a create made, outermost first
}

// Recorder keeps what outlives the process. The work record implements it.
type Recorder interface {
	// PreImage is durable when it returns, and is called before the write. Any
	// error refuses the write but ErrNoRecord.
	PreImage(ctx context.Context, e EditRecord) error
	// Applied says that the edit of the last PreImage with this ID was committed.
	Applied(ctx context.Context, e EditRecord) error
	// Abandoned says that it was not, or that it was taken back.
	Abandoned(ctx context.Context, session, id string) error
	// Images reads both images of an edit back, once a session does not hold
	// them in memory any more.
	Images(ctx context.Context, session, id string) (EditRecord, error)
}

// ErrNoRecord is a PreImage's error when nothing can be recorded in this
// process, which the person was told: the write goes on as without a Recorder.
var ErrNoRecord = errors.New("there is no work record")
