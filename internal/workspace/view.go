package workspace

import (
	"bytes"
	"context"
	"encoding/binary"
	"path/filepath"
	"strings"
)

// View is what the file holds now: the buffer if it is open, and the disk.
// Absence is a File; a file that cannot be read is a *PathError, unless it is
// open in the editor: then Disk.Err says why.
func (w *Workspace) View(ctx context.Context, n Name) (File, error) {
	if err := ctx.Err(); err != nil {
		return File{}, err
	}
	known := w.knownOf(n.Path)
	disk, err := w.diskOf(n)
	w.mu.Lock()
	var e []Event
	f := File{Name: n, Disk: disk}
	if err == nil {
		if w.known[n.Path].n == known { // else what was read may be older than what is known
			e = w.noteDisk(n.Path, disk, "")
		}
		w.join(n.Path, disk)
	}
	if f.Buffer = w.view(n.Path); f.Buffer != nil {
		w.current(n.Path).seen = true
	}
	f.Seq = w.journal.seq
	w.mu.Unlock()
	w.emit(e...)
	if err != nil {
		if f.Buffer == nil {
			return File{}, err
		}
		f.Disk = Disk{Err: err}
	}
	return f, nil
}

func (w *Workspace) knownOf(p Path) uint64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.known[p].n
}

// join makes the pair of a buffer that the editor has loaded anew without
// saying so: its text is exactly what the disk decodes to.
func (w *Workspace) join(p Path, disk Disk) {
	d := w.current(p)
	if d == nil || !disk.Exists || d.pair == (Pair{Text: d.digest, Disk: disk.Digest}) {
		return
	}
	if d.digest != disk.Digest && !IsImage(d.text, disk.Bytes) {
		return
	}
	d.pair = Pair{Text: d.digest, Disk: disk.Digest}
	d.ownText, d.lossyText = "", ""
	w.rememberImage(p, d.pair)
}

// diskOf reads the disk image of a file; names that are no paths have none.
func (w *Workspace) diskOf(n Name) (Disk, error) {
	if !filepath.IsAbs(string(n.Path)) {
		return Disk{}, nil
	}
	return readDisk(string(n.Path))
}

// noteDisk keeps the disk's digest and journals a change of it that nobody
// announced. A disk that holds what the buffer holds was saved by the editor,
// whose didSave is still on its way.
func (w *Workspace) noteDisk(p Path, disk Disk, saved Digest) []Event {
	now := disk.Digest
	k, seen := w.known[p]
	was := k.digest
	w.setKnown(p, now)
	if !seen || was == now || saved != "" {
		return nil
	}
	c, partial := Cause{Kind: Outside}, false
	if d := w.current(p); d != nil {
		if d.digest == now && d.pair.Disk != now {
			c.Kind = HumanSave
		}
		partial = disk.Exists && beginsWith(d.text, disk.Bytes)
	}
	w.journal.add(Entry{Path: p, Cause: c, Before: State{Disk: was}, After: State{Disk: now}, partial: partial}, false)
	return []Event{{Path: p, Kind: DiskChanged, Cause: c}}
}

// beginsWith reports whether disk is the beginning of how text is saved.
func beginsWith(text string, disk []byte) bool {
	disk = bytes.TrimPrefix(disk, utf8BOM)
	if len(disk) == 0 {
		return true
	}
	if len(disk) <= len(text) && text[:len(disk)] == string(disk) {
		return true
	}
	return bytes.HasPrefix(disk, []byte{0xFF, 0xFE}) && strings.HasPrefix(text, utf16Images(disk[:len(disk)&^1], binary.LittleEndian)[0])
}

// RecordDisk journals a change of the disk that this server made, or whose
// cause it learned. It replaces an entry that a View wrote in the meantime for
// the same change without knowing the cause.
func (w *Workspace) RecordDisk(p Path, before, after Digest, c Cause) {
	w.mu.Lock()
	w.setKnown(p, after)
	w.journal.attribute(Entry{Path: p, Cause: c, Before: State{Disk: before}, After: State{Disk: after}})
	w.mu.Unlock()
	w.emit(Event{Path: p, Kind: DiskChanged, Cause: c})
}

// DiskEvent tells that a path may have changed on disk: a watcher saw it, or a
// tool ran. A path whose content was read before is read again, so that the
// journal has the change and its cause.
func (w *Workspace) DiskEvent(p Path, c Cause) {
	if w.own(p) {
		return
	}
	w.mu.Lock()
	k, seen := w.known[p]
	was := k.digest
	w.mu.Unlock()
	if !seen {
		w.emit(Event{Path: p, Kind: DiskChanged, Cause: c})
		return
	}
	disk, err := w.diskOf(w.NameOf(p))
	if err != nil {
		w.emit(Event{Path: p, Kind: DiskChanged, Cause: c})
		return
	}
	if disk.Digest == was {
		return // same bytes: no change, whatever the clock says
	}
	if c.Kind == "" || c.Kind == Outside {
		var e []Event
		w.mu.Lock()
		if w.known[p].n == k.n {
			e = w.noteDisk(p, disk, "")
		}
		w.mu.Unlock()
		w.emit(e...)
		return
	}
	w.RecordDisk(p, was, disk.Digest, c)
}
