package extract

import (
	"context"
	"math"
	"time"

	"github.com/stella-ls/stella-ls/graph/facts"
	"github.com/stella-ls/stella-ls/graph/internal/sitter"
	"github.com/stella-ls/stella-ls/graph/lang"
)

// ParseLimit bounds the parsing of one text.
const ParseLimit = 20 * time.Second

// Worker extracts facts from texts, one at a time. Use one per core.
type Worker struct {
	units   *Units
	parsers map[*lang.Language]*sitter.Parser
	cursor  *sitter.Cursor
	b       builder
	healed  []healed // of open texts, the newest last
}

// NewWorker makes a worker; Close frees it.
func NewWorker(units *Units) *Worker {
	return &Worker{units: units, parsers: map[*lang.Language]*sitter.Parser{}, cursor: sitter.NewCursor()}
}

// Close frees the worker's parsers and trees.
func (w *Worker) Close() {
	for _, h := range w.healed {
		h.tree.Close()
	}
	for _, p := range w.parsers {
		p.Close()
	}
	w.cursor.Close()
}

func (w *Worker) parser(u *Unit) (*sitter.Parser, error) {
	if p := w.parsers[u.Language]; p != nil {
		return p, nil
	}
	p, err := sitter.NewParser(u.Grammar, ParseLimit)
	if err == nil {
		w.parsers[u.Language] = p
	}
	return p, err
}

// File extracts the facts of a text of language l.
func (w *Worker) File(ctx context.Context, l *lang.Language, text []byte) (*facts.File, error) {
	u, err := w.units.Get(l)
	if err != nil {
		return nil, err
	}
	if l.Split != nil {
		return w.segments(ctx, u, text)
	}
	tree, err := w.Parse(ctx, l, text, nil)
	if err != nil {
		return nil, err
	}
	defer tree.Close()
	captures, complete := w.cursor.RunAll(u.query, tree)
	if tree.HasError() {
		captures = append([]sitter.Capture(nil), captures...) // the cursor is used again
	}
	f := w.build(ctx, u, text, captures, tree, complete, nil)
	f.Pieces = nil
	return f, nil
}

// Parse parses a text; the caller closes the tree.
func (w *Worker) Parse(ctx context.Context, l *lang.Language, text []byte, old *sitter.Tree) (*sitter.Tree, error) {
	u, err := w.units.Get(l)
	if err != nil {
		return nil, err
	}
	p, err := w.parser(u)
	if err != nil {
		return nil, err
	}
	return p.Parse(ctx, text, old)
}

// build makes facts of the captures of a tree; o is the open text, or nil.
func (w *Worker) build(ctx context.Context, u *Unit, text []byte, captures []sitter.Capture, tree *sitter.Tree, complete bool, o *Open) *facts.File {
	f := w.part(ctx, u, text, captures, tree, sitter.Span{End: math.MaxUint32}, o)
	f.Lines, f.ASCII = lines(text)
	errorsOf(tree, f)
	if !complete {
		f.Notes = append(f.Notes, "too complex: some names were left out")
	}
	return f
}

// part makes facts of the captures of those of the root's children that lie within
// in: all but the lines, the places of errors, and notes.
func (w *Worker) part(ctx context.Context, u *Unit, text []byte, captures []sitter.Capture, tree *sitter.Tree, in sitter.Span, o *Open) *facts.File {
	if tree.HasError() {
		captures = w.resync(ctx, u, text, captures, tree.ErrorsIn(in.Start, in.End, resyncErrors), o)
	}
	w.b.reset(u, text)
	w.b.add(captures)
	f := w.b.finish(in.Start, min(in.End, uint32(len(text))))
	if u.Infer != nil {
		u.Infer(w.cursor.Flatten(u.Grammar, tree, text, in.Start, in.End), f)
	}
	return f
}

func errorsOf(tree *sitter.Tree, f *facts.File) {
	if !tree.HasError() {
		return
	}
	for _, e := range tree.Errors(facts.MaxErrors) {
		f.Errors = append(f.Errors, facts.Span{Start: e.Start, End: e.End})
	}
}

// segments extracts part by part, for languages whose texts are not one tree.
func (w *Worker) segments(ctx context.Context, u *Unit, text []byte) (*facts.File, error) {
	p, err := w.parser(u)
	if err != nil {
		return nil, err
	}
	w.b.reset(u, text)
	var errors []facts.Span
	match := uint32(0)
	prepared := text
	if u.Prepare != nil {
		prepared = u.Prepare(text)
	}
	for _, s := range u.Split(text) {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		found, broken := false, false
		if s.Parse {
			tree, err := p.Parse(ctx, prepared[s.Start:s.End], nil)
			if err != nil {
				return nil, err
			}
			captures, _ := w.cursor.RunAll(u.query, tree)
			before := len(w.b.defs)
			last := match
			for i := range captures {
				c := &captures[i]
				last = c.Match + match
				c.Start, c.End, c.Match = c.Start+s.Start, c.End+s.Start, last
			}
			match = last + 1
			w.b.add(captures)
			found = topLevel(w.b.defs[before:])
			for _, e := range tree.Errors(1) {
				broken = true
				if len(errors) < facts.MaxErrors {
					errors = append(errors, facts.Span{Start: e.Start + s.Start, End: e.End + s.Start})
				}
			}
			tree.Close()
		}
		if u.Header != nil && (!found || broken) {
			w.b.header(s)
		}
	}
	f := w.b.finish(0, uint32(len(text)))
	f.Lines, f.ASCII = lines(text)
	f.Errors = errors
	return f, nil
}

func topLevel(defs []def) bool {
	for _, d := range defs {
		if d.kind != facts.Column {
			return true
		}
	}
	return false
}

// header adds what the first words of a part say, unless the grammar said it.
func (b *builder) header(s lang.Segment) {
	h, ok := b.u.Header(b.text[s.Start:s.End])
	if !ok {
		return
	}
	at := s.Start + h.NameStart
	b.refs = append(b.refs, ref{start: at, end: s.Start + h.NameEnd})
	if h.Kind == facts.KindNone {
		return // a use, not a definition
	}
	if i, ok := b.defAt[at]; ok {
		b.defs[i].start, b.defs[i].end = s.Start, s.End
		return
	}
	b.define(def{kind: h.Kind, flags: h.Flags | facts.FromText, start: s.Start, end: s.End, nameStart: at, nameEnd: s.Start + h.NameEnd})
}
