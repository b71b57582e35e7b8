// Package typescript teaches the graph TypeScript.
package typescript

import (
	_ "embed"

	"github.com/stella-ls/stella-ls/graph/lang"
	"github.com/stella-ls/stella-ls/graph/lang/javascript"
	grammar "github.com/tree-sitter/tree-sitter-typescript/bindings/go"
)

// Queries are what TypeScript and TSX add to JavaScript.
//
//go:embed queries.scm
var Queries string

// Unwrap are types that matter by their argument.
var Unwrap = []string{"Promise", "Readonly", "Partial", "Required", "NonNullable", "Awaited", "Omit", "Pick", "Extract", "Exclude", "NoInfer"}

// Language is TypeScript without JSX.
var Language = &lang.Language{
	Name: "typescript", Fence: "typescript", Exts: []string{".ts", ".mts", ".cts"},
	Grammar: grammar.LanguageTypescript, Queries: javascript.Common + Queries,
	Recv:        javascript.Recv,
	Unwrap:      Unwrap,
	Family:      "javascript",
	ImportCalls: []string{"require"},
	Exports:     javascript.Exported,
	Fix:         Fix,
	Infer:       javascript.Infer,
	Resync:      javascript.Resync,
	Resolver:    javascript.NewResolver,
}
