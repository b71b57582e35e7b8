package lsp

import (
	"strings"
	"time"

	"go.lsp.dev/protocol"

	"github.com/stella-ls/stella-ls/agent"
	"github.com/stella-ls/stella-ls/agent/model"
	"github.com/stella-ls/stella-ls/guard"
	"github.com/stella-ls/stella-ls/internal/workspace"
)

// rangeIn turns a wire range into a workspace range.
func rangeIn(r *Range) *workspace.Range {
	if r == nil {
		return nil
	}
	return &workspace.Range{
		Start: workspace.Position{Line: r.Start.Line, Character: r.Start.Character},
		End:   workspace.Position{Line: r.End.Line, Character: r.End.Character},
	}
}

func rangeOut(r workspace.Range) Range {
	return Range{
		Start: Position{Line: r.Start.Line, Character: r.Start.Character},
		End:   Position{Line: r.End.Line, Character: r.End.Character},
	}
}

func rangeOfLSP(r protocol.Range) Range {
	return Range{
		Start: Position{Line: r.Start.Line, Character: r.Start.Character},
		End:   Position{Line: r.End.Line, Character: r.End.Character},
	}
}

func rangeToLSP(r Range) protocol.Range {
	return protocol.Range{
		Start: protocol.Position{Line: r.Start.Line, Character: r.Start.Character},
		End:   protocol.Position{Line: r.End.Line, Character: r.End.Character},
	}
}

// linesOf returns the 1-based lines that a range touches. A range that ends at
// the start of a line does not touch that line; nil is the whole file (0, 0).
func linesOf(r *Range) (first, last int) {
	if r == nil {
		return 0, 0
	}
	first, last = int(r.Start.Line)+1, int(r.End.Line)+1
	if r.End.Character == 0 && last > first {
		last--
	}
	return first, max(first, last)
}

// counting is how the client counts lines and characters.
type counting struct {
	encoding workspace.Encoding
	lines    workspace.Lines
}

func (c counting) offset(text string, p Position) int {
	return workspace.OffsetIn(text, workspace.Position{Line: p.Line, Character: p.Character}, c.encoding, c.lines)
}

// utf16 is the column of a position in UTF-16 units.
func (c counting) utf16(text string, p Position) int {
	if c.encoding == workspace.UTF16 {
		return int(p.Character)
	}
	return int(workspace.PositionIn(text, c.offset(text, p), workspace.UTF16, c.lines).Character)
}

// span turns a byte range of text into a wire range.
func (c counting) span(text string, start, end int) Range {
	return rangeOut(workspace.Range{
		Start: workspace.PositionIn(text, start, c.encoding, c.lines),
		End:   workspace.PositionIn(text, end, c.encoding, c.lines),
	})
}

// splices turns ascending byte splices of text into wire edits; all positions
// are in the old text. One pass: the text may be long and the splices many.
func (c counting) splices(text string, splices []guard.Splice) []TextEdit {
	edits := make([]TextEdit, len(splices))
	lines := c.lines
	if !strings.Contains(text, "\n") {
		lines = workspace.SpecLines // what NewlineLines means for such a text
	}
	from, line := 0, uint32(0) // a line start and its number
	at := func(offset int) Position {
		rest := text[from:]
		if lines == workspace.NewlineLines && !strings.Contains(rest, "\n") {
			rest += "\n" // the last line alone must not be split at a \r
		}
		p := workspace.PositionIn(rest, offset-from, c.encoding, lines)
		if p.Line > 0 {
			from += workspace.OffsetIn(rest, workspace.Position{Line: p.Line}, c.encoding, lines)
			line += p.Line
		}
		return Position{Line: line, Character: p.Character}
	}
	for i, s := range splices {
		edits[i].Range.Start = at(s.Start)
		edits[i].Range.End = at(s.End)
		edits[i].NewText = s.New
	}
	return edits
}

func usageOut(u model.Usage) Usage {
	return Usage{Input: u.Input, CacheRead: u.CacheRead, CacheWrite: u.CacheWrite, Output: u.Output, USD: u.USD}
}

func stamp(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339)
}

func (s *Server) guardedOut(g guard.Guarded) GuardedFile {
	changed := g.ChangedBy
	if changed == nil {
		changed = []string{}
	}
	return GuardedFile{
		URI: s.ws.URI(g.Path), SessionID: g.Session, State: string(g.State),
		SeenAt: g.SeenAt, ChangedBy: changed, Diff: g.Diff,
	}
}

func infoOut(i agent.Info) SessionInfo {
	return SessionInfo{
		SessionID: i.ID, Title: i.Title, State: string(i.State),
		UpdatedAt: stamp(i.UpdatedAt), Turns: i.Turns, Guarded: i.Guarded,
	}
}

func updateOut(u agent.Update) SessionUpdateParams {
	out := Update{Kind: string(u.Kind), Text: u.Text, CallID: u.CallID, Tool: u.Tool, Input: u.Input}
	if u.Kind == agent.UpdateToolResult {
		out.OK = &u.OK
	}
	if u.Refusal != nil {
		out.Refusal = rawJSON(u.Refusal)
	}
	for _, f := range u.Frames {
		out.Frames = append(out.Frames, RecallFrame{ID: f.ID, Kind: f.Kind, Label: f.Label})
	}
	if u.Usage != nil {
		usage := usageOut(*u.Usage)
		out.Usage = &usage
	}
	return SessionUpdateParams{SessionID: u.Session, TurnID: u.TurnID, Step: u.Step, Update: out}
}

// transcriptOut flattens messages into entries: one a text, call or result.
// Thinking is the model's own and not part of what was said.
func transcriptOut(t agent.Transcript) SessionGetResult {
	out := SessionGetResult{SessionID: t.Info.ID, Transcript: []TranscriptEntry{}, Usage: usageOut(t.Usage)}
	for _, m := range t.Messages {
		for _, p := range m.Parts {
			e := TranscriptEntry{Role: string(m.Role)}
			switch p.Kind {
			case model.TextPart:
				if strings.TrimSpace(p.Text) == "" {
					continue
				}
				e.Text = p.Text
			case model.ToolCallPart:
				e.ToolCall = &TranscriptCall{CallID: p.CallID, Tool: p.Tool, Input: p.Input}
			case model.ToolResultPart:
				e.ToolResult = &TranscriptTool{CallID: p.CallID, Tool: p.Tool, OK: !p.IsError, Text: p.Text}
			default:
				continue
			}
			out.Transcript = append(out.Transcript, e)
		}
	}
	return out
}
