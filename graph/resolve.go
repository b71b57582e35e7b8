package graph

import (
	"context"
	"slices"

	"github.com/stella-ls/stella-ls/graph/facts"
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
