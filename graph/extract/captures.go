package extract

import (
	"bytes"
	"slices"

	"github.com/stella-ls/stella-ls/graph/facts"
	"github.com/stella-ls/stella-ls/graph/internal/sitter"
	"github.com/stella-ls/stella-ls/graph/lang"
)

// match handles the captures of one match.
func (b *builder) match(m []sitter.Capture) {
	if len(m) == 1 {
		b.single(m[0])
		return
	}
	var d def
	var r ref
	var keep bool
	for _, c := range m {
		a := b.u.actions[c.Capture]
		switch a.op {
		case opDef, opSelfField:
			d.kind, d.start, d.end, d.selfField = facts.Kind(a.arg), c.Start, c.End, a.op == opSelfField
		case opName:
			n := b.plain(span(c))
			d.nameStart, d.nameEnd = n.Start, n.End
		case opBody, opType, opInit, opOwner, opBase, opDoc, opExported, opDefault, opStatic:
			d.describe(a.op, c)
		case opCJS:
			if s := b.str(span(c)); s != "exports" && s != "module.exports" {
				return
			}
		case opAll:
			if b.str(span(c)) != "__all__" {
				return
			}
		case opSelf:
			if !slices.Contains(b.u.SelfNames, b.str(span(c))) {
				return
			}
		case opFn:
			if !slices.Contains(b.u.ImportCalls, b.str(span(c))) {
				return
			}
		case opOf, opImport:
			keep = true
		case opRef:
			n := b.plain(span(c))
			r.start, r.end, r.role = n.Start, n.End, max(r.role, facts.Role(a.arg))
		case opMember:
			n := b.plain(span(c))
			r.start, r.end = n.Start, n.End
			if r.recv == facts.NoRecv {
				r.recv = facts.RecvUnknown
			}
		case opRecv:
			r.recvStart, r.recvEnd, r.recv, r.mode = c.Start, c.End, facts.RecvName, b.u.recvMode(c.Symbol)
		case opRecvCall:
			r.recvStart, r.recvEnd, r.recv, r.mode = c.Start, c.End, facts.RecvCall, lang.ByEnd
		case opRecvArg:
			r.recvStart, r.recvEnd, r.recv, r.mode = c.Start, c.End, facts.RecvArg, lang.ByEnd
		case opRecvPath:
			r.recvStart, r.recvEnd, r.recv, r.mode = c.Start, c.End, facts.RecvName, lang.ByHead
		default:
			b.single(c)
		}
	}
	if keep {
		b.later = append(b.later, m...)
		return
	}
	if d.kind != facts.KindNone && d.nameEnd > d.nameStart {
		b.define(d)
	}
	if r.end > r.start {
		b.refs = append(b.refs, r)
	}
}

// describe takes a capture that says something about a definition.
func (d *def) describe(o op, c sitter.Capture) {
	switch o {
	case opBody:
		d.sigEnd = c.Start
	case opType:
		d.typ = span(c)
	case opInit:
		d.init = span(c)
	case opOwner:
		d.owner = span(c)
	case opBase:
		d.bases = append(d.bases, span(c))
	case opDoc:
		d.doc = span(c)
	case opExported:
		d.flags |= facts.Exported
	case opDefault:
		d.flags |= facts.Exported | facts.Default
	case opStatic:
		d.flags |= facts.OnType
	}
}

// single handles a capture that means something by itself.
func (b *builder) single(c sitter.Capture) {
	a := b.u.actions[c.Capture]
	if a.op == opRef || a.op == opMember || a.op == opIgnore {
		n := b.plain(span(c))
		c.Start, c.End = n.Start, n.End
	}
	switch a.op {
	case opRef:
		b.refs = append(b.refs, ref{start: c.Start, end: c.End, role: facts.Role(a.arg)})
	case opQuoted:
		if n := b.plain(span(c)); n.Start > c.Start {
			b.refs = append(b.refs, ref{start: n.Start, end: n.End})
		}
	case opWord:
		b.words(c, facts.Role(a.arg))
	case opClass:
		if last := c.Start + uint32(bytes.LastIndexByte(b.text[c.Start:c.End], '.')+1); last < c.End && 'A' <= b.text[last] && b.text[last] <= 'Z' {
			b.words(c, facts.Role(a.arg))
		}
	case opMember:
		b.refs = append(b.refs, ref{start: c.Start, end: c.End, recv: facts.RecvUnknown})
	case opIgnore:
		b.refs = append(b.refs, ref{start: c.Start, end: c.End, ignore: true})
	case opScope:
		b.scopes = append(b.scopes, scope{c.Start, c.End, facts.ScopeKind(a.arg)})
	case opComment, opAttribute:
		b.comments = append(b.comments, comment{span(c), a.op == opAttribute})
	case opImportRaw:
		b.imports.raw(b, c)
	}
}

// words are the names of a type that is written in a string, if that is what it
// is: a line without spaces but after commas and around bars.
func (b *builder) words(c sitter.Capture, role facts.Role) {
	for i := c.Start; i < c.End; i++ {
		if x := b.text[i]; !wordByte(x) && bytes.IndexByte([]byte(".,[]| "), x) < 0 {
			return
		}
		if b.text[i] == ' ' && i > c.Start && bytes.IndexByte([]byte(",|"), b.text[i-1]) < 0 && (i+1 == c.End || b.text[i+1] != '|') {
			return
		}
	}
	for i := c.Start; i < c.End; {
		end := i
		for end < c.End && wordByte(b.text[end]) {
			end++
		}
		if end == i {
			i++
			continue
		}
		r := ref{start: i, end: end, role: role}
		if i > c.Start && b.text[i-1] == '.' {
			r.recv, r.mode, r.recvStart, r.recvEnd = facts.RecvName, lang.ByEnd, c.Start, i-1
		}
		if b.text[i] < '0' || b.text[i] > '9' {
			b.refs = append(b.refs, r)
		}
		i = end
	}
}

// plain takes the quotes off a name, in languages whose names may have them.
func (b *builder) plain(s facts.Span) facts.Span {
	if !b.u.Unquote || s.End-s.Start < 2 {
		return s
	}
	switch b.text[s.Start] {
	case '"', '`', '[':
		return facts.Span{Start: s.Start + 1, End: s.End - 1}
	}
	return s
}

// weak kinds give way to others for the same name.
func weak(k facts.Kind) bool {
	return k == facts.Variable || k == facts.Const || k == facts.Field || k == facts.Property || k == facts.Parameter
}

// define adds a definition, or merges it with what another pattern found.
func (b *builder) define(d def) {
	if d.kind == facts.Variable && b.u.Binding != nil && !b.u.Binding(string(b.text[d.nameStart:d.nameEnd])) {
		return
	}
	if d.sigEnd < d.start {
		d.sigEnd = 0
	}
	i, ok := b.defAt[d.nameStart]
	if !ok {
		b.defAt[d.nameStart] = int32(len(b.defs))
		b.defs = append(b.defs, d)
		return
	}
	o := &b.defs[i]
	if o.kind == facts.Parameter && d.selfField { // a parameter that is a field too
		b.defs = append(b.defs, d)
		return
	}
	if strong := weak(o.kind) && (!weak(d.kind) || o.kind == facts.Variable) || o.kind == facts.Type && d.kind.TypeLike(); strong {
		o.kind, o.start, o.end = d.kind, min(o.start, d.start), max(o.end, d.end)
	}
	b.merge(o, d)
}

func (b *builder) merge(o *def, d def) {
	o.flags |= d.flags
	if d.sigEnd != 0 {
		o.sigEnd = d.sigEnd
	}
	if d.doc.End != 0 {
		o.doc = d.doc
	}
	if d.typ.End != 0 {
		o.typ = d.typ
	}
	if d.init.End != 0 {
		o.init = d.init
	}
	if d.owner.End != 0 {
		o.owner = d.owner
	}
	o.bases = append(o.bases, d.bases...)
}

// attributes handles the matches with @of and @import, once all definitions are known.
func (b *builder) attributes() {
	m := b.later
	for i := 0; i < len(m); {
		j := i + 1
		for j < len(m) && m[j].Match == m[i].Match {
			j++
		}
		b.attribute(m[i:j])
		i = j
	}
}

func (b *builder) attribute(m []sitter.Capture) {
	var d def
	var wide facts.Span
	of := int32(-1)
	isImport := false
	for _, c := range m {
		switch a := b.u.actions[c.Capture]; a.op {
		case opOf:
			if i, ok := b.defAt[b.plain(span(c)).Start]; ok {
				of = i
			}
		case opWider:
			wide = span(c)
		case opBody, opType, opInit, opOwner, opBase, opDoc, opExported, opDefault, opStatic:
			d.describe(a.op, c)
		case opImport:
			isImport = true
		}
	}
	if isImport {
		b.imports.match(b, m)
		return
	}
	if of < 0 {
		return
	}
	o := &b.defs[of]
	if wide.End != 0 {
		o.start, o.end = min(o.start, wide.Start), max(o.end, wide.End)
	}
	b.merge(o, d)
}
