// Package workspace answers one question: what does this file hold right now?
// If the editor has the file open the answer is the editor's buffer, unsaved
// keystrokes included; otherwise it is the disk.
//
// It is the only package that reads files of the workspace. Its invariants:
//
//   - A File never changes: one text, one digest, one version, one disk image.
//   - Absence is a value. A file that is there and cannot be read is an error,
//     so that it never compares equal to an absent or an empty one.
//   - Digests are of exact bytes, of the whole file. No clock, mtime or inode
//     is ever evidence that content is unchanged.
//   - Text is compared with text and disk with disk. What joins them is the
//     Pair made when a document is opened or saved.
package workspace

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io/fs"
)

// Digest names exact bytes: "sha256:" and 64 lower-case hex digits. The zero
// Digest stands for a file that does not exist.
type Digest string

// DigestOf returns the digest of b.
func DigestOf(b []byte) Digest {
	sum := sha256.Sum256(b)
	return Digest("sha256:" + hex.EncodeToString(sum[:]))
}

// MarshalJSON renders the zero Digest as null: there is no file to name.
func (d Digest) MarshalJSON() ([]byte, error) {
	if d == "" {
		return []byte("null"), nil
	}
	return json.Marshal(string(d))
}

// DigestOfString returns the digest of the UTF-8 bytes of s.
func DigestOfString(s string) Digest { return DigestOf([]byte(s)) }

// Path is the identity of a file: an absolute operating system path with every
// symbolic link resolved, spelled as the file system spells it (so that two
// spellings on a case-folding volume, or two Unicode normal forms of one
// existing name, are one Path). The last elements of a file that does not exist
// yet are cleaned but not resolved. It is the key of every map in this program.
type Path string

// Name is what a caller's spelling of a path turned out to mean.
type Name struct {
	// Path is the identity of the file, the target of a link.
	Path Path
	// Link is the absolute path of the directory entry itself: like Path, but
	// the last element is not resolved when it is a symbolic link. Deleting and
	// renaming act on Link.
	Link string
	// Display is how the path is shown to people and to the model: slash
	// separated and relative to its root, with the root's name in front when
	// two roots could mean it. Resolve accepts it back.
	Display string
	// Root is the directory of the root that holds the file; empty outside.
	Root string
}

// Inside reports whether the file lies within one of the workspace's roots.
func (n Name) Inside() bool { return n.Root != "" }

// File is what one path holds at one moment. It is immutable.
type File struct {
	Name Name
	// Buffer is the editor's document; nil when the file is not open.
	Buffer *Buffer
	// Disk is the file's image on disk, read in the same View.
	Disk Disk
	// Seq is the journal's number at this View: causes of a later change are
	// looked for after it.
	Seq uint64
}

// Exists reports whether there is anything to read: a buffer, or a file.
func (f File) Exists() bool { return f.Buffer != nil || f.Disk.Exists }

// Truth is what a reader is shown and what a base names: the buffer's UTF-8
// text when the file is open, else the raw bytes of the disk.
func (f File) Truth() []byte {
	if f.Buffer != nil {
		return []byte(f.Buffer.Text)
	}
	return f.Disk.Bytes
}

// Base is the digest of Truth, and zero when nothing exists.
func (f File) Base() Digest {
	if f.Buffer != nil {
		return f.Buffer.Digest
	}
	return f.Disk.Digest
}

// Buffer is an open document at one version.
type Buffer struct {
	// URI is the client's own spelling; it is used in everything sent back.
	URI        string
	LanguageID string
	// Version is the editor's number. Neovim starts at 0 and jumps.
	Version int32
	Text    string
	Digest  Digest
	// Pair joins this document to the disk; see Pair.
	Pair Pair
	// Dirty is false when Text is the text of the Pair, or differs from it only
	// by this server's own edits that no save has reached yet (OwnUnsaved).
	Dirty bool
	// OwnUnsaved is true while this server's own edits, and nothing else, stand
	// between Text and the Pair.
	OwnUnsaved bool
	// Different is true when no pair can be made (mixed line ends, lossy
	// decoding): the file may be edited in the buffer, never saved by us.
	Different bool
	// Unsure is why the text cannot be trusted (a change that did not fit);
	// empty when it can. Cleared by a full text.
	Unsure string
	// Seq is the journal's number at this moment, as in File.
	Seq uint64
}

// Pair says that a text is the image of a disk content: the disk decodes to
// exactly that text, or a save acknowledgement joined them. Zero when there is none.
type Pair struct{ Text, Disk Digest }

// Disk is the image of a file on disk.
type Disk struct {
	Exists bool
	// Bytes is the whole content. Callers must not change it.
	Bytes  []byte
	Digest Digest
	Mode   fs.FileMode
	ID     FileID
	// ReadOnly is true when this process may not write the file, or when nobody
	// may by its mode (which binds root too: the person meant it).
	ReadOnly bool
	// Err is why the disk could not be read while the buffer could; then nothing
	// above is known.
	Err error
}

// FileID tells whether two names are one file. It is never evidence about content.
type FileID struct {
	Dev, Ino uint64
	Links    uint64 // number of hard links
}
