package graph

import (
	"path"
	"strings"
	"unicode/utf8"

	"github.com/stella-ls/stella-ls/graph/facts"
	"github.com/stella-ls/stella-ls/internal/workspace"
)

// textOf is the text that a view's offsets are of, or nil when the file on disk
// is another one by now (it is then queued to be looked at).
func (s *solver) textOf(v *view) []byte {
	if v.open {
		return v.text
	}
	if t, ok := s.texts[v.path]; ok {
		return t
	}
	t, err := s.g.source.Read(v.path, maxFile)
	if err != nil || keyOf(v.lang, t) != v.key {
		s.stale = append(s.stale, v.path)
		t = nil
	}
	if s.texts == nil {
		s.texts = map[string][]byte{}
	}
	s.texts[v.path] = t
	return t
}

// position is a byte offset as a line and a column in an encoding.
func (s *solver) position(v *view, at uint32, e workspace.Encoding) workspace.Position {
	at = min(at, v.Size)
	line := v.LineOf(at)
	start := v.Lines[line]
	col := at - start
	if e != workspace.UTF8 && !v.ASCII {
		if t := s.textOf(v); int(at) <= len(t) {
			col = columns(t[start:at], e)
		}
	}
	return workspace.Position{Line: uint32(line), Character: col}
}

// columns counts the characters of a part of a line.
func columns(b []byte, e workspace.Encoding) uint32 {
	n := uint32(0)
	for len(b) > 0 {
		r, size := utf8.DecodeRune(b)
		b = b[size:]
		n++
		if e == workspace.UTF16 && r >= 0x10000 {
			n++
		}
	}
	return n
}

// offset is the byte offset of a position; past a line's end means its end.
func (s *solver) offset(v *view, p workspace.Position, e workspace.Encoding) uint32 {
	if int(p.Line) >= len(v.Lines) {
		return v.Size
	}
	start, end := v.Lines[p.Line], v.Size
	if int(p.Line)+1 < len(v.Lines) {
		end = v.Lines[p.Line+1]
	}
	if e == workspace.UTF8 || v.ASCII {
		return min(start+p.Character, end)
	}
	t := s.textOf(v)
	if int(end) > len(t) {
		return min(start+p.Character, end)
	}
	line := t[start:end]
	n := uint32(0)
	for i := 0; i < len(line); {
		if n >= p.Character {
			return start + uint32(i)
		}
		r, size := utf8.DecodeRune(line[i:])
		n++
		if e == workspace.UTF16 && r >= 0x10000 {
			n++
		}
		if n > p.Character {
			return start + uint32(i) // inside a character
		}
		i += size
	}
	return end
}

func (s *solver) rng(v *view, start, end uint32, e workspace.Encoding) workspace.Range {
	return workspace.Range{Start: s.position(v, start, e), End: s.position(v, end, e)}
}

func wire(r workspace.Range) *Range {
	return &Range{
		Start: Position{Line: int(r.Start.Line), Character: int(r.Start.Character)},
		End:   Position{Line: int(r.End.Line), Character: int(r.End.Character)},
	}
}

// containerOf names what a definition belongs to.
func containerOf(v *view, d *facts.Def) string {
	if d.Owner != facts.None {
		return v.Name(d.Owner)
	}
	if d.Parent != facts.None {
		return v.DefName(d.Parent)
	}
	return ""
}

// location describes a value for the editor.
func (s *solver) location(x value, e workspace.Encoding) (Location, bool) {
	if x.kind == vModule {
		p := x.path
		if p == "" {
			return Location{}, false
		}
		l := Location{Path: workspace.Path(p), Name: path.Base(p), Kind: "module", How: x.how}
		if v := s.view(p); v != nil && x.def != facts.None {
			return s.location(value{vDef, p, x.def, "", x.how}, e)
		} else if v != nil {
			l.Version = v.version
		}
		return l, true
	}
	if x.kind == vInstance { // a collection: its elements' type
		x.kind = vDef
	}
	if x.kind != vDef {
		return Location{}, false
	}
	v := s.view(x.path)
	if v == nil || x.def < 0 || int(x.def) >= len(v.Defs) {
		return Location{}, false
	}
	d := &v.Defs[x.def]
	nameEnd := d.NameStart + uint32(len(v.DefName(x.def)))
	return Location{
		Path: workspace.Path(x.path), Version: v.version,
		Range: s.rng(v, d.Start, d.End, e), NameRange: s.rng(v, d.NameStart, nameEnd, e),
		Start: int(d.Start), End: int(d.End), NameStart: int(d.NameStart), NameEnd: int(nameEnd),
		Name: v.DefName(x.def), Kind: d.Kind.String(), Container: containerOf(v, d), How: x.how,
	}, true
}

// signature is the head of a definition on one line.
func (s *solver) signature(v *view, d *facts.Def) string {
	t := s.textOf(v)
	if int(d.SigEnd) > len(t) {
		return ""
	}
	from := d.Start
	// Without its decorators: from the line of the name.
	if l := v.Lines[v.LineOf(d.NameStart)]; l > from {
		from = l
	}
	if d.SigEnd <= from {
		return ""
	}
	return oneLine(string(t[from:d.SigEnd]))
}

// maxSignature bounds a signature, in bytes.
const maxSignature = 300

func oneLine(s string) string {
	s = strings.Join(strings.Fields(s), " ")
	s = strings.TrimRight(s, " {:")
	if len(s) > maxSignature {
		cut := maxSignature
		for cut > 0 && !utf8.RuneStart(s[cut]) {
			cut--
		}
		s = s[:cut] + " …"
	}
	return s
}

// lineText is the line around a byte, trimmed.
func (s *solver) lineText(v *view, at uint32) string {
	t := s.textOf(v)
	line := v.LineOf(at)
	start, end := v.Lines[line], v.Size
	if line+1 < len(v.Lines) {
		end = v.Lines[line+1]
	}
	if int(end) > len(t) {
		return ""
	}
	return oneLineText(string(t[start:end]))
}

func oneLineText(s string) string {
	s = strings.TrimSpace(s)
	if len(s) > maxSignature {
		cut := maxSignature
		for cut > 0 && !utf8.RuneStart(s[cut]) {
			cut--
		}
		s = s[:cut] + " …"
	}
	return s
}

// docText is a doc comment without its signs.
func docText(raw string) string {
	var out []string
	for _, line := range strings.Split(raw, "\n") {
		l := strings.TrimSpace(line)
		for _, sign := range []string{"///", "//!", "//", "/**", "/*!", "/*", "*/", "--", "\"\"\"", "'''", "#!", "#["} {
			if rest, ok := strings.CutPrefix(l, sign); ok && sign != "#[" {
				l = rest
				break
			}
		}
		if rest, ok := strings.CutPrefix(l, "*"); ok && !strings.HasPrefix(l, "**") {
			l = rest
		}
		if rest, ok := strings.CutPrefix(l, "#"); ok {
			l = rest
		}
		for _, sign := range []string{"*/", "\"\"\"", "'''"} {
			l = strings.TrimSuffix(strings.TrimSpace(l), sign)
		}
		out = append(out, strings.TrimSpace(l))
	}
	return strings.TrimSpace(strings.Join(out, "\n"))
}
