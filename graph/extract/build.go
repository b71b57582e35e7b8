package extract

import (
	"encoding/binary"

	"github.com/stella-ls/stella-ls/graph/facts"
	"github.com/stella-ls/stella-ls/graph/internal/sitter"
	"github.com/stella-ls/stella-ls/graph/lang"
)

// ref is an identifier before it becomes an occurrence.
type ref struct {
	start, end         uint32
	recvStart, recvEnd uint32
	role               facts.Role
	recv               facts.RecvKind
	mode               lang.RecvMode
	ignore             bool
}

// scope is a scope before it is numbered.
type scope struct {
	start, end uint32
	kind       facts.ScopeKind
}

// def is a definition before its parts are linked.
type def struct {
	kind               facts.Kind
	flags              facts.Flags
	start, end         uint32
	nameStart, nameEnd uint32
	sigEnd             uint32
	doc                facts.Span
	selfField          bool
	typ, init, owner   facts.Span
	bases              []facts.Span
}

type comment struct {
	facts.Span
	attribute bool
}

// builder interprets captures. Its slices are reused from file to file.
type builder struct {
	u        *Unit
	text     []byte
	refs     []ref
	scopes   []scope
	defs     []def
	defAt    map[uint32]int32 // start of the name -> index in defs
	comments []comment
	later    []sitter.Capture // matches that add to definitions, or import
	imports  importSet
	names    map[string]uint32
}

func (b *builder) reset(u *Unit, text []byte) {
	b.u, b.text = u, text
	b.refs, b.scopes, b.defs, b.comments, b.later = b.refs[:0], b.scopes[:0], b.defs[:0], b.comments[:0], b.later[:0]
	if b.defAt == nil {
		b.defAt, b.names = map[uint32]int32{}, map[string]uint32{}
	}
	clear(b.defAt)
	clear(b.names)
	b.imports.reset()
}

// lines finds where lines start ("\n", "\r\n" and "\r" end one), and whether the
// text is ASCII.
func lines(text []byte) ([]uint32, bool) {
	out := appendLines(make([]uint32, 1, 1+len(text)/32), text, 0, len(text))
	return out, ascii(text)
}

// appendLines adds the starts of the lines that the bytes from from to to end.
func appendLines(out []uint32, text []byte, from, to int) []uint32 {
	for i := from; i < to; i++ {
		if c := text[i]; c == '\n' || (c == '\r' && (i+1 == len(text) || text[i+1] != '\n')) {
			out = append(out, uint32(i+1))
		}
	}
	return out
}

func ascii(text []byte) bool {
	for len(text) >= 8 {
		if binary.LittleEndian.Uint64(text)&0x8080808080808080 != 0 {
			return false
		}
		text = text[8:]
	}
	for _, c := range text {
		if c >= 0x80 {
			return false
		}
	}
	return true
}

func (b *builder) str(s facts.Span) string { return string(b.text[s.Start:s.End]) }

func span(c sitter.Capture) facts.Span { return facts.Span{Start: c.Start, End: c.End} }

// add takes captures whose offsets are relative to at.
func (b *builder) add(captures []sitter.Capture) {
	for i := 0; i < len(captures); {
		j := i + 1
		for j < len(captures) && captures[j].Match == captures[i].Match {
			j++
		}
		b.match(captures[i:j])
		i = j
	}
}

// finish links everything and returns the facts of [from, to).
func (b *builder) finish(from, to uint32) *facts.File {
	b.attributes()
	f := &facts.File{Size: uint32(len(b.text))}
	b.numberScopes(f)
	b.imports.finish(b, f)
	b.sortDefs(f)
	b.occurrences(f)
	b.link(f)
	b.docs(f)
	b.rebind(f)
	if b.u.Fix != nil {
		b.u.Fix(b.text, from, to, f)
	}
	return f
}
