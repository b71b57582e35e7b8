package guard

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/aymanbagabas/go-udiff"

	"github.com/stella-ls/stella-ls/internal/workspace"
)

// Deadlines of a write in the editor. Past the first its outcome is unknown;
// the others bound how long its document events may lag behind its answers.
const (
	editorDeadline  = 10 * time.Second
	mirrorDeadline  = 3 * time.Second
	catchUpDeadline = time.Second
)

var (
	errUnknown = errors.New("the outcome of the write is unknown")
	// errOutOfStep: the editor says that its buffer is not what this server
	// believes it to be, and no change arrives that would explain it.
	errOutOfStep = errors.New("the editor's buffer is not what it has told this server")
)

// commitEditor changes the buffer by a compare-and-set. The editor's answer is
// no proof: the write has happened when the mirror of the buffer holds exactly
// what was wanted.
func (t *task) commitEditor(ctx context.Context, records []EditRecord) error {
	p := &t.plan
	save, why := t.wantSave()
	w := EditorWrite{
		Buffer: *p.file.Buffer, Splices: p.splices(), After: workspace.DigestOf(p.after),
		Save: save, Label: "Stella: " + string(t.kind) + " " + t.name.Display,
	}
	answer, at, err := t.s.g.applyInEditor(ctx, t.name, w, t.cause(records))
	if err != nil {
		return t.editorFailed(ctx, answer, err)
	}
	out := written{name: t.name, after: p.after, diskAt: p.file.Disk.Digest, version: at.Version, seq: at.Seq, o: t.lastOrigin()}
	res := result{mode: t.s.g.editorMode(), saved: ptr(answer.Saved)}
	switch {
	case answer.Saved:
		t.afterSave(ctx, answer, t.cause(records), &out, &res)
	case save:
		res.notes = append(res.notes, "the editor did not save it: "+reasonOr(answer.SaveReason, "no reason given"))
	default:
		res.notes = append(res.notes, "not saved: "+why)
	}
	t.succeed(ctx, records, out, res)
	t.undo = func(ctx context.Context) error { return t.undoInEditor(ctx, records, answer.Saved) }
	return nil
}

func reasonOr(s, otherwise string) string {
	if s == "" {
		return otherwise
	}
	return s
}

func (g *Guard) editorMode() string {
	if g.abilities().CompareAndSet {
		return "editor"
	}
	return "editor-versioned"
}

// wantSave decides whether the editor shall save after the change, or why not.
// A save never overrides: the disk must be the image of the buffer's last load
// or save.
func (t *task) wantSave() (save bool, why string) {
	b, disk := t.plan.file.Buffer, t.plan.file.Disk
	switch {
	case !t.s.g.abilities().CompareAndSet:
		return false, "this editor cannot be asked to save"
	case t.set.Save == "never":
		return false, "saving is off in the settings"
	case b.Different:
		return false, "the editor shows this file differently from the disk, and its save would change bytes that nobody touched"
	case !disk.Exists:
		return false, "there is no file on disk"
	case b.Pair.Disk != disk.Digest:
		return false, "the disk holds something that the buffer was not loaded from, and a save would overwrite it"
	case b.Dirty && t.set.Save != "always":
		return false, "the buffer has unsaved changes of the person"
	}
	return true, ""
}

// splices are the replacements as the editor gets them, in bytes of the
// buffer's text.
func (p *plan) splices() []Splice {
	spans := p.spans
	if p.final != p.plain || p.whole {
		spans = nil
		for _, e := range udiff.Lines(p.form.body, p.final) {
			spans = append(spans, located{start: e.Start, end: e.End, text: e.New})
		}
	}
	var out []Splice
	for _, l := range spans {
		l = minimal(p.form.body, l)
		if l.start == l.end && l.text == "" {
			continue
		}
		off := len(p.form.bom)
		out = append(out, Splice{Start: off + l.start, End: off + l.end, New: l.text})
	}
	return out
}

// applyInEditor sends w and returns when the mirror holds w.After. Errors:
// errRaced (nothing was applied, look again), errUnknown, or a refusal of the
// editor's in answer.Reason.
func (g *Guard) applyInEditor(ctx context.Context, n workspace.Name, w EditorWrite, cause workspace.Cause) (EditorAnswer, workspace.Buffer, error) {
	withdraw := g.ws.ExpectOwn(n.Path, w.Buffer.Digest, w.After, cause)
	defer withdraw()
	seen := g.expect(ctx, n.Path, w.After) // before sending: it may pass in an instant
	defer seen.stop()

	callCtx, cancel := context.WithTimeout(ctx, editorDeadline)
	if !w.Save {
		go seen.endCall(callCtx, cancel)
	}
	answer, err := g.o.Editor.Apply(callCtx, w)
	cancel()
	switch {
	case err != nil:
		if b, ok := seen.wait(ctx, catchUpDeadline); ok {
			return EditorAnswer{Applied: true, SaveReason: "the editor's answer was lost: " + err.Error()}, b, nil
		}
		return answer, workspace.Buffer{}, errUnknown
	case !answer.Applied:
		return answer, workspace.Buffer{}, g.notApplied(ctx, n.Path, w, answer)
	case answer.SHA256Applied != "" && answer.SHA256Applied != w.After:
		return answer, workspace.Buffer{}, errUnknown
	}
	b, ok := seen.wait(ctx, mirrorDeadline)
	if !ok {
		return answer, workspace.Buffer{}, errUnknown
	}
	return answer, b, nil
}

// notApplied gives the document events that explain a lost compare time to
// arrive, so that the check that follows sees what the editor saw.
func (g *Guard) notApplied(ctx context.Context, p workspace.Path, w EditorWrite, answer EditorAnswer) error {
	switch answer.Reason {
	case "version", "content", "closed":
		ctx, cancel := context.WithTimeout(ctx, catchUpDeadline)
		defer cancel()
		err := g.ws.Await(ctx, p, func(b workspace.Buffer, open bool) bool {
			return !open || b.Version != w.Buffer.Version || b.Digest != w.Buffer.Digest
		})
		if err != nil {
			return errOutOfStep
		}
		return errRaced
	}
	return errors.New("the editor did not apply it: " + reasonOr(answer.Reason, "no reason given"))
}

func (t *task) editorFailed(ctx context.Context, answer EditorAnswer, err error) error {
	display := t.name.Display
	switch {
	case errors.Is(err, errOutOfStep) && ctx.Err() == nil:
		t.refuse(unavailableResult(display, err.Error()+" ("+joinNonEmpty(answer.Reason, answer.SaveReason)+")"))
	case errors.Is(err, errRaced), errors.Is(err, errOutOfStep):
		if ctx.Err() != nil {
			t.refuse(cancelledResult(display, ctx.Err()))
			return ctx.Err()
		}
		return errRaced
	case errors.Is(err, errUnknown):
		t.s.doubt(t.name.Path, "the editor did not confirm your last change in time")
		t.refuse(refuse(StatusGuardUnavailable, display, "It is not known whether the change of "+display+" was applied: the editor did not confirm it in time.",
			"re-read "+display+" before anything else; nothing of it was lost"))
	case answer.Reason == "readonly":
		t.refuse(denied(display, display+" is read-only in the editor.", "ask the person to make the buffer modifiable, or change another file"))
	default:
		t.refuse(denied(display, display+" was not changed: "+err.Error()+".", "re-read the file; if this repeats, ask the person to look at the editor"))
	}
	return err
}

// expectation waits for a buffer to hold a digest, if only for one change.
type expectation struct {
	cancel context.CancelFunc
	done   chan struct{}
	at     workspace.Buffer // valid when err is nil, after done
	err    error
}

// expect returns once it is certain that no later change can be missed.
func (g *Guard) expect(ctx context.Context, p workspace.Path, want workspace.Digest) *expectation {
	ctx, cancel := context.WithCancel(ctx)
	e := &expectation{cancel: cancel, done: make(chan struct{})}
	registered := make(chan struct{})
	first := true
	go func() {
		defer close(e.done)
		e.err = g.ws.Await(ctx, p, func(b workspace.Buffer, open bool) bool {
			if first { // called under the lock that registers the waiter
				first = false
				close(registered)
			}
			if open && b.Digest == want {
				e.at = b
				return true
			}
			return false
		})
	}()
	<-registered
	return e
}

// endCall gives up an answer that does not follow the change soon: without a
// save, the buffer's text says all that there is to know.
func (e *expectation) endCall(ctx context.Context, cancel context.CancelFunc) {
	select {
	case <-ctx.Done():
		return
	case <-e.done:
	}
	if e.err != nil {
		return
	}
	timer := time.NewTimer(catchUpDeadline)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
		cancel()
	}
}

func (e *expectation) wait(ctx context.Context, d time.Duration) (workspace.Buffer, bool) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-e.done:
	case <-timer.C:
		return workspace.Buffer{}, false
	case <-ctx.Done():
		return workspace.Buffer{}, false
	}
	return e.at, e.err == nil
}

func (e *expectation) stop() {
	e.cancel()
	<-e.done
}

// afterSave moves the write on to what save participants made of it, if that is
// known exactly, and joins text and disk when the disk holds just that.
func (t *task) afterSave(ctx context.Context, answer EditorAnswer, cause workspace.Cause, out *written, res *result) {
	p, g := &t.plan, t.s.g
	text := string(p.after)
	if answer.SHA256After != "" && answer.SHA256After != workspace.DigestOf(p.after) {
		e := g.expect(ctx, t.name.Path, answer.SHA256After)
		b, ok := e.wait(ctx, mirrorDeadline)
		e.stop()
		if !ok {
			res.notes = append(res.notes, "saving changed the file further, and the editor has not said how: re-read it before the next change")
			return
		}
		_, cut := unified([]byte(p.plain), []byte(b.Text))
		if cut > 0 {
			res.notes = append(res.notes, "saving changed more of the file than can be shown here: re-read it before the next change")
			res.hookErr = "the difference that saving made is too large to show"
			return
		}
		text, out.after, out.version, out.seq = b.Text, []byte(b.Text), b.Version, b.Seq
	}
	f, err := g.ws.View(ctx, t.name)
	if err != nil || !f.Disk.Exists || !workspace.IsImage(text, f.Disk.Bytes) {
		return // the next check says what is there
	}
	g.ws.ConfirmSave(t.name.Path, workspace.Pair{Text: workspace.DigestOfString(text), Disk: f.Disk.Digest})
	g.ws.RecordDisk(t.name.Path, p.file.Disk.Digest, f.Disk.Digest, cause)
	out.disk = f.Disk.Digest
}

// undoInEditor takes an edit back that all-or-none does not want any more.
func (t *task) undoInEditor(ctx context.Context, records []EditRecord, save bool) error {
	g := t.s.g
	b, open := g.ws.Document(t.name.Path)
	now := records[len(records)-1].After
	if !open || b.Digest != workspace.DigestOf(now) {
		return errRaced
	}
	back := located{start: 0, end: len(b.Text), text: string(t.plan.src)}
	back = minimal(b.Text, back)
	w := EditorWrite{
		Buffer: b, Splices: []Splice{{Start: back.start, End: back.end, New: back.text}},
		After: workspace.DigestOf(t.plan.src), Save: save, Label: strings.TrimSpace("Stella: take back " + t.name.Display),
	}
	answer, _, err := g.applyInEditor(ctx, t.name, w, t.cause(records))
	if err != nil {
		return err
	}
	if answer.Saved {
		if f, err := g.ws.View(ctx, t.name); err == nil && workspace.IsImage(string(t.plan.src), f.Disk.Bytes) {
			g.ws.ConfirmSave(t.name.Path, workspace.Pair{Text: w.After, Disk: f.Disk.Digest})
		}
	}
	t.restoreBelief(records)
	return nil
}
