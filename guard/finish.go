package guard

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/stella-ls/stella-ls/internal/workspace"
)

// records are the edit records of a task's live changes, one each: a batch is a
// chain, each one's After is the next one's Before.
func (t *task) records() []EditRecord {
	p := &t.plan
	live := t.live()
	first := t.s.nextEdits(len(live))
	out := make([]EditRecord, len(live))
	before := slices.Clip(p.src)
	if t.kind == ChangeDelete || t.kind == ChangeMove {
		before = p.file.Disk.Bytes
	}
	if before == nil {
		before = []byte{}
	}
	for k, i := range live {
		e := EditRecord{
			ID: editID(first + k), Session: t.s.id, Origin: t.origins[i], Kind: t.kind,
			Path: t.name.Path, Display: t.name.Display, Before: before, BeforeAbsent: p.create,
			InBuffer: p.route == inEditor,
		}
		switch {
		case t.kind == ChangeDelete:
			e.AfterAbsent = true
		case t.kind == ChangeMove:
			e.To, e.After = string(t.to.Path), before
		case k == len(live)-1:
			e.After = p.after
		default:
			e.After = p.form.encode(splice(p.form.body, spansUpTo(p.spans, i)))
		}
		if p.create {
			e.Before = nil
		}
		out[k] = e
		before = e.After
	}
	return out
}

// spansUpTo are the replacements of changes 0 to last.
func spansUpTo(spans []located, last int) []located {
	var out []located
	for _, l := range spans {
		if l.change <= last {
			out = append(out, l)
		}
	}
	return out
}

func (t *task) recordPreImages(ctx context.Context, records []EditRecord) error {
	rec := t.s.g.o.Recorder
	if rec == nil {
		return t.keepReplaced(records)
	}
	for i, e := range records {
		err := rec.PreImage(ctx, e)
		if errors.Is(err, ErrNoRecord) {
			return t.keepReplaced(records)
		}
		if err != nil {
			t.abandon(ctx, records[:i])
			return err
		}
	}
	return nil
}

// keepReplaced puts content that a delete or a whole replacement takes away into
// the displaced store, when there is no record to hold it.
func (t *task) keepReplaced(records []EditRecord) error {
	e := records[0]
	if e.BeforeAbsent || t.kind != ChangeDelete && t.kind != ChangeWrite || t.isLink() {
		return nil
	}
	return t.s.g.disk.keep(t.name, string(t.kind)+" by session "+t.s.id, e.Before, t.plan.file.Disk.Mode)
}

func (t *task) abandon(ctx context.Context, records []EditRecord) {
	rec := t.s.g.o.Recorder
	if rec == nil {
		return
	}
	for _, e := range records {
		rec.Abandoned(context.WithoutCancel(ctx), t.s.id, e.ID) // an intent without a commit reads as undone anyway
	}
}

// result is what a commit adds to every change's result.
type result struct {
	mode     string
	warnings []string
	saved    *bool
	notes    []string
	hookErr  string // beside the formatters'
}

// succeed makes the belief and the results of a write that happened.
func (t *task) succeed(ctx context.Context, records []EditRecord, w written, res result) {
	p := &t.plan
	final := decodeTruth(w.after).body
	hookDiff, cut := "", 0
	if final != p.plain {
		hookDiff, cut = unified([]byte(p.plain), []byte(final))
	}
	w.seen = p.coverage(final, cut == 0)
	b := t.s.wrote(p.belief, p.known, w)
	t.s.put(b)
	t.s.announce(b.Path, Fresh)

	notes := append(slices.Clone(res.notes), res.warnings...)
	if cut > 0 {
		notes = append(notes, "hook_diff is cut: lines that it does not show count as unread")
	}
	notes = append(notes, "use this base for the next change of "+t.name.Display)
	r := Result{
		Status: StatusApplied, Path: t.name.Display, Base: b.Text, Mode: res.mode, Saved: res.saved,
		HookError: joinNonEmpty(p.hookErr, res.hookErr), Syntax: p.broken, Note: strings.Join(notes, "; "),
	}
	records[len(records)-1].After = w.after
	t.applied = make([]Result, len(t.changes))
	for k, i := range t.live() {
		one := r
		one.EditID = records[k].ID
		lines := p.changedLines(i, final)
		one.ChangedLines = &lines
		one.Message = t.appliedText(lines, res)
		if k == len(records)-1 {
			one.HookDiff = hookDiff
		}
		t.applied[i] = one
	}
	t.keepAll(ctx, records)
}

func (t *task) appliedText(lines [2]int, res result) string {
	verb := "Edited "
	switch {
	case t.plan.create:
		verb = "Created "
	case t.plan.whole:
		verb = "Replaced "
	}
	m := verb + t.name.Display + lineText(lines)
	if res.saved != nil && !*res.saved {
		m += " in the editor; not saved, so the disk does not have it"
	}
	return m + "."
}

func lineText(l [2]int) string {
	if l[1] < 1 {
		return ""
	}
	if l[0] == l[1] {
		return ", line " + strconv.Itoa(l[0])
	}
	return ", lines " + strconv.Itoa(l[0]) + "-" + strconv.Itoa(l[1])
}

// finish answers a delete or a move.
func (t *task) finish(ctx context.Context, records []EditRecord, r Result) {
	r.EditID = records[0].ID
	t.applied = []Result{r}
	t.keepAll(ctx, records)
}

func (t *task) keepAll(ctx context.Context, records []EditRecord) {
	for _, e := range records {
		t.s.keep(e)
		if rec := t.s.g.o.Recorder; rec != nil {
			if err := rec.Applied(context.WithoutCancel(ctx), e); err != nil && !errors.Is(err, ErrNoRecord) {
				for i := range t.applied {
					t.applied[i].Note = joinNonEmpty(t.applied[i].Note, "the change could not be recorded for a restart: "+err.Error())
				}
			}
		}
	}
}

// takenBack restores what the session knew before a commit that was undone.
func (t *task) takenBack(records []EditRecord, from, to workspace.Digest) {
	t.s.g.ws.RecordDisk(t.name.Path, from, to, t.cause(records))
	t.restoreBelief(records)
}

func (t *task) restoreBelief(records []EditRecord) {
	if t.plan.known {
		b := t.plan.belief
		b.Seq = t.s.g.ws.Seq()
		t.s.put(b)
	} else {
		t.s.drop(t.name.Path)
	}
	t.s.mu.Lock()
	l := &t.s.edits
	for _, e := range records {
		l.list = slices.DeleteFunc(l.list, func(o EditRecord) bool { return o.ID == e.ID })
		l.bytes -= len(e.Before) + len(e.After)
	}
	t.s.mu.Unlock()
	t.abandon(context.Background(), records)
	t.s.announce(t.name.Path, Fresh)
}

func joinNonEmpty(parts ...string) string {
	return strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), "; ")
}
