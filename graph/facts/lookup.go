package facts

import "sort"

// Name is the text of an occurrence.
func (f *File) Name(o int32) string {
	if o < 0 {
		return ""
	}
	return f.Names[f.Occs[o].Name]
}

// DefName is the name of definition d.
func (f *File) DefName(d int32) string { return f.Names[f.Defs[d].Name] }

// OccEnd is where occurrence o ends.
func (f *File) OccEnd(o int32) uint32 {
	x := f.Occs[o]
	return x.Start + uint32(len(f.Names[x.Name]))
}

// OccAt is the occurrence that covers or ends at byte at, or None.
func (f *File) OccAt(at uint32) int32 {
	i := sort.Search(len(f.Occs), func(i int) bool { return f.Occs[i].Start > at }) - 1
	if i < 0 {
		return None
	}
	if at <= f.OccEnd(int32(i)) {
		return int32(i)
	}
	return None
}

// DefAtName is the definition whose name starts at byte at, or None.
func (f *File) DefAtName(at uint32) int32 {
	i := sort.Search(len(f.Defs), func(i int) bool { return f.Defs[i].NameStart >= at })
	if i < len(f.Defs) && f.Defs[i].NameStart == at {
		return int32(i)
	}
	return None
}

// ScopeAt is the innermost scope around byte at.
func (f *File) ScopeAt(at uint32) int32 {
	// Scopes are in order of Start, outer before inner: the last that starts at
	// or before at is the innermost, or some ancestor of it is.
	s := int32(sort.Search(len(f.Scopes), func(i int) bool { return f.Scopes[i].Start > at }) - 1)
	for s > 0 && f.Scopes[s].End <= at {
		s = f.Scopes[s].Parent
	}
	return max(s, 0)
}

// LineOf is the 0-based line of byte at.
func (f *File) LineOf(at uint32) int {
	return sort.Search(len(f.Lines), func(i int) bool { return f.Lines[i] > at }) - 1
}

// Enclosing is the innermost non-local definition around byte at that is not
// the one named there, or None.
func (f *File) Enclosing(at uint32) int32 {
	i := int32(sort.Search(len(f.Defs), func(i int) bool { return f.Defs[i].NameStart >= at }) - 1)
	for ; i >= 0; i = f.prevAround(i) {
		d := f.Defs[i]
		if d.Start <= at && at < d.End && d.Flags&Local == 0 {
			return i
		}
	}
	return None
}

// prevAround steps from a definition that does not contain a place to the next
// candidate: the one around it, or the one before it at file level.
func (f *File) prevAround(i int32) int32 {
	if p := f.Defs[i].Parent; p != None && p < i {
		return p
	}
	return i - 1
}

// FoldedHash is the hash of a name under which files are looked up: FNV-1a over
// the name with ASCII letters in lower case.
func FoldedHash(name string) uint32 {
	h := uint32(2166136261)
	for i := 0; i < len(name); i++ {
		c := name[i]
		if 'A' <= c && c <= 'Z' {
			c += 'a' - 'A'
		}
		h = (h ^ uint32(c)) * 16777619
	}
	return h
}

// Hashes returns the sorted, distinct hashes of all names that occur in the
// file (imported and exported ones included), and of those that it defines for others.
func (f *File) Hashes() (names, defs []uint32) {
	for _, n := range f.Names {
		names = append(names, FoldedHash(n))
	}
	for _, im := range f.Imports {
		for _, b := range im.Bindings {
			if b.Name != "" {
				names = append(names, FoldedHash(b.Name))
			}
			if b.Kind == BindDefault || b.Kind == Whole {
				names = append(names, FoldedHash("default"))
			}
		}
	}
	for _, d := range f.Defs {
		if d.Flags&Local == 0 {
			defs = append(defs, FoldedHash(f.Names[d.Name]))
		}
	}
	return distinct(names), distinct(defs)
}

func distinct(v []uint32) []uint32 {
	sort.Slice(v, func(i, j int) bool { return v[i] < v[j] })
	out := v[:0]
	for i, x := range v {
		if i == 0 || x != v[i-1] {
			out = append(out, x)
		}
	}
	return out
}

// Has reports whether a sorted list of hashes holds h.
func Has(sorted []uint32, h uint32) bool {
	i := sort.Search(len(sorted), func(i int) bool { return sorted[i] >= h })
	return i < len(sorted) && sorted[i] == h
}
