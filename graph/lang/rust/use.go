package rust

import (
	"strings"

	"github.com/stella-ls/stella-ls/graph/facts"
)

// useTree decodes the argument of a use declaration, text[start:end], into one
// import per leaf: use a::{b::C as D, e::*} binds D from a::b and everything of a::e.
func useTree(text []byte, start, end uint32) []facts.Import {
	p := useParser{text: text, at: int(start), end: int(end)}
	p.stmtStart, p.stmtEnd = statement(text, int(start), int(end))
	p.pub = strings.HasPrefix(string(text[p.stmtStart:start]), "pub")
	p.tree(nil)
	return p.out
}

// statement is the range from the line's "pub" or "use" to the semicolon.
func statement(text []byte, start, end int) (int, int) {
	s := strings.LastIndexAny(string(text[:start]), ";{}\n")
	s++
	for s < start && (text[s] == ' ' || text[s] == '\t' || text[s] == '\r') {
		s++
	}
	if end < len(text) && text[end] == ';' {
		end++
	}
	return s, end
}

type segment struct {
	name  string
	start int
}

type useParser struct {
	text               []byte
	at, end            int
	stmtStart, stmtEnd int
	pub                bool
	depth              int
	out                []facts.Import
}

// maxDepth bounds nested groups; what is deeper is left out.
const maxDepth = 64

func (p *useParser) tree(prefix []segment) {
	path := append([]segment(nil), prefix...)
	for {
		p.skip()
		if p.at >= p.end {
			break
		}
		switch c := p.text[p.at]; {
		case c == '{':
			p.group(path)
			return
		case c == '*':
			p.leaf(path, segment{"*", p.at}, segment{})
			p.at++
			return
		case c == ':':
			p.at++
		case wordByte(c):
			w := p.word()
			if w.name == "as" && len(path) > len(prefix) {
				p.skip()
				p.leaf(path[:len(path)-1], path[len(path)-1], p.word())
				return
			}
			path = append(path, w)
		default: // , or }
			p.last(prefix, path)
			return
		}
	}
	p.last(prefix, path)
}

func (p *useParser) last(prefix, path []segment) {
	if len(path) > len(prefix) {
		p.leaf(path[:len(path)-1], path[len(path)-1], segment{})
	}
}

func (p *useParser) group(path []segment) {
	p.at++
	if p.depth++; p.depth > maxDepth {
		p.at = p.end
		return
	}
	for p.at < p.end {
		p.skip()
		if p.at >= p.end {
			break
		}
		if p.text[p.at] == '}' {
			p.at++
			break
		}
		if p.text[p.at] == ',' {
			p.at++
			continue
		}
		before := p.at
		p.tree(path)
		if p.at == before {
			p.at++
		}
	}
	p.depth--
}

// leaf adds one import. {self} means the path before it.
func (p *useParser) leaf(path []segment, name, alias segment) {
	selfAt := name
	if name.name == "self" && len(path) > 0 {
		name, path = path[len(path)-1], path[:len(path)-1]
		if alias.name == "" {
			alias = segment{name.name, selfAt.start}
		}
	}
	im := facts.Import{Kind: facts.ImportStatic, Start: uint32(p.stmtStart), End: uint32(p.stmtEnd)}
	if p.pub {
		im.Kind = facts.ReExport
	}
	b := facts.Binding{Name: name.name, NameStart: uint32(name.start), As: name.name, AsStart: uint32(name.start), Binds: true, Exports: true}
	if alias.name != "" {
		b.As, b.AsStart = alias.name, uint32(alias.start)
	}
	if b.As == "_" {
		b.As, b.Binds = "", false
	}
	if name.name == "*" {
		b.Kind, b.Name, b.As = facts.Star, "", ""
	}
	im.SpecStart = uint32(name.start)
	if len(path) > 0 {
		parts := make([]string, len(path))
		for i, s := range path {
			parts[i] = s.name
		}
		im.Spec, im.SpecStart = strings.Join(parts, "::"), uint32(path[0].start)
	} else if b.Kind == facts.Named {
		im.Spec, b.Kind, b.Name = name.name, facts.Whole, ""
	}
	im.Bindings = []facts.Binding{b}
	p.out = append(p.out, im)
}

func (p *useParser) word() segment {
	s := p.at
	for p.at < p.end && wordByte(p.text[p.at]) {
		p.at++
	}
	return segment{string(p.text[s:p.at]), s}
}

// skip skips white space and comments.
func (p *useParser) skip() {
	for p.at < p.end {
		switch c := p.text[p.at]; {
		case c == ' ' || c == '\t' || c == '\n' || c == '\r':
			p.at++
		case c == '/' && p.at+1 < p.end && p.text[p.at+1] == '/':
			for p.at < p.end && p.text[p.at] != '\n' {
				p.at++
			}
		case c == '/' && p.at+1 < p.end && p.text[p.at+1] == '*':
			n := strings.Index(string(p.text[p.at+2:p.end]), "*/")
			if n < 0 {
				p.at = p.end
				return
			}
			p.at += n + 4
		default:
			return
		}
	}
}

func wordByte(c byte) bool {
	return c == '_' || c == '#' || c >= 0x80 || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9'
}
