package graph

import (
	"slices"

	"github.com/stella-ls/stella-ls/graph/facts"
)

// members finds a member of any of the values. module allows a value to be left
// as the module's own name when nothing else is found.
func (s *solver) members(v *view, of []value, name string, module bool) []value {
	r := s.anyMember(of, name, map[value]bool{})
	if len(r) > 0 && r[0].kind == vExternal {
		return r[:1]
	}
	return r
}

func (s *solver) member(x value, name string, seen map[value]bool) []value {
	x.how = ""
	if seen[x] || s.spent() {
		return nil
	}
	seen[x] = true
	switch x.kind {
	case vModule:
		if r := s.exportedOf(x, name, map[site]bool{}); len(r) > 0 {
			return r
		}
		// module.exports = X: members of X.
		if x.path != "" && name != "default" {
			for _, d := range s.exportedOf(x, "default", map[site]bool{}) {
				if r := s.member(d, name, seen); len(r) > 0 {
					return r
				}
			}
		}
		return nil
	case vExternal:
		return []value{x}
	case vInstance:
		return s.builtin(x, name)
	case vBuiltin:
		return nil
	case vExpr:
		return s.literalMember(x, name)
	}
	o := s.view(x.path)
	if o == nil || int(x.def) >= len(o.Defs) {
		return nil
	}
	d := &o.Defs[x.def]
	switch {
	case name == "prototype" && d.Kind == facts.Class:
		return []value{x}
	case d.Kind == facts.Module || d.Kind == facts.Namespace:
		return s.exportedOf(value{vModule, x.path, x.def, "", HowImport}, name, map[site]bool{})
	case d.Kind.TypeLike():
		return s.typeMember(o, x, name, seen)
	case d.Kind == facts.Impl:
		return s.implMember(o, x.def, name)
	}
	if r := s.children(o, x.def, name); len(r) > 0 && d.Kind != facts.Function && d.Kind != facts.Method {
		return r
	}
	return s.anyMember(s.typeOf(x), name, seen)
}

// children are the members that stand inside a definition.
func (s *solver) children(v *view, def int32, name string) []value {
	var out []value
	v.defsNamed(name, func(i int32, d *facts.Def) bool {
		if d.Parent == def && d.Kind != facts.Parameter && d.Kind != facts.TypeParam && d.Flags&facts.Local == v.Defs[def].Flags&facts.Local {
			out = append(out, value{vDef, v.path, i, "", HowMember})
		}
		return true
	})
	return out
}

// typeMember finds a member of a type: its own, those of impl blocks and methods
// that stand elsewhere, then those of what it extends.
func (s *solver) typeMember(v *view, x value, name string, seen map[value]bool) []value {
	def := x.def
	if r := s.children(v, def, name); len(r) > 0 {
		for i := range r {
			r[i].dir = x.dir
		}
		if v.lang.Rebinds && !s.declared(r) { // the declaration that it overrides without one
			for _, b := range s.bases(v, def) {
				if up := s.member(b, name, seen); s.declared(up) {
					return up
				}
			}
			s.doubtful(v, def, r)
		}
		return r
	}
	d := &v.Defs[def]
	if r := s.attached(v, def, name); len(r) > 0 {
		return r
	}
	if d.Val != facts.None && (d.Kind == facts.Class || d.Kind == facts.Interface) { // bases with arguments
		if r := s.anyMember(s.substitute(s.eval(v, d.Val), x.dir), name, seen); len(r) > 0 && r[0].kind != vExternal {
			return r
		}
	}
	for _, b := range s.bases(v, def) {
		if r := s.member(b, name, seen); len(r) > 0 && r[0].kind != vExternal {
			return r
		}
	}
	if d.Kind == facts.Type && (d.Val != facts.None || d.Type != facts.None) {
		return s.anyMember(s.substitute(s.meaning(v, d), x.dir), name, seen)
	}
	return nil
}

// doubtful makes guesses of fields that a method of a class assigns whose base is
// outside of the workspace: the base may declare them. What __init__ sets is the
// class's own for all that is known.
func (s *solver) doubtful(v *view, class int32, fields []value) {
	if len(s.bases(v, class)) == len(v.Defs[class].Bases) {
		return
	}
	for i := range fields {
		d := &v.Defs[fields[i].def]
		in := int32(facts.None)
		for j := fields[i].def - 1; j > class && in == facts.None; j-- {
			if o := &v.Defs[j]; o.Kind == facts.Method && o.Start <= d.Start && d.End <= o.End {
				in = j
			}
		}
		if in != facts.None && v.DefName(in) != "__init__" {
			fields[i].how = HowName
		}
	}
}

// declared reports whether any of the members says itself what it is: with a
// type, or by being a function or a class.
func (s *solver) declared(xs []value) bool {
	for _, x := range xs {
		if x.kind != vDef {
			continue
		}
		d := &s.view(x.path).Defs[x.def]
		if d.Type != facts.None || d.Kind.Callable() || d.Kind.TypeLike() {
			return true
		}
	}
	return false
}

// anyMember finds a member of each alternative.
func (s *solver) anyMember(of []value, name string, seen map[value]bool) []value {
	var out, outside []value
	for _, t := range of {
		for _, r := range s.member(t, name, seen) {
			if r.kind == vExternal {
				outside = append(outside, r)
			} else {
				out = append(out, r)
			}
		}
	}
	if len(out) == 0 {
		return outside
	}
	return dedupe(out)
}

// bases are the types that a type extends; one that is unknown or external is
// left out.
func (s *solver) bases(v *view, def int32) []value {
	var out []value
	for _, b := range v.Defs[def].Bases {
		for _, x := range s.occ(v, b) {
			if x.kind == vDef {
				out = append(out, x)
			}
		}
	}
	if v.lang.ClosedModules { // the traits that it implements
		s.impls(v, def, func(o *view, impl int32) bool {
			for _, b := range o.Defs[impl].Bases {
				for _, x := range s.occ(o, b) {
					if x.kind == vDef {
						out = append(out, x)
					}
				}
			}
			return true
		})
	}
	return out
}

// attached are members that name their type instead of standing in it: impl
// blocks, methods with a receiver, columns added later.
func (s *solver) attached(v *view, def int32, name string) []value {
	if !v.lang.ClosedModules && v.lang.Package == nil {
		return nil
	}
	typeName := v.DefName(def)
	var out []value
	s.withDef(v, name, func(o *view) bool {
		o.defsNamed(name, func(i int32, d *facts.Def) bool {
			switch {
			case d.Parent != facts.None && o.Defs[d.Parent].Kind == facts.Impl && o.same(o.DefName(d.Parent), typeName):
				if s.implOf(o, d.Parent, v, def) {
					out = append(out, value{vDef, o.path, i, "", HowMember})
				}
			case d.Owner != facts.None && o.same(o.Name(d.Owner), typeName):
				if o.lang.Package != nil && v.lang.Package != nil && o.lang.Package(o.path) == v.lang.Package(v.path) {
					out = append(out, value{vDef, o.path, i, "", HowMember})
				}
			}
			return true
		})
		return len(out) < maxGuesses
	})
	return out
}

// withDef calls f for each file of v's language that may define a name, v first.
func (s *solver) withDef(v *view, name string, f func(o *view) bool) {
	if !f(v) {
		return
	}
	for _, p := range s.g.definers(name) {
		if p == v.path || languageOf(p) != v.lang {
			continue
		}
		if o := s.view(p); o != nil && !f(o) {
			return
		}
		if s.spent() {
			return
		}
	}
}

// implOf reports whether an impl block is of a type: by what its name resolves
// to, or by the name alone when that leads nowhere.
func (s *solver) implOf(o *view, impl int32, v *view, def int32) bool {
	if o.path == v.path {
		return true
	}
	i := o.OccAt(o.Defs[impl].NameStart)
	for i != facts.None && o.Occs[i].Start < o.Defs[impl].NameStart {
		i++
	}
	if i == facts.None {
		return true
	}
	r := s.occ(o, i)
	if len(r) == 0 {
		return true
	}
	for _, x := range r {
		if x.kind == vDef && x.path == v.path && x.def == def {
			return true
		}
	}
	return false
}

// impls calls f for the impl blocks of a type, in its own file first.
func (s *solver) impls(v *view, def int32, f func(o *view, impl int32) bool) {
	name := v.DefName(def)
	n := 0
	s.withDef(v, name, func(o *view) bool {
		more := true
		o.defsNamed(name, func(i int32, d *facts.Def) bool {
			if d.Kind == facts.Impl && s.implOf(o, i, v, def) {
				more = f(o, i)
			}
			return more
		})
		n++
		return more && n < maxImplScan
	})
}

// implMember finds a member through an impl block: the block's own, then the type's.
func (s *solver) implMember(v *view, impl int32, name string) []value {
	if r := s.children(v, impl, name); len(r) > 0 {
		return r
	}
	for _, t := range s.implType(v, impl) {
		if r := s.member(t, name, map[value]bool{}); len(r) > 0 {
			return r
		}
	}
	for _, b := range v.Defs[impl].Bases {
		for _, x := range s.occ(v, b) {
			if r := s.member(x, name, map[value]bool{}); len(r) > 0 && x.kind == vDef {
				return r
			}
		}
	}
	return nil
}

// implType is the type of an impl block.
func (s *solver) implType(v *view, impl int32) []value {
	d := &v.Defs[impl]
	var out []value
	for _, x := range s.lexical(v, v.DefName(impl), d.Scope, d.NameStart) {
		if x.kind == vDef && s.kindOf(x) != facts.Impl {
			out = append(out, x)
		}
	}
	return out
}

func (s *solver) kindOf(x value) facts.Kind {
	if x.kind != vDef && x.kind != vInstance {
		return facts.KindNone
	}
	v := s.view(x.path)
	if v == nil || x.def < 0 || int(x.def) >= len(v.Defs) {
		return facts.KindNone
	}
	return v.Defs[x.def].Kind
}

// enclosingType is the type whose member's code stands at a byte: what self means.
func (s *solver) enclosingType(v *view, at uint32) []value {
	for i := len(v.Defs) - 1; i >= 0; i-- {
		d := &v.Defs[i]
		if at < d.Start || at >= d.End {
			continue
		}
		switch {
		case d.Kind == facts.Impl:
			if t := s.implType(v, int32(i)); len(t) > 0 {
				return t
			}
			return []value{{vDef, v.path, int32(i), "", HowLocal}}
		case d.Kind.TypeLike() && d.NameStart < at:
			return []value{{vDef, v.path, int32(i), "", HowLocal}}
		case d.Owner != facts.None && d.Kind == facts.Method:
			return s.occ(v, d.Owner)
		case d.Kind == facts.Method && d.Flags&facts.Arrow == 0 && d.Parent != facts.None && weakHolder(v.Defs[d.Parent].Kind): // a function of an object
			return []value{{vDef, v.path, d.Parent, "", HowLocal}}
		}
	}
	return nil
}

func weakHolder(k facts.Kind) bool {
	return k == facts.Variable || k == facts.Const || k == facts.Property
}

// inherited finds a member in what the types extend.
func (s *solver) inherited(of []value, name string, seen map[value]bool) []value {
	for _, x := range of {
		v := s.view(x.path)
		if v == nil || x.kind != vDef {
			continue
		}
		for _, b := range s.bases(v, x.def) {
			if r := s.member(b, name, seen); len(r) > 0 {
				return r
			}
		}
	}
	return nil
}

// typeOf is the type of what a definition holds: as written, or as its initial
// value is built.
func (s *solver) typeOf(x value) []value {
	if x.kind != vDef {
		return []value{x}
	}
	v := s.view(x.path)
	if v == nil || x.def < 0 {
		return nil
	}
	d := &v.Defs[x.def]
	k := site{x.path, -1_000_000_000 - x.def}
	if s.busy[k] || s.spent() {
		return nil
	}
	s.busy[k] = true
	defer delete(s.busy, k)
	switch {
	case d.Kind.TypeLike():
		return []value{x}
	case d.Val != facts.None && d.Kind.Callable() && v.Exprs[d.Val].Op == facts.XFunc:
		return []value{x}
	case d.Val != facts.None:
		if r := s.substitute(s.eval(v, d.Val), x.dir); len(r) > 0 {
			return r
		}
	}
	switch {
	case d.Kind == facts.Method && v.Occs != nil && d.Type != facts.None && s.isProperty(v, d):
		return s.written(v, d.Type)
	case d.Kind.Callable():
		return nil
	}
	if d.Type != facts.None {
		return s.written(v, d.Type)
	}
	if d.Init != facts.None {
		r := s.occ(v, d.Init)
		if v.Occs[d.Init].Role != facts.Call { // a name: self.x = x
			var out []value
			for _, y := range r {
				if y.kind == vDef && y.def != x.def {
					out = append(out, s.typeOf(y)...)
				}
			}
			return out
		}
		return s.called(r)
	}
	return nil
}

// isProperty reports whether a method is used like a field: a decorator called
// property stands above it.
func (s *solver) isProperty(v *view, d *facts.Def) bool {
	if !v.lang.Rebinds {
		return false
	}
	for i := v.OccAt(d.Start + 1); i != facts.None && int(i) < len(v.Occs) && v.Occs[i].Start < d.NameStart; i++ {
		if n := v.Name(i); n == "property" || n == "cached_property" {
			return true
		}
	}
	return false
}

// written is the type that a written name means.
func (s *solver) written(v *view, occ int32) []value {
	var out []value
	for _, x := range s.occ(v, occ) {
		if x.kind == vDef && s.kindOf(x) == facts.TypeParam {
			if o := s.view(x.path); o.Defs[x.def].Val == facts.None && o.Defs[x.def].Type != facts.None {
				out = append(out, s.occ(o, o.Defs[x.def].Type)...)
				continue
			}
		}
		out = append(out, x)
	}
	return out
}

// called is what calling a value gives.
func (s *solver) called(of []value) []value {
	var out []value
	for _, x := range of {
		switch x.kind {
		case vExternal:
			return []value{x}
		case vModule: // module.exports = function
			out = append(out, s.called(s.exported([]value{x}, "default"))...)
			continue
		case vInstance:
			continue
		case vBuiltin:
			out = append(out, s.calledBuiltin(x)...)
			continue
		case vExpr:
			out = append(out, s.result(x)...)
			continue
		}
		v := s.view(x.path)
		if v == nil || x.def < 0 {
			continue
		}
		d := &v.Defs[x.def]
		switch {
		case d.Kind == facts.Interface:
			out = append(out, s.result(x)...)
		case d.Kind.TypeLike(), d.Kind == facts.Variant:
			t := x
			if d.Kind == facts.Variant && d.Parent != facts.None {
				t.def = d.Parent
			}
			out = append(out, t)
		case d.Val != facts.None:
			out = append(out, s.result(x)...)
		case d.Type != facts.None:
			out = append(out, s.written(v, d.Type)...)
		case !d.Kind.Callable() && d.Init != facts.None:
			out = append(out, s.typeOf(x)...)
		}
	}
	return out
}

// argument finds the parameter that a named argument of a call is for.
func (s *solver) argument(callee []value, name string) []value {
	for _, x := range callee {
		if x.kind == vExternal {
			return []value{x}
		}
		v := s.view(x.path)
		if v == nil || x.kind != vDef {
			continue
		}
		def := x.def
		if v.Defs[def].Kind.TypeLike() {
			init := s.member(x, "__init__", map[value]bool{})
			if len(init) == 0 || init[0].kind != vDef {
				return s.member(x, name, map[value]bool{}) // a dataclass
			}
			v, def = s.view(init[0].path), init[0].def
		}
		var out []value
		v.defsNamed(name, func(i int32, d *facts.Def) bool {
			if d.Parent == def && d.Kind == facts.Parameter {
				out = append(out, value{vDef, v.path, i, "", HowMember})
			}
			return true
		})
		if len(out) > 0 {
			return out
		}
	}
	return nil
}

// guesses are the definitions that only share the name, those of a fitting kind.
func (s *solver) guesses(v *view, name string, member, call bool) []value {
	var fit, rest []value
	family := v.lang.FamilyName()
	for _, p := range s.g.definers(name) {
		la := languageOf(p)
		if la == nil || la.FamilyName() != family {
			continue
		}
		o := s.view(p)
		if o == nil {
			continue
		}
		o.defsNamed(name, func(i int32, d *facts.Def) bool {
			if d.Kind == facts.Impl || d.Kind == facts.Parameter || d.Kind == facts.TypeParam ||
				d.Flags&facts.Local != 0 && p != v.path {
				return true
			}
			x := value{vDef, p, i, "", HowName}
			isMember := d.Parent != facts.None && (o.Defs[d.Parent].Kind.TypeLike() || o.Defs[d.Parent].Kind == facts.Impl) || d.Owner != facts.None
			if isMember == member && (!call || d.Kind.Callable() || d.Kind.TypeLike()) {
				fit = append(fit, x)
			} else {
				rest = append(rest, x)
			}
			return true
		})
		if len(fit) > maxGuesses || s.spent() {
			break
		}
	}
	if len(fit) > 0 {
		return fit
	}
	return rest
}

// resolve is occ, falling back to guesses.
func (s *solver) resolve(v *view, i int32) []value {
	r := s.occ(v, i)
	if len(r) > 0 {
		return dedupe(outside(r))
	}
	o := v.Occs[i]
	if o.RecvK == facts.NoRecv && s.certainlyNot(v, i) {
		return nil
	}
	return s.guesses(v, v.Name(i), o.RecvK != facts.NoRecv, o.Role == facts.Call)
}

// outside names what has no definition in the workspace as such.
func outside(r []value) []value {
	out := make([]value, 0, len(r))
	for _, x := range r {
		switch x.kind {
		case vBuiltin:
			_, name := holder(x)
			x = value{kind: vExternal, path: name + " is a member of a collection of the language", def: facts.None, how: HowMember}
		case vInstance, vExpr:
			continue
		case vDef:
			x.dir = ""
		}
		out = append(out, x)
	}
	return out
}

// certainlyNot reports whether a plain name cannot be anything of the workspace:
// an import of this file binds it and leads outside or nowhere.
func (s *solver) certainlyNot(v *view, i int32) bool {
	name := v.Name(i)
	for _, im := range v.Imports {
		for _, b := range im.Bindings {
			if b.Binds && b.As == name {
				return true
			}
		}
	}
	return false
}

func dedupe(r []value) []value {
	out := make([]value, 0, len(r))
	for _, x := range r {
		if !slices.ContainsFunc(out, func(y value) bool { return y.kind == x.kind && y.path == x.path && y.def == x.def && y.dir == x.dir }) {
			out = append(out, x)
		}
	}
	return out
}
