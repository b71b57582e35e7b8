// Package all registers the languages.
package all

import (
	"github.com/stella-ls/stella-ls/graph/lang"
	"github.com/stella-ls/stella-ls/graph/lang/golang"
	"github.com/stella-ls/stella-ls/graph/lang/javascript"
	"github.com/stella-ls/stella-ls/graph/lang/python"
	"github.com/stella-ls/stella-ls/graph/lang/rust"
	"github.com/stella-ls/stella-ls/graph/lang/sql"
	"github.com/stella-ls/stella-ls/graph/lang/tsx"
	"github.com/stella-ls/stella-ls/graph/lang/typescript"
)

// Languages, in the order in which a path is tried.
var Languages = []*lang.Language{
	rust.Language,
	python.Language,
	javascript.Language,
	typescript.Language,
	tsx.Language,
	sql.Language,
	golang.Language,
}

// For is the language of a path, or nil.
func For(path string) *lang.Language {
	for _, l := range Languages {
		if l.Matches(path) {
			return l
		}
	}
	return nil
}
