package guard

import (
	"context"
	"fmt"

	"github.com/stella-ls/stella-ls/internal/workspace"
)

// FileChange is one file of Changes.
type FileChange struct {
	Path     workspace.Path
	Display  string
	Diff     string   // from before the first edit to after the last, bounded
	Edits    []string // oldest first
	Undoable bool     // the images are there and nothing stands against it now
}

// Changes lists the files that the session's edits of a turn (0: of all turns)
// changed and that were not taken back, in the order of their first edit.
func (s *Session) Changes(ctx context.Context, turn int) []FileChange {
	var order []workspace.Path
	byPath := map[workspace.Path][]EditRecord{}
	for _, e := range s.Edits() {
		if turn != 0 && e.Turn != turn {
			continue
		}
		if byPath[e.Path] == nil {
			order = append(order, e.Path)
		}
		byPath[e.Path] = append(byPath[e.Path], e)
	}
	var out []FileChange
	for _, p := range order {
		out = append(out, s.fileChange(ctx, byPath[p]))
	}
	return out
}

func (s *Session) fileChange(ctx context.Context, edits []EditRecord) FileChange {
	first, last := edits[0], edits[len(edits)-1]
	c := FileChange{Path: first.Path, Display: first.Display}
	ids := make([]string, len(edits))
	for i, e := range edits {
		ids[i] = e.ID
	}
	c.Edits = ids
	a, err1 := s.withImages(ctx, first)
	b, err2 := s.withImages(ctx, last)
	if err1 == nil && err2 == nil {
		var cut int
		if c.Diff, cut = unified(a.Before, b.After); cut > 0 {
			c.Diff += fmt.Sprintf("(%d lines more)\n", cut)
		}
	}
	c.Undoable = s.undoable(ctx, ids)
	return c
}

// undoable plans an undo of the newest step without doing it.
func (s *Session) undoable(ctx context.Context, ids []string) bool {
	steps, missing := s.undoSteps(ctx, ids)
	if len(missing) > 0 || len(steps) == 0 {
		return false
	}
	t := s.undoTask(steps[0])
	if t.refusal == nil {
		t.planUndo(ctx, steps[0])
	}
	return t.refusal == nil
}
