package javascript

import (
	"github.com/stella-ls/stella-ls/graph/facts"
)

// typeExpr is a written type.
func (w inferrer) typeExpr(n int32) int32 { return w.Memo(n, w.typeNow) }

func (w inferrer) typeNow(n int32) int32 {
	switch w.Kind(n) {
	case "type_annotation", "parenthesized_type", "readonly_type", "optional_type", "constraint", "default_type":
		return w.typeExpr(w.First(n))
	case "rest_type":
		return w.Of(facts.XElem, w.typeExpr(w.First(n)))
	case "type_identifier", "identifier":
		return w.bare(n)
	case "nested_type_identifier":
		return w.Name(w.Occ(w.Child(n, "name")))
	case "generic_type":
		return w.generic(n)
	case "array_type":
		return w.Collection(facts.XArray, w.typeExpr(w.First(n)))
	case "tuple_type":
		return w.Collection(facts.XArray, w.union(n))
	case "union_type", "intersection_type":
		return w.union(n)
	case "conditional_type":
		return w.Union(w.typeExpr(w.Child(n, "consequence")), w.typeExpr(w.Child(n, "alternative")))
	case "function_type", "constructor_type":
		return w.functionType(n)
	case "object_type":
		return w.Union(w.Object(n), w.signatures(n))
	case "literal_type":
		if c := w.First(n); w.Kind(c) == "string" {
			return w.text(c)
		}
	case "type_query":
		return w.expr(w.First(n))
	case "this_type":
		return w.Self(n)
	}
	return none
}

func (w inferrer) union(n int32) int32 {
	var parts []int32
	for c := w.First(n); c != none; c = w.Sibling(c) {
		parts = append(parts, w.typeExpr(c))
	}
	return w.Union(parts...)
}

func (w inferrer) bare(n int32) int32 {
	switch w.Str(n) {
	case "Array", "Set", "ReadonlyArray":
		return w.Collection(facts.XArray, none)
	case "Map", "ReadonlyMap":
		return w.Collection(facts.XMap, none)
	}
	return w.Name(w.Occ(n))
}

func (w inferrer) functionType(n int32) int32 {
	var params []int32
	for p := w.First(w.Child(n, "parameters")); p != none; p = w.Sibling(p) {
		if w.Kind(w.Child(p, "pattern")) == "this" || w.Kind(p) == "comment" {
			continue
		}
		params = append(params, w.typeExpr(w.Child(p, "type")))
	}
	ret := w.Child(n, "return_type")
	if ret == none {
		ret = w.Child(n, "type") // of a constructor type
	}
	return w.Func(params, w.typeExpr(ret))
}

// generic is a type with arguments: one of the library's, or one whose
// arguments do not change which members it has.
func (w inferrer) generic(n int32) int32 {
	name := w.Child(n, "name")
	if e, ok := w.library(w.Str(name), w.Child(n, "type_arguments")); ok {
		return e
	}
	if w.Kind(name) == "nested_type_identifier" {
		return w.typeExpr(name)
	}
	return w.Apply(w.Occ(name), w.arguments(w.Child(n, "type_arguments")))
}

// signatures are the functions that a type with call signatures is.
func (w inferrer) signatures(body int32) int32 {
	var parts []int32
	for c := w.First(body); c != none; c = w.Sibling(c) {
		switch w.Kind(c) {
		case "call_signature", "construct_signature":
			parts = append(parts, w.function(c))
		}
	}
	return w.Union(parts...)
}

// bases are the types with arguments that a class or interface extends. Those
// without are in Def.Bases.
func (w inferrer) bases(n int32) int32 {
	var parts []int32
	for c := w.First(n); c != none; c = w.Sibling(c) {
		switch w.Kind(c) {
		case "extends_type_clause":
			for t := w.First(c); t != none; t = w.Sibling(t) {
				if w.Kind(t) == "generic_type" {
					parts = append(parts, w.typeExpr(t))
				}
			}
		case "class_heritage":
			for h := w.First(c); h != none; h = w.Sibling(h) {
				value, args := w.Child(h, "value"), w.Child(h, "type_arguments")
				if w.Kind(h) == "extends_clause" && args != none && w.Kind(value) == "identifier" {
					parts = append(parts, w.Apply(w.Occ(value), w.arguments(args)))
				}
			}
		}
	}
	return w.Union(parts...)
}

// arguments are the written arguments of a type.
func (w inferrer) arguments(n int32) []int32 {
	var args []int32
	for c := w.First(n); c != none; c = w.Sibling(c) {
		args = append(args, w.typeExpr(c))
	}
	return args
}

// library are the types of the standard library that stand for their argument.
func (w inferrer) library(name string, args int32) (int32, bool) {
	first := w.First(args)
	switch name {
	case "Array", "ReadonlyArray", "Set", "ReadonlySet", "WeakSet", "Iterable", "IterableIterator", "Iterator", "AsyncIterable",
		"AsyncIterableIterator", "Generator", "AsyncGenerator", "ArrayLike":
		return w.Collection(facts.XArray, w.typeExpr(first)), true
	case "Map", "ReadonlyMap", "WeakMap", "Record":
		return w.Collection(facts.XMap, w.typeExpr(w.Last(args))), true
	case "Promise", "PromiseLike":
		return w.Collection(facts.XPromise, w.typeExpr(first)), true
	case "Awaited":
		return w.Of(facts.XAwait, w.typeExpr(first)), true
	case "Readonly", "Partial", "Required", "NonNullable", "Omit", "Pick", "NoInfer", "Extract", "Exclude", "InstanceType":
		return w.typeExpr(first), true
	case "ReturnType":
		return w.Of(facts.XRet, w.typeExpr(first)), true
	}
	return none, false
}
