package typescript

import (
	"bytes"
	"regexp"

	"github.com/stella-ls/stella-ls/graph/facts"
	"github.com/stella-ls/stella-ls/graph/lang/javascript"
)

// typeStar is a form that the grammar does not know: export type * from "x",
// and export type * as ns from "x".
var typeStar = regexp.MustCompile(`(?m)^[ \t]*export\s+type\s+\*(?:\s+as\s+([\w$]+))?\s+from\s+(['"])([^'"\n]+)['"]\s*;?`)

// Fix adds what the queries cannot say.
func Fix(text []byte, from, to uint32, f *facts.File) {
	javascript.Fix(text, from, to, f)
	if !hasTypeStar(text[from:to]) {
		return
	}
	for _, m := range typeStar.FindAllSubmatchIndex(text[from:to], -1) {
		for i := range m {
			if m[i] >= 0 {
				m[i] += int(from)
			}
		}
		if known(f, uint32(m[6])) || m[0] > 0 && text[m[0]-1] != '\n' { // the pattern takes from for a line's beginning
			continue
		}
		im := facts.Import{Kind: facts.ReExport, Start: uint32(m[0]), End: uint32(m[1]), Spec: string(text[m[6]:m[7]]), SpecStart: uint32(m[6]), TypeOnly: true}
		b := facts.Binding{Kind: facts.Star, Exports: true, NameStart: uint32(m[0]), AsStart: uint32(m[0])}
		if m[2] >= 0 {
			b = facts.Binding{Kind: facts.Whole, As: string(text[m[2]:m[3]]), AsStart: uint32(m[2]), NameStart: uint32(m[2]), Exports: true}
		}
		im.Bindings = []facts.Binding{b}
		at := 0
		for at < len(f.Imports) && f.Imports[at].Start <= im.Start {
			at++
		}
		f.Imports = append(f.Imports[:at], append([]facts.Import{im}, f.Imports[at:]...)...)
	}
}

// hasTypeStar looks for a star after the word type, which costs far less than the
// pattern in the many texts without.
func hasTypeStar(text []byte) bool {
	for at := 0; ; at++ {
		n := bytes.IndexByte(text[at:], '*')
		if n < 0 {
			return false
		}
		at += n
		if bytes.HasSuffix(bytes.TrimRight(text[:at], " \t\r\n"), []byte("type")) {
			return true
		}
	}
}

func known(f *facts.File, specStart uint32) bool {
	for _, im := range f.Imports {
		if im.SpecStart == specStart && len(im.Bindings) > 0 {
			return true
		}
	}
	return false
}
