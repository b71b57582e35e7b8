package guard

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/stella-ls/stella-ls/internal/workspace"
)

// prepare views the file, checks it, and works out the candidate; formatters
// run here. No lock is held: what was viewed is compared again under the lock.
func (t *task) prepare(ctx context.Context) {
	t.plan, t.alone = plan{}, make([]*Result, len(t.changes))
	if err := ctx.Err(); err != nil {
		t.refuse(cancelledResult(t.name.Display, err))
		return
	}
	if r := t.look(ctx); r != nil {
		t.refuse(*r)
		return
	}
	r := t.contract()
	if r == nil && (t.kind == ChangeEdit || t.kind == ChangeWrite) {
		r = t.candidate(ctx)
	}
	if r != nil {
		t.refuse(*r)
	}
}

// look views the file and runs the guard check.
func (t *task) look(ctx context.Context) *Result {
	s, p := t.s, &t.plan
	f, err := s.g.ws.View(ctx, t.name)
	if err != nil {
		if ctx.Err() != nil {
			return ptr(cancelledResult(t.name.Display, ctx.Err()))
		}
		return ptr(pathResult(t.name.Display, err))
	}
	p.belief, p.known = s.belief(t.name.Path)
	open := f.Buffer != nil
	f = effective(p.belief, p.known, f)
	if open && f.Buffer == nil {
		p.under = p.belief.Under
	}
	p.file = f
	if why := s.whyUnavailable(); why != "" && !p.known && f.Exists() {
		return ptr(unavailableResult(t.name.Display, why))
	}
	if f.Buffer != nil && (f.Buffer.Unsure != "" || f.Disk.Err != nil) {
		return ptr(unmeasured(f))
	}
	if !p.known {
		return nil
	}
	if v := judge(p.belief, f, s.g.ws); v != fresh {
		return ptr(s.staleResult(p.belief, v, f, t.changes[0].Base, true))
	}
	return nil
}

func ptr[T any](v T) *T { return &v }

// contract is what a tool asks for beside the guard: a base for what exists, a
// file that may be written, a file seen whole for a whole replacement.
func (t *task) contract() *Result {
	p, base, display := &t.plan, t.changes[0].Base, t.name.Display
	f := p.file
	if !f.Exists() {
		if t.kind == ChangeWrite && base == "" {
			p.create = true
			return nil
		}
		return ptr(refuse(StatusNotFound, display, display+" does not exist. Nothing was written.", "list the directory to find it; to create it, write it without a base"))
	}
	allow := t.set.OverwriteUnseen == "allow" && t.kind == ChangeWrite
	switch {
	case base == "" && allow:
	case base == "" && t.kind == ChangeWrite:
		return ptr(refuse(StatusExists, display, existsText(f), "read "+display+" and pass its base, or choose another name"))
	case base == "":
		return ptr(missingBase(display, "Changing "+display+" needs the base that reading it gives."))
	case p.known && !baseFits(p.belief, base, f, t.s.g.ws):
		return ptr(t.s.oldBase(p.belief, f, base))
	case !p.known && base != f.Base():
		return ptr(missingBase(display, "This session has not read "+display+", and the base given is not what it holds."))
	case !p.known && (t.kind == ChangeDelete || t.kind == ChangeMove):
		return ptr(missingBase(display, "This session has not read "+display+"."))
	}
	if f.Disk.ReadOnly {
		return ptr(readOnly(display))
	}
	if t.kind == ChangeMove {
		if r := t.destination(); r != nil {
			return r
		}
	}
	if r := t.chooseRoute(); r != nil {
		return r
	}
	if t.kind == ChangeWrite && !allow && !(p.known && p.belief.Whole) {
		b := p.belief
		if !p.known {
			b = Belief{Display: display, Text: f.Base(), Lines: CountLines(f.Truth())}
			if b.Lines == 0 {
				return nil
			}
		}
		return ptr(unseenResult(b, base))
	}
	return nil
}

// destination must be free: of a file, of a buffer without one, and of the
// memory of a file that somebody removed.
func (t *task) destination() *Result {
	if t.to.Link == t.name.Link {
		return ptr(refuse(StatusExists, t.to.Display, t.to.Display+" is where it is already. Nothing was moved.", "choose another name"))
	}
	if r := t.s.check(context.Background(), t.to, true); r != nil && r.Status == StatusStale {
		return r
	}
	f, err := t.s.g.ws.View(context.Background(), t.to)
	switch {
	case err != nil:
		return ptr(pathResult(t.to.Display, err))
	case f.Exists():
		return ptr(refuse(StatusExists, t.to.Display, existsText(f), "choose another name, or delete "+t.to.Display+" first"))
	}
	return nil
}

func existsText(f workspace.File) string {
	if f.Buffer != nil && !f.Disk.Exists {
		return f.Name.Display + " is open in the editor, unsaved, without a file: it exists. Nothing was written."
	}
	return f.Name.Display + " exists already. Nothing was written."
}

// chooseRoute decides where the change is made; see guard.md, "Open in the editor".
func (t *task) chooseRoute() *Result {
	p := &t.plan
	f, display := p.file, t.name.Display
	if f.Buffer == nil {
		p.route = onDisk
		return nil
	}
	b := f.Buffer
	clean := !b.Dirty && !b.OwnUnsaved && !b.Different && f.Disk.Exists && b.Pair.Disk == f.Disk.Digest
	if t.kind == ChangeDelete || t.kind == ChangeMove {
		p.route = onDisk
		if b.Dirty || !f.Disk.Exists {
			return ptr(denied(display, display+" is open in the editor with changes that are not on disk.", "ask the person to save or close it first"))
		}
		return nil
	}
	can := t.s.g.abilities()
	switch {
	case can.CompareAndSet, can.ApplyEdit && can.Versioned && b.Version != 0:
		p.route = inEditor
	case clean:
		p.route, p.under = underEditor, b.Digest
	case !b.Dirty && !b.OwnUnsaved && f.Disk.Exists:
		return ptr(denied(display, display+" was changed on disk, the editor still shows what it held before, and this editor offers no safe way to edit its buffer.",
			"ask the person to reload it from the disk, without saving, then read it again"))
	default:
		return ptr(denied(display, display+" is open in the editor with changes that are not on disk, and this editor offers no safe way to edit its buffer.",
			"ask the person to save it (and to let the editor reload it), then read it again"))
	}
	return nil
}

func (g *Guard) abilities() EditorAbilities {
	if g.o.Editor == nil {
		return EditorAbilities{}
	}
	return g.o.Editor.Abilities()
}

// candidate works out the new content.
func (t *task) candidate(ctx context.Context) *Result {
	p := &t.plan
	switch {
	case p.create:
	case p.route == inEditor:
		p.src = []byte(p.file.Buffer.Text)
	default:
		p.src = p.file.Disk.Bytes
	}
	p.form = decodeTruth(p.src)
	var r *Result
	if t.kind == ChangeWrite {
		r = t.wholeText()
	} else {
		r = t.locate()
	}
	if r != nil || t.refused() {
		return r
	}
	content := p.form.encode(p.plain)
	p.after, p.hookErr = t.s.g.format(ctx, t.name, content, t.set.PostWrite)
	if p.route == inEditor && !utf8.Valid(p.after) {
		p.after, p.hookErr = content, "a formatter left text that is not UTF-8, which the editor cannot hold"
	}
	if ctx.Err() != nil {
		return ptr(cancelledResult(t.name.Display, ctx.Err()))
	}
	p.final = decodeTruth(p.after).body
	p.same = !p.create && bytes.Equal(p.after, p.src)
	if sc := t.s.g.o.Syntax; sc != nil {
		p.broken = sc.Broken(t.name.Path, []byte(p.form.body), []byte(p.final))
	}
	if p.broken != "" && t.set.Syntax == "refuse" {
		return ptr(refuse(StatusInvalid, t.name.Display, "The change would break the syntax of "+t.name.Display+" at "+p.broken+". Nothing was written.",
			"correct the change; the person's settings refuse files that do not parse"))
	}
	return nil
}

// wholeText takes the caller's content as the new body. Where it does not say
// otherwise, byte order mark, encoding and line ends of the file stay.
func (t *task) wholeText() *Result {
	p, content := &t.plan, t.changes[0].Content
	p.whole = true
	if p.create {
		p.plain = content
		return nil
	}
	content = strings.TrimPrefix(content, bomRune)
	if err := p.form.mayTake(content); err != nil {
		return ptr(denied(t.name.Display, t.name.Display+" cannot be replaced: "+err.Error()+".", "use targeted edits in ASCII, or convert the file first"))
	}
	if strings.Contains(p.form.body, "\r\n") && !strings.Contains(content, "\r\n") {
		content = withEOLs(p.form.body, content, eolAt(p.form.body, len(p.form.body)))
	}
	p.plain = content
	return nil
}

// locate finds the places of all changes in the one content they were planned
// against. A change that does not fit is refused alone; overlapping ones all are.
func (t *task) locate() *Result {
	p := &t.plan
	for i, c := range t.changes {
		spots, m := t.locateChange(c)
		if m != nil {
			t.alone[i] = ptr(refuse(m.status, t.name.Display, t.name.Display+": "+m.text+". Nothing was written.", m.next))
			continue
		}
		for _, l := range spots {
			l.change = i
			p.spans = append(p.spans, l)
		}
	}
	if a, b, overlap := order(p.spans); overlap {
		what := "two of its edits overlap"
		if a != b {
			what = fmt.Sprintf("calls %d and %d of this batch overlap", min(a, b)+1, max(a, b)+1)
		}
		return ptr(refuse(StatusInvalid, t.name.Display, t.name.Display+": "+what+": all are planned against the same base, so the order cannot be known. Nothing was written.",
			"put overlapping changes into one edit"))
	}
	p.plain = splice(p.form.body, p.spans)
	return nil
}

func (t *task) locateChange(c Change) ([]located, *misfit) {
	form := t.plan.form
	if form.lossy != "" {
		return nil, &misfit{StatusDenied, "it cannot be edited as text: " + form.lossy, "convert it first"}
	}
	if (c.Patch != "") == (len(c.Edits) > 0) {
		return nil, &misfit{StatusInvalid, "it needs either edits or a patch", "send one of the two"}
	}
	inside, m := t.symbolFilter(c.Symbol)
	if m != nil {
		return nil, m
	}
	if c.Patch != "" {
		return locatePatch(form, c.Patch, inside)
	}
	return locateEdits(form, c.Edits, inside)
}

func (t *task) symbolFilter(symbol string) (symbolFilter, *misfit) {
	if symbol == "" {
		return nil, nil
	}
	sc := t.s.g.o.Syntax
	if sc == nil {
		return nil, &misfit{StatusOutsideSymbol, "symbols of this file are not known, so " + symbol + " cannot be found", "leave symbol out"}
	}
	ranges := sc.SymbolRange(t.name.Path, []byte(t.plan.form.body), symbol)
	if len(ranges) == 0 {
		return nil, &misfit{StatusOutsideSymbol, "it defines no " + symbol, "check the name, or leave symbol out"}
	}
	return func(start, end int) bool {
		for _, r := range ranges {
			if r[0] <= start && end <= r[1] {
				return true
			}
		}
		return false
	}, nil
}
