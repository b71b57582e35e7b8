package facts

import (
	"encoding/binary"
	"errors"

	"github.com/zeebo/xxh3"
)

// ErrCorrupt says that a blob is not what Encode made.
var ErrCorrupt = errors.New("facts: blob is damaged")

// Encode packs f: a format byte, the sections as variable-length integers
// (offsets as differences), and a checksum of all before it. An occurrence takes
// three to five bytes, where a database row would take fifty.
func Encode(f *File) []byte {
	w := writer{b: make([]byte, 0, 64+len(f.Occs)*5+len(f.Defs)*16+len(f.Lines)*2)}
	w.b = append(w.b, Version)
	w.u(f.Size)
	w.bool(f.ASCII)
	w.n(len(f.Lines))
	prev := uint32(0)
	for _, l := range f.Lines {
		w.u(l - prev)
		prev = l
	}
	w.n(len(f.Errors))
	for _, e := range f.Errors {
		w.span(e)
	}
	w.n(len(f.Notes))
	for _, s := range f.Notes {
		w.s(s)
	}
	w.n(len(f.Names))
	for _, s := range f.Names {
		w.s(s)
	}
	w.scopes(f.Scopes)
	w.occs(f.Occs)
	w.defs(f.Defs)
	w.imports(f.Imports)
	w.exprs(f.Exprs)
	return binary.LittleEndian.AppendUint64(w.b, xxh3.Hash(w.b))
}

type writer struct{ b []byte }

func (w *writer) u(v uint32) { w.b = binary.AppendUvarint(w.b, uint64(v)) }

func (w *writer) n(v int) { w.b = binary.AppendUvarint(w.b, uint64(v)) }

func (w *writer) i(v int32) { w.b = binary.AppendVarint(w.b, int64(v)) }

func (w *writer) byte(v byte) { w.b = append(w.b, v) }

func (w *writer) s(s string) { w.n(len(s)); w.b = append(w.b, s...) }

func (w *writer) span(s Span) { w.u(s.Start); w.u(s.End - s.Start) }

func (w *writer) bool(v bool) {
	if v {
		w.byte(1)
	} else {
		w.byte(0)
	}
}

func (w *writer) scopes(v []Scope) {
	w.n(len(v))
	prev := uint32(0)
	for i, s := range v {
		w.u(s.Start - prev)
		w.u(s.End - s.Start)
		w.i(int32(i) - s.Parent)
		w.byte(byte(s.Kind))
		prev = s.Start
	}
}

func (w *writer) occs(v []Occ) {
	w.n(len(v))
	prev := uint32(0)
	for i, o := range v {
		w.u(o.Start - prev)
		w.u(o.Name)
		w.byte(byte(o.Role)<<4 | byte(o.RecvK))
		switch {
		case o.RecvK.Linked():
			w.i(int32(i) - o.Recv)
		case o.RecvK.Expr():
			w.i(o.Recv)
		}
		prev = o.Start
	}
}

func (w *writer) defs(v []Def) {
	w.n(len(v))
	prev := uint32(0)
	for i, d := range v {
		w.u(d.NameStart - prev)
		w.u(d.Name)
		w.byte(byte(d.Kind))
		w.u(uint32(d.Flags))
		w.u(d.NameStart - d.Start)
		w.u(d.End - d.Start)
		w.u(d.SigEnd - d.Start)
		w.bool(d.Doc.End > d.Doc.Start)
		if d.Doc.End > d.Doc.Start {
			w.span(d.Doc)
		}
		w.i(int32(i) - d.Parent)
		w.i(d.Scope)
		w.i(d.Owner)
		w.i(d.Type)
		w.i(d.Init)
		w.i(d.Val)
		w.n(len(d.Bases))
		for _, b := range d.Bases {
			w.i(b)
		}
		prev = d.NameStart
	}
}

func (w *writer) imports(v []Import) {
	w.n(len(v))
	for _, m := range v {
		w.byte(byte(m.Kind))
		w.span(Span{m.Start, m.End})
		w.s(m.Spec)
		w.u(m.SpecStart)
		w.bool(m.TypeOnly)
		w.i(m.Scope)
		w.n(len(m.Bindings))
		for _, b := range m.Bindings {
			w.byte(byte(b.Kind))
			w.bool(b.Binds)
			w.bool(b.Exports)
			w.s(b.Name)
			w.s(b.As)
			w.u(b.NameStart)
			w.u(b.AsStart)
		}
	}
}

func (w *writer) exprs(v []Expr) {
	w.n(len(v))
	for i, x := range v {
		w.byte(byte(x.Op))
		w.byte(x.N)
		w.i(x.Occ)
		if x.Op.Raw() {
			w.i(x.A)
			w.i(x.B)
			continue
		}
		w.i(int32(i) - x.A)
		w.i(int32(i) - x.B)
	}
}

// Decode unpacks a blob. Whatever the bytes are, it returns a File whose indexes
// and ranges are within bounds, or an error.
func Decode(b []byte) (*File, error) {
	if len(b) < 9 || b[0] != Version {
		return nil, ErrCorrupt
	}
	body := b[:len(b)-8]
	if binary.LittleEndian.Uint64(b[len(body):]) != xxh3.Hash(body) {
		return nil, ErrCorrupt
	}
	return decodeBody(body)
}

// decodeBody is Decode behind the checksum; it trusts nothing either.
func decodeBody(body []byte) (*File, error) {
	r := reader{b: body[1:]}
	f := &File{Size: r.u(), ASCII: r.bool()}
	f.Lines = make([]uint32, r.count(1))
	at := uint32(0)
	for i := range f.Lines {
		at += r.u()
		f.Lines[i] = at
	}
	f.Errors = make([]Span, r.count(2))
	for i := range f.Errors {
		f.Errors[i] = r.span()
	}
	f.Notes = make([]string, r.count(1))
	for i := range f.Notes {
		f.Notes[i] = r.s()
	}
	r.names(f)
	r.scopes(f)
	r.occs(f)
	r.defs(f)
	r.imports(f)
	r.exprs(f)
	if r.bad || len(r.b) != 0 || !f.valid() {
		return nil, ErrCorrupt
	}
	return f, nil
}

type reader struct {
	b   []byte
	bad bool
}

func (r *reader) u() uint32 {
	v, n := binary.Uvarint(r.b)
	if n <= 0 || v > 1<<32-1 {
		r.bad, r.b = true, nil
		return 0
	}
	r.b = r.b[n:]
	return uint32(v)
}

func (r *reader) i() int32 {
	v, n := binary.Varint(r.b)
	if n <= 0 || v > 1<<31-1 || v < -1<<31 {
		r.bad, r.b = true, nil
		return 0
	}
	r.b = r.b[n:]
	return int32(v)
}

func (r *reader) byte() byte {
	if len(r.b) == 0 {
		r.bad = true
		return 0
	}
	v := r.b[0]
	r.b = r.b[1:]
	return v
}

func (r *reader) bool() bool { return r.byte() != 0 }

// count reads a length of items that take at least size bytes each, so that a
// damaged length cannot ask for more memory than the blob could fill.
func (r *reader) count(size int) int {
	n := int(r.u())
	if n > len(r.b)/size {
		r.bad, r.b = true, nil
		return 0
	}
	return n
}

func (r *reader) s() string {
	n := r.count(1)
	s := string(r.b[:n])
	r.b = r.b[n:]
	return s
}

func (r *reader) span() Span {
	s := r.u()
	return Span{s, s + r.u()}
}

// names shares one string between all names of the file.
func (r *reader) names(f *File) {
	n := r.count(1)
	f.Names = make([]string, n)
	if n == 0 {
		return
	}
	type part struct{ at, n int }
	parts := make([]part, n)
	start, rest := r.b, len(r.b)
	for i := range parts {
		size := r.count(1)
		parts[i] = part{rest - len(r.b), size}
		r.b = r.b[size:]
	}
	if r.bad {
		return
	}
	all := string(start[:rest-len(r.b)])
	for i, p := range parts {
		f.Names[i] = all[p.at : p.at+p.n]
	}
}

func (r *reader) scopes(f *File) {
	f.Scopes = make([]Scope, r.count(4))
	at := uint32(0)
	for i := range f.Scopes {
		at += r.u()
		f.Scopes[i] = Scope{Start: at, End: at + r.u(), Parent: int32(i) - r.i(), Kind: ScopeKind(r.byte())}
	}
}

func (r *reader) occs(f *File) {
	f.Occs = make([]Occ, r.count(3))
	at := uint32(0)
	for i := range f.Occs {
		at += r.u()
		o := Occ{Start: at, Name: r.u(), Recv: None}
		b := r.byte()
		o.Role, o.RecvK = Role(b>>4), RecvKind(b&15)
		switch {
		case o.RecvK.Linked():
			o.Recv = int32(i) - r.i()
		case o.RecvK.Expr():
			o.Recv = r.i()
		}
		f.Occs[i] = o
	}
}

func (r *reader) defs(f *File) {
	f.Defs = make([]Def, r.count(15))
	at := uint32(0)
	for i := range f.Defs {
		at += r.u()
		d := Def{NameStart: at, Name: r.u(), Kind: Kind(r.byte()), Flags: Flags(r.u())}
		d.Start = at - r.u()
		d.End = d.Start + r.u()
		d.SigEnd = d.Start + r.u()
		if r.bool() {
			d.Doc = r.span()
		}
		d.Parent = int32(i) - r.i()
		d.Scope, d.Owner, d.Type, d.Init, d.Val = r.i(), r.i(), r.i(), r.i(), r.i()
		if n := r.count(1); n > 0 {
			d.Bases = make([]int32, n)
			for j := range d.Bases {
				d.Bases[j] = r.i()
			}
		}
		f.Defs[i] = d
	}
}

func (r *reader) imports(f *File) {
	f.Imports = make([]Import, r.count(7))
	for i := range f.Imports {
		m := Import{Kind: ImportKind(r.byte())}
		s := r.span()
		m.Start, m.End = s.Start, s.End
		m.Spec, m.SpecStart, m.TypeOnly, m.Scope = r.s(), r.u(), r.bool(), r.i()
		if n := r.count(7); n > 0 {
			m.Bindings = make([]Binding, n)
			for j := range m.Bindings {
				m.Bindings[j] = Binding{Kind: BindKind(r.byte()), Binds: r.bool(), Exports: r.bool(),
					Name: r.s(), As: r.s(), NameStart: r.u(), AsStart: r.u()}
			}
		}
		f.Imports[i] = m
	}
}

func (r *reader) exprs(f *File) {
	f.Exprs = make([]Expr, r.count(5))
	for i := range f.Exprs {
		x := Expr{Op: ExprOp(r.byte()), N: r.byte(), Occ: r.i()}
		if x.Op.Raw() {
			x.A, x.B = r.i(), r.i()
		} else {
			x.A, x.B = int32(i)-r.i(), int32(i)-r.i()
		}
		f.Exprs[i] = x
	}
}
