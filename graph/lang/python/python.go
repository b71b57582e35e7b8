// Package python teaches the graph Python.
package python

import (
	_ "embed"
	"regexp"

	"github.com/stella-ls/stella-ls/graph/lang"
	grammar "github.com/tree-sitter/tree-sitter-python/bindings/go"
)

//go:embed queries.scm
var queries string

var selfNames = []string{"self", "cls"}

// Language is Python, stubs included.
var Language = &lang.Language{
	Name: "python", Fence: "python", Exts: []string{".py", ".pyi"},
	Grammar: grammar.Language, Queries: queries,
	Recv:       map[string]lang.RecvMode{"identifier": lang.ByEnd, "attribute": lang.ByEnd},
	SelfNames:  selfNames,
	Infer:      Infer,
	Unwrap:     []string{"Optional", "Annotated", "Final", "ClassVar", "Type", "type", "Awaitable"},
	Rebinds:    true,
	ClassNames: true,
	Resync:     regexp.MustCompile(`(?m)^(?:async[ \t]+def|def|class|@\w)`),
	Resolver:   newResolver,
}
