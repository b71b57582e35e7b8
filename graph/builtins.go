package graph

import (
	"strings"

	"github.com/stella-ls/stella-ls/graph/facts"
)

// The members of collections and promises that matter for types, by what they
// give: one element, the collection itself, the entries of a map.
var (
	givesElement = words("find findLast pop shift at get setdefault popleft __getitem__ next")
	givesSame    = words("filter slice concat sort reverse splice toSorted toReversed fill copy then catch finally add set")
	givesValues  = words("values")
	givesEntries = words("entries items")
	takesElement = words("forEach map filter find findLast findIndex findLastIndex some every flatMap then finally")
	takesTwo     = words("sort toSorted")
	takesValue   = words("push unshift add includes indexOf append set fill") // the last argument that counts
)

func words(s string) map[string]bool {
	m := map[string]bool{}
	for _, w := range strings.Fields(s) {
		m[w] = true
	}
	return m
}

// builtin is a member of a collection or promise. Those that say nothing about
// types are outside of the workspace all the same.
func (s *solver) builtin(x value, name string) []value {
	switch {
	case givesElement[name], givesSame[name], givesValues[name], givesEntries[name], takesElement[name], takesTwo[name], takesValue[name]:
		return []value{{vBuiltin, x.path, x.def, x.dir + " " + name, HowMember}}
	}
	return []value{{kind: vExternal, path: name + " is a member of a collection of the language", def: facts.None, how: HowMember}}
}

// holder is the collection that a builtin is a member of, and the builtin's name.
func holder(x value) (value, string) {
	wraps, name, _ := strings.Cut(x.dir, " ")
	return value{vInstance, x.path, x.def, wraps, HowMember}, name
}

// calledBuiltin is what calling a builtin gives.
func (s *solver) calledBuiltin(x value) []value {
	of, name := holder(x)
	switch {
	case givesElement[name] && of.dir[0] != 'p':
		if y, ok := inner(of); ok {
			return []value{y}
		}
	case givesSame[name]:
		return []value{of}
	case givesValues[name]:
		of.dir = "a" + of.dir[1:]
		return []value{of}
	case givesEntries[name] && of.dir[0] == 'm':
		of.dir = "e" + of.dir[1:]
		return []value{of}
	}
	return nil
}

// builtinParameter is what a builtin expects: as its first argument a function,
// which stands for it in XParam of XArg, with elements as its parameters.
func builtinParameter(x value, n uint8) []value {
	of, name := holder(x)
	if fn, ok := strings.CutSuffix(name, "()"); ok { // the function's parameter
		if takesElement[fn] && n == 0 || takesTwo[fn] && n < 2 {
			if y, ok := inner(of); ok {
				return []value{y}
			}
		}
		return nil
	}
	if takesValue[name] && (n == 0) == (of.dir[0] != 'm') {
		if y, ok := inner(of); ok {
			return []value{y}
		}
		return nil
	}
	if n == 0 && (takesElement[name] || takesTwo[name]) {
		x.dir += "()"
		return []value{x}
	}
	return nil
}
