package graph

import "strings"

// LanguageID is the LSP identifier of the language of a path by its name, as
// editors spell it in didOpen; "" for what is not indexed.
func LanguageID(p string) string {
	l := languageOf(p)
	switch {
	case l == nil:
		return ""
	case l.Name == "tsx":
		return "typescriptreact"
	case strings.HasSuffix(p, ".jsx"):
		return "javascriptreact"
	}
	return l.Name
}
