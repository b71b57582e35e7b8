package extract

import (
	"bytes"
	"slices"
	"sort"

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
	lines    []uint32
	ascii    bool
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
	b.lines, b.ascii = lines(text)
}

// lines finds where lines start ("\n", "\r\n" and "\r" end one), and whether the
// text is ASCII.
func lines(text []byte) ([]uint32, bool) {
	out := make([]uint32, 1, 1+len(text)/32)
	ascii := true
	for i, c := range text {
		if c == '\n' || (c == '\r' && (i+1 == len(text) || text[i+1] != '\n')) {
			out = append(out, uint32(i+1))
		} else if c >= 0x80 {
			ascii = false
		}
	}
	return out, ascii
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

// finish links everything and returns the facts.
func (b *builder) finish() *facts.File {
	b.attributes()
	f := &facts.File{Size: uint32(len(b.text)), Lines: b.lines, ASCII: b.ascii}
	b.numberScopes(f)
	b.imports.finish(b, f)
	b.sortDefs(f)
	b.occurrences(f)
	b.link(f)
	b.docs(f)
	b.rebind(f)
	if b.u.Fix != nil {
		b.u.Fix(b.text, f)
	}
	return f
}

func (b *builder) numberScopes(f *facts.File) {
	slices.SortFunc(b.scopes, func(x, y scope) int {
		switch {
		case x.start != y.start:
			return cmp(x.start, y.start)
		case x.end != y.end:
			return -cmp(x.end, y.end)
		}
		return -cmp(uint32(x.kind), uint32(y.kind))
	})
	f.Scopes = make([]facts.Scope, 1, 1+len(b.scopes))
	f.Scopes[0] = facts.Scope{End: f.Size, Parent: facts.None}
	cur := int32(0)
	for _, s := range b.scopes {
		for f.Scopes[cur].End < s.end && cur != 0 {
			cur = f.Scopes[cur].Parent
		}
		o := f.Scopes[cur]
		if cur != 0 && o.Start == s.start && o.End == s.end {
			continue
		}
		// A body is one scope with the function or module that it is of.
		if s.kind == facts.BlockScope && o.End == s.end && (o.Kind == facts.FunctionScope || o.Kind == facts.ModuleScope) {
			continue
		}
		f.Scopes = append(f.Scopes, facts.Scope{Start: s.start, End: s.end, Parent: cur, Kind: s.kind})
		cur = int32(len(f.Scopes) - 1)
	}
}

func cmp(x, y uint32) int {
	if x < y {
		return -1
	}
	if x > y {
		return 1
	}
	return 0
}

// sortDefs drops definitions that are imports, orders the rest by name, and
// finds what is around each.
func (b *builder) sortDefs(f *facts.File) {
	defs := b.defs[:0]
	for _, d := range b.defs {
		if !b.imports.binds[d.nameStart] {
			defs = append(defs, d)
		}
	}
	b.defs = defs
	slices.SortStableFunc(b.defs, func(x, y def) int { return cmp(x.nameStart, y.nameStart) })
	f.Defs = make([]facts.Def, len(b.defs))
	var stack []int32
	for i := range b.defs {
		d := &b.defs[i]
		for len(stack) > 0 {
			top := &b.defs[stack[len(stack)-1]]
			if top.start <= d.start && d.end <= top.end && (top.start != d.start || top.end != d.end) {
				break
			}
			stack = stack[:len(stack)-1]
		}
		n := facts.Def{Kind: d.kind, Flags: d.flags, Start: d.start, End: d.end, NameStart: d.nameStart, SigEnd: d.sigEnd, Doc: d.doc,
			Parent: facts.None, Owner: facts.None, Type: facts.None, Init: facts.None, Val: facts.None}
		if len(stack) > 0 {
			n.Parent = stack[len(stack)-1]
		}
		n.Scope = b.scopeOf(f, d)
		if d.selfField {
			b.selfField(f, &n)
		}
		if f.Scopes[n.Scope].Kind == facts.ClassScope && n.Kind == facts.Function {
			n.Kind = facts.Method
		}
		if local(f, n.Scope) {
			n.Flags |= facts.Local
		}
		n.SigEnd = b.signatureEnd(n)
		f.Defs[i] = n
		if d.kind != facts.Parameter && d.kind != facts.TypeParam && !d.selfField {
			stack = append(stack, int32(i))
		}
	}
}

// scopeOf is the innermost scope around a definition that is not its own.
func (b *builder) scopeOf(f *facts.File, d *def) int32 {
	s := f.ScopeAt(d.start)
	for s > 0 {
		o := f.Scopes[s]
		if o.End >= d.end && (o.Start != d.start || o.End != d.end) {
			break
		}
		s = o.Parent
	}
	return s
}

// selfField moves a field that a method assigns to its class.
func (b *builder) selfField(f *facts.File, n *facts.Def) {
	for p := n.Parent; p != facts.None; p = f.Defs[p].Parent {
		if f.Defs[p].Kind.TypeLike() {
			n.Parent = p
			break
		}
	}
	s := n.Scope
	for s > 0 && f.Scopes[s].Kind != facts.ClassScope {
		s = f.Scopes[s].Parent
	}
	n.Scope = s
}

// local reports whether a scope is inside a function.
func local(f *facts.File, s int32) bool {
	for ; s > 0; s = f.Scopes[s].Parent {
		if f.Scopes[s].Kind == facts.FunctionScope {
			return true
		}
	}
	return false
}

// signatureEnd cuts the body off, or takes the first line.
func (b *builder) signatureEnd(d facts.Def) uint32 {
	end := d.SigEnd
	if end <= d.NameStart || end > d.End {
		end = d.End
		if i := bytes.IndexByte(b.text[d.NameStart:d.End], '\n'); i >= 0 {
			end = d.NameStart + uint32(i)
		}
	}
	for end > d.Start && bytes.IndexByte([]byte(" \t\r\n"), b.text[end-1]) >= 0 {
		end--
	}
	return end
}

// occurrences merges what the patterns said about each identifier.
func (b *builder) occurrences(f *facts.File) {
	slices.SortFunc(b.refs, func(x, y ref) int { return cmp(x.start, y.start) })
	f.Occs = make([]facts.Occ, 0, len(b.refs))
	ends := make([]uint32, 0, len(b.refs)) // of f.Occs
	d := 0
	for i := 0; i < len(b.refs); {
		r := b.refs[i]
		for i++; i < len(b.refs) && b.refs[i].start == r.start; i++ {
			r = mergeRef(r, b.refs[i])
		}
		for ; d < len(b.defs) && b.defs[d].nameStart < r.start; d++ {
			ends = b.nameOcc(f, ends, d)
		}
		if d < len(b.defs) && b.defs[d].nameStart == r.start {
			ends = b.nameOcc(f, ends, d)
			d++
			continue
		}
		if r.ignore || r.end <= r.start {
			continue
		}
		ends = b.occ(f, ends, r)
	}
	for ; d < len(b.defs); d++ {
		ends = b.nameOcc(f, ends, d)
	}
	b.imports.roles(f)
}

func mergeRef(r, o ref) ref {
	r.ignore = r.ignore || o.ignore
	r.role = max(r.role, o.role)
	r.end = max(r.end, o.end)
	// A call, then a named receiver, beats an unknown one.
	if better := o.recv != facts.NoRecv && (r.recv <= facts.RecvUnknown || r.mode == lang.Unknown); better {
		r.recv, r.mode, r.recvStart, r.recvEnd = o.recv, o.mode, o.recvStart, o.recvEnd
	}
	return r
}

func (b *builder) intern(f *facts.File, start, end uint32) uint32 {
	s := b.text[start:end]
	if n, ok := b.names[string(s)]; ok {
		return n
	}
	n := uint32(len(f.Names))
	f.Names = append(f.Names, string(s))
	b.names[f.Names[n]] = n
	return n
}

// nameOcc adds the occurrence of definition d's own name. The name of an impl
// block is a use of the type.
func (b *builder) nameOcc(f *facts.File, ends []uint32, d int) []uint32 {
	x := &b.defs[d]
	f.Defs[d].Name = b.intern(f, x.nameStart, x.nameEnd)
	role := facts.Definition
	if x.kind == facts.Impl {
		role = facts.TypeUse
	}
	if n := len(f.Occs); n > 0 && f.Occs[n-1].Start == x.nameStart {
		return ends
	}
	f.Occs = append(f.Occs, facts.Occ{Start: x.nameStart, Name: f.Defs[d].Name, Recv: facts.None, Role: role})
	return append(ends, x.nameEnd)
}

func (b *builder) occ(f *facts.File, ends []uint32, r ref) []uint32 {
	o := facts.Occ{Start: r.start, Name: b.intern(f, r.start, r.end), Recv: facts.None, Role: r.role, RecvK: r.recv}
	if r.role == facts.Text && r.recv == facts.NoRecv {
		b.textRecv(&o, ends)
	} else if r.recv.Linked() {
		b.receiver(f, &o, r, ends)
	}
	f.Occs = append(f.Occs, o)
	return append(ends, r.end)
}

// receiver finds the occurrence that an identifier is a member of.
func (b *builder) receiver(f *facts.File, o *facts.Occ, r ref, ends []uint32) {
	at := facts.None
	switch r.mode {
	case lang.ByEnd:
		at = endingAt(ends, r.recvEnd)
	case lang.ByHead:
		if at = endingAt(ends, r.recvEnd); at == facts.None {
			at = b.head(f, ends, facts.Span{Start: r.recvStart, End: r.recvEnd})
		}
	case lang.Instance:
		o.RecvK = facts.RecvSelf
		return
	case lang.Super:
		o.RecvK = facts.RecvSuper
		return
	}
	if at == facts.None {
		o.RecvK = facts.RecvUnknown
		return
	}
	name := f.Name(at)
	switch {
	case f.Occs[at].RecvK != facts.NoRecv:
	case r.recv == facts.RecvCall && name == "super":
		o.RecvK = facts.RecvSuper
		return
	case r.recv == facts.RecvName && slices.Contains(b.u.SelfNames, name):
		o.RecvK = facts.RecvSelf
		return
	}
	o.Recv = at
}

// textRecv guesses the receiver of an identifier in a macro's tokens.
func (b *builder) textRecv(o *facts.Occ, ends []uint32) {
	i := int(o.Start) - 1
	switch {
	case i >= 1 && b.text[i] == ':' && b.text[i-1] == ':':
		i--
	case i >= 0 && b.text[i] == '.' && (i == 0 || b.text[i-1] != '.'):
	default:
		return
	}
	o.RecvK = facts.RecvUnknown
	if i >= 4 && string(b.text[i-4:i]) == "self" && (i == 4 || !wordByte(b.text[i-5])) {
		o.RecvK = facts.RecvSelf
		return
	}
	if at := endingAt(ends, uint32(i)); at != facts.None {
		o.RecvK, o.Recv = facts.RecvName, at
	}
}

func wordByte(c byte) bool {
	return c == '_' || c >= 0x80 || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9'
}

// endingAt is the occurrence that ends at a byte, or None.
func endingAt(ends []uint32, at uint32) int32 {
	i := sort.Search(len(ends), func(i int) bool { return ends[i] >= at })
	if i < len(ends) && ends[i] == at {
		return int32(i)
	}
	return facts.None
}

// head is the occurrence that a written type, a base or a callee is about: the
// last of the first dotted name in the range, unwrapped.
func (b *builder) head(f *facts.File, ends []uint32, s facts.Span) int32 {
	if s.End <= s.Start {
		return facts.None
	}
	i := sort.Search(len(ends), func(i int) bool { return f.Occs[i].Start >= s.Start })
	for i < len(ends) && ends[i] <= s.End {
		for i+1 < len(ends) && ends[i+1] <= s.End && joins(b.text[ends[i]:f.Occs[i+1].Start]) {
			i++
		}
		if slices.Contains(b.u.Unwrap, f.Name(int32(i))) && i+1 < len(ends) && ends[i+1] <= s.End {
			i++
			continue
		}
		return int32(i)
	}
	return facts.None
}

// joins reports whether two names with this between them are one path.
func joins(between []byte) bool {
	s := string(bytes.Trim(between, "\"`[]"))
	return s == "." || s == "::" || s == "?."
}

// link turns ranges into occurrences.
func (b *builder) link(f *facts.File) {
	ends := make([]uint32, len(f.Occs))
	for i := range f.Occs {
		ends[i] = f.OccEnd(int32(i))
	}
	for i := range b.defs {
		d, n := &b.defs[i], &f.Defs[i]
		n.Type = b.head(f, ends, d.typ)
		n.Init = b.head(f, ends, d.init)
		n.Owner = b.head(f, ends, d.owner)
		for _, s := range d.bases {
			if o := b.head(f, ends, s); o != facts.None {
				n.Bases = append(n.Bases, o)
			}
		}
	}
}

// docs attaches the comments that stand right above a definition.
func (b *builder) docs(f *facts.File) {
	slices.SortFunc(b.comments, func(x, y comment) int { return cmp(x.Start, y.Start) })
	for i := range f.Defs {
		d := &f.Defs[i]
		if d.Doc.End != 0 || d.Flags&facts.Local != 0 || d.Kind == facts.Parameter {
			continue
		}
		from := d.Start
		j := sort.Search(len(b.comments), func(j int) bool { return b.comments[j].Start >= d.Start }) - 1
		for ; j >= 0; j-- {
			c := b.comments[j]
			if c.End > from || !blank(b.text[c.End:from]) || !b.ownLine(c.Start) {
				break
			}
			from = c.Start
			if !c.attribute {
				d.Doc.Start = c.Start
				d.Doc.End = max(d.Doc.End, c.End)
			}
		}
	}
}

// blank is white space with at most one line end.
func blank(s []byte) bool {
	n := 0
	for _, c := range s {
		switch c {
		case '\n':
			n++
		case ' ', '\t', '\r':
		default:
			return false
		}
	}
	return n <= 1
}

// ownLine reports whether only white space stands before at on its line.
func (b *builder) ownLine(at uint32) bool {
	for i := int(at) - 1; i >= 0; i-- {
		switch b.text[i] {
		case '\n':
			return true
		case ' ', '\t', '\r':
		default:
			return false
		}
	}
	return true
}

// rebind makes later assignments to one variable writes of the first.
func (b *builder) rebind(f *facts.File) {
	type key struct {
		scope int32
		name  uint32
	}
	first := map[key]bool{}
	out := f.Defs[:0:0]
	moved := make([]int32, len(f.Defs))
	dropped := false
	for i, d := range f.Defs {
		moved[i] = int32(len(out))
		variable := d.Kind == facts.Variable && b.u.Rebinds
		if self := d.Kind == facts.Field && b.defs[i].selfField; variable || self || d.Kind == facts.Parameter || d.Kind == facts.Field {
			k := key{d.Scope, d.Name}
			if first[k] && (variable || self) {
				if o := f.OccAt(d.NameStart); o != facts.None && f.Occs[o].Start != d.NameStart {
					o++
					b.demote(f, o, d, self)
				} else if o != facts.None {
					b.demote(f, o, d, self)
				}
				moved[i] = facts.None
				dropped = true
				continue
			}
			first[k] = true
		}
		out = append(out, d)
	}
	if !dropped {
		return
	}
	for i := range out {
		p := out[i].Parent
		for p != facts.None && moved[p] == facts.None {
			p = f.Defs[p].Parent
		}
		if p != facts.None {
			p = moved[p]
		}
		out[i].Parent = p
	}
	f.Defs = out
}

func (b *builder) demote(f *facts.File, o int32, d facts.Def, self bool) {
	f.Occs[o].Role = facts.Write
	if self {
		f.Occs[o].RecvK = facts.RecvSelf
	}
}
