package agent

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/stella-ls/stella-ls/agent/model"
	"github.com/stella-ls/stella-ls/guard"
)

// refusedSides are the two texts of a refused call: what the session had seen,
// and what was there instead. id is the call's, with "/PATH" when the call named
// several files. The transcript holds the difference, so the texts outlive the
// server; they are whole while the session remembers what it saw, else hunks.
func (s *Session) refusedSides(id string) (before, after []byte, ok bool) {
	call, path, _ := strings.Cut(id, "/")
	t, err := s.transcript()
	if err != nil {
		return nil, nil, false
	}
	for _, m := range slices.Backward(t.Messages) {
		for _, p := range m.Parts {
			if p.Kind != model.ToolResultPart || p.CallID != call {
				continue
			}
			r, found := refusalIn(p.Text, path)
			if !found {
				return nil, nil, false
			}
			seen, known := s.guard.SeenText(r.Path, r.Expected)
			a, b := guard.Sides(seen, known, r.Diff)
			return []byte(a), []byte(b), true
		}
	}
	return nil, nil, false
}

// refusalIn reads the object in a result's second line: the refusal of path, or
// the first that has a difference.
func refusalIn(result, path string) (guard.Result, bool) {
	_, rest, _ := strings.Cut(result, "\n")
	object, _, _ := strings.Cut(rest, "\n")
	var r guard.Result
	if json.Unmarshal([]byte(object), &r) != nil {
		return r, false
	}
	for _, f := range append([]guard.Result{r}, r.Files...) {
		if f.Diff != "" && (path == "" || f.Path == path) {
			return f, true
		}
	}
	return r, false
}
