package server

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/stella-ls/stella-ls/agent"
	"github.com/stella-ls/stella-ls/agent/model"
)

// writeTranscript writes a session down as Markdown below home, owner-only, for
// editors that have no view of their own, and returns the file.
func writeTranscript(home string, t agent.Transcript) (string, error) {
	dir := filepath.Join(home, "transcripts")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	path := filepath.Join(dir, t.Info.ID+".md")
	return path, os.WriteFile(path, []byte(Markdown(t)), 0o600)
}

// Markdown is a transcript for people: what was said in full, tool calls by
// name with the first line of their result.
func Markdown(t agent.Transcript) string {
	var b strings.Builder
	title := t.Info.Title
	if title == "" {
		title = "Session " + t.Info.ID
	}
	fmt.Fprintf(&b, "# %s\n", title)
	for _, m := range t.Messages {
		for _, p := range m.Parts {
			switch p.Kind {
			case model.TextPart:
				fmt.Fprintf(&b, "\n## %s\n\n%s\n", speaker(m.Role), strings.TrimSpace(p.Text))
			case model.ToolCallPart:
				fmt.Fprintf(&b, "\n- `%s` ", p.Tool)
			case model.ToolResultPart:
				head, _, _ := strings.Cut(p.Text, "\n")
				fmt.Fprintf(&b, "\n  - %s: %s\n", p.Tool, head)
			}
		}
	}
	return b.String()
}

func speaker(r model.Role) string {
	if r == model.Assistant {
		return "Stella"
	}
	return "You"
}
