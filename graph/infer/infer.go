// Package infer helps languages to write down, for one file, what is known of
// the types in it: facts.Expr for definitions and for the receivers of members.
//
// A language walks the flat tree once (see syntax and Each) and calls Define,
// Receive and Both. What it says of a node depends on nothing outside of the
// top-level piece that the node is in, a child of the root, and each piece has its
// expressions in a row: so those of one piece can be worked out again alone.
// Nothing is resolved here: an expression says "what calling the value of
// this name gives", and package graph works out what that is when it is asked.
package infer

import (
	"sort"

	"github.com/stella-ls/stella-ls/graph/facts"
	"github.com/stella-ls/stella-ls/graph/syntax"
)

// Bounds of one file.
const (
	maxDepth = 200     // of nested syntax
	maxExprs = 1 << 20 // expressions
	// MaxParts bounds the alternatives of one union and the returns of one function.
	MaxParts = 12
)

// None is no expression.
const None = facts.None

// Builder collects the expressions of one file.
type Builder struct {
	*syntax.Tree
	F       *facts.File
	value   []int32 // node -> the expression of its type, see Memo
	context []int32 // node -> what its place expects, see Expected
	depth   int
}

// Not yet worked out, and being worked out; None is worked out.
const (
	unset int32 = -3
	open  int32 = -2
)

// New makes a builder for a file's tree and facts.
func New(t *syntax.Tree, f *facts.File) *Builder {
	all := make([]int32, 2*len(t.Nodes))
	for i := range all {
		all[i] = unset
	}
	return &Builder{Tree: t, F: f, value: all[:len(t.Nodes)], context: all[len(t.Nodes):]}
}

// Each calls visit for every node, parents before children, and notes where the
// expressions of each top-level piece begin.
func (b *Builder) Each(visit func(n int32)) {
	for n := int32(0); int(n) < len(b.Nodes); n++ {
		if b.Nodes[n].Parent == 0 {
			b.F.Pieces = append(b.F.Pieces, facts.Piece{Start: b.Nodes[n].Start, Expr: int32(len(b.F.Exprs))})
		}
		visit(n)
	}
}

// Memo is make(n), worked out once for a node; None within itself and below a
// bounded depth.
func (b *Builder) Memo(n int32, make func(n int32) int32) int32 { return b.memo(b.value, n, make) }

// Expected is Memo for what the node's place expects.
func (b *Builder) Expected(n int32, make func(n int32) int32) int32 {
	return b.memo(b.context, n, make)
}

func (b *Builder) memo(of []int32, n int32, make func(n int32) int32) int32 {
	if n < 0 || b.depth > maxDepth || of[n] == open {
		return None
	}
	if of[n] != unset {
		return of[n]
	}
	of[n] = open
	b.depth++
	e := make(n)
	b.depth--
	of[n] = e
	return e
}

// Occ is the occurrence that starts where a node does, or None.
func (b *Builder) Occ(n int32) int32 {
	if n < 0 {
		return facts.None
	}
	return b.OccAtByte(b.Start(n))
}

// OccAtByte is the occurrence that starts at a byte, or None.
func (b *Builder) OccAtByte(at uint32) int32 {
	i := sort.Search(len(b.F.Occs), func(i int) bool { return b.F.Occs[i].Start >= at })
	if i < len(b.F.Occs) && b.F.Occs[i].Start == at {
		return int32(i)
	}
	return facts.None
}

func (b *Builder) add(x facts.Expr) int32 {
	if len(b.F.Exprs) >= maxExprs {
		return None
	}
	b.F.Exprs = append(b.F.Exprs, x)
	return int32(len(b.F.Exprs) - 1)
}

// Name is the written type, Value the value, that an occurrence names.
func (b *Builder) Name(occ int32) int32  { return b.named(facts.XName, occ) }
func (b *Builder) Value(occ int32) int32 { return b.named(facts.XValue, occ) }

func (b *Builder) named(op facts.ExprOp, occ int32) int32 {
	if occ == facts.None {
		return None
	}
	return b.add(facts.Expr{Op: op, Occ: occ, A: None, B: None})
}

// Of applies an operation to a known expression.
func (b *Builder) Of(op facts.ExprOp, a int32) int32 { return b.OfN(op, a, 0) }

// OfN is Of with a position; positions past 255 are not kept apart.
func (b *Builder) OfN(op facts.ExprOp, a int32, n int) int32 {
	if a == None {
		return None
	}
	return b.add(facts.Expr{Op: op, N: uint8(min(n, 255)), Occ: facts.None, A: a, B: None})
}

// Collection is an array, map or promise; its content may be unknown.
func (b *Builder) Collection(op facts.ExprOp, a int32) int32 {
	return b.add(facts.Expr{Op: op, Occ: facts.None, A: a, B: None})
}

// Union is any of the expressions that are known.
func (b *Builder) Union(parts ...int32) int32 {
	u, n := None, 0
	for _, p := range parts {
		if p == None || n == MaxParts {
			continue
		}
		n++
		if u == None {
			u = p
			continue
		}
		u = b.add(facts.Expr{Op: facts.XUnion, Occ: facts.None, A: u, B: p})
	}
	return u
}

// Object is an object that is written where node n is; Self is the type around it.
func (b *Builder) Object(n int32) int32 {
	return b.add(facts.Expr{Op: facts.XObject, Occ: facts.None, A: int32(b.Start(n)), B: int32(b.End(n))})
}
func (b *Builder) Self(n int32) int32 {
	return b.add(facts.Expr{Op: facts.XSelf, Occ: facts.None, A: int32(b.Start(n)), B: 0})
}

// Func is a function with parameters and a result, each known or None.
func (b *Builder) Func(params []int32, ret int32) int32 {
	for len(params) > 0 && params[len(params)-1] == None {
		params = params[:len(params)-1]
	}
	list := None
	for i := min(len(params), 255) - 1; i >= 0; i-- {
		list = b.add(facts.Expr{Op: facts.XParams, Occ: facts.None, A: params[i], B: list})
	}
	return b.add(facts.Expr{Op: facts.XFunc, Occ: facts.None, A: ret, B: list})
}

// Apply is the written type that an occurrence names, with arguments.
func (b *Builder) Apply(occ int32, args []int32) int32 {
	if occ == facts.None {
		return None
	}
	list := None
	for i := min(len(args), 255) - 1; i >= 0; i-- {
		list = b.add(facts.Expr{Op: facts.XParams, Occ: facts.None, A: args[i], B: list})
	}
	return b.add(facts.Expr{Op: facts.XApply, Occ: occ, A: None, B: list})
}

// Literal is the type that has one text only.
func (b *Builder) Literal(s string) int32 {
	return b.add(facts.Expr{Op: facts.XText, Occ: facts.None, A: int32(facts.FoldedHash(s) & 0x7fffffff), B: 0})
}

// Key is a key of a literal with a text as its value.
type Key struct{ Node, Text int32 }

// Match is ctx without the alternatives that the keys of a literal rule out.
func (b *Builder) Match(ctx int32, keys []Key) int32 {
	list := None
	for _, k := range keys[:min(len(keys), MaxParts)] {
		if o := b.Occ(k.Node); o != facts.None {
			list = b.add(facts.Expr{Op: facts.XKey, Occ: o, A: k.Text, B: list})
		}
	}
	if ctx == None || list == None {
		return ctx
	}
	return b.add(facts.Expr{Op: facts.XMatch, Occ: facts.None, A: ctx, B: list})
}

// Define gives the definitions whose name is node n their expression.
func (b *Builder) Define(n, e int32) {
	if n < 0 || e == None {
		return
	}
	at := b.Start(n)
	for i := b.F.DefAtName(at); i != facts.None && int(i) < len(b.F.Defs) && b.F.Defs[i].NameStart == at; i++ {
		if b.F.Defs[i].Val == None {
			b.F.Defs[i].Val = e
		}
	}
}

// Receive makes the identifier at node n a member of the type e; Both keeps what
// it means by itself as well. An occurrence has one receiver.
func (b *Builder) Receive(n, e int32) { b.receive(n, e, facts.RecvExpr) }
func (b *Builder) Both(n, e int32)    { b.receive(n, e, facts.RecvBoth) }

func (b *Builder) receive(n, e int32, kind facts.RecvKind) {
	o := b.Occ(n)
	if o == facts.None || e == None {
		return
	}
	b.F.Occs[o].RecvK, b.F.Occs[o].Recv = kind, e
}
