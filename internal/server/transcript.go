package server

import (
	"encoding/json"
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
				fmt.Fprintf(&b, "\n- `%s` %s", p.Tool, about(p.Input))
			case model.ToolResultPart:
				head, _, _ := strings.Cut(p.Text, "\n")
				fmt.Fprintf(&b, "\n  - %s: %s\n", p.Tool, head)
			}
		}
	}
	return b.String()
}

// about is what a call was about, in one line.
func about(input json.RawMessage) string {
	var in struct {
		Path, To, Command, Pattern, Glob, Op, Target, Slug, Question string
		Files                                                        []struct{ Path string }
	}
	if json.Unmarshal(input, &in) != nil {
		return ""
	}
	parts := []string{in.Op, in.Path, in.To, in.Command, in.Pattern, in.Glob, in.Target, in.Slug, in.Question}
	for _, f := range in.Files {
		parts = append(parts, f.Path)
	}
	line := strings.Join(strings.Fields(strings.Join(parts, " ")), " ")
	if r := []rune(line); len(r) > 160 {
		line = string(r[:159]) + "…"
	}
	return line
}

func speaker(r model.Role) string {
	if r == model.Assistant {
		return "Stella"
	}
	return "You"
}
