package graph

import (
	"strings"

	"github.com/stella-ls/stella-ls/graph/facts"
)

// Collections and promises have no definition of their own: vInstance is a type
// of the workspace, or nothing known, with a letter in front for each of them
// (value.dir, the outermost first): a collection, m map, p promise, e a map's
// entries, t one entry.

func wrap(xs []value, by string) []value {
	if len(xs) == 0 {
		return []value{{vInstance, "", facts.None, by, HowMember}}
	}
	var out []value
	for _, x := range xs {
		switch x.kind {
		case vDef:
			out = append(out, value{vInstance, x.path, x.def, by, HowMember})
		case vInstance:
			if len(x.dir) < 4 {
				out = append(out, value{vInstance, x.path, x.def, by + x.dir, HowMember})
			}
		default:
			out = append(out, value{vInstance, "", facts.None, by, HowMember})
		}
	}
	return out
}

// unwrap takes one of the outermost letters off; keep leaves values without it
// as they are.
func unwrap(xs []value, letters string, keep bool) []value {
	var out []value
	for _, x := range xs {
		switch {
		case x.kind == vInstance && strings.Contains(letters, x.dir[:1]):
			if y, ok := inner(x); ok {
				out = append(out, y)
			}
		case keep:
			out = append(out, x)
		}
	}
	return out
}

func inner(x value) (value, bool) {
	if len(x.dir) > 1 {
		return value{vInstance, x.path, x.def, x.dir[1:], HowMember}, true
	}
	return value{vDef, x.path, x.def, "", HowMember}, x.def != facts.None
}

// each are the elements that a loop goes through; those of a map are entries.
func (s *solver) each(xs []value) []value {
	var out []value
	for _, x := range s.plain(xs) {
		if x.kind == vInstance && (x.dir[0] == 'm' || x.dir[0] == 'e') {
			out = append(out, value{vInstance, x.path, x.def, "t" + x.dir[1:], HowMember})
			continue
		}
		out = append(out, unwrap([]value{x}, "a", false)...)
	}
	return out
}

// part is the n-th part of a value that is taken apart.
func (s *solver) part(xs []value, n uint8) []value {
	var out []value
	for _, x := range s.plain(xs) {
		if x.kind == vInstance && x.dir[0] == 't' && n != 1 {
			continue // the key
		}
		out = append(out, unwrap([]value{x}, "at", false)...)
	}
	return out
}
