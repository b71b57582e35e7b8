package python

import (
	"slices"
	"strings"

	"github.com/stella-ls/stella-ls/graph/facts"
	"github.com/stella-ls/stella-ls/graph/infer"
	"github.com/stella-ls/stella-ls/graph/syntax"
)

// inferrer works out the expressions of a Python file. infer_types.go reads
// annotations, infer_narrow.go follows isinstance.
type inferrer struct {
	*infer.Builder
	regions []region
}

// none is no node and no expression.
const none = syntax.None

// Infer is Language.Infer.
func Infer(t *syntax.Tree, f *facts.File) {
	w := inferrer{Builder: infer.New(t, f)}
	w.Each(w.node)
}

// node handles one node; its children come after it.
func (w *inferrer) node(n int32) {
	switch w.Kind(n) {
	case "assignment":
		w.assignment(n)
	case "named_expression":
		w.Define(w.Child(n, "name"), w.expr(w.Child(n, "value")))
	case "typed_parameter":
		w.Define(w.parameterName(n), w.parameter(n))
	case "default_parameter", "typed_default_parameter":
		w.Define(w.Child(n, "name"), w.parameter(n))
	case "identifier":
		w.lambdaParameter(n)
	case "function_definition":
		w.function(n)
		w.receiver(n)
	case "global_statement", "nonlocal_statement":
		w.outer(n)
	case "type_alias_statement":
		w.Define(w.First(w.Child(n, "left")), w.typeExpr(w.Child(n, "right")))
	case "for_statement", "for_in_clause":
		w.bind(w.Child(n, "left"), w.Of(facts.XEach, w.expr(w.Child(n, "right"))))
	case "as_pattern":
		if a := w.Child(n, "alias"); a != none {
			w.Define(w.First(a), w.expr(w.First(n)))
		}
	case "if_statement", "elif_clause", "assert_statement", "boolean_operator", "conditional_expression", "while_statement":
		w.narrow(n)
	case "attribute":
		w.attribute(n)
	}
}

func (w *inferrer) assignment(n int32) {
	left := w.Child(n, "left")
	e := none
	if t := w.Child(n, "type"); t != none {
		e = w.typeExpr(t)
	} else if right := w.Child(n, "right"); w.writtenType(right) {
		e = w.typeExpr(right)
	} else {
		e = w.expr(right)
	}
	if w.Kind(left) == "attribute" {
		left = w.Child(left, "attribute")
		at := w.F.DefAtName(w.Start(left))
		if at == facts.None {
			return
		}
		if w.Child(n, "type") == none { // a base may declare it
			w.Both(left, w.Self(left))
		}
		w.Define(left, e)
		return
	}
	w.bind(left, e)
}

// bind gives the names on the left the type of what they are bound to, taken
// apart where they are several.
func (w *inferrer) bind(left, e int32) {
	switch w.Kind(left) {
	case "identifier":
		w.Define(left, e)
	case "pattern_list", "tuple_pattern", "list_pattern":
		i := 0
		for c := w.First(left); c != none; c = w.Sibling(c) {
			w.bind(c, w.OfN(facts.XIndex, e, i))
			i++
		}
	}
}

func (w *inferrer) parameterName(n int32) int32 {
	name := w.First(n)
	if k := w.Kind(name); k == "list_splat_pattern" || k == "dictionary_splat_pattern" {
		return w.First(name)
	}
	return name
}

// parameter is the type of a parameter: as written, or of its default.
func (w *inferrer) parameter(n int32) int32 {
	if t := w.Child(n, "type"); t != none {
		e := w.typeExpr(t)
		switch w.Kind(w.First(n)) {
		case "list_splat_pattern":
			return w.Collection(facts.XArray, e)
		case "dictionary_splat_pattern":
			return w.Collection(facts.XMap, e)
		}
		return e
	}
	return w.expr(w.Child(n, "value"))
}

// lambdaParameter gives the parameters of a lambda that is an argument the types
// that the call expects.
func (w *inferrer) lambdaParameter(n int32) {
	list := w.Parent(n)
	if w.Kind(list) != "lambda_parameters" {
		return
	}
	i := 0
	for c := w.First(list); c != none && c != n; c = w.Sibling(c) {
		i++
	}
	w.Define(n, w.OfN(facts.XParam, w.expected(w.Parent(list)), i))
}

// expected is what a call expects of its argument n.
func (w *inferrer) expected(n int32) int32 {
	args := w.Parent(n)
	if w.Kind(args) == "assignment" {
		return w.typeExpr(w.Child(args, "type"))
	}
	if w.Kind(args) != "argument_list" {
		return none
	}
	i := 0
	for c := w.First(args); c != none && c != n; c = w.Sibling(c) {
		i++
	}
	return w.OfN(facts.XArg, w.expr(w.Child(w.Parent(args), "function")), i)
}

// function gives a function its type; a property gets the type of its value.
func (w *inferrer) function(n int32) {
	ret := w.result(n)
	name := w.Child(n, "name")
	if w.isProperty(n) {
		w.Define(name, ret)
		return
	}
	var params []int32
	for p := w.First(w.Child(n, "parameters")); p != none; p = w.Sibling(p) {
		switch w.Kind(p) {
		case "identifier":
			if len(params) == 0 && slices.Contains(selfNames, w.Str(p)) {
				continue // a method is called without it
			}
			params = append(params, none)
		case "typed_parameter", "default_parameter", "typed_default_parameter":
			params = append(params, w.parameter(p))
		case "keyword_separator", "positional_separator", "comment":
		default:
			params = append(params, none)
		}
	}
	w.Define(name, w.Func(params, ret))
}

// receiver gives the first parameter of a method, whatever it is called, the type
// around it.
func (w *inferrer) receiver(n int32) {
	first := w.First(w.Child(n, "parameters"))
	if w.Kind(first) != "identifier" || slices.Contains(selfNames, w.Str(first)) {
		return
	}
	p := w.Parent(n)
	if w.Kind(p) == "decorated_definition" {
		for c := w.First(p); c != none; c = w.Sibling(c) {
			if w.Kind(c) == "decorator" && w.lastName(w.First(c)) == "staticmethod" {
				return
			}
		}
		p = w.Parent(p)
	}
	if w.Kind(w.Parent(p)) == "class_definition" {
		w.Define(first, w.Self(n))
	}
}

// outer makes what a function assigns to a name that it declares as one of outside
// writes of that name, and no definitions.
func (w *inferrer) outer(n int32) {
	scope := w.F.ScopeAt(w.Start(n))
	if scope == 0 { // there is nothing outside of it
		return
	}
	for c := w.First(n); c != none; c = w.Sibling(c) {
		name := w.Str(c)
		for i := range w.F.Defs {
			d := &w.F.Defs[i]
			if d.Scope != scope || d.Kind != facts.Variable || w.F.Names[d.Name] != name {
				continue
			}
			d.Flags |= facts.Hidden
			if o := w.OccAtByte(d.NameStart); o != facts.None {
				w.F.Occs[o].Role = facts.Write
			}
		}
	}
}

// isProperty reports whether a function is used like a field.
func (w *inferrer) isProperty(n int32) bool {
	p := w.Parent(n)
	if w.Kind(p) != "decorated_definition" {
		return false
	}
	for c := w.First(p); c != none; c = w.Sibling(c) {
		if w.Kind(c) == "decorator" {
			if last := w.lastName(w.First(c)); last == "property" || last == "cached_property" {
				return true
			}
		}
	}
	return false
}

// lastName is the last part of a dotted name.
func (w *inferrer) lastName(n int32) string {
	s := w.Str(n)
	return s[strings.LastIndexByte(s, '.')+1:]
}

// result is what calling a function gives.
func (w *inferrer) result(n int32) int32 {
	if t := w.Child(n, "return_type"); t != none {
		return w.typeExpr(t)
	}
	body := w.Child(n, "body")
	if body == none {
		return none
	}
	var parts []int32
	end := w.Nodes[body].Next
	for c := body; c < end && len(parts) < infer.MaxParts; {
		switch w.Kind(c) {
		case "function_definition", "class_definition", "lambda":
			c = w.Nodes[c].Next
			continue
		case "return_statement":
			parts = append(parts, w.expr(w.First(c)))
		}
		c++
	}
	return w.Union(parts...)
}

// attribute gives a member whose receiver is more than a name, or was tested, its
// receiver.
func (w *inferrer) attribute(n int32) {
	name, object := w.Child(n, "attribute"), w.Child(n, "object")
	o := w.Occ(name)
	if o == facts.None {
		return
	}
	switch w.F.Occs[o].RecvK {
	case facts.RecvSelf:
		if w.Kind(object) == "identifier" && !w.inClass(n) { // a function's parameter that is called so
			w.Receive(name, w.Value(w.Occ(object)))
		}
	case facts.RecvUnknown, facts.RecvCall, facts.RecvName:
		if t := w.tested(object); t != none {
			w.Receive(name, t)
		} else if w.F.Occs[o].RecvK != facts.RecvName {
			w.Receive(name, w.expr(object))
		}
	}
}

func (w *inferrer) inClass(n int32) bool {
	for p := w.Parent(n); p != none; p = w.Parent(p) {
		if w.Kind(p) == "class_definition" {
			return true
		}
	}
	return false
}

// expr is the type of a value.
func (w *inferrer) expr(n int32) int32 { return w.Memo(n, w.exprNow) }

func (w *inferrer) exprNow(n int32) int32 {
	switch w.Kind(n) {
	case "identifier":
		if slices.Contains(selfNames, w.Str(n)) && w.inClass(n) {
			return w.Self(n)
		}
		return w.Value(w.Occ(n))
	case "attribute":
		return w.Value(w.Occ(w.Child(n, "attribute")))
	case "call":
		return w.call(n)
	case "await":
		return w.Of(facts.XAwait, w.expr(w.First(n)))
	case "parenthesized_expression":
		return w.expr(w.First(n))
	case "named_expression":
		return w.expr(w.Child(n, "value"))
	case "subscript":
		return w.Of(facts.XElem, w.expr(w.Child(n, "value")))
	case "conditional_expression":
		first := w.First(n)
		return w.Union(w.expr(first), w.expr(w.Last(n)))
	case "boolean_operator":
		left, right := w.Child(n, "left"), w.Child(n, "right")
		if strings.TrimSpace(w.Between(left, right)) == "or" {
			return w.Union(w.expr(left), w.expr(right))
		}
		return w.expr(right)
	case "list", "set", "tuple":
		return w.Collection(facts.XArray, w.expr(w.First(n)))
	case "list_comprehension", "set_comprehension", "generator_expression":
		return w.Collection(facts.XArray, w.expr(w.Child(n, "body")))
	case "dictionary":
		return w.Collection(facts.XMap, w.expr(w.Child(w.First(n), "value")))
	case "dictionary_comprehension":
		return w.Collection(facts.XMap, w.expr(w.Child(w.Child(n, "body"), "value")))
	case "as_pattern":
		return w.expr(w.First(n))
	}
	return none
}

// call is what a call gives, with the functions of the language that pass their
// argument on.
func (w *inferrer) call(n int32) int32 {
	fn, args := w.Child(n, "function"), w.Child(n, "arguments")
	first := w.First(args)
	switch w.lastName(fn) {
	case "cast":
		return w.typeExpr(first)
	case "reversed", "sorted", "list", "tuple", "set", "frozenset", "iter":
		if w.Kind(fn) == "identifier" && first != none {
			return w.Collection(facts.XArray, w.Of(facts.XEach, w.expr(first)))
		}
	case "next":
		if w.Kind(fn) == "identifier" {
			return w.Of(facts.XEach, w.expr(first))
		}
	case "enumerate":
		if w.Kind(fn) == "identifier" { // pairs of a number and an element, like a map's entries
			return w.Collection(facts.XMap, w.Of(facts.XEach, w.expr(first)))
		}
	case "super":
		return none
	}
	return w.Of(facts.XCall, w.expr(fn))
}
