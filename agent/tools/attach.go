package tools

import (
	"context"
	"fmt"

	"github.com/stella-ls/stella-ls/guard"
	"github.com/stella-ls/stella-ls/internal/workspace"
)

// Attach reads a file, or lines first to last of it, that a person put into a
// prompt: the text for the model, and what it showed. The person chose it, so
// nobody is asked, whatever its name.
func Attach(ctx context.Context, ws *workspace.Workspace, root, path string, first, last int, o guard.Origin) (string, []guard.Observation) {
	t := readFile{files{ws}}
	file, res := t.view(ctx, Env{Root: root}, path)
	if res == nil && !file.Exists() {
		r := Failed(guard.StatusNotFound, file.Name.Display, file.Name.Display+" does not exist", "")
		res = &r
	}
	if res == nil {
		r := t.show(file, readInput{Path: path, Start: first, End: last}, Call{ID: o.CallID, Tool: o.Tool, Turn: o.Turn, Step: o.Step})
		res = &r
	}
	return fmt.Sprintf("\n%s\n", res.Text()), res.Observed
}

// Bounded cuts s to at most n bytes on a rune's border and says that it did.
func Bounded(s string, n int) string { return bounded(s, n) }
