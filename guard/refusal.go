package guard

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/stella-ls/stella-ls/internal/workspace"
)

// refuse is a result that says no: line 1 for people, and what to do next.
func refuse(st Status, path, message, next string) Result {
	return Result{Status: st, Path: path, Message: message, Next: next}
}

const notWritten = "Your edit is not lost — nothing was written."

// staleResult is the refusal for a file that is not what the session saw.
func (s *Session) staleResult(b Belief, v verdict, f workspace.File, base workspace.Digest, withDiff bool) Result {
	causes := s.since(b, v, f)
	r := Result{
		Status: StatusStale, Path: b.Display, Expected: base,
		ChangedBy: s.causeTexts(causes), Mine: s.mine(causes),
	}
	if base == "" {
		r.Expected = b.Text
	}
	now, actual := f.Truth(), f.Base()
	if v == diskMoved || v == diskGone {
		now, actual = f.Disk.Bytes, f.Disk.Digest
	}
	r.Actual = &actual
	if v == inDoubt {
		r.ChangedBy = []string{b.Doubt}
	}
	if withDiff && v != gone && v != diskGone {
		s.addDiff(&r, b.Blob, now)
	}
	r.text, r.Next = s.staleText(b, v, f, r)
	r.Message = oneLine(r.text)
	return r
}

// addDiff shows what changed between the content that was seen and now.
func (s *Session) addDiff(r *Result, seen, now []byte) {
	cut := 0
	switch {
	case seen == nil || len(now) > maxBlob:
		r.Diff = "no diff: too large"
	default:
		r.Diff, cut = unified(seen, now)
	}
	r.DiffCut = &cut
}

func (s *Session) staleText(b Belief, v verdict, f workspace.File, r Result) (message, next string) {
	p := b.Display
	next = "re-read " + p + " before proposing another edit to it"
	switch v {
	case gone:
		return "refusing to write: " + p + " was deleted or renamed since you last read it. Writing it would bring back a file " +
				"that somebody removed. Nothing was written.",
			"re-read " + p + " to confirm that it is gone; look for its new name before creating it again"
	case diskGone:
		return "refusing to write: " + p + " was deleted on disk since you last read it, and is still open in the editor. Nothing was written.",
			"re-read " + p + ": what you then edit is the editor's buffer, which has no file any more"
	case diskMoved:
		m := "refusing to write: " + p + " changed on disk since you last read it, while it is open in the editor with other text; saving the editor's text would " +
			"overwrite that change."
		if f.Buffer.Dirty {
			m += " The buffer has unsaved changes too."
		}
		return m + " Re-read the file, or reload it in the editor, and redo the change against what is there now. " + notWritten, next
	case inDoubt:
		return "refusing to write: your last change of " + p + " may not be there: " + b.Doubt + ". Re-read the file and redo the change against what is there now. " + notWritten, next
	}
	if r.Mine {
		return "refusing to write: " + p + " changed since the version you name as base, by " + strings.Join(r.ChangedBy, ", ") +
			": your own earlier work, which this call would overwrite.\n\n" +
			"Use the base that your last change returned, or re-read the file, and redo the change against what is there now. " + notWritten, next
	}
	return "refusing to write: " + p + " changed since you last read it. Another agent (or a person) edited it after you " +
		"looked, and this call would overwrite their work with a plan formed against content that no longer exists.\n\n" +
		"Re-read the file and redo the change against what is there now. " + notWritten, next
}

// oldBase is the refusal for a base that is not (any more) what the file holds,
// although the session's newest knowledge of the file is right.
func (s *Session) oldBase(b Belief, f workspace.File, base workspace.Digest) Result {
	past, known := s.pastBase(b.Path, base)
	if !known {
		actual := f.Base()
		r := Result{Status: StatusStale, Path: b.Display, Expected: base, Actual: &actual, ChangedBy: []string{"unknown: this session was not given that base"}}
		if b.restored {
			r.ChangedBy = []string{"before restart"}
		}
		r.Message = fmt.Sprintf("refusing to write: base %s is not what %s holds, and no result of this session gave it. %s", clip(string(base), 20), b.Display, notWritten)
		r.Next = "use the base of your last read or change of " + b.Display + ", or re-read it"
		return r
	}
	return s.staleResult(past, changed, f, base, true)
}

func unseenResult(b Belief, base workspace.Digest) Result {
	var spans []string
	for i, x := range b.Seen {
		if i == 8 {
			spans = append(spans, "…")
			break
		}
		if x[0] == x[1] {
			spans = append(spans, fmt.Sprint(x[0]))
		} else {
			spans = append(spans, fmt.Sprintf("%d-%d", x[0], x[1]))
		}
	}
	saw := "none of its lines"
	if len(spans) > 0 {
		saw = "lines " + strings.Join(spans, ", ")
	}
	actual := b.Text
	return Result{
		Status: StatusUnseen, Path: b.Display, Expected: base, Actual: &actual,
		Message: fmt.Sprintf("refusing to replace all of %s: you have seen %s of %d, and the rest would be lost unread. Nothing was written.", b.Display, saw, b.Lines),
		Next:    "read the remaining lines of " + b.Display + " first, or change single places with edit_file",
	}
}

func missingBase(display, why string) Result {
	return refuse(StatusMissingBase, display, why+" Nothing was written.", "read "+display+" and pass the base that the result gives")
}

// pathResult turns a workspace error into a result.
func pathResult(spelled string, err error) Result {
	var pe *workspace.PathError
	st, next := StatusUnreadable, "check the path and its permissions, or leave the file alone"
	switch {
	case errors.Is(err, workspace.ErrOutside):
		st, next = StatusOutsideWorkspace, "stay inside the folders of this workspace"
	case errors.Is(err, workspace.ErrAmbiguous), errors.Is(err, workspace.ErrBadPath):
		st, next = StatusInvalid, "name the file unambiguously, relative to a root"
	case errors.Is(err, workspace.ErrDirectory):
		st, next = StatusInvalid, "name a file; this is a directory"
	}
	msg := spelled + ": " + err.Error()
	if errors.As(err, &pe) {
		msg = pe.Error()
		if pe.Hint != "" {
			next = pe.Hint
		}
	}
	return refuse(st, spelled, msg+". Nothing was written.", next)
}

func outside(n workspace.Name) Result {
	return refuse(StatusOutsideWorkspace, n.Display, n.Display+" is outside the workspace. Nothing was written.", "stay inside the folders of this workspace")
}

func readOnly(display string) Result {
	return refuse(StatusDenied, display, display+" is read-only, and stays so. Nothing was written.", "ask the person to make it writable, or change another file")
}

func denied(display, why, next string) Result {
	return refuse(StatusDenied, display, why+" Nothing was written.", next)
}

func isPermission(err error) bool { return errors.Is(err, fs.ErrPermission) }

// Text is the message in paragraphs, where Message is all on one line.
func (r Result) Text() string {
	if r.text != "" {
		return r.text
	}
	return r.Message
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }
