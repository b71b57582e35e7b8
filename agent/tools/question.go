package tools

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/stella-ls/stella-ls/guard"
)

// writeQuestion says what will be written, in words and as a difference.
func writeQuestion(previews []guard.Preview) Question {
	q := Question{Kind: "write"}
	var paths []string
	for _, p := range previews {
		paths = append(paths, p.Display)
	}
	slices.Sort(paths)
	paths = slices.Compact(paths)
	if len(previews) == 1 {
		q.Title, q.Diff = changeTitle(previews[0]), previews[0].Diff
		return q
	}
	if len(paths) == 1 {
		q.Title = "Change " + paths[0] + "?"
	} else {
		q.Title = fmt.Sprintf("Change %d files?", len(paths))
		q.Detail = bounded(strings.Join(paths, "\n"), 2000)
	}
	for _, p := range previews {
		q.Diff += fmt.Sprintf("--- %s\n+++ %s\n%s", p.Display, p.Display, p.Diff)
	}
	return q
}

func changeTitle(p guard.Preview) string {
	switch {
	case p.Create:
		return "Create " + p.Display + "?"
	case p.Kind == guard.ChangeWrite:
		return "Replace " + p.Display + "?"
	case p.Kind == guard.ChangeDelete:
		return "Delete " + p.Display + "?"
	case p.Kind == guard.ChangeMove:
		return "Move " + p.Display + " to " + p.To + "?"
	}
	return "Change " + p.Display + "?"
}

// readable is a call's input for a person: one line for each value that is no
// object, strings without quotes.
func readable(input json.RawMessage) string {
	var m map[string]json.RawMessage
	if json.Unmarshal(input, &m) != nil {
		return bounded(string(input), 2000)
	}
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	var b strings.Builder
	for i, k := range keys {
		if i > 0 {
			b.WriteByte('\n')
		}
		value := string(m[k])
		var text string
		if json.Unmarshal(m[k], &text) == nil {
			value = text
		}
		b.WriteString(k + ": " + value)
	}
	return bounded(b.String(), 2000)
}
