package commit

import (
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/stella-ls/stella-ls/internal/workspace"
)

// Digest names exact bytes; see workspace.Digest. The zero Digest is absence.
type Digest = workspace.Digest

// Modes of a commit, from the strongest to the weakest. Result.Mode and Probe
// say which one was, or would be, in force.
const (
	// ModeLease: read lease, compare, exchange of names, parking. Nobody's bytes are lost.
	ModeLease = "lease+exchange"
	// ModeExchange: exchange without a lease; what came out is compared at once
	// and again after a grace. A writer that takes longer than the grace between
	// opening the file and writing to it can be missed.
	ModeExchange = "exchange"
	// ModeLeaseRename and ModeRename: the file system cannot exchange names. A file
	// that somebody renames over the path within microseconds of ours can be missed.
	ModeLeaseRename = "lease+rename"
	ModeRename      = "rename"
	// ModeSharing is ModeRename on Windows, where the file is open without write
	// sharing meanwhile: nobody can open it for writing until the names moved.
	ModeSharing = "sharing+rename"
	// ModeLeaseInPlace: written in place under a write lease (several hard
	// links, or a path that is itself a mount point), with a synced pre-image.
	ModeLeaseInPlace = "lease+in-place"
	ModeInPlace      = "in-place"
	// ModeExclusive is how new files appear: whole, and only if the name was free.
	ModeExclusive = "exclusive"
	// ModeLink is the removal or renaming of a symbolic link itself.
	ModeLink = "link"
)

// Request is one wanted change of one file.
type Request struct {
	// Path is the file: absolute, every symbolic link resolved (workspace.Path).
	// For Delete and Move it is the directory entry itself, whose last element
	// may be a link (workspace.Name.Link).
	Path string
	// Root, when set, must hold Path. It is opened once and every element below
	// it is walked by descriptor without following links, so a directory that is
	// swapped for a link during the call leads nowhere.
	Root string
	// Expect is the digest of the raw bytes that the change was planned against.
	Expect Digest
	// Candidate is the whole new content (Replace, Create).
	Candidate []byte
	// To is Move's destination, absolute, below ToRoot (default: Root).
	To, ToRoot string
	// Perm is a created file's mode before the umask; 0 means 0666.
	Perm fs.FileMode
}

// Result says what a call did.
type Result struct {
	Mode   string
	Digest Digest // of what is at the path now; zero after Delete
	// CreatedDirs are directories that Create or Move made, absolute, outermost first.
	CreatedDirs []string
	// Warnings name what could not be kept (an owner, an extended attribute).
	Warnings []string
}

// Errors that callers test with errors.Is.
var (
	// ErrBusy: another program has the file open for writing, or keeps winning the race.
	ErrBusy = errors.New("being written by another program")
	// ErrReadOnly: no write permission; the mode was left alone.
	ErrReadOnly = errors.New("file is read-only")
	// ErrExists: Create or Move met something at the destination.
	ErrExists = fs.ErrExist
	// ErrSwapped: an element of the path is a link, or not what it was when the
	// path was resolved. Nothing was written through it.
	ErrSwapped = errors.New("an element of the path is a symbolic link or is no directory")
	// ErrOutside: Path does not lie below Root.
	ErrOutside = errors.New("path is outside its root")
	// ErrNotRegular: a directory, a device, a socket, a pipe.
	ErrNotRegular = errors.New("not a regular file")
	// ErrClosed: the engine was closed.
	ErrClosed = errors.New("commit engine is closed")
)

// PathError says what failed, on which path.
type PathError struct {
	Op   string // replace, create, delete, move, restore
	Path string
	Err  error
}

func (e *PathError) Error() string { return fmt.Sprintf("%s %s: %v", e.Op, e.Path, e.Err) }
func (e *PathError) Unwrap() error { return e.Err }

// StaleError reports that the file does not hold what the change was planned
// against. Nothing of the candidate is at the path.
type StaleError struct {
	Path   string
	Expect Digest
	Now    Digest // zero when the file is gone
	Bytes  []byte // what is there now; nil when the file is gone
}

func (e *StaleError) Error() string {
	if e.Now == "" {
		return fmt.Sprintf("%s is gone: deleted or renamed", e.Path)
	}
	return fmt.Sprintf("%s changed: it holds %s, expected %s", e.Path, e.Now, e.Expect)
}

// RacedError is a StaleError for a write that fell into the commit itself: the
// other program's version is back at the path, and every version of others that
// was pushed aside on the way is in the displaced store.
type RacedError struct {
	StaleError
	Displaced []Entry
}

func (e *RacedError) Error() string {
	return fmt.Sprintf("%s was written by another program during the commit; its version is kept", e.Path)
}

// Unwrap makes errors.As find the StaleError.
func (e *RacedError) Unwrap() error { return &e.StaleError }

// Race tells of a write that arrived after a commit had succeeded: the writer
// had found the old file before the exchange and wrote to it afterwards.
type Race struct {
	Path string
	// Restored is true when their version is back at the path and the commit was
	// undone; false when it only went to the displaced store, because the path
	// had moved on.
	Restored bool
	Theirs   Digest // of their version
	Ours     Digest // of the version that the commit had put there; zero for a delete
	// Displaced are the entries of the store that hold the versions pushed aside.
	Displaced []Entry
}

// Rescued is one file that Recover found in an unknown state after a crash.
type Rescued struct {
	Path  string // the file it belongs to
	What  string // one sentence for people
	Entry *Entry // where the bytes are; nil when they are at the path
}

// Entry is one line of the displaced store's index.
type Entry struct {
	ID     string      `json:"id"`
	Path   string      `json:"path"`
	When   time.Time   `json:"when"`
	Why    string      `json:"why"`
	Digest Digest      `json:"digest"`
	Size   int64       `json:"size"`
	Mode   fs.FileMode `json:"mode"`
}
