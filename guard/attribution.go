package guard

import (
	"fmt"
	"slices"

	"github.com/stella-ls/stella-ls/internal/workspace"
)

// causeText is one line of changed_by.
func causeText(session string, c workspace.Cause) string {
	switch c.Kind {
	case workspace.SessionEdit:
		if c.Session == session {
			return fmt.Sprintf("edit #%d (this session, step %d)", c.Edit, c.Step)
		}
		return "session " + c.Session
	case workspace.PostWriteHook:
		return "post-write hook: " + c.Detail
	case workspace.DuringTool:
		if c.Session != "" && c.Session != session {
			return "session " + c.Session + ", during " + c.Detail
		}
		return "during " + c.Detail
	case workspace.HumanTyping:
		return "you, typing in the editor (unsaved)"
	case workspace.HumanSave:
		return "you, saved in the editor"
	case workspace.HumanDiscard:
		return "buffer discarded"
	case workspace.HumanUndo:
		return "you, undoing " + c.Detail
	case workspace.Restart:
		return "before restart"
	}
	return "outside this editor"
}

func (s *Session) causeTexts(causes []workspace.Cause) []string {
	var out []string
	for _, c := range causes {
		t := causeText(s.id, c)
		if n := len(out); n == 0 || out[n-1] != t {
			out = append(out, t)
		}
	}
	return out
}

// mine reports whether every cause is this session's own edit.
func (s *Session) mine(causes []workspace.Cause) bool {
	for _, c := range causes {
		if c.Kind != workspace.SessionEdit || c.Session != s.id {
			return false
		}
	}
	return len(causes) > 0
}

// since says what led from a state this session saw to what is there now.
func (s *Session) since(b Belief, v verdict, f workspace.File) []workspace.Cause {
	var causes []workspace.Cause
	switch {
	case v == inDoubt:
		return nil
	case f.Buffer == nil && b.Source == fromBuffer && (b.Disk == f.Disk.Digest || b.DiskAt == f.Disk.Digest) && (f.Disk.Exists || b.DiskAbsent):
		// The text seen was in a buffer that is closed now, and the disk never had it.
		causes = []workspace.Cause{{Kind: workspace.HumanDiscard}}
	case f.Buffer == nil || v == diskMoved || v == diskGone:
		from := b.Disk
		if b.DiskAt != "" {
			from = b.DiskAt // what was there then, shown or not: the journal goes on from it
		}
		causes = s.g.ws.Causes(b.Path, workspace.State{Disk: from}, workspace.State{Disk: f.Disk.Digest}, b.Seq)
	default:
		causes = s.sinceText(b, *f.Buffer)
	}
	if b.restored {
		for i, c := range causes {
			if c.Kind == workspace.Outside {
				causes[i].Kind = workspace.Restart
				break
			}
		}
	}
	if len(causes) == 0 {
		causes = []workspace.Cause{{Kind: workspace.Outside}}
	}
	return causes
}

// sinceText walks from what was seen to the text of a buffer: along its texts,
// or, for what was seen or changed while it was closed, along the disk to what
// the buffer was loaded from and then along its texts.
func (s *Session) sinceText(b Belief, now workspace.Buffer) []workspace.Cause {
	ws := s.g.ws
	if b.Under != "" { // the buffer never loaded what this session wrote beneath it
		causes := ws.Causes(b.Path, workspace.State{Text: b.Under}, workspace.State{Text: now.Digest}, b.Seq)
		if len(causes) > 0 && !hasOutside(causes) {
			return causes
		}
	}
	direct := ws.Causes(b.Path, workspace.State{Text: b.Text}, workspace.State{Text: now.Digest}, b.Seq)
	if !hasOutside(direct) || !b.Joined || now.Pair.Disk == "" {
		return direct
	}
	via := ws.Causes(b.Path, workspace.State{Disk: b.Disk}, workspace.State{Disk: now.Pair.Disk}, b.Seq)
	via = append(via, ws.Causes(b.Path, workspace.State{Text: now.Pair.Text}, workspace.State{Text: now.Digest}, b.Seq)...)
	if b.Source == fromBuffer && hasOutside(via) {
		return direct
	}
	return via
}

func hasOutside(causes []workspace.Cause) bool {
	return slices.ContainsFunc(causes, func(c workspace.Cause) bool { return c.Kind == workspace.Outside })
}
