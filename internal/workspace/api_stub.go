package workspace

import (
	"context"
	"time"
)

// Options configure a Workspace.
type Options struct {
	Roots []string
	// Clock stamps journal entries; nil is time.Now.
	Clock func() time.Time
	// Own reports paths of our own (databases, logs, locks, temporaries); they
	// never appear as workspace changes.
	Own func(Path) bool
}

// Encoding is how the client counts characters in a line.
type Encoding string

const (
	UTF8  Encoding = "utf-8"
	UTF16 Encoding = "utf-16"
	UTF32 Encoding = "utf-32"
)

// Position is a place in a text: 0-based line, and characters of the given encoding.
type Position struct{ Line, Character uint32 }

// Range is [Start, End).
type Range struct{ Start, End Position }

// ContentChange is one item of a didChange; a nil Range is a whole text.
type ContentChange struct {
	Range *Range
	Text  string
}

// Workspace is the files of one or several roots, as the human sees them.
type Workspace struct{}

func New(o Options) *Workspace { panic("todo") }

// Roots, in order. SetRoots replaces them.
func (w *Workspace) Roots() []string         { panic("todo") }
func (w *Workspace) SetRoots(roots []string) { panic("todo") }

// Resolve reads a path as a model or person spells it: relative to root (or to
// the only root that has it), absolute, or a file URI. Ambiguity between roots
// is an error that lists both.
func (w *Workspace) Resolve(root, spelled string) (Name, error) { panic("todo") }

// ResolveURI reads a client's URI.
func (w *Workspace) ResolveURI(uri string) (Name, error) { panic("todo") }

// URI is the client's spelling of an open document, else a canonical file URI.
func (w *Workspace) URI(p Path) string { panic("todo") }

// View is what the file holds now: the buffer if it is open, and the disk.
// Absence is a File; a file that cannot be read is a *PathError.
func (w *Workspace) View(ctx context.Context, n Name) (File, error) { panic("todo") }

// Document is the open buffer, without touching the disk.
func (w *Workspace) Document(p Path) (Buffer, bool) { panic("todo") }

// Documents are all open buffers at one moment, in path order.
func (w *Workspace) Documents() []OpenDocument { panic("todo") }

// OpenDocument is a row of Documents.
type OpenDocument struct {
	Name   Name
	Buffer Buffer
}

// SetEncoding sets what positions of document changes count in.
func (w *Workspace) SetEncoding(e Encoding) { panic("todo") }

// DidOpen, DidChange, DidSave and DidClose are the client's document events, in order.
func (w *Workspace) DidOpen(uri, languageID string, version int32, text string) error { panic("todo") }
func (w *Workspace) DidChange(uri string, version int32, changes []ContentChange) error {
	panic("todo")
}
func (w *Workspace) DidSave(uri string, text *string) error { panic("todo") }
func (w *Workspace) DidClose(uri string) error              { panic("todo") }

// DiskEvent tells that a path may have changed on disk (a watcher, a tool bracket).
func (w *Workspace) DiskEvent(p Path, c Cause) { panic("todo") }

// Await returns when ok holds for the open buffer of p (checked now and after
// every single content change, also inside one notification), or with ctx's error.
func (w *Workspace) Await(ctx context.Context, p Path, ok func(Buffer, bool) bool) error {
	panic("todo")
}

// ExpectOwn announces that this server's own edit is about to turn the buffer
// of p from before into after, so that the change is journalled under cause and
// does not count as a person's. cancel withdraws it.
func (w *Workspace) ExpectOwn(p Path, before, after Digest, c Cause) (cancel func()) { panic("todo") }

// RecordDisk journals a change of the disk that this server made or learned of.
func (w *Workspace) RecordDisk(p Path, before, after Digest, c Cause) { panic("todo") }

// ConfirmSave joins text and disk after a save acknowledgement of our extension.
func (w *Workspace) ConfirmSave(p Path, pair Pair) { panic("todo") }

// ImageOf reports whether disk is a known image of text (equal bytes, or a Pair
// of this path, present or past).
func (w *Workspace) ImageOf(p Path, text, disk Digest) bool { panic("todo") }

// Causes walks the journal from one state to another and returns what changed
// the file in between, oldest first, runs of one kind merged. A gap is Outside.
func (w *Workspace) Causes(p Path, from, to State, since uint64) []Cause { panic("todo") }

// Seq is the number of the newest journal entry.
func (w *Workspace) Seq() uint64 { panic("todo") }

// Subscribe calls f for every event until cancel is called. f must not block
// and must not call back into w's document methods.
func (w *Workspace) Subscribe(f func(Event)) (cancel func()) { panic("todo") }

// PathError says what failed on which path and what to do about it.
type PathError struct {
	Op   string // "resolve", "view"
	Path string // as people know it
	Err  error  // ErrOutside, ErrAmbiguous, ErrUnreadable, ErrNotText, fs errors
	Hint string
}

func (e *PathError) Error() string { panic("todo") }
func (e *PathError) Unwrap() error { return e.Err }

// OffsetAt turns a position into a byte offset of text, clamped as LSP demands.
func OffsetAt(text string, pos Position, e Encoding) int { panic("todo") }

// PositionAt turns a byte offset of text into a position.
func PositionAt(text string, offset int, e Encoding) Position { panic("todo") }
