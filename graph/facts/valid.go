package facts

// valid checks every index and range, so that no later code has to.
func (f *File) valid() bool {
	occ := func(i int32) bool { return i >= None && i < int32(len(f.Occs)) }
	if len(f.Scopes) == 0 || len(f.Lines) == 0 || f.Lines[0] != 0 || !within(f.Lines, f.Size) {
		return false
	}
	for i, s := range f.Scopes {
		if s.End < s.Start || s.End > f.Size || s.Kind >= scopeKinds || s.Parent < None || s.Parent >= int32(i) || (i > 0 && (s.Parent == None || s.Start < f.Scopes[i-1].Start)) {
			return false
		}
	}
	for i, o := range f.Occs {
		if o.Name >= uint32(len(f.Names)) || o.Role >= roles || o.RecvK >= recvKinds || o.Recv < None ||
			o.Start > f.Size || uint64(o.Start)+uint64(len(f.Names[o.Name])) > uint64(f.Size) || (i > 0 && o.Start < f.Occs[i-1].Start) {
			return false
		}
	}
	for i, d := range f.Defs {
		if d.Name >= uint32(len(f.Names)) || d.Kind >= kinds || d.Start > d.NameStart || d.End < d.Start || d.End > f.Size || d.SigEnd > d.End || d.SigEnd < d.Start ||
			d.NameStart+uint32(len(f.Names[d.Name])) > f.Size || d.Doc.End < d.Doc.Start || d.Doc.End > f.Size ||
			d.Parent < None || d.Parent >= int32(i) || d.Scope < 0 || d.Scope >= int32(len(f.Scopes)) ||
			!occ(d.Owner) || !occ(d.Type) || !occ(d.Init) || (i > 0 && d.NameStart < f.Defs[i-1].NameStart) {
			return false
		}
		for _, b := range d.Bases {
			if !occ(b) || b == None {
				return false
			}
		}
	}
	if !f.validExprs() {
		return false
	}
	for _, m := range f.Imports {
		if m.Kind >= importKinds || m.End < m.Start || m.End > f.Size || m.SpecStart > f.Size || m.Scope < 0 || m.Scope >= int32(len(f.Scopes)) {
			return false
		}
		for _, b := range m.Bindings {
			if b.Kind >= bindKinds || b.NameStart > f.Size || b.AsStart > f.Size {
				return false
			}
		}
	}
	return true
}

func within(sorted []uint32, size uint32) bool {
	for i, v := range sorted {
		if v > size || (i > 0 && v <= sorted[i-1]) {
			return false
		}
	}
	return true
}
