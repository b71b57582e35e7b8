package facts

// Expr is a type as far as a file tells it: one that is written, or that of a
// value. What its names mean is worked out when it is asked for.
type Expr struct {
	Op  ExprOp
	N   uint8 // a position
	Occ int32 // occurrence
	// A and B are expressions that stand before this one in File.Exprs, or None;
	// for XObject the range of bytes, for XSelf the place.
	A, B int32
}

// ExprOp says what an Expr is made of.
type ExprOp uint8

// The forms. "Of a value" means that the type of the value A is meant.
const (
	XNone    ExprOp = iota
	XName           // the written type Occ
	XValue          // what the value Occ has
	XSelf           // the type around byte A
	XCall           // of calling A
	XAwait          // of waiting for A
	XElem           // of an element of A, by a key
	XEach           // of the elements that a loop over A gives
	XIndex          // of the N-th part of A, when it is taken apart
	XArray          // a collection of A
	XMap            // a map to A
	XPromise        // a promise of A
	XUnion          // A or B
	XObject         // an object that is written at bytes A to B
	XFunc           // a function that gives A, with the parameters B
	XParams         // a list of parameters: the type A, then the list B
	XArg            // what calling A expects as its N-th argument
	XParam          // the N-th parameter of the function A
	XRet            // what the function A gives
	XApply          // the written type Occ with the list of arguments B
	XText           // the literal text whose hash is A
	XMatch          // those alternatives of A that the list of key texts B fits
	XKey            // for XMatch: the key Occ has the text A; then the list B
	exprOps
)

// Raw reports whether A and B are no expressions.
func (o ExprOp) Raw() bool { return o == XObject || o == XSelf || o == XText }

// validExprs checks every index, so that no later code has to.
func (f *File) validExprs() bool {
	in := func(i int32, n int) bool { return i >= None && i < int32(n) }
	for i, x := range f.Exprs {
		if x.Op >= exprOps || !in(x.Occ, len(f.Occs)) {
			return false
		}
		switch x.Op {
		case XText:
		case XObject, XSelf:
			if x.A < 0 || uint32(x.A) > f.Size || x.B < 0 || uint32(x.B) > f.Size {
				return false
			}
		case XName, XValue, XApply, XKey:
			if x.Occ == None || !in(x.A, i) || !in(x.B, i) {
				return false
			}
		default:
			if !in(x.A, i) || !in(x.B, i) {
				return false
			}
		}
	}
	for i, o := range f.Occs {
		if o.RecvK.Expr() {
			if o.Recv < 0 || int(o.Recv) >= len(f.Exprs) {
				return false
			}
		} else if o.Recv >= int32(i) {
			return false
		}
	}
	for _, d := range f.Defs {
		if !in(d.Val, len(f.Exprs)) {
			return false
		}
	}
	return true
}
