package facts

import (
	"fmt"
	"strings"
)

// Describe writes f as text, for tests and for people who write queries.
func Describe(f *File) string {
	var b strings.Builder
	place := func(at uint32) string {
		l := f.LineOf(at)
		return fmt.Sprintf("%d:%d", l+1, at-f.Lines[l]+1)
	}
	for i, d := range f.Defs {
		fmt.Fprintf(&b, "def %s %s %s-%s", d.Kind, f.DefName(int32(i)), place(d.NameStart), place(d.End))
		if d.Parent != None {
			fmt.Fprintf(&b, " in %s", f.DefName(d.Parent))
		}
		for _, x := range []struct {
			label string
			occ   int32
		}{{"of", d.Owner}, {"type", d.Type}, {"init", d.Init}} {
			if x.occ != None {
				fmt.Fprintf(&b, " %s=%s", x.label, f.Name(x.occ))
			}
		}
		if d.Val != None {
			fmt.Fprintf(&b, " val=%s", f.expr(d.Val, 8))
		}
		for _, o := range d.Bases {
			fmt.Fprintf(&b, " base=%s", f.Name(o))
		}
		for flag, name := range map[Flags]string{Exported: "", Local: " local", FromText: " text"} {
			if d.Flags&flag != 0 {
				b.WriteString(name)
			}
		}
		if d.Flags&Exported != 0 {
			b.WriteString(" exported")
		}
		if d.Doc.End > d.Doc.Start {
			fmt.Fprintf(&b, " doc@%s", place(d.Doc.Start))
		}
		b.WriteByte('\n')
	}
	for i, o := range f.Occs {
		if o.Role == Definition && !o.RecvK.Expr() {
			continue
		}
		fmt.Fprintf(&b, "%s %s %s", o.Role, f.Name(int32(i)), place(o.Start))
		switch o.RecvK {
		case RecvName:
			fmt.Fprintf(&b, " of %s", f.Name(o.Recv))
		case RecvCall:
			fmt.Fprintf(&b, " of %s()", f.Name(o.Recv))
		case RecvArg:
			fmt.Fprintf(&b, " argument of %s()", f.Name(o.Recv))
		case RecvExpr:
			fmt.Fprintf(&b, " of %s", f.expr(o.Recv, 8))
		case RecvBoth:
			fmt.Fprintf(&b, " here and of %s", f.expr(o.Recv, 8))
		case RecvSelf:
			b.WriteString(" of self")
		case RecvSuper:
			b.WriteString(" of super")
		case RecvUnknown:
			b.WriteString(" of ?")
		}
		b.WriteByte('\n')
	}
	for _, m := range f.Imports {
		fmt.Fprintf(&b, "import %d %q %s", m.Kind, m.Spec, place(m.Start))
		for _, x := range m.Bindings {
			fmt.Fprintf(&b, " [%d %s as %s]", x.Kind, x.Name, x.As)
		}
		b.WriteByte('\n')
	}
	for _, e := range f.Errors {
		fmt.Fprintf(&b, "error %s\n", place(e.Start))
	}
	return b.String()
}

var opNames = [exprOps]string{"?", "", "value", "self", "call", "await", "elem", "each", "index", "array", "map", "promise", "union", "object", "func", "params", "arg", "param", "ret", "apply", "text", "match", "key"}

// expr writes an expression, to a depth.
func (f *File) expr(i int32, depth int) string {
	if i == None {
		return "_"
	}
	x := f.Exprs[i]
	switch {
	case depth == 0:
		return "…"
	case x.Op == XName:
		return f.Name(x.Occ)
	case x.Op == XValue:
		return "value " + f.Name(x.Occ)
	case x.Op.Raw():
		return opNames[x.Op]
	}
	s := opNames[x.Op]
	if x.Op == XArg || x.Op == XParam || x.Op == XIndex {
		s += fmt.Sprint(x.N)
	}
	s += "(" + f.expr(x.A, depth-1)
	if x.B != None {
		s += ", " + f.expr(x.B, depth-1)
	}
	return s + ")"
}
