package agent

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/stella-ls/stella-ls/guard"
)

// ErrNoEdits: there is nothing of that turn, or with that id, to take back.
var ErrNoEdits = errors.New("nothing to undo: no such turn or edit, or it was undone before")

// ErrTurn: not a turn's id.
var ErrTurn = errors.New("turns are called t1, t2 and so on")

// Changes lists the files that a session's edits changed and that were not taken
// back. turnID is "t3"; "" is all turns.
func (m *Manager) Changes(ctx context.Context, session, turnID string) ([]guard.FileChange, error) {
	s, err := m.find(ctx, session)
	if err != nil {
		return nil, err
	}
	turn, err := turnNumber(turnID)
	if err != nil {
		return nil, err
	}
	return s.guard.Changes(ctx, turn), nil
}

// Undo takes back one edit ("e2" or "SESSION/e2"), a turn, or with neither the
// last turn that changed anything. It runs under the guard, also while the
// session works.
func (m *Manager) Undo(ctx context.Context, session, turnID, edit string) ([]guard.Undone, error) {
	s, err := m.find(ctx, session)
	if err != nil {
		return nil, err
	}
	turn, err := turnNumber(turnID)
	if err != nil {
		return nil, err
	}
	edit = edit[strings.LastIndex(edit, "/")+1:]
	edits := s.guard.Edits()
	if turn == 0 && edit == "" {
		for _, e := range edits {
			turn = max(turn, e.Turn)
		}
	}
	var ids []string
	for _, e := range edits {
		if edit != "" && e.ID == edit || edit == "" && e.Turn == turn {
			ids = append(ids, e.ID)
		}
	}
	if len(ids) == 0 {
		return nil, ErrNoEdits
	}
	return s.guard.Undo(ctx, ids), nil
}

// turnNumber reads a turn's id; 0 is none.
func turnNumber(id string) (int, error) {
	if id == "" {
		return 0, nil
	}
	n, err := strconv.Atoi(strings.TrimPrefix(id, "t"))
	if err != nil || n < 1 {
		return 0, fmt.Errorf("no turn %q: %w", id, ErrTurn)
	}
	return n, nil
}
