package guard

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/stella-ls/stella-ls/internal/workspace"
)

// commit carries out a planned task under its lock. A nil error with
// t.refusal set cannot be; an error other than errRaced has set t.refusal.
func (t *task) commit(ctx context.Context) error {
	if t.plan.same {
		t.unchanged()
		return nil
	}
	t.s.mark(t.name.Path, +1)
	defer t.s.mark(t.name.Path, -1)
	records := t.records()
	if err := t.recordPreImages(ctx, records); err != nil {
		t.refuse(refuse(StatusGuardUnavailable, t.name.Display, "refusing to write: the content of "+t.name.Display+" before the change could not be kept for undo: "+err.Error()+". Nothing was written.",
			"ask the person to look at the disk that holds Stella's state"))
		return err
	}
	var err error
	switch {
	case t.kind == ChangeDelete:
		err = t.commitDelete(ctx, records)
	case t.kind == ChangeMove:
		err = t.commitMove(ctx, records)
	case t.plan.create:
		err = t.commitCreate(ctx, records)
	case t.plan.route == inEditor:
		err = t.commitEditor(ctx, records)
	default:
		err = t.commitReplace(ctx, records)
	}
	if err != nil {
		t.abandon(ctx, records)
	}
	return err
}

// unchanged answers a change that leaves every byte as it is.
func (t *task) unchanged() {
	f := t.plan.file
	t.applied = make([]Result, len(t.changes))
	for i := range t.applied {
		t.applied[i] = Result{
			Status: StatusApplied, Path: t.name.Display, Base: f.Base(), HookError: t.plan.hookErr,
			Message: t.name.Display + " holds exactly this already; nothing was written.", Note: "nothing changed; the base is the same",
		}
	}
}

// cause is what the journal says of this task's write.
func (t *task) cause(records []EditRecord) workspace.Cause {
	last := records[len(records)-1]
	return workspace.Cause{Kind: workspace.SessionEdit, Session: t.s.id, Edit: editNumber(last.ID), Step: last.Step}
}

func (t *task) commitReplace(ctx context.Context, records []EditRecord) error {
	p := &t.plan
	done, err := t.s.g.disk.replace(ctx, t.name, p.file.Disk.Digest, p.after)
	if err != nil {
		return t.diskFailed(err)
	}
	t.s.g.ws.RecordDisk(t.name.Path, p.file.Disk.Digest, workspace.DigestOf(p.after), t.cause(records))
	w := written{name: t.name, after: p.after, closed: true, under: p.under, seq: t.s.g.ws.Seq(), o: t.lastOrigin()}
	t.succeed(ctx, records, w, result{mode: done.mode, warnings: done.warnings, saved: ptr(true)})
	before, after := p.file.Disk.Bytes, workspace.DigestOf(p.after)
	t.undo = func(ctx context.Context) error {
		if _, err := t.s.g.disk.replace(ctx, t.name, after, before); err != nil {
			return err
		}
		t.takenBack(records, after, p.file.Disk.Digest)
		return nil
	}
	return nil
}

func (t *task) commitCreate(ctx context.Context, records []EditRecord) error {
	p := &t.plan
	done, err := t.s.g.disk.create(ctx, t.name, p.after)
	if err != nil {
		return t.diskFailed(err)
	}
	for i := range records {
		records[i].CreatedDirs = done.createdDirs
	}
	t.s.g.ws.RecordDisk(t.name.Path, "", workspace.DigestOf(p.after), t.cause(records))
	t.succeed(ctx, records, written{name: t.name, after: p.after, closed: true, seq: t.s.g.ws.Seq(), o: t.lastOrigin()},
		result{mode: done.mode, warnings: done.warnings, saved: ptr(true)})
	after := workspace.DigestOf(p.after)
	t.undo = func(ctx context.Context) error {
		if _, err := t.s.g.disk.remove(ctx, t.name, after); err != nil {
			return err
		}
		t.s.g.dirs.remove(done.createdDirs)
		t.takenBack(records, after, "")
		return nil
	}
	return nil
}

func (t *task) commitDelete(ctx context.Context, records []EditRecord) error {
	p := &t.plan
	done, err := t.s.g.disk.remove(ctx, t.name, p.file.Disk.Digest)
	if err != nil {
		return t.diskFailed(err)
	}
	if !t.isLink() {
		t.s.g.ws.RecordDisk(t.name.Path, p.file.Disk.Digest, "", t.cause(records))
		t.s.drop(t.name.Path)
		t.s.announce(t.name.Path, "")
	}
	t.finish(ctx, records, Result{
		Status: StatusApplied, Path: t.name.Display, Mode: done.mode,
		Message: "Deleted " + t.name.Display + ".", Note: strings.Join(done.warnings, "; "),
	})
	return nil
}

// isLink: the path names a symbolic link, and deleting or moving is about it.
func (t *task) isLink() bool { return t.name.Link != "" && t.name.Link != string(t.name.Path) }

func (t *task) commitMove(ctx context.Context, records []EditRecord) error {
	p := &t.plan
	done, err := t.s.g.disk.move(ctx, t.name, p.file.Disk.Digest, t.to)
	if err != nil {
		return t.diskFailed(err)
	}
	for i := range records {
		records[i].CreatedDirs = done.createdDirs
	}
	to := t.s.g.ws.NameOf(t.to.Path)
	r := Result{
		Status: StatusApplied, Path: to.Display, Base: p.file.Disk.Digest, Mode: done.mode,
		Message: "Moved " + t.name.Display + " to " + to.Display + ".",
		Note:    strings.Join(append(done.warnings, "use this base for the next change of "+to.Display), "; "),
	}
	if !t.isLink() {
		cause := t.cause(records)
		t.s.g.ws.RecordDisk(t.name.Path, p.file.Disk.Digest, "", cause)
		t.s.g.ws.RecordDisk(to.Path, "", p.file.Disk.Digest, cause)
		t.moveBelief(to)
	}
	t.finish(ctx, records, r)
	return nil
}

func (t *task) moveBelief(to workspace.Name) {
	b, known := t.s.belief(t.name.Path)
	t.s.drop(t.name.Path)
	t.s.announce(t.name.Path, "")
	if !known {
		return
	}
	b.Path, b.Display, b.Seq = to.Path, to.Display, t.s.g.ws.Seq()
	if f := t.plan.file; b.Text != f.Disk.Digest { // seen in a clean buffer, whose file has another encoding
		b.Text, b.Blob, b.Lines = f.Disk.Digest, f.Disk.Bytes, CountLines(f.Disk.Bytes)
		b = b.withSeen(b.Seen)
	}
	b.Source, b.Disk, b.DiskAt, b.Joined = fromDisk, b.Text, b.Text, true
	t.s.put(b)
	t.s.announce(to.Path, Fresh)
}

// diskFailed turns an engine's error into errRaced, or a refusal.
func (t *task) diskFailed(err error) error {
	var stale *staleDisk
	display := t.name.Display
	switch {
	case errors.As(err, &stale):
		if len(stale.displaced) == 0 {
			return errRaced
		}
		t.s.g.o.Tell(fmt.Sprintf("%s was written by another program while Stella wrote it. Its version is kept; what passed through is in the displaced store: %s",
			display, strings.Join(stale.displaced, ", ")))
		return errRaced
	case errors.Is(err, errExists):
		at := display
		if t.kind == ChangeMove {
			at = t.to.Display
		}
		t.refuse(refuse(StatusExists, at, at+" exists already. Nothing was written.", "read "+at+" first, or choose another name"))
	case errors.Is(err, errBusy):
		t.refuse(refuse(StatusBusy, display, display+" is being written by another program. Nothing was written.", "wait until the other program is done, then re-read the file"))
	case errors.Is(err, errReadOnly):
		t.refuse(readOnly(display))
	case isPermission(err):
		t.refuse(denied(display, display+" may not be written: "+err.Error()+".", "ask the person to check its permissions"))
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		t.refuse(cancelledResult(display, err))
	default:
		t.refuse(denied(display, display+" could not be written: "+err.Error()+".", "ask the person to look at the disk and the path"))
	}
	return err
}

func (t *task) lastOrigin() Origin {
	live := t.live()
	return t.origins[live[len(live)-1]]
}
