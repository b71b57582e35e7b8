// Package rust teaches the graph Rust.
package rust

import (
	_ "embed"
	"regexp"
	"unicode"
	"unicode/utf8"

	"github.com/stella-ls/stella-ls/graph/lang"
	grammar "github.com/tree-sitter/tree-sitter-rust/bindings/go"
)

//go:embed queries.scm
var queries string

// Language is Rust.
var Language = &lang.Language{
	Name: "rust", Fence: "rust", Exts: []string{".rs"},
	Grammar: grammar.Language, Queries: queries,
	Recv: map[string]lang.RecvMode{
		"identifier": lang.ByEnd, "field_expression": lang.ByEnd, "self": lang.Instance,
	},
	Unwrap: []string{"Box", "Rc", "Arc", "Result", "Option", "RefCell", "Mutex", "RwLock"},
	// A capitalised name in a pattern is a constant or a variant.
	Binding: func(name string) bool {
		r, _ := utf8.DecodeRuneInString(name)
		return !unicode.IsUpper(r) && name != "_"
	},
	Shadows: true, ClosedModules: true,
	ImportCalls: []string{"path"},
	ImportTree:  useTree,
	Resync:      regexp.MustCompile(`(?m)^(?:pub|fn|struct|enum|impl|trait|mod|use|const|static|type|macro_rules|unsafe|async|extern)\b`),
	Resolver:    newResolver,
	Roots:       []string{"crate", "super", "self"},
}
