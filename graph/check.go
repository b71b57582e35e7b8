package graph

import (
	"bytes"
	"context"
	"fmt"
	"unicode/utf8"

	"github.com/stella-ls/stella-ls/graph/facts"
	"github.com/stella-ls/stella-ls/graph/internal/sitter"
	"github.com/stella-ls/stella-ls/internal/workspace"
)

// Broken says where a candidate text fails to parse when the text before it
// parsed: "41:7 unexpected …", 1-based line and byte column. It is empty when the
// candidate is fine, when before was broken already, and when the language is not
// known or not parsed whole (SQL).
func (g *Graph) Broken(p workspace.Path, before, after []byte) string {
	l := languageOf(string(p))
	if l == nil || l.Split != nil || len(after) > maxFile || len(before) > maxFile {
		return ""
	}
	ctx := context.Background()
	w, err := g.workers.take(ctx)
	if err != nil {
		return ""
	}
	defer g.workers.give(w)
	errorsOf := func(text []byte) []sitter.Node {
		tree, err := w.Parse(ctx, l, text, nil)
		if err != nil {
			return nil
		}
		defer tree.Close()
		return tree.Errors(1)
	}
	now := errorsOf(after)
	if len(now) == 0 || len(before) > 0 && len(errorsOf(before)) > 0 {
		return ""
	}
	u, err := g.units.Get(l)
	if err != nil {
		return ""
	}
	e := now[0]
	line := bytes.Count(after[:e.Start], []byte{'\n'})
	column := int(e.Start) - (bytes.LastIndexByte(after[:e.Start], '\n') + 1)
	what := "unexpected " + quote(after[e.Start:e.End])
	if e.Missing {
		what = "missing " + u.Grammar.SymbolName(e.Symbol)
	}
	return fmt.Sprintf("%d:%d %s", line+1, column+1, what)
}

// quote shows the beginning of what did not parse.
func quote(b []byte) string {
	b, _, _ = bytes.Cut(bytes.TrimSpace(b), []byte{'\n'})
	const most = 40
	if len(b) > most {
		cut := most
		for cut > 0 && !utf8.RuneStart(b[cut]) {
			cut--
		}
		return fmt.Sprintf("%q…", b[:cut])
	}
	if len(b) == 0 {
		return "end of a construct"
	}
	return fmt.Sprintf("%q", b)
}

// SymbolRange returns the byte ranges of the definitions in text that are called
// name, which may be qualified ("Shape.area"). Comments and decorators above a
// definition belong to it.
func (g *Graph) SymbolRange(p workspace.Path, text []byte, name string) [][2]int {
	l := languageOf(string(p))
	if l == nil || len(text) > maxFile {
		return nil
	}
	f, err := g.workers.extract(context.Background(), l, text)
	if err != nil {
		return nil
	}
	v := &view{File: f, path: string(p), lang: l, text: text, open: true}
	sym := parseSymbol(name)
	var out [][2]int
	v.defsNamed(sym.name, func(i int32, d *facts.Def) bool {
		if d.Kind == facts.Parameter || d.Kind == facts.TypeParam || !inContainers(v, i, sym.containers) {
			return true
		}
		start := d.Start
		if d.Doc.End > d.Doc.Start && d.Doc.Start < start {
			start = d.Doc.Start
		}
		// From the beginning of the line, when only indentation stands there.
		line := v.Lines[v.LineOf(start)]
		if len(bytes.TrimLeft(text[line:start], " \t")) == 0 {
			start = line
		}
		out = append(out, [2]int{int(start), int(d.End)})
		return true
	})
	return out
}

// FoldingRanges are the regions of a file that span lines.
func (g *Graph) FoldingRanges(ctx context.Context, p workspace.Path) ([]FoldingRange, error) {
	var out []FoldingRange
	err := g.withTree(ctx, p, func(v *view, tree *sitter.Tree, text []byte, kind func(uint16) string) {
		last := -1
		for _, n := range tree.Multiline(text, 20000) {
			start, end := v.LineOf(n.Start), v.LineOf(n.End)
			if v.Lines[end] == n.End && end > start {
				end--
			}
			if end <= start || start == last {
				continue
			}
			last = start
			f := FoldingRange{StartLine: start, EndLine: end}
			switch k := kind(n.Symbol); {
			case k == "comment" || k == "block_comment":
				f.Kind = "comment"
			case k == "import_declaration" || k == "use_declaration" || k == "import_statement" || k == "import_from_statement":
				f.Kind = "imports"
			}
			out = append(out, f)
		}
	})
	return out, err
}

// maxSelections bounds the pieces around a position. Each is one level deeper in the
// answer's JSON, and clients give up at a thousand levels.
const maxSelections = 200

// SelectionRanges are the pieces of syntax around a position, innermost first; of
// very many the innermost ones and the whole file.
func (g *Graph) SelectionRanges(ctx context.Context, at At) ([]workspace.Range, error) {
	var out []workspace.Range
	err := g.withTree(ctx, at.Path, func(v *view, tree *sitter.Tree, text []byte, _ func(uint16) string) {
		s := g.newSolver(ctx)
		path := tree.Path(s.offset(v, at.Pos, at.Enc), 50_000)
		for i := len(path) - 1; i >= 0; i-- {
			if len(out) == maxSelections-1 {
				i = 0
			}
			if n := path[i]; i+1 == len(path) || n.Start != path[i+1].Start || n.End != path[i+1].End {
				out = append(out, s.rng(v, n.Start, n.End, at.Enc))
			}
		}
	})
	return out, err
}

// withTree parses a file as it is now and hands the tree to f.
func (g *Graph) withTree(ctx context.Context, p workspace.Path, f func(v *view, tree *sitter.Tree, text []byte, kind func(uint16) string)) error {
	s := g.newSolver(ctx)
	v := s.view(string(p))
	if v == nil || v.lang.Split != nil {
		return ctx.Err()
	}
	text := s.textOf(v)
	if text == nil {
		return ctx.Err()
	}
	u, err := g.units.Get(v.lang)
	if err != nil {
		return err
	}
	w, err := g.workers.take(ctx)
	if err != nil {
		return err
	}
	defer g.workers.give(w)
	tree, err := w.Parse(ctx, v.lang, text, nil)
	if err != nil {
		return err
	}
	defer tree.Close()
	f(v, tree, text, u.Grammar.SymbolName)
	return nil
}

// Status tells how the index stands.
func (g *Graph) Status() IndexStatus {
	st := IndexStatus{ByLanguage: map[string]int{}, Skipped: map[string]int{}, Ready: g.ready1()}
	for _, e := range g.index.entries() {
		if e.skip != "" {
			st.Skipped[e.skip]++
			continue
		}
		st.Files++
		st.ByLanguage[e.lang.Name]++
		if e.broken {
			st.Broken++
		}
	}
	g.stateMu.Lock()
	defer g.stateMu.Unlock()
	st.Done, st.Total, st.LastPass, st.Set = g.state.done, g.state.total, g.state.lastPass, g.state.asideWhy
	st.Watches, st.Watching = g.state.watches, g.state.watching
	return st
}
