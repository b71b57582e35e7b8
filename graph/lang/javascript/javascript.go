// Package javascript teaches the graph JavaScript, and holds what TypeScript and
// TSX share with it.
package javascript

import (
	"bytes"
	_ "embed"
	"regexp"

	"github.com/stella-ls/stella-ls/graph/facts"
	"github.com/stella-ls/stella-ls/graph/lang"
	grammar "github.com/tree-sitter/tree-sitter-javascript/bindings/go"
)

// Common is the part of the queries that TypeScript and TSX share; JSX is for
// JavaScript and TSX.
//
//go:embed common.scm
var Common string

//go:embed jsx.scm
var JSX string

//go:embed queries.scm
var own string

// Recv are the receivers of all three.
var Recv = map[string]lang.RecvMode{
	"identifier": lang.ByEnd, "member_expression": lang.ByEnd, "this": lang.Instance, "super": lang.Super,
	"nested_identifier": lang.ByEnd,
}

// Resync is where all three take a broken text up again.
var Resync = regexp.MustCompile(`(?m)^(?:export|import|class|abstract|interface|type|enum|function|async|const|let|var|declare|namespace)\b`)

// Language is JavaScript, JSX included.
var Language = &lang.Language{
	Name: "javascript", Fence: "javascript", Exts: []string{".js", ".jsx", ".mjs", ".cjs"},
	Grammar: grammar.Language, Queries: Common + JSX + own,
	Recv:        Recv,
	Family:      "javascript",
	ImportCalls: []string{"require"},
	Exports:     Exported,
	Fix:         Fix,
	Infer:       Infer,
	Resync:      Resync,
	Resolver:    NewResolver,
}

// Exported reports whether another file can import a definition: it is marked
// so. What export lists name is found through the lists.
func Exported(d facts.Def) bool { return d.Flags&facts.Exported != 0 }

// Fix exports what stands after an export keyword on a line of its own, which
// the grammar takes for an expression.
func Fix(text []byte, _, _ uint32, f *facts.File) {
	for i := range f.Defs {
		d := &f.Defs[i]
		if d.Scope != 0 || d.Parent != facts.None || d.Flags&facts.Exported != 0 {
			continue
		}
		before := bytes.TrimRight(text[:d.Start], " \t\r\n")
		if !bytes.HasSuffix(before, []byte("export")) || bytes.IndexByte(text[len(before):d.Start], '\n') < 0 {
			continue
		}
		if n := len(before) - len("export"); n == 0 || bytes.IndexByte([]byte(" \t\r\n;}"), text[n-1]) >= 0 {
			d.Flags |= facts.Exported
		}
	}
}
