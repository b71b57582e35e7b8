package tools

import (
	"encoding/json"
	"testing"

	"github.com/stella-ls/stella-ls/guard"
)

func TestWriteQuestions(t *testing.T) {
	edit := guard.Preview{Display: "a.go", Kind: guard.ChangeEdit, Diff: "@@ -1 +1 @@\n-a\n+b\n"}
	for want, list := range map[string][]guard.Preview{
		"Change a.go?":         {edit},
		"Create b.go?":         {{Display: "b.go", Kind: guard.ChangeWrite, Create: true, Diff: "+x\n"}},
		"Replace b.go?":        {{Display: "b.go", Kind: guard.ChangeWrite}},
		"Delete b.go?":         {{Display: "b.go", Kind: guard.ChangeDelete}},
		"Move b.go to c/d.go?": {{Display: "b.go", To: "c/d.go", Kind: guard.ChangeMove}},
		"Change 2 files?":      {edit, {Display: "z.go", Kind: guard.ChangeEdit}},
	} {
		q := writeQuestion(list)
		if q.Title != want || q.Kind != "write" {
			t.Errorf("%q (%s), want %q", q.Title, q.Kind, want)
		}
	}
	q := writeQuestion([]guard.Preview{edit, {Display: "z.go", Diff: "@@ -1 +0,0 @@\n-z\n"}})
	if q.Detail != "a.go\nz.go" || q.Diff != "--- a.go\n+++ a.go\n@@ -1 +1 @@\n-a\n+b\n--- z.go\n+++ z.go\n@@ -1 +0,0 @@\n-z\n" {
		t.Errorf("%q\n%s", q.Detail, q.Diff)
	}
}

func TestReadableInput(t *testing.T) {
	got := readable(json.RawMessage(`{"b": {"x": 1}, "a": "two\nlines", "n": 3}`))
	if want := "a: two\nlines\nb: {\"x\": 1}\nn: 3"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got := readable(json.RawMessage(`[1]`)); got != "[1]" {
		t.Errorf("%q", got)
	}
}
