package workspace

import (
	"slices"
	"time"
)

// CauseKind says who or what changed a file.
type CauseKind string

const (
	HumanTyping   CauseKind = "typing"         // didChange, not saved
	HumanSave     CauseKind = "save"           // the typing that a save ended, or a save alone
	HumanDiscard  CauseKind = "discard"        // a dirty buffer closed or reverted
	HumanUndo     CauseKind = "undo"           // a session's edit taken back at a person's wish
	SessionEdit   CauseKind = "session"        // edit n of a session, at its step m
	PostWriteHook CauseKind = "hook"           // a command with side effects after a write
	DuringTool    CauseKind = "during"         // seen to have changed while a tool ran
	Restart       CauseKind = "before restart" // the journal is not durable
	Outside       CauseKind = "outside"        // anything this server did not see happen
)

// Cause is one line of a refusal's changed_by, as data.
type Cause struct {
	Kind    CauseKind
	Session string // SessionEdit, DuringTool: whose
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

	partial bool // After is the beginning of the buffer's text: a save in place, half way
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

// maxEntries bounds the journal of one path, maxPaths the paths it covers.
const (
	maxEntries = 256
	maxPaths   = 20_000
)

// journal is guarded by Workspace.mu.
type journal struct {
	clock func() time.Time
	seq   uint64
	paths map[Path][]Entry
}

// add appends e; merge joins it to a preceding entry of the same kind that it
// continues.
func (j *journal) add(e Entry, merge bool) {
	j.seq++
	e.Seq, e.At = j.seq, j.clock()
	list := j.paths[e.Path]
	if n := len(list); merge && n > 0 {
		last := &list[n-1]
		if last.Cause == e.Cause && last.After == e.Before {
			last.After, last.Seq, last.At = e.After, e.Seq, e.At
			return
		}
	}
	if len(list) >= maxEntries {
		list = append(list[:0], list[len(list)-maxEntries+1:]...)
	}
	if list == nil && len(j.paths) >= maxPaths {
		for p := range j.paths { // any: what is forgotten reads as "outside"
			delete(j.paths, p)
			break
		}
	}
	j.paths[e.Path] = append(list, e)
}

// takeBack removes the typing after the number since: steps of what turned out
// to be one own edit.
func (j *journal) takeBack(p Path, since uint64) {
	list := j.paths[p]
	for n := len(list); n > 0 && list[n-1].Seq > since && list[n-1].Cause.Kind == HumanTyping; n = len(list) {
		list = list[:n-1]
	}
	j.paths[p] = list
}

// attribute gives an unexplained newest entry for the same change its cause, or adds e.
func (j *journal) attribute(e Entry) {
	list := j.paths[e.Path]
	for i := len(list) - 1; i >= 0; i-- {
		have := &list[i]
		if have.After.Disk == "" && have.Before.Disk == "" {
			continue // a change of text alone
		}
		// A save that an own edit asked for is that edit's.
		known := have.Cause.Kind == HumanSave && e.Cause.Kind == SessionEdit
		if (known || have.Cause.Kind == Outside) && have.Before.Disk == e.Before.Disk && have.After.Disk == e.After.Disk {
			have.Cause = e.Cause
			return
		}
		break
	}
	j.add(e, false)
}

// save records a save that the editor acknowledged, once. The change of the disk
// may have been noticed before, even before the last typing that the save holds
// (the editor writes first and tells afterwards): it is explained by the save
// then, and takes its place at the end.
func (j *journal) save(p Path, before, after State) {
	list := j.paths[p]
	if n := savedBy(list, after.Disk); n > 0 {
		before.Disk = list[len(list)-n].Before.Disk
		j.paths[p] = list[:len(list)-n]
		j.add(Entry{Path: p, Cause: Cause{Kind: HumanSave}, Before: before, After: after}, false)
		return
	}
	for i := len(list) - 1; i >= 0; i-- {
		have := list[i]
		if have.After.Disk == "" && have.Before.Disk == "" {
			continue
		}
		if have.After.Disk == after.Disk && (have.Cause.Kind == Outside || have.Cause.Kind == HumanSave) {
			before.Disk = have.Before.Disk
			j.paths[p] = slices.Delete(list, i, i+1)
		}
		break
	}
	j.add(Entry{Path: p, Cause: Cause{Kind: HumanSave}, Before: before, After: after}, false)
}

// savedBy is how many of the newest entries are steps of one save in place that
// somebody looked at half way; 0 when nobody did.
func savedBy(list []Entry, saved Digest) (n int) {
	partial := false
	for i := len(list) - 1; i >= 0; i-- {
		e := list[i]
		last := i == len(list)-1 && e.After.Disk == saved && (e.Cause.Kind == Outside || e.Cause.Kind == HumanSave)
		if e.Before.Disk == e.After.Disk || !last && !e.partial {
			break
		}
		partial = partial || e.partial
		n++
	}
	if !partial {
		return 0
	}
	return n
}

// Seq is the number of the newest journal entry.
func (w *Workspace) Seq() uint64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.journal.seq
}

// Causes walks the journal of p from one state to another and returns what
// changed the file in between, oldest first; neighbours that are equal are one.
// Only entries after the number since count. A zero digest in from and to takes
// that half out of the walk. A gap in the walk is Outside, never a guess; what
// led back to where it began is left out.
func (w *Workspace) Causes(p Path, from, to State, since uint64) []Cause {
	if from == to {
		return nil
	}
	w.mu.Lock()
	var list []Entry
	for _, e := range w.journal.paths[p] {
		if e.Seq > since {
			list = append(list, e)
		}
	}
	w.mu.Unlock()
	// The last time the file was at from is where the walk begins, if an unbroken
	// way leads on from there.
	for i := len(list) - 1; i >= 0; i-- {
		if !startsAt(list[i], from, to) {
			continue
		}
		if k := walkAll(list[i:], from, to); k.at == to && !k.gap {
			return k.causes
		}
	}
	k := walkAll(list, from, to)
	if k.at != to {
		k.add(Cause{Kind: Outside})
	}
	return k.causes
}

// startsAt reports whether e left from, in the one half that is walked; with
// both halves there is no single place to begin at.
func startsAt(e Entry, from, to State) bool {
	text, disk := from.Text != "" || to.Text != "", from.Disk != "" || to.Disk != ""
	switch {
	case text && !disk:
		return e.Before.Text == from.Text && e.After.Text != e.Before.Text
	case disk && !text:
		return e.Before.Disk == from.Disk && e.After.Disk != e.Before.Disk
	}
	return false
}

func walkAll(list []Entry, from, to State) walk {
	k := walk{at: from, from: from, to: to}
	for _, e := range list {
		k.step(e)
	}
	return k
}

type walk struct {
	at, from, to State
	gap          bool // something happened that the journal does not have
	causes       []Cause
}

func (k *walk) step(e Entry) {
	text := e.Before.Text != e.After.Text && (k.from.Text != "" || k.to.Text != "")
	disk := e.Before.Disk != e.After.Disk && (k.from.Disk != "" || k.to.Disk != "")
	if !text && !disk {
		if e.Cause.Kind == HumanSave && len(k.causes) > 0 && k.causes[len(k.causes)-1].Kind == HumanTyping && e.After.Text == k.at.Text {
			k.causes[len(k.causes)-1] = e.Cause // the typing that this save ended
		}
		return
	}
	if text && k.at.Text != e.Before.Text || disk && k.at.Disk != e.Before.Disk && k.at.Disk != "" {
		k.add(Cause{Kind: Outside})
		k.gap = true
	}
	if e.Cause.Kind == HumanSave && len(k.causes) > 0 && k.causes[len(k.causes)-1].Kind == HumanTyping {
		k.causes = k.causes[:len(k.causes)-1]
	}
	k.add(e.Cause)
	if text {
		k.at.Text = e.After.Text
	}
	if disk {
		k.at.Disk = e.After.Disk
	}
	if k.at == k.from {
		k.causes = nil // back where it began
	}
}

func (k *walk) add(c Cause) {
	if n := len(k.causes); n == 0 || k.causes[n-1] != c {
		k.causes = append(k.causes, c)
	}
}
