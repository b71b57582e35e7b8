package guard

import (
	"time"

	"github.com/stella-ls/stella-ls/internal/workspace"
)

// Sources of a belief.
const (
	fromBuffer = "buffer"
	fromDisk   = "disk"
)

// maxBlob bounds the content kept with a belief, in bytes; a larger file is
// guarded like any other, its refusals only have no difference to show.
const maxBlob = 1 << 20

// Belief is what a session saw at one path. A Belief is a value: it is replaced,
// never changed.
type Belief struct {
	Path    workspace.Path `json:"path"`
	Display string         `json:"display"`
	// Text is the digest of what was delivered or written: a buffer's text, or
	// the raw bytes of a closed file.
	Text workspace.Digest `json:"text"`
	// Disk is the digest of the disk's bytes as far as they were shown.
	Disk workspace.Digest `json:"disk,omitempty"`
	// Joined: Disk was an image of Text (the same content) when this was made.
	// It survives a restart, which the workspace's pairs do not.
	Joined bool `json:"joined,omitempty"`
	// DiskAt is the disk's digest at that moment, shown or not. It counts only
	// for a file that its editor views differently, whose disk is never written
	// through the editor.
	DiskAt workspace.Digest `json:"diskAt,omitempty"`
	// DiskAbsent: the file was open and not on disk, and the result said so.
	DiskAbsent bool `json:"diskAbsent,omitempty"`
	// Under is the clean buffer's text beneath which this session wrote the disk,
	// for editors that take no edits: until the buffer moves, the disk counts.
	Under workspace.Digest `json:"-"`
	// Doubt is why the outcome of a write is unknown; then the belief is stale
	// until the file is read again.
	Doubt string `json:"doubt,omitempty"`

	Source    string    `json:"source"` // buffer, disk
	Version   int32     `json:"version,omitempty"`
	Blob      []byte    `json:"-"` // the content Text names, up to 1 MiB; nil: too large or let go
	Lines     int       `json:"lines"`
	Seen      [][2]int  `json:"seen,omitempty"` // 1-based, inclusive, ascending, joined
	Whole     bool      `json:"whole"`
	Step      int       `json:"step"`
	Tool      string    `json:"tool"`
	SeenAt    time.Time `json:"seenAt"`
	Seq       uint64    `json:"-"` // journal position when it was made
	EditsDone int       `json:"edits,omitempty"`

	restored bool // from a record: causes of what happened before are not known
}

// withSeen sets coverage.
func (b Belief) withSeen(r ranges) Belief {
	b.Seen = r.clip(b.Lines)
	b.Whole = ranges(b.Seen).covers(1, b.Lines)
	return b
}

// observe makes the belief that follows from seeing o, given the one before.
func (s *Session) observe(old Belief, known bool, o Observation) Belief {
	f := o.File
	truth := f.Truth()
	form := decodeTruth(truth)
	b := Belief{
		Path: f.Name.Path, Display: f.Name.Display, Text: f.Base(),
		Lines: countLines(form.body), Step: o.Step, Tool: o.Tool,
		SeenAt: s.g.now(), Seq: f.Seq, EditsDone: old.EditsDone,
		Source: fromDisk,
	}
	if len(truth) <= maxBlob {
		b.Blob = truth
	}
	var seen ranges
	if known {
		b.Disk, b.DiskAbsent = old.Disk, old.DiskAbsent
		seen = s.carry(old, f, form)
	}
	if f.Buffer == nil {
		b.Disk, b.DiskAt, b.DiskAbsent = f.Disk.Digest, f.Disk.Digest, false
	} else {
		b.Source, b.Version = fromBuffer, f.Buffer.Version
		s.observeDisk(&b, o)
	}
	b.Joined = b.Disk != "" && s.g.ws.ImageOf(b.Path, b.Text, b.Disk)
	if o.First >= 1 {
		seen = seen.add(o.First, o.Last)
	}
	return b.withSeen(seen)
}

// observeDisk moves the disk half of a belief from a buffer: only when the
// result showed those bytes, or the buffer's text is what they hold.
func (s *Session) observeDisk(b *Belief, o Observation) {
	d := o.File.Disk
	if d.Err != nil {
		return
	}
	b.DiskAt = d.Digest
	switch {
	case !d.Exists:
		b.Disk, b.DiskAbsent = "", true // the result says so; there is nothing else to show
	case o.DiskShown || s.g.ws.ImageOf(b.Path, b.Text, d.Digest):
		b.Disk, b.DiskAbsent = d.Digest, false
	}
}

// carry brings the ranges seen before over to what was seen now.
func (s *Session) carry(old Belief, f workspace.File, now textForm) ranges {
	if old.Text == f.Base() {
		return old.Seen
	}
	if old.holdsText(f.Base(), s.g.ws) && old.Lines == countLines(now.body) {
		return old.Seen // the same content, as the editor decodes it
	}
	if old.Blob == nil {
		return nil // cannot be mapped
	}
	before := decodeTruth(old.Blob).body
	hunks := lineHunks(before, now.body)
	return ranges(old.Seen).through(hunks, countLines(before), nil)
}

// wrote makes the belief that follows from an own write.
type written struct {
	name    workspace.Name
	after   []byte // truth after it, formatters included
	seen    ranges
	disk    workspace.Digest // of the disk afterwards, when this write put it there; else empty
	closed  bool             // committed on disk; truth is the disk
	under   workspace.Digest // see Belief.Under
	diskAt  workspace.Digest // what the check found there, when this write did not put it there
	version int32
	seq     uint64 // of the journal, when after was there
	o       Origin
}

func (s *Session) wrote(old Belief, known bool, w written) Belief {
	form := decodeTruth(w.after)
	b := Belief{
		Path: w.name.Path, Display: w.name.Display, Text: workspace.DigestOf(w.after),
		Lines: countLines(form.body), Step: w.o.Step, Tool: w.o.Tool,
		SeenAt: s.g.now(), Seq: w.seq, EditsDone: old.EditsDone + 1,
		Source: fromBuffer, Version: w.version,
	}
	if len(w.after) <= maxBlob {
		b.Blob = w.after
	}
	if w.closed {
		b.Source, b.Disk, b.DiskAt, b.Joined, b.Under = fromDisk, b.Text, b.Text, true, w.under
		return b.withSeen(w.seen)
	}
	b.DiskAt = w.diskAt
	if known { // an unsaved buffer: the disk is as it was
		b.Disk, b.DiskAbsent = old.Disk, old.DiskAbsent
	}
	if w.disk != "" {
		b.Disk, b.DiskAt, b.DiskAbsent = w.disk, w.disk, false
	}
	b.Joined = b.Disk != "" && (w.disk != "" || s.g.ws.ImageOf(b.Path, b.Text, b.Disk))
	return b.withSeen(w.seen)
}
