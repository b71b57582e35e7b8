package guard

import (
	"fmt"

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
		return "during " + c.Detail
	case workspace.HumanTyping:
		return "you, typing in the editor (unsaved)"
	case workspace.HumanSave:
		return "you, saved in the editor"
	case workspace.HumanDiscard:
		return "buffer discarded"
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
	case f.Buffer == nil && b.Source == fromBuffer && f.Disk.Exists && (b.Disk == f.Disk.Digest || b.DiskAt == f.Disk.Digest):
		// The text seen was in a buffer that is closed now, and the disk never had it.
		causes = []workspace.Cause{{Kind: workspace.HumanDiscard}}
	case f.Buffer == nil || v == diskMoved || v == diskGone:
		causes = s.g.ws.Causes(b.Path, workspace.State{Disk: b.Disk}, workspace.State{Disk: f.Disk.Digest}, b.Seq)
	default:
		from := b.Text
		if b.Source == fromDisk && f.Buffer.Pair.Disk == b.Disk {
			from = f.Buffer.Pair.Text // what the editor showed for those bytes
		}
		causes = s.g.ws.Causes(b.Path, workspace.State{Text: from}, workspace.State{Text: f.Buffer.Digest}, b.Seq)
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
