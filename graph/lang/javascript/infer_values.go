package javascript

import (
	"bytes"
	"slices"
	"strings"

	"github.com/stella-ls/stella-ls/graph/facts"
	"github.com/stella-ls/stella-ls/graph/infer"
)

// expr is the type of a value.
func (w inferrer) expr(n int32) int32 { return w.Memo(n, w.exprNow) }

func (w inferrer) exprNow(n int32) int32 {
	switch w.Kind(n) {
	case "identifier", "shorthand_property_identifier":
		return w.Value(w.Occ(n))
	case "member_expression":
		return w.Value(w.Occ(w.Child(n, "property")))
	case "this":
		return w.Self(n)
	case "call_expression":
		return w.Of(facts.XCall, w.expr(w.Child(n, "function")))
	case "new_expression":
		return w.built(n)
	case "await_expression":
		return w.Of(facts.XAwait, w.expr(w.First(n)))
	case "as_expression", "satisfies_expression":
		if t := w.Last(n); t != w.First(n) {
			return w.typeExpr(t)
		}
		return w.expr(w.First(n)) // as const
	case "type_assertion":
		return w.typeExpr(w.First(w.First(n)))
	case "non_null_expression", "parenthesized_expression":
		return w.expr(w.First(n))
	case "sequence_expression":
		return w.expr(w.Last(n))
	case "assignment_expression":
		return w.expr(w.Child(n, "right"))
	case "subscript_expression":
		return w.Of(facts.XElem, w.expr(w.Child(n, "object")))
	case "ternary_expression":
		return w.Union(w.expr(w.Child(n, "consequence")), w.expr(w.Child(n, "alternative")))
	case "binary_expression":
		return w.binary(n)
	case "arrow_function", "function_expression", "generator_function":
		return w.function(n)
	case "object":
		return w.object(n)
	case "string":
		return w.text(n)
	case "array":
		return w.Collection(facts.XArray, w.expr(w.First(n)))
	}
	return none
}

// text is the type of a string without its quotes.
func (w inferrer) text(n int32) int32 { return w.Literal(strings.Trim(w.Str(n), "'\"")) }

// object is what a literal is: its own keys, and those of what it spreads.
func (w inferrer) object(n int32) int32 {
	parts := []int32{w.Object(n)}
	for c := w.First(n); c != none; c = w.Sibling(c) {
		if w.Kind(c) == "spread_element" {
			parts = append(parts, w.expr(w.First(c)))
		}
	}
	return w.Union(parts...)
}

func (w inferrer) binary(n int32) int32 {
	left, right := w.Child(n, "left"), w.Child(n, "right")
	switch strings.TrimSpace(w.Between(left, right)) {
	case "??", "||":
		return w.Union(w.expr(left), w.expr(right))
	case "&&":
		return w.expr(right)
	}
	return none
}

// built is what new gives: an instance, or a collection of the library.
func (w inferrer) built(n int32) int32 {
	c := w.Child(n, "constructor")
	if args := w.Child(n, "type_arguments"); args != none && w.Kind(c) == "identifier" {
		if e, ok := w.library(w.Str(c), args); ok {
			return e
		}
	}
	switch w.Str(c) {
	case "Map", "WeakMap":
		return w.Collection(facts.XMap, none)
	case "Set", "Array", "WeakSet":
		return w.Collection(facts.XArray, none)
	}
	if args := w.Child(n, "type_arguments"); args != none && w.Kind(c) == "identifier" {
		return w.Of(facts.XCall, w.Apply(w.Occ(c), w.arguments(args)))
	}
	return w.Of(facts.XCall, w.expr(c))
}

// function is the type of a function of any form.
func (w inferrer) function(n int32) int32 {
	var params []int32
	if one := w.Child(n, "parameter"); one != none {
		params = append(params, none)
	}
	for p := w.First(w.Child(n, "parameters")); p != none; p = w.Sibling(p) {
		if w.Kind(w.Child(p, "pattern")) == "this" || w.Kind(p) == "comment" {
			continue
		}
		e := none
		if t := w.Child(p, "type"); t != none {
			e = w.typeExpr(t)
		}
		params = append(params, e)
	}
	return w.Func(params, w.result(n))
}

// result is what calling a function gives.
func (w inferrer) result(n int32) int32 {
	if t := w.Child(n, "return_type"); t != none {
		return w.typeExpr(t)
	}
	body := w.Child(n, "body")
	var e int32
	switch {
	case body == none:
		return none
	case w.Kind(body) != "statement_block":
		e = w.expr(body)
	default:
		e = w.returned(body)
	}
	if e != none && w.async(n) {
		e = w.Collection(facts.XPromise, e)
	}
	return e
}

func (w inferrer) async(n int32) bool {
	return bytes.HasPrefix(w.Text[w.Start(n):w.End(n)], []byte("async")) || slices.Contains(w.before(n, w.Child(n, "name")), "async")
}

// returned is the union of what a body returns, inner functions left out.
func (w inferrer) returned(body int32) int32 {
	var parts []int32
	end := w.Nodes[body].Next
	for n := body + 1; n < end && len(parts) < infer.MaxParts; {
		if functionKinds[w.Kind(n)] {
			n = w.Nodes[n].Next
			continue
		}
		if w.Kind(n) == "return_statement" {
			parts = append(parts, w.expr(w.First(n)))
		}
		n++
	}
	return w.Union(parts...)
}

var functionKinds = map[string]bool{"arrow_function": true, "function_expression": true, "function_declaration": true, "generator_function": true,
	"generator_function_declaration": true, "method_definition": true, "class_declaration": true, "class": true}
