package graph

import (
	"context"
	"path"
	"slices"
	"strings"

	"github.com/stella-ls/stella-ls/graph/facts"
	"github.com/stella-ls/stella-ls/graph/lang"
)

// value is what a name turns out to mean.
type value struct {
	kind valueKind
	path string // of a definition or module file
	def  int32  // of a definition, an instance's type, or the inline module; None for a file
	dir  string // of a package that is a directory; of vInstance and vBuiltin, see wraps; of vDef and vExpr, see instance
	how  How
}

type valueKind uint8

const (
	vDef      valueKind = iota // a definition
	vInstance                  // a collection or promise of the type def; see wraps
	vModule                    // a file, a directory, or an inline module of a file
	vExternal                  // known to be outside the workspace
	vExpr                      // the function or object type that the expression def of a file is
	vBuiltin                   // a member of a collection or promise; see builtin
)

// solver answers one question. It remembers what it worked out, and gives up
// after a number of steps, so that no text can keep it busy.
type solver struct {
	g     *Graph
	ctx   context.Context
	views map[string]*view
	memo  map[site][]value
	busy  map[site]bool    // being worked out, against cycles
	types map[site][]value // of expressions; see eval
	// instances are types with arguments; see apply.
	instances []instance
	steps     int
	texts     map[string][]byte // of the disk, as read for this question
	stale     []string          // files whose text is not the indexed one any more
}

// site is an occurrence.
type site struct {
	path string
	occ  int32
}

// Bounds of one question.
const (
	maxSteps    = 200_000
	maxImplScan = 64 // files looked at for the impl blocks of one type
	maxGuesses  = 200
)

func (g *Graph) newSolver(ctx context.Context) *solver {
	return &solver{g: g, ctx: ctx, views: map[string]*view{}, memo: map[site][]value{}, busy: map[site]bool{}, types: map[site][]value{}}
}

// view is the file's facts, the same for the whole question.
func (s *solver) view(p string) *view {
	if v, ok := s.views[p]; ok {
		return v
	}
	if s.g.index.get(p) == nil {
		s.g.demand(context.WithoutCancel(s.ctx), p) // or a cancelled question would leave it out for good
	}
	v := s.g.view(p)
	s.views[p] = v
	return v
}

func (s *solver) spent() bool {
	s.steps++
	return s.steps > maxSteps || s.steps%1024 == 0 && s.ctx.Err() != nil
}

// occ resolves an occurrence. Nothing means that only its name is known.
func (s *solver) occ(v *view, i int32) []value {
	k := site{v.path, i}
	if r, ok := s.memo[k]; ok {
		return r
	}
	if s.busy[k] || s.spent() {
		return nil
	}
	s.busy[k] = true
	r := s.occNow(v, i)
	delete(s.busy, k)
	s.memo[k] = r
	return r
}

func (s *solver) occNow(v *view, i int32) []value {
	o := v.Occs[i]
	name := v.Name(i)
	switch o.Role {
	case facts.Definition:
		own := s.named(v, o.Start)
		if o.RecvK == facts.RecvBoth {
			return s.keyOf(v, o, name, own)
		}
		return own
	case facts.ImportUse:
		if r, ok := s.importOcc(v, o.Start, name); ok {
			return r
		}
	}
	switch o.RecvK {
	case facts.RecvName:
		of := s.occ(v, o.Recv)
		if len(of) == 0 && s.global(v, o.Recv) {
			return []value{{kind: vExternal, path: v.Name(o.Recv) + " is not of this workspace", def: facts.None, how: HowName}}
		}
		return s.members(v, of, name, false)
	case facts.RecvCall:
		return s.members(v, s.called(s.occ(v, o.Recv)), name, false)
	case facts.RecvArg:
		return s.argument(s.occ(v, o.Recv), name)
	case facts.RecvSelf, facts.RecvSuper:
		t := s.enclosingType(v, o.Start)
		if t == nil {
			return nil
		}
		if o.RecvK == facts.RecvSuper {
			return s.inherited(t, name, map[value]bool{})
		}
		return s.members(v, t, name, false)
	case facts.RecvUnknown:
		return nil
	case facts.RecvExpr:
		return s.members(v, s.eval(v, o.Recv), name, false)
	case facts.RecvBoth:
		return s.keyOf(v, o, name, s.lexical(v, name, v.ScopeAt(o.Start), o.Start))
	}
	return s.lexical(v, name, v.ScopeAt(o.Start), o.Start)
}

// global reports whether a plain name means nothing of the workspace at all: then
// it is built into the language, and so are its members.
func (s *solver) global(v *view, i int32) bool {
	return v.Occs[i].RecvK == facts.NoRecv && v.Occs[i].Role != facts.Definition && len(s.guesses(v, v.Name(i), false, false)) == 0
}

// named are the definitions whose name stands at a byte.
func (s *solver) named(v *view, at uint32) []value {
	var out []value
	for i := v.DefAtName(at); i != facts.None && int(i) < len(v.Defs) && v.Defs[i].NameStart == at; i++ {
		out = append(out, value{vDef, v.path, i, "", HowLocal})
	}
	return out
}

// importOcc resolves an identifier of an import statement.
func (s *solver) importOcc(v *view, at uint32, name string) ([]value, bool) {
	for i := range v.Imports {
		im := &v.Imports[i]
		if at < im.Start || at >= im.End {
			continue
		}
		for _, b := range im.Bindings {
			if b.Kind != facts.Star && (b.NameStart == at || b.AsStart == at) {
				return s.follow(v, i, b), true
			}
		}
	}
	for i := range v.Imports { // a part of a path in a group
		im := &v.Imports[i]
		if at < im.Start || at >= im.End || v.lang.ImportTree == nil {
			continue
		}
		parts := strings.Split(im.Spec, "::")
		if n := slices.Index(parts, name); n >= 0 {
			part := *im
			part.Spec = strings.Join(parts[:n+1], "::")
			return s.module(v, s.g.linker.one(v, &part)), true
		}
	}
	// A part of a path: the longest import around it whose specifier holds it.
	for i := range v.Imports {
		im := &v.Imports[i]
		if at >= im.SpecStart && at < im.SpecStart+uint32(len(im.Spec)) {
			return s.specPart(v, im, at, name), true
		}
	}
	return nil, false
}

// specPart is the module that the part of a specifier up to a name means.
func (s *solver) specPart(v *view, im *facts.Import, at uint32, name string) []value {
	end := int(at-im.SpecStart) + len(name)
	if end > len(im.Spec) {
		return nil
	}
	part := *im
	part.Spec = im.Spec[:end]
	return s.module(v, s.g.linker.one(v, &part))
}

// lexical looks a plain name up from a scope outwards.
func (s *solver) lexical(v *view, name string, scope int32, at uint32) []value {
	if slices.Contains(v.lang.Roots, name) {
		return s.module(v, s.g.linker.begin(v, name, at))
	}
	if name == "Self" && v.lang.ClosedModules {
		return s.enclosingType(v, at)
	}
	inner := scope
	for sc := scope; sc >= 0; sc = v.Scopes[sc].Parent {
		kind := v.Scopes[sc].Kind
		if r := s.inScope(v, name, sc, at, kind == facts.ClassScope, sc == inner); len(r) > 0 {
			return r
		}
		if r := s.bound(v, name, sc); len(r) > 0 {
			return r
		}
		if kind == facts.ModuleScope && v.lang.ClosedModules {
			break
		}
	}
	return s.beside(v, name)
}

// inScope finds definitions that a scope declares.
func (s *solver) inScope(v *view, name string, scope int32, at uint32, class, direct bool) []value {
	var out []value
	best := facts.None
	v.defsNamed(name, func(i int32, d *facts.Def) bool {
		if d.Scope != scope || d.Kind == facts.Impl || d.Flags&facts.Hidden != 0 || !s.visible(v, d, class, direct) {
			return true
		}
		if v.lang.Shadows && d.Flags&facts.Local != 0 && d.Kind == facts.Variable {
			// A variable is not yet there in its own initial value.
			if d.NameStart < at && (d.End <= at || at == d.NameStart) && (best == facts.None || d.NameStart > v.Defs[best].NameStart) {
				best = i
			}
			return true
		}
		out = append(out, value{vDef, v.path, i, "", HowLocal})
		return true
	})
	if best != facts.None {
		return []value{{vDef, v.path, best, "", HowLocal}}
	}
	return out
}

// visible reports whether a declaration of a scope is seen by a plain name.
func (s *solver) visible(v *view, d *facts.Def, class, direct bool) bool {
	switch {
	case d.Kind == facts.TypeParam || d.Kind == facts.Parameter:
		return true
	case d.Kind == facts.Column:
		return false
	case d.Kind == facts.Property && !class && d.Parent != facts.None: // keys of an object
		return false
	case d.Kind == facts.Method && !class: // functions of an object
		return false
	case d.Kind == facts.Field && !class, d.Kind == facts.Variant && !class:
		return false
	case class:
		return v.lang.ClassNames && direct
	}
	return true
}

// bound finds names that the imports of a scope bind, and what its star imports bring.
func (s *solver) bound(v *view, name string, scope int32) []value {
	for i := range v.Imports {
		im := &v.Imports[i]
		if im.Scope != scope {
			continue
		}
		for _, b := range im.Bindings {
			if b.Binds && v.same(b.As, name) {
				if r := s.follow(v, i, b); len(r) > 0 {
					return r
				}
			}
		}
	}
	for i := range v.Imports {
		im := &v.Imports[i]
		if im.Scope != scope {
			continue
		}
		for _, b := range im.Bindings {
			if b.Kind == facts.Star && b.Binds {
				from := s.star(v, i)
				r := s.exported(from, name)
				if len(r) == 0 && len(from) > 0 && from[0].kind == vDef { // use Enum::*
					r = imported(s.members(v, from, name, true))
				}
				if len(r) > 0 {
					return r
				}
			}
		}
	}
	return nil
}

// star is the module that a star import opens.
func (s *solver) star(v *view, i int) []value {
	k := site{v.path, -2 - int32(i)}
	if s.busy[k] || s.spent() {
		return nil
	}
	s.busy[k] = true
	defer delete(s.busy, k)
	return s.module(v, s.target(v, i))
}

func (s *solver) target(v *view, i int) lang.Target {
	t := s.g.linker.targets(v)
	if i < len(t) {
		return t[i]
	}
	return lang.Target{}
}

// follow is what a binding of import i means.
func (s *solver) follow(v *view, i int, b facts.Binding) []value {
	k := site{v.path, -1_000_000 - int32(b.NameStart)*4 - int32(b.Kind)}
	if r, ok := s.memo[k]; ok {
		return r
	}
	if s.busy[k] || s.spent() {
		return nil
	}
	s.busy[k] = true
	r := s.followNow(v, i, b)
	delete(s.busy, k)
	for j := range r {
		if v.Imports[i].Kind == facts.LocalExport {
			break
		}
		if r[j].how == "" || r[j].how == HowLocal || r[j].how == HowMember {
			r[j].how = HowImport
		}
	}
	s.memo[k] = r
	return r
}

func (s *solver) followNow(v *view, i int, b facts.Binding) []value {
	im := &v.Imports[i]
	if im.Kind == facts.LocalExport {
		return slices.Clone(s.lexical(v, b.Name, 0, im.Start))
	}
	t := s.target(v, i)
	if b.Kind == facts.Whole && b.Name != "" && b.As == b.Name && im.Kind != facts.ModDecl && strings.Contains(im.Spec, ".") {
		part := *im // import a.b.c binds a
		part.Spec = b.Name
		t = s.g.linker.one(v, &part)
	}
	m := s.module(v, t)
	switch b.Kind {
	case facts.Whole:
		if r := s.moduleIs(m); len(r) > 0 {
			return r
		}
		return m
	case facts.BindDefault:
		if r := s.exported(m, "default"); len(r) > 0 {
			return slices.Clone(r)
		}
		return m
	case facts.Named:
		r := s.exported(m, b.Name)
		if len(r) == 0 && len(m) > 0 && m[0].kind != vModule {
			r = s.members(v, m, b.Name, false)
		}
		return slices.Clone(r)
	}
	return nil
}

// moduleIs is what module.exports = x (or export = x) makes of a whole module.
func (s *solver) moduleIs(m []value) []value {
	if len(m) != 1 || m[0].kind != vModule || m[0].path == "" {
		return nil
	}
	v := s.view(m[0].path)
	if v == nil {
		return nil
	}
	for i := range v.Imports {
		for _, b := range v.Imports[i].Bindings {
			if v.Imports[i].Kind == facts.LocalExport && b.Kind == facts.Whole {
				return imported(s.lexical(v, b.Name, 0, v.Imports[i].Start))
			}
		}
	}
	return nil
}

// module turns a target into a value, looking up the names that remain.
func (s *solver) module(v *view, t lang.Target) []value {
	switch t.Status {
	case lang.External:
		return []value{{kind: vExternal, path: t.Why, def: facts.None, how: HowImport}}
	case lang.Unresolved:
		return nil
	}
	r := []value{{vModule, t.File, facts.None, t.Dir, HowImport}}
	for _, name := range t.Rest {
		next := s.exported(r, name)
		if len(next) == 0 {
			next = s.members(v, r, name, true)
		}
		r = next
	}
	return r
}

// exported finds a name that modules offer to others.
func (s *solver) exported(ms []value, name string) []value {
	for _, m := range ms {
		if m.kind == vExternal {
			return []value{m}
		}
		if m.kind != vModule {
			continue
		}
		if r := s.exportedOf(m, name, map[site]bool{}); len(r) > 0 {
			return r
		}
	}
	return nil
}

func (s *solver) exportedOf(m value, name string, seen map[site]bool) []value {
	if s.spent() {
		return nil
	}
	if m.path == "" && m.dir != "" {
		if r := s.inPackage(m.dir, name); len(r) > 0 {
			return r
		}
		return s.submodule(nil, m, name)
	}
	v := s.view(m.path)
	if v == nil {
		return nil
	}
	k := site{m.path, m.def}
	if seen[k] {
		return nil
	}
	seen[k] = true
	scope := s.moduleScope(v, m.def)
	if r := s.declaredExport(v, name, scope); len(r) > 0 {
		return r
	}
	if r := s.reexported(v, name, scope, seen); len(r) > 0 {
		return r
	}
	return s.submodule(v, m, name)
}

// moduleScope is the scope of an inline module, or the file's.
func (s *solver) moduleScope(v *view, def int32) int32 {
	if def == facts.None {
		return 0
	}
	d := v.Defs[def]
	for i := len(v.Scopes) - 1; i > 0; i-- {
		if sc := v.Scopes[i]; sc.Kind == facts.ModuleScope && sc.Start >= d.Start && sc.Start <= d.NameStart && sc.End <= d.End {
			return int32(i)
		}
	}
	return 0
}

func (s *solver) declaredExport(v *view, name string, scope int32) []value {
	var out []value
	if name == "default" {
		for i := range v.Defs {
			if v.Defs[i].Flags&facts.Default != 0 && v.Defs[i].Scope == scope {
				out = append(out, value{vDef, v.path, int32(i), "", HowImport})
			}
		}
	}
	v.defsNamed(name, func(i int32, d *facts.Def) bool {
		switch {
		case d.Scope != scope, d.Kind == facts.Impl, d.Kind == facts.Column, d.Flags&facts.Default != 0 && name != "default" && v.lang.Exports != nil:
		case v.lang.Exports != nil && !v.lang.Exports(*d):
		case d.Parent != facts.None && d.Kind == facts.Property:
		default:
			out = append(out, value{vDef, v.path, i, "", HowImport})
		}
		return true
	})
	return out
}

// reexported looks through a module's export lists and star exports.
func (s *solver) reexported(v *view, name string, scope int32, seen map[site]bool) []value {
	for i := range v.Imports {
		im := &v.Imports[i]
		if im.Scope != scope {
			continue
		}
		for _, b := range im.Bindings {
			if b.Exports && b.Kind != facts.Star && b.As == name {
				if r := s.follow(v, i, b); len(r) > 0 {
					return imported(r)
				}
			}
		}
	}
	if name == "default" {
		return nil // a star does not bring the default export
	}
	for i := range v.Imports {
		im := &v.Imports[i]
		if im.Scope != scope {
			continue
		}
		for _, b := range im.Bindings {
			if b.Kind != facts.Star || !b.Exports {
				continue
			}
			for _, m := range s.star(v, i) {
				if m.kind == vModule {
					if r := s.exportedOf(m, name, seen); len(r) > 0 {
						return r
					}
				} else if r := s.members(v, []value{m}, name, true); len(r) > 0 && m.kind == vDef {
					return r
				}
			}
		}
	}
	return nil
}

// imported marks values as found through an import.
func imported(r []value) []value {
	out := slices.Clone(r)
	for i := range out {
		if out[i].how != HowName {
			out[i].how = HowImport
		}
	}
	return out
}

// submodule finds a module below a package that nothing in it names.
func (s *solver) submodule(v *view, m value, name string) []value {
	la := s.langOf(v, m)
	if la == nil || la.Resolver == nil {
		return nil
	}
	t := s.g.linker.member(la, lang.Target{Status: lang.Resolved, File: m.path, Dir: m.dir}, name)
	if t.Status != lang.Resolved {
		return nil
	}
	return []value{{vModule, t.File, facts.None, t.Dir, HowImport}}
}

func (s *solver) langOf(v *view, m value) *lang.Language {
	if v != nil {
		return v.lang
	}
	for _, n := range s.g.index.names(m.dir) {
		if l := languageOf(n); l != nil && l.Resolver != nil {
			return l
		}
	}
	for _, p := range s.g.index.below(m.dir) {
		if l := languageOf(p); l != nil && l.Resolver != nil {
			return l
		}
	}
	return nil
}

// inPackage finds a definition in any file of a package directory (Go).
func (s *solver) inPackage(dir, name string) []value {
	var out []value
	h := facts.FoldedHash(name)
	for _, n := range s.g.index.names(dir) {
		e := s.g.index.get(dir + "/" + n)
		if e == nil || e.lang.Package == nil || e.lang.Package(e.path) != dir || !s.defines(e, h) {
			continue
		}
		if v := s.view(e.path); v != nil {
			out = append(out, s.declaredExport(v, name, 0)...)
		}
	}
	return out
}

// defines reports whether a file may define a name, its open buffer included.
func (s *solver) defines(e *entry, h uint32) bool {
	if d := s.g.docs.get(e.path); d != nil {
		return true
	}
	return facts.Has(e.defs, h)
}

// beside finds a name in the other files of the same package.
func (s *solver) beside(v *view, name string) []value {
	if v.lang.Package == nil {
		return s.macro(v, name)
	}
	key := v.lang.Package(v.path)
	if key == "" {
		return nil
	}
	var out []value
	for _, p := range s.g.definers(name) {
		la := languageOf(p)
		if p == v.path || la != v.lang || la.Package(p) != key {
			continue
		}
		if o := s.view(p); o != nil {
			for _, x := range s.declaredExport(o, name, 0) {
				x.how = HowPackage
				out = append(out, x)
			}
		}
	}
	return out
}

// macro finds a macro of the same crate, which needs no import.
func (s *solver) macro(v *view, name string) []value {
	if !v.lang.ClosedModules {
		return nil
	}
	root := s.g.linker.begin(v, "crate", 0)
	var out []value
	for _, p := range s.g.definers(name) {
		if languageOf(p) != v.lang {
			continue
		}
		o := s.view(p)
		if o == nil || s.g.linker.begin(o, "crate", 0).File != root.File {
			continue
		}
		o.defsNamed(name, func(i int32, d *facts.Def) bool {
			if d.Kind == facts.Macro {
				out = append(out, value{vDef, p, i, "", HowPackage})
			}
			return true
		})
	}
	return out
}

// rootName is the last part of a directory, for messages.
func rootName(p string) string { return path.Base(p) }
