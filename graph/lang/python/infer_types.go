package python

import (
	"strings"

	"github.com/stella-ls/stella-ls/graph/facts"
)

// The types of the standard library by what their arguments are to them.
var (
	passing     = set("Optional Annotated Final ClassVar Required NotRequired ReadOnly Type type TypeGuard Unpack ContextManager AbstractContextManager")
	collections = set(`List list Sequence MutableSequence Iterable Iterator Set set FrozenSet frozenset AbstractSet MutableSet Collection
Deque deque Generator AsyncIterator AsyncIterable AsyncGenerator Tuple tuple ContextVar`)
	maps     = set("Dict dict Mapping MutableMapping DefaultDict defaultdict OrderedDict ChainMap WeakValueDictionary")
	promises = set("Awaitable Coroutine Future Task")
	special  = set("Union Callable Literal")
)

func set(s string) map[string]bool {
	m := map[string]bool{}
	for _, w := range strings.Fields(s) {
		m[w] = true
	}
	return m
}

// typeExpr is a written type.
func (w *inferrer) typeExpr(n int32) int32 { return w.Memo(n, w.typeNow) }

func (w *inferrer) typeNow(n int32) int32 {
	switch w.Kind(n) {
	case "type", "parenthesized_expression", "constrained_type":
		return w.typeExpr(w.First(n))
	case "identifier":
		return w.Name(w.Occ(n))
	case "attribute":
		return w.Name(w.Occ(w.Child(n, "attribute")))
	case "member_type":
		return w.Name(w.Occ(w.Last(n)))
	case "binary_operator", "union_type":
		return w.Union(w.typeExpr(w.First(n)), w.typeExpr(w.Last(n)))
	case "subscript":
		var args []int32
		for c := w.Sibling(w.First(n)); c != none; c = w.Sibling(c) {
			args = append(args, c)
		}
		return w.generic(w.Child(n, "value"), args)
	case "generic_type":
		var args []int32
		for c := w.First(w.Last(n)); c != none; c = w.Sibling(c) {
			args = append(args, c)
		}
		return w.generic(w.First(n), args)
	case "string":
		return w.quoted(n)
	}
	return none
}

// generic is a type with arguments.
func (w *inferrer) generic(base int32, args []int32) int32 {
	name := w.lastName(base)
	if len(args) == 0 {
		return w.typeExpr(base)
	}
	switch {
	case passing[name]:
		return w.typeExpr(args[0])
	case name == "Union":
		return w.union(args)
	case collections[name]:
		if name == "Generator" || name == "AsyncGenerator" {
			args = args[:1]
		}
		return w.Collection(facts.XArray, w.union(args))
	case maps[name]:
		return w.Collection(facts.XMap, w.typeExpr(args[len(args)-1]))
	case promises[name]:
		return w.Collection(facts.XPromise, w.typeExpr(args[len(args)-1]))
	case name == "Callable":
		return w.callable(args)
	case name == "Literal":
		return none
	}
	return w.typeExpr(base)
}

func (w *inferrer) union(args []int32) int32 {
	var parts []int32
	for _, a := range args {
		parts = append(parts, w.typeExpr(a))
	}
	return w.Union(parts...)
}

func (w *inferrer) callable(args []int32) int32 {
	var params []int32
	list := args[0]
	if w.Kind(list) == "type" {
		list = w.First(list)
	}
	if w.Kind(list) == "list" {
		for p := w.First(list); p != none; p = w.Sibling(p) {
			params = append(params, w.typeExpr(p))
		}
	}
	ret := none
	if len(args) > 1 {
		ret = w.typeExpr(args[1])
	}
	return w.Func(params, ret)
}

// quoted is a type in a string: the last name of the first dotted one, and the
// argument of those that pass it on.
func (w *inferrer) quoted(n int32) int32 {
	content := none
	for c := w.First(n); c != none; c = w.Sibling(c) {
		if w.Kind(c) == "string_content" {
			content = c
			break
		}
	}
	if content == none {
		return none
	}
	text, at := w.Str(content), w.Start(content)
	for i := 0; i < len(text); {
		end := i
		for end < len(text) && wordByte(text[end]) {
			end++
		}
		if end == i {
			return none
		}
		name := text[i:end]
		switch {
		case end < len(text) && text[end] == '.':
			i = end + 1
			continue
		case end < len(text) && text[end] == '[' && passing[name]:
			i = end + 1
			continue
		case end < len(text) && text[end] == '[' && (collections[name] || maps[name] || special[name]):
			return none
		}
		return w.Name(w.OccAtByte(at + uint32(i)))
	}
	return none
}

func wordByte(c byte) bool {
	return c == '_' || c >= 0x80 || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9'
}

// writtenType reports whether a value is a type alias: Callable[...], Union[...].
func (w *inferrer) writtenType(n int32) bool {
	if w.Kind(n) != "subscript" {
		return false
	}
	name := w.lastName(w.Child(n, "value"))
	return passing[name] || collections[name] || maps[name] || promises[name] || special[name]
}
