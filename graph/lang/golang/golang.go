// Package golang teaches the graph Go.
package golang

import (
	_ "embed"
	"path"
	"regexp"

	"github.com/stella-ls/stella-ls/graph/facts"
	"github.com/stella-ls/stella-ls/graph/lang"
	grammar "github.com/tree-sitter/tree-sitter-go/bindings/go"
)

//go:embed queries.scm
var queries string

// Language is Go.
var Language = &lang.Language{
	Name: "go", Fence: "go", Exts: []string{".go"},
	Grammar: grammar.Language, Queries: queries,
	Recv: map[string]lang.RecvMode{
		"identifier": lang.ByEnd, "selector_expression": lang.ByEnd, "package_identifier": lang.ByEnd, "field_identifier": lang.ByEnd,
	},
	Shadows:  true,
	Binding:  func(name string) bool { return name != "_" },
	Exports:  func(d facts.Def) bool { return true },
	Package:  path.Dir,
	Resync:   regexp.MustCompile(`(?m)^(?:func|type|var|const|import)\b`),
	Resolver: newResolver,
}
