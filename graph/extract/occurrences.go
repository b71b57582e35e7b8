package extract

import (
	"bytes"
	"slices"
	"sort"

	"github.com/stella-ls/stella-ls/graph/facts"
	"github.com/stella-ls/stella-ls/graph/lang"
)

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
