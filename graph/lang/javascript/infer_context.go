package javascript

import (
	"strings"

	"github.com/stella-ls/stella-ls/graph/facts"
	"github.com/stella-ls/stella-ls/graph/infer"
)

// context is the type that the place of a value expects of it.
func (w inferrer) context(n int32) int32 { return w.Expected(n, w.contextNow) }

func (w inferrer) contextNow(n int32) int32 {
	p := w.Parent(n)
	switch w.Kind(p) {
	case "parenthesized_expression":
		return w.context(p)
	case "ternary_expression":
		if w.Field(n) != "condition" {
			return w.context(p)
		}
	case "binary_expression":
		switch strings.TrimSpace(w.Between(w.Child(p, "left"), w.Child(p, "right"))) {
		case "??", "||":
			return w.context(p)
		case "&&":
			if w.Field(n) == "right" {
				return w.context(p)
			}
		}
	case "variable_declarator", "public_field_definition", "required_parameter", "optional_parameter":
		return w.typeExpr(w.Child(p, "type"))
	case "assignment_expression":
		if w.Field(n) == "right" {
			return w.expr(w.Child(p, "left"))
		}
	case "arguments":
		return w.argument(n, p)
	case "pair":
		return w.keyType(p)
	case "array":
		return w.Of(facts.XElem, w.context(p))
	case "spread_element":
		if w.Kind(w.Parent(p)) == "object" {
			return w.context(w.Parent(p))
		}
	case "return_statement":
		return w.returnType(w.functionAround(p))
	case "arrow_function":
		if w.Field(n) == "body" {
			return w.returnType(p)
		}
	case "as_expression", "satisfies_expression":
		if t := w.Last(p); t != n {
			return w.typeExpr(t)
		}
	case "await_expression":
		return w.context(p)
	}
	return none
}

// literal is what is expected of an object literal, without the alternatives
// that its texts rule out: { type: 'added' } is not a { type: 'removed' }.
func (w inferrer) literal(n int32) int32 {
	ctx := w.context(n)
	if ctx == none {
		return none
	}
	if e, ok := w.matched[n]; ok {
		return e
	}
	var keys []infer.Key
	for c := w.First(n); c != none; c = w.Sibling(c) {
		if key, value := w.Child(c, "key"), w.Child(c, "value"); w.Kind(c) == "pair" && w.Kind(value) == "string" {
			keys = append(keys, infer.Key{Node: key, Text: w.expr(value)})
		}
	}
	w.matched[n] = w.Match(ctx, keys)
	return w.matched[n]
}

// argument is what a call expects of the argument n.
func (w inferrer) argument(n, args int32) int32 {
	call := w.Parent(args)
	callee := w.Child(call, "function")
	if callee == none {
		callee = w.Child(call, "constructor")
	}
	i := 0
	for c := w.First(args); c != none && c != n; c = w.Sibling(c) {
		if w.Kind(c) != "comment" {
			i++
		}
	}
	return w.OfN(facts.XArg, w.expr(callee), i)
}

// keyType is the type of the property that a key of a literal is, when the
// literal's place expects something.
func (w inferrer) keyType(pair int32) int32 {
	key := w.Child(pair, "key")
	if o := w.Occ(key); o != facts.None && w.F.Occs[o].RecvK.Expr() {
		return w.Value(o)
	}
	return none
}

func (w inferrer) functionAround(n int32) int32 {
	for p := w.Parent(n); p != none; p = w.Parent(p) {
		if functionKinds[w.Kind(p)] {
			return p
		}
	}
	return none
}

// returnType is what a function has to return: as written, or as its own place
// expects it.
func (w inferrer) returnType(fn int32) int32 {
	var e int32
	if t := w.Child(fn, "return_type"); t != none {
		e = w.typeExpr(t)
	} else {
		e = w.Of(facts.XRet, w.expectedFunction(fn))
	}
	if w.async(fn) {
		return w.Of(facts.XAwait, e)
	}
	return e
}

// expectedFunction is the function type that a function's place expects.
func (w inferrer) expectedFunction(fn int32) int32 {
	switch w.Kind(fn) {
	case "arrow_function", "function_expression", "generator_function":
		return w.context(fn)
	case "method_definition":
		if o := w.Occ(w.Child(fn, "name")); o != facts.None && w.F.Occs[o].RecvK.Expr() {
			return w.Value(o)
		}
	}
	return none
}

// expectedParameter is the type that the place of a function expects its
// parameter n to have.
func (w inferrer) expectedParameter(n int32) int32 {
	list := w.Parent(n)
	fn, i := list, 0
	if w.Kind(list) == "formal_parameters" {
		fn = w.Parent(list)
		for c := w.First(list); c != none && c != n; c = w.Sibling(c) {
			if w.Kind(c) != "comment" && w.Kind(w.Child(c, "pattern")) != "this" {
				i++
			}
		}
	}
	return w.OfN(facts.XParam, w.expectedFunction(fn), i)
}

// source is the value that a pattern takes apart.
func (w inferrer) source(n int32) int32 {
	p := w.Parent(n)
	switch w.Kind(p) {
	case "variable_declarator":
		return w.typed(p)
	case "required_parameter", "optional_parameter":
		return w.parameter(p)
	case "formal_parameters":
		return w.expectedParameter(n)
	case "assignment_pattern": // a default
		if e := w.source(p); e != none {
			return e
		}
		return w.expr(w.Child(p, "right"))
	case "pair_pattern":
		if key := w.Child(p, "key"); w.Kind(key) == "property_identifier" {
			return w.Value(w.Occ(key))
		}
	case "array_pattern":
		i := 0
		for c := w.First(p); c != none && c != n; c = w.Sibling(c) {
			i++
		}
		return w.OfN(facts.XIndex, w.source(p), i)
	case "for_in_statement":
		return w.Of(facts.XEach, w.loopedOver(p))
	case "assignment_expression":
		return w.expr(w.Child(p, "right"))
	}
	return none
}

// loopedOver is what for (x of y) goes through; for (x in y) gives strings.
func (w inferrer) loopedOver(n int32) int32 {
	left, right := w.Child(n, "left"), w.Child(n, "right")
	if strings.TrimSpace(w.Between(left, right)) != "of" {
		return none
	}
	return w.expr(right)
}
