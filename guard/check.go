package guard

import (
	"github.com/stella-ls/stella-ls/internal/workspace"
)

// verdict is what the check finds.
type verdict int

const (
	fresh        verdict = iota // truth is what the belief says
	notFlagged                  // no belief
	gone                        // it existed, and there is nothing now
	diskGone                    // open in the editor, deleted on disk
	diskMoved                   // open, and the disk holds bytes nobody here knows
	changed                     // truth is something else
	inDoubt                     // an own write whose outcome is unknown
	unmeasurable                // the guard cannot tell what is there
)

func (v verdict) stale() bool { return v >= gone && v <= inDoubt }

// images tells which disk contents are known images of a text.
type images interface {
	ImageOf(p workspace.Path, text, disk workspace.Digest) bool
}

// judge compares what a session saw with what is there. It looks at digests of
// whole contents only, and never decides that a difference is harmless.
func judge(b Belief, f workspace.File, im images) verdict {
	if f.Buffer != nil && (f.Buffer.Unsure != "" || f.Disk.Err != nil) {
		return unmeasurable
	}
	if b.Doubt != "" {
		return inDoubt
	}
	if !f.Exists() {
		return gone
	}
	if f.Buffer == nil {
		if b.holdsDisk(f.Disk.Digest, im) {
			return fresh
		}
		return changed
	}
	textFits := b.holdsText(f.Buffer.Digest, im)
	switch {
	case b.knowsDisk(f, im):
	case !f.Disk.Exists:
		return diskGone
	default:
		return diskMoved
	}
	if textFits {
		return fresh
	}
	return changed
}

// holdsDisk: bytes d of a closed file are the content of this belief. What was
// seen as bytes must be those bytes: a mark that was added is a change, too.
func (b Belief) holdsDisk(d workspace.Digest, im images) bool {
	if b.Source == fromDisk {
		return d == b.Disk
	}
	return b.Joined && d == b.Disk || im.ImageOf(b.Path, b.Text, d)
}

// holdsText: text t of a buffer is the content of this belief.
func (b Belief) holdsText(t workspace.Digest, im images) bool {
	return t == b.Text || b.Joined && im.ImageOf(b.Path, t, b.Disk)
}

// knowsDisk: the disk under an open buffer is what the belief saw, or the image
// of what the buffer held when it was loaded or saved. (A person who only saves
// what the session saw in the buffer is no conflict.)
func (b Belief) knowsDisk(f workspace.File, im images) bool {
	if !f.Disk.Exists {
		return b.DiskAbsent
	}
	d, pair := f.Disk.Digest, f.Buffer.Pair
	return b.Disk != "" && d == b.Disk ||
		pair.Disk != "" && d == pair.Disk ||
		im.ImageOf(b.Path, b.Text, d) || im.ImageOf(b.Path, f.Buffer.Digest, d) ||
		f.Buffer.Different && b.DiskAt != "" && d == b.DiskAt
}

// baseFits: base names the content that is there now. The belief is fresh.
// A base is the digest that a result gave, of the buffer or of the disk; either
// is accepted while both mean the same content, so that a file opened or closed
// in between stays editable.
func baseFits(b Belief, base workspace.Digest, f workspace.File, im images) bool {
	if base == f.Base() {
		return true
	}
	if f.Buffer == nil {
		return im.ImageOf(b.Path, base, f.Disk.Digest) || base == b.Text && b.Joined && b.Disk == f.Disk.Digest
	}
	return im.ImageOf(b.Path, f.Buffer.Digest, base) || base == b.Disk && b.Joined && b.holdsText(f.Buffer.Digest, im)
}

// effective is f as this session's truth. An editor that takes no edits still
// shows the old text for a moment after this session wrote the disk beneath its
// clean buffer; until it reloads, the disk is what counts.
func effective(b Belief, known bool, f workspace.File) workspace.File {
	if known && b.Under != "" && f.Buffer != nil && !f.Buffer.Dirty && f.Buffer.Digest == b.Under && f.Disk.Exists && f.Disk.Digest == b.Disk {
		f.Buffer = nil
	}
	return f
}
