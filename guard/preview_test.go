package guard

import (
	"strings"
	"testing"
)

func TestPreviewShowsAndWritesNothing(t *testing.T) {
	both(t, func(t *testing.T, e *env) {
		e.disk("a.txt", "one\ntwo\n")
		base := e.read("a.txt")
		got := e.s.Preview(t.Context(), []Change{
			{Kind: ChangeEdit, Path: "a.txt", Base: base, Edits: []Replacement{{Old: "two", New: "2"}}},
			{Kind: ChangeEdit, Path: "a.txt", Base: base, Edits: []Replacement{{Old: "nowhere", New: "2"}}},
			{Kind: ChangeWrite, Path: "new.txt", Content: "hello\n"},
			{Kind: ChangeDelete, Path: "a.txt", Base: base},
			{Kind: ChangeMove, Path: "a.txt", To: "b.txt", Base: base},
		})
		if d := got[0].Diff; !strings.Contains(d, "-two\n+2\n") || got[0].Refusal != nil {
			t.Errorf("edit: %+v", got[0])
		}
		if r := got[1].Refusal; r == nil || r.Status != StatusNoMatch {
			t.Errorf("no match: %+v", got[1])
		}
		if !got[2].Create || !strings.Contains(got[2].Diff, "+hello\n") {
			t.Errorf("create: %+v", got[2])
		}
		if !strings.Contains(got[3].Diff, "-one\n-two\n") {
			t.Errorf("delete: %+v", got[3])
		}
		if got[4].Display != "a.txt" || got[4].To != "b.txt" || got[4].Refusal != nil {
			t.Errorf("move: %+v", got[4])
		}
		e.wantDisk("a.txt", "one\ntwo\n")
	})
}
