// Package bench holds the floors that the graph is measured against: bare
// tree-sitter parsing and one symbol query, and the bare incremental parse. It
// lives below graph because only code there may use the C library.
package bench

import (
	"context"

	"github.com/stella-ls/stella-ls/graph/internal/sitter"
	"github.com/stella-ls/stella-ls/graph/lang"
	"github.com/stella-ls/stella-ls/graph/lang/all"
)

// Knows reports whether a path is of a language of the graph.
func Knows(p string) bool { return all.For(p) != nil }

// symbols is the one query of the floor: definitions with their names, as an
// outline needs them.
var symbols = map[string]string{
	"python":     "(function_definition name: (identifier) @n) @d (class_definition name: (identifier) @n) @d",
	"typescript": "(function_declaration name: (identifier) @n) @d (class_declaration name: (_) @n) @d (method_definition name: (_) @n) @d (interface_declaration name: (_) @n) @d",
	"rust":       "(function_item name: (identifier) @n) @d (struct_item name: (_) @n) @d (impl_item) @d",
	"go":         "(function_declaration name: (identifier) @n) @d (method_declaration name: (_) @n) @d (type_spec name: (_) @n) @d",
}

// Floor parses texts and counts their symbols. It is for one goroutine.
type Floor struct {
	parts  map[*lang.Language]*part
	cursor *sitter.Cursor
}

type part struct {
	parser *sitter.Parser
	query  *sitter.Query
}

// NewFloor makes one; Close frees it.
func NewFloor() *Floor {
	return &Floor{parts: map[*lang.Language]*part{}, cursor: sitter.NewCursor()}
}

// Close frees parsers and queries.
func (f *Floor) Close() {
	for _, p := range f.parts {
		p.parser.Close()
		p.query.Close()
	}
	f.cursor.Close()
}

func (f *Floor) part(l *lang.Language) (*part, error) {
	if p := f.parts[l]; p != nil {
		return p, nil
	}
	g := sitter.NewLanguage(l.Grammar())
	parser, err := sitter.NewParser(g, 0)
	if err != nil {
		return nil, err
	}
	query, err := sitter.NewQuery(g, symbols[l.Name])
	if err != nil {
		return nil, err
	}
	p := &part{parser, query}
	f.parts[l] = p
	return p, nil
}

// File parses a text and runs the query; it returns the number of captures.
func (f *Floor) File(path string, text []byte) (int, error) {
	p, err := f.part(all.For(path))
	if err != nil {
		return 0, err
	}
	tree, err := p.parser.Parse(context.Background(), text, nil)
	if err != nil {
		return 0, err
	}
	defer tree.Close()
	captures, _ := f.cursor.RunAll(p.query, tree)
	return len(captures), nil
}

// Incremental is the bare incremental parse of one text.
type Incremental struct {
	parser *sitter.Parser
	tree   *sitter.Tree
}

// NewIncremental parses the first text.
func NewIncremental(path string, text []byte) (*Incremental, error) {
	parser, err := sitter.NewParser(sitter.NewLanguage(all.For(path).Grammar()), 0)
	if err != nil {
		return nil, err
	}
	tree, err := parser.Parse(context.Background(), text, nil)
	return &Incremental{parser: parser, tree: tree}, err
}

// Insert parses text, which has one byte more at at than the text before.
func (i *Incremental) Insert(at int, text []byte) error {
	p := point(text, at)
	i.tree.Edit(sitter.Edit{Start: uint32(at), OldEnd: uint32(at), NewEnd: uint32(at + 1), StartPoint: p, OldEndPoint: p, NewEndPoint: sitter.Point{Row: p.Row, Column: p.Column + 1}})
	next, err := i.parser.Parse(context.Background(), text, i.tree)
	if err != nil {
		return err
	}
	i.tree.Close()
	i.tree = next
	return nil
}

func point(text []byte, at int) (p sitter.Point) {
	for _, c := range text[:at] {
		p.Column++
		if c == '\n' {
			p = sitter.Point{Row: p.Row + 1}
		}
	}
	return p
}

// Close frees the tree.
func (i *Incremental) Close() {
	i.tree.Close()
	i.parser.Close()
}
