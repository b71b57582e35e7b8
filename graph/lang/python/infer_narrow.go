package python

// region is a part of the text in which a value was tested to be of a type.
type region struct {
	start, end uint32
	value      string // as written
	typ        int32
}

// narrow notes what isinstance in a condition says of what the condition guards.
func (w *inferrer) narrow(n int32) {
	var cond, body int32 = none, none
	switch w.Kind(n) {
	case "if_statement", "elif_clause":
		cond, body = w.Child(n, "condition"), w.Child(n, "consequence")
	case "while_statement":
		cond, body = w.Child(n, "condition"), w.Child(n, "body")
	case "assert_statement":
		// At the top level it would hold for all pieces after it (see package infer).
		if block := w.Parent(n); w.Parent(block) != none {
			w.tests(w.First(n), w.End(n), w.End(block))
		}
		return
	case "conditional_expression":
		body = w.First(n)
		cond = w.Sibling(body)
	case "boolean_operator":
		cond, body = w.Child(n, "left"), w.Child(n, "right")
		if op := w.Between(cond, body); len(op) < 3 || op[1:3] != "an" {
			return
		}
	}
	if cond != none && body != none {
		w.tests(cond, w.Start(body), w.End(body))
	}
}

// tests adds regions for the isinstance calls that a condition needs to hold.
func (w *inferrer) tests(cond int32, start, end uint32) {
	switch w.Kind(cond) {
	case "parenthesized_expression":
		w.tests(w.First(cond), start, end)
	case "boolean_operator":
		left, right := w.Child(cond, "left"), w.Child(cond, "right")
		if op := w.Between(left, right); len(op) >= 3 && op[1:3] == "an" {
			w.tests(left, start, end)
			w.tests(right, start, end)
		}
	case "call":
		args := w.Child(cond, "arguments")
		value := w.First(args)
		if w.Str(w.Child(cond, "function")) != "isinstance" || value == none {
			return
		}
		typ := w.Sibling(value)
		e := w.typeExpr(typ)
		if w.Kind(typ) == "tuple" {
			var parts []int32
			for c := w.First(typ); c != none; c = w.Sibling(c) {
				parts = append(parts, w.typeExpr(c))
			}
			e = w.Union(parts...)
		}
		if e != none {
			w.regions = append(w.regions, region{start, end, w.Str(value), e})
		}
	}
}

// maxRegions bounds how far back a test is looked for.
const maxRegions = 64

// tested is the type that a value was tested for where node n stands.
func (w *inferrer) tested(n int32) int32 {
	if len(w.regions) == 0 || w.End(n)-w.Start(n) > 80 {
		return none
	}
	at, text := w.Start(n), ""
	for i := len(w.regions) - 1; i >= max(0, len(w.regions)-maxRegions); i-- {
		r := w.regions[i]
		if r.start > at || at >= r.end {
			continue
		}
		if text == "" {
			text = w.Str(n)
		}
		if r.value == text {
			return r.typ
		}
	}
	return none
}
