package extract

import (
	"bytes"
	"slices"

	"github.com/stella-ls/stella-ls/graph/facts"
)

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
