package javascript

import (
	"slices"
	"strings"

	"github.com/stella-ls/stella-ls/graph/facts"
	"github.com/stella-ls/stella-ls/graph/infer"
	"github.com/stella-ls/stella-ls/graph/syntax"
)

// inferrer works out, for JavaScript, TypeScript and TSX, which expression each
// definition has and which type the receivers and the keys of literals have.
// infer_types.go reads written types, infer_context.go says what a place expects.
type inferrer struct {
	*infer.Builder
	matched map[int32]int32 // object literal -> what is expected of it
}

// none is no node and no expression.
const none = syntax.None

// Infer is Language.Infer.
func Infer(t *syntax.Tree, f *facts.File) {
	w := inferrer{infer.New(t, f), map[int32]int32{}}
	w.Each(w.node)
}

// node handles one node; its children come after it.
func (w inferrer) node(n int32) {
	switch w.Kind(n) {
	case "variable_declarator":
		w.declarator(n)
	case "required_parameter", "optional_parameter":
		w.Define(w.Child(n, "pattern"), w.parameter(n))
	case "identifier":
		w.bareParameter(n)
	case "function_declaration", "generator_function_declaration", "function_signature", "method_signature", "abstract_method_signature",
		"function_expression", "generator_function":
		name := w.Child(n, "name")
		w.Define(name, w.function(n))
		if strings.HasSuffix(w.Kind(n), "signature") {
			w.mark(name, facts.Signature)
		}
	case "method_definition":
		w.method(n)
	case "public_field_definition", "field_definition":
		name := w.Child(n, "name")
		if name == none {
			name = w.Child(n, "property")
		}
		w.Define(name, w.typed(n))
	case "property_signature":
		w.Define(w.Child(n, "name"), w.typeExpr(w.Child(n, "type")))
	case "type_alias_declaration":
		w.Define(w.Child(n, "name"), w.typeExpr(w.Child(n, "value")))
	case "type_parameter":
		w.typeParameter(n)
	case "interface_declaration":
		w.Define(w.Child(n, "name"), w.Union(w.signatures(w.Child(n, "body")), w.bases(n)))
	case "class_declaration", "abstract_class_declaration", "class":
		w.Define(w.Child(n, "name"), w.bases(n))
	case "pair":
		w.pair(n)
	case "shorthand_property_identifier":
		w.Both(n, w.literal(w.Parent(n)))
	case "object_pattern", "array_pattern":
		w.pattern(n)
	case "for_in_statement":
		if left := w.Child(n, "left"); w.Kind(left) == "identifier" {
			w.Define(left, w.Of(facts.XEach, w.loopedOver(n)))
		}
	case "assignment_expression":
		w.assignment(n)
	case "member_expression":
		w.member(n)
	}
}

func (w inferrer) declarator(n int32) {
	if name := w.Child(n, "name"); w.Kind(name) == "identifier" {
		w.Define(name, w.typed(n))
	}
}

// typed is the expression of what has a type or a value written.
func (w inferrer) typed(n int32) int32 {
	if t := w.Child(n, "type"); t != none {
		return w.typeExpr(t)
	}
	return w.expr(w.Child(n, "value"))
}

// parameter is the type of a parameter: as written, as the function's place
// expects it, or of its default.
func (w inferrer) parameter(n int32) int32 {
	if t := w.Child(n, "type"); t != none {
		return w.typeExpr(t)
	}
	if e := w.expectedParameter(n); e != none {
		return e
	}
	return w.expr(w.Child(n, "value"))
}

// bareParameter handles parameters that are nothing but a name, as JavaScript
// and x => y have them.
func (w inferrer) bareParameter(n int32) {
	p := w.Parent(n)
	switch {
	case w.Kind(p) == "formal_parameters", w.Kind(p) == "arrow_function" && w.Field(n) == "parameter":
		w.Define(n, w.expectedParameter(n))
	case w.Kind(p) == "assignment_pattern" && w.Field(n) == "left" && w.Kind(w.Parent(p)) == "formal_parameters":
		w.Define(n, w.expr(w.Child(p, "right")))
	}
}

func (w inferrer) method(n int32) {
	name := w.Child(n, "name")
	if w.Kind(w.Parent(n)) == "object" {
		w.Both(name, w.literal(w.Parent(n)))
	}
	switch mark := w.before(n, name); {
	case slices.Contains(mark, "get"):
		w.Define(name, w.result(n))
	case slices.Contains(mark, "set"):
		w.Define(name, w.parameter(w.First(w.Child(n, "parameters"))))
	default:
		w.Define(name, w.function(n))
	}
}

// mark sets a flag of the definition whose name is a node.
func (w inferrer) mark(name int32, f facts.Flags) {
	if name == none {
		return
	}
	if at := w.F.DefAtName(w.Start(name)); at != facts.None {
		w.F.Defs[at].Flags |= f
	}
}

// before are the words between the beginning of a node and one in it.
func (w inferrer) before(n, in int32) []string {
	if in == none {
		return nil
	}
	return strings.Fields(string(w.Text[w.Start(n):w.Start(in)]))
}

func (w inferrer) typeParameter(n int32) {
	bound := w.Child(n, "constraint")
	if bound == none {
		bound = w.Child(n, "value")
	}
	w.Define(w.Child(n, "name"), w.typeExpr(w.First(bound)))
}

func (w inferrer) pair(n int32) {
	key := w.Child(n, "key")
	if w.Kind(key) != "property_identifier" {
		return
	}
	value := w.Child(n, "value")
	w.Define(key, w.expr(value))
	if w.Kind(value) == "arrow_function" {
		w.mark(key, facts.Arrow)
	}
	ctx := w.literal(w.Parent(n))
	if o := w.Occ(key); o != facts.None && w.F.Occs[o].Role == facts.Definition {
		w.Both(key, ctx)
		return
	}
	w.Receive(key, ctx)
}

// pattern takes a value apart: its keys are members of the value, the names that
// it binds have the types of those members.
func (w inferrer) pattern(n int32) {
	src := w.source(n)
	if src == none {
		return
	}
	i := 0
	for c := w.First(n); c != none; c = w.Sibling(c) {
		target := c
		switch w.Kind(c) {
		case "object_assignment_pattern", "assignment_pattern":
			target = w.Child(c, "left")
		}
		switch w.Kind(target) {
		case "shorthand_property_identifier_pattern":
			w.Both(target, src)
			w.Define(target, w.Value(w.Occ(target)))
		case "pair_pattern":
			key, value := w.Child(target, "key"), w.Child(target, "value")
			if w.Kind(value) == "assignment_pattern" {
				value = w.Child(value, "left")
			}
			if w.Kind(key) == "property_identifier" {
				w.Receive(key, src)
				if w.Kind(value) == "identifier" {
					w.Define(value, w.Value(w.Occ(key)))
				}
			}
		case "identifier":
			if w.Kind(n) == "array_pattern" {
				w.Define(target, w.OfN(facts.XIndex, src, i))
			}
		case "rest_pattern":
			w.Define(w.First(target), src)
		}
		i++
	}
}

func (w inferrer) assignment(n int32) {
	left := w.Child(n, "left")
	if w.Kind(left) != "member_expression" || w.Kind(w.Child(left, "object")) != "this" {
		return
	}
	if name := w.Child(left, "property"); w.F.DefAtName(w.Start(name)) != facts.None {
		w.Define(name, w.expr(w.Child(n, "right")))
	}
}

// member gives a property whose receiver is more than a name its receiver.
func (w inferrer) member(n int32) {
	p := w.Child(n, "property")
	o := w.Occ(p)
	if o == facts.None {
		return
	}
	object := w.Child(n, "object")
	switch w.F.Occs[o].RecvK {
	case facts.RecvUnknown, facts.RecvCall:
		w.Receive(p, w.expr(object))
	case facts.RecvName:
		if t := w.tested(object); t != none {
			w.Receive(p, t)
		}
	}
}

// tested is the type that a value was tested for with instanceof, by a condition
// around it.
func (w inferrer) tested(object int32) int32 {
	text := w.Str(object)
	for n, p, i := object, w.Parent(object), 0; p != none && i < 24; n, p, i = p, w.Parent(p), i+1 {
		cond := none
		switch w.Kind(p) {
		case "if_statement", "ternary_expression":
			if w.Field(n) == "consequence" {
				cond = w.Child(p, "condition")
			}
		case "binary_expression":
			if w.Field(n) == "right" && strings.TrimSpace(w.Between(w.Child(p, "left"), n)) == "&&" {
				cond = w.Child(p, "left")
			}
		}
		if functionKinds[w.Kind(p)] && w.Kind(p) != "arrow_function" {
			return none
		}
		for w.Kind(cond) == "parenthesized_expression" {
			cond = w.First(cond)
		}
		if w.Kind(cond) != "binary_expression" {
			continue
		}
		left, right := w.Child(cond, "left"), w.Child(cond, "right")
		if strings.TrimSpace(w.Between(left, right)) == "instanceof" && w.Str(left) == text {
			return w.expr(right)
		}
	}
	return none
}
