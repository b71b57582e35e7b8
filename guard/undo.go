package guard

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/stella-ls/stella-ls/internal/workspace"
)

// Undone is what became of one file of an Undo.
type Undone struct {
	Path   workspace.Path
	Edits  []string // newest first
	Result Result   // applied, or why not
}

// undoStep is a run of edits that are taken back in one motion: one edit, or a
// chain on one path in which each began where the one before ended.
type undoStep struct {
	edits []EditRecord // oldest first
}

func (u undoStep) first() EditRecord { return u.edits[0] }
func (u undoStep) last() EditRecord  { return u.edits[len(u.edits)-1] }

func (u undoStep) ids() []string {
	var out []string
	for _, e := range slices.Backward(u.edits) {
		out = append(out, e.ID)
	}
	return out
}

// text reports whether the step changed content, and neither made, removed nor
// renamed the file.
func (u undoStep) text() bool {
	return u.first().Kind != ChangeMove && !u.first().BeforeAbsent && !u.last().AfterAbsent
}

// Undo takes applied edits back, the newest first, at a person's wish. The
// inverse of each is applied to what the file holds now: what the person changed
// elsewhere stays, and where it touches the edit the file is refused and shown.
// It compares and commits like any write, but asks no belief: the session's
// beliefs become stale by it like by any other change. Edits that were taken
// back leave Edits.
func (s *Session) Undo(ctx context.Context, ids []string) []Undone {
	steps, missing := s.undoSteps(ctx, ids)
	var out []Undone
	blocked := map[workspace.Path]bool{}
	for _, u := range steps {
		path := u.place()
		r := Result{}
		switch {
		case blocked[path]:
			r = refuse(StatusDenied, u.last().Display, "A later edit of "+u.last().Display+" could not be undone, so this one was left too. Nothing was written.", "resolve the later one first")
		default:
			r = s.undoStep(ctx, u)
		}
		if !r.OK() {
			blocked[path], blocked[u.first().Path] = true, true
		} else {
			s.forgetEdits(ctx, u.edits)
		}
		out = append(out, Undone{Path: path, Edits: u.ids(), Result: r})
	}
	return append(out, missing...)
}

// place is where the step's file is now, if nobody moved it.
func (u undoStep) place() workspace.Path {
	if u.last().Kind == ChangeMove {
		return workspace.Path(u.last().To)
	}
	return u.last().Path
}

// undoSteps orders the wanted edits from the newest to the oldest and joins
// chains. What has no images is refused at once.
func (s *Session) undoSteps(ctx context.Context, ids []string) (steps []undoStep, missing []Undone) {
	var list []EditRecord
	for _, e := range s.Edits() {
		if !slices.Contains(ids, e.ID) {
			continue
		}
		full, err := s.withImages(ctx, e)
		if err != nil {
			missing = append(missing, Undone{Path: e.Path, Edits: []string{e.ID}, Result: refuse(StatusUnreadable, e.Display,
				"Edit "+e.ID+" of "+e.Display+" cannot be undone: "+err.Error()+". Nothing was written.", "use the project's version control")})
			continue
		}
		list = append(list, full)
	}
	for _, e := range slices.Backward(list) {
		if k := chainEnd(steps, e); k >= 0 {
			steps[k].edits = append([]EditRecord{e}, steps[k].edits...)
			continue
		}
		steps = append(steps, undoStep{[]EditRecord{e}})
	}
	return steps, missing
}

// chainEnd is the step that e, which is older, leads into.
func chainEnd(steps []undoStep, e EditRecord) int {
	for k := len(steps) - 1; k >= 0; k-- {
		u := steps[k]
		if u.first().Path != e.Path && u.place() != e.Path {
			continue
		}
		one := undoStep{[]EditRecord{e}}
		if u.text() && one.text() && bytes.Equal(e.After, u.first().Before) {
			return k
		}
		return -1
	}
	return -1
}

func (s *Session) withImages(ctx context.Context, e EditRecord) (EditRecord, error) {
	if (e.Before != nil || e.BeforeAbsent) && (e.After != nil || e.AfterAbsent) {
		return e, nil
	}
	rec := s.g.o.Recorder
	if rec == nil {
		return e, errors.New("its content is not kept any more")
	}
	full, err := rec.Images(ctx, s.id, e.ID)
	if err == nil && (full.Before == nil && !full.BeforeAbsent || full.After == nil && !full.AfterAbsent) {
		err = errors.New("its content is not in the record")
	}
	return full, err
}

func (s *Session) forgetEdits(ctx context.Context, list []EditRecord) {
	s.mu.Lock()
	l := &s.edits
	for _, e := range list {
		l.list = slices.DeleteFunc(l.list, func(o EditRecord) bool {
			if o.ID == e.ID {
				l.bytes -= len(o.Before) + len(o.After)
			}
			return o.ID == e.ID
		})
	}
	s.mu.Unlock()
	if rec := s.g.o.Recorder; rec != nil {
		for _, e := range list {
			rec.Abandoned(context.WithoutCancel(ctx), s.id, e.ID) // at worst it is offered for undo again, and refused
		}
	}
}

// undoStep takes one step back under the locks.
func (s *Session) undoStep(ctx context.Context, u undoStep) Result {
	for range maxReplans {
		t := s.undoTask(u)
		if t.refusal == nil {
			t.planUndo(ctx, u)
		}
		if t.refusal != nil {
			return *t.refusal
		}
		unlock, err := s.g.locks.lock(ctx, lockWait, t.paths()...)
		if err != nil {
			return lockResult(err)(t)
		}
		err = errRaced
		if t.unmoved(ctx) {
			err = t.commitUndo(ctx, u)
		}
		unlock()
		switch {
		case err == nil:
			return t.applied[0]
		case t.refusal != nil:
			return *t.refusal
		}
	}
	return refuse(StatusBusy, u.last().Display, u.last().Display+" keeps changing. Nothing was written.", "try again in a moment")
}

func (s *Session) undoTask(u undoStep) *task {
	e := u.last()
	kind := ChangeEdit
	switch {
	case e.Kind == ChangeMove:
		kind = ChangeMove
	case u.first().BeforeAbsent:
		kind = ChangeDelete
	}
	t := &task{s: s, kind: kind, changes: make([]Change, 1), alone: make([]*Result, 1), origins: []Origin{e.Origin}, set: s.g.o.Settings()}
	t.name = s.g.ws.NameOf(u.place())
	if kind == ChangeMove {
		t.to = s.g.ws.NameOf(e.Path)
	}
	if !t.name.Inside() {
		t.refuse(outside(t.name))
	}
	return t
}

// planUndo works out what to write from what is there now.
func (t *task) planUndo(ctx context.Context, u undoStep) {
	p := &t.plan
	f, err := t.s.g.ws.View(ctx, t.name)
	if err != nil {
		t.refuse(pathResult(t.name.Display, err))
		return
	}
	p.file = f
	p.belief, p.known = t.s.belief(t.name.Path)
	if f.Buffer != nil && (f.Buffer.Unsure != "" || f.Disk.Err != nil) {
		t.refuse(unmeasured(f))
		return
	}
	if u.last().AfterAbsent { // a delete: put it back
		p.create, p.after = true, u.first().Before
		if f.Exists() {
			t.refuse(t.undoConflict(u, nil, f))
		}
		return
	}
	if !f.Exists() {
		t.refuse(refuse(StatusNotFound, t.name.Display, t.name.Display+" does not exist any more, so there is nothing to undo in it. Nothing was written.", "restore the file first"))
		return
	}
	if f.Disk.ReadOnly {
		t.refuse(readOnly(t.name.Display))
		return
	}
	if r := t.chooseRoute(); r != nil {
		t.refuse(*r)
		return
	}
	switch t.kind {
	case ChangeMove:
		if r := t.destination(); r != nil && r.Status != StatusStale {
			t.refuse(*r)
		}
	case ChangeDelete:
		if decodeTruth(f.Truth()).body != decodeTruth(u.last().After).body {
			t.refuse(t.undoConflict(u, u.last().After, f))
		}
	default:
		t.planInverse(u)
	}
}

func (t *task) planInverse(u undoStep) {
	p := &t.plan
	p.src = p.file.Disk.Bytes
	if p.route == inEditor {
		p.src = []byte(p.file.Buffer.Text)
	}
	p.form = decodeTruth(p.src)
	before, after := u.first().Before, u.last().After
	if bytes.Equal(p.src, after) {
		p.after = before
	} else {
		body, ok := invert(decodeTruth(before).body, decodeTruth(after).body, p.form.body)
		if !ok || p.form.lossy != "" {
			t.refuse(t.undoConflict(u, after, p.file))
			return
		}
		p.after = p.form.encode(body)
	}
	p.final = decodeTruth(p.after).body
	p.plain, p.whole = p.final, true
}

// undoConflict shows what was changed since the edit that shall be undone.
func (t *task) undoConflict(u undoStep, after []byte, f workspace.File) Result {
	d, actual := t.name.Display, f.Base()
	r := Result{Status: StatusStale, Path: d, Expected: workspace.DigestOf(after), Actual: &actual}
	if after == nil {
		r.Expected = ""
		r.Message = "cannot undo the deletion of " + d + ": something is there now. Nothing was written."
		r.Next = "move it away, or take the content of edit " + u.first().ID + " from the review"
		return r
	}
	r.Message = "cannot undo edit " + strings.Join(u.ids(), ", ") + " of " + d + ": it was changed since, in the same lines or right beside them. Nothing was written."
	r.Next = "look at the difference and take the edit back by hand where it is still wanted"
	t.s.addDiff(&r, after, f.Truth())
	return r
}

func (t *task) undoCause(u undoStep) workspace.Cause {
	first, last := editNumber(u.first().ID), editNumber(u.last().ID)
	detail := fmt.Sprintf("edit #%d", last)
	if first != last {
		detail = fmt.Sprintf("edits #%d to #%d", first, last)
	}
	return workspace.Cause{Kind: workspace.HumanUndo, Session: t.s.id, Detail: detail}
}

// commitUndo writes what planUndo found, under the lock.
func (t *task) commitUndo(ctx context.Context, u undoStep) error {
	p, g, cause := &t.plan, t.s.g, t.undoCause(u)
	t.s.mark(t.name.Path, +1)
	defer t.s.mark(t.name.Path, -1)
	r := Result{Status: StatusApplied, Path: t.name.Display, Message: "Took back " + cause.Detail + " of " + t.name.Display + "."}
	var done committed
	var err error
	switch {
	case t.kind == ChangeMove:
		if done, err = g.disk.move(ctx, t.name, p.file.Disk.Digest, t.to); err == nil {
			if !t.isLink() {
				g.ws.RecordDisk(t.name.Path, p.file.Disk.Digest, "", cause)
				g.ws.RecordDisk(t.to.Path, "", p.file.Disk.Digest, cause)
			}
			g.dirs.remove(u.last().CreatedDirs)
		}
	case p.create:
		if done, err = g.disk.create(ctx, t.name, p.after); err == nil {
			g.ws.RecordDisk(t.name.Path, "", workspace.DigestOf(p.after), cause)
			r.Base = workspace.DigestOf(p.after)
		}
	case t.kind == ChangeDelete:
		if done, err = g.disk.remove(ctx, t.name, p.file.Disk.Digest); err == nil {
			g.ws.RecordDisk(t.name.Path, p.file.Disk.Digest, "", cause)
			g.dirs.remove(u.first().CreatedDirs)
		}
	case bytes.Equal(p.after, p.src):
		r.Base = p.file.Base()
	case p.route == inEditor:
		return t.undoInBuffer(ctx, cause, r)
	default:
		if done, err = g.disk.replace(ctx, t.name, p.file.Disk.Digest, p.after); err == nil {
			g.ws.RecordDisk(t.name.Path, p.file.Disk.Digest, workspace.DigestOf(p.after), cause)
			r.Base, r.Saved = workspace.DigestOf(p.after), ptr(true)
		}
	}
	if err != nil {
		return t.diskFailed(err)
	}
	r.Mode = done.mode
	t.applied = []Result{r}
	return nil
}

func (t *task) undoInBuffer(ctx context.Context, cause workspace.Cause, r Result) error {
	p, g := &t.plan, t.s.g
	save, why := t.wantSave()
	w := EditorWrite{
		Buffer: *p.file.Buffer, Splices: p.splices(), After: workspace.DigestOf(p.after),
		Save: save, Label: "Stella: undo " + cause.Detail + " of " + t.name.Display,
	}
	answer, _, err := g.applyInEditor(ctx, t.name, w, cause)
	if err != nil {
		return t.editorFailed(ctx, answer, err)
	}
	r.Mode, r.Base, r.Saved = g.editorMode(), w.After, ptr(answer.Saved)
	var out written
	var res result
	if answer.Saved {
		t.afterSave(ctx, answer, cause, &out, &res)
	} else if why != "" {
		res.notes = append(res.notes, "not saved: "+why)
	}
	r.Note = strings.Join(res.notes, "; ")
	t.applied = []Result{r}
	return nil
}
