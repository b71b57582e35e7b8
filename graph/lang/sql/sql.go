// Package sql teaches the graph SQL.
package sql

import (
	_ "embed"

	grammar "github.com/alexaandru/go-sitter-forest/sql"
	"github.com/stella-ls/stella-ls/graph/lang"
)

//go:embed queries.scm
var queries string

// Language is SQL: PostgreSQL's grammar, with a splitter and a header matcher
// that make the most of other dialects.
var Language = &lang.Language{
	Name: "sql", Fence: "sql", Exts: []string{".sql", ".ddl", ".pgsql", ".psql"},
	Grammar: grammar.GetLanguage, Queries: queries,
	FoldCase: true,
	Unquote:  true,
	Prepare:  prepare,
	Split:    Split,
	Header:   MatchHeader,
	// All SQL of a workspace is one catalogue.
	Package: func(string) string { return "sql" },
}
