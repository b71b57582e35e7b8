// Package tsx teaches the graph TSX: TypeScript's queries over the grammar with JSX.
package tsx

import (
	"github.com/stella-ls/stella-ls/graph/lang"
	"github.com/stella-ls/stella-ls/graph/lang/javascript"
	"github.com/stella-ls/stella-ls/graph/lang/typescript"
	grammar "github.com/tree-sitter/tree-sitter-typescript/bindings/go"
)

// Language is TSX.
var Language = &lang.Language{
	Name: "tsx", Fence: "tsx", Exts: []string{".tsx"},
	Grammar: grammar.LanguageTSX, Queries: javascript.Common + javascript.JSX + typescript.Queries,
	Recv:        javascript.Recv,
	Unwrap:      typescript.Unwrap,
	Family:      "javascript",
	ImportCalls: []string{"require"},
	Exports:     javascript.Exported,
	Fix:         typescript.Fix,
	Infer:       javascript.Infer,
	Resync:      javascript.Resync,
	Resolver:    javascript.NewResolver,
}
