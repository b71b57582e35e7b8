package graph

import (
	"context"
	"strings"

	"github.com/stella-ls/stella-ls/graph/facts"
	"github.com/stella-ls/stella-ls/internal/workspace"
)

// Around names the innermost definition that holds a line (1-based), with what it
// stands in: "Shape.area". It is empty outside of all, in a file that has no
// facts, and for a line that the file does not have.
func (g *Graph) Around(ctx context.Context, p workspace.Path, line int) string {
	s := g.newSolver(ctx)
	v := s.view(string(p))
	if v == nil || line < 1 || line > len(v.Lines) {
		return ""
	}
	text := s.textOf(v)
	if text == nil {
		return ""
	}
	end := len(text)
	if line < len(v.Lines) {
		end = int(v.Lines[line])
	}
	// The last character that is there: a definition's own first line is in it.
	part := strings.TrimRight(string(text[v.Lines[line-1]:end]), " \t\r\n")
	if part == "" {
		end = int(v.Lines[line-1])
	} else {
		end = int(v.Lines[line-1]) + len(part) - 1
	}
	d := v.Enclosing(uint32(end))
	if d == facts.None {
		return ""
	}
	name := v.DefName(d)
	if c := containerOf(v, &v.Defs[d]); c != "" {
		return c + "." + name
	}
	return name
}
