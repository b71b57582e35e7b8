package lsp

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"go.lsp.dev/jsonrpc2"
	"go.lsp.dev/protocol"

	"github.com/stella-ls/stella-ls/agent"
	"github.com/stella-ls/stella-ls/agent/tools"
	"github.com/stella-ls/stella-ls/internal/workspace"
)

// sessionClient is what sessions see of the editor.
type sessionClient struct{ s *Server }

var _ agent.Client = (*sessionClient)(nil)

// Update sends one streamed event. The outbox keeps the order; only a client
// that is far behind makes the session wait.
func (c *sessionClient) Update(u agent.Update) {
	c.s.turns.saw(u)
	c.s.client.notify(MethodSessionUpdate, updateOut(u))
}

// Ask puts a question to the person: stella/permission where our extension is,
// else a message with buttons. It has no deadline of its own; it ends with the
// turn, and an answer that comes later is dropped by the connection.
func (c *sessionClient) Ask(ctx context.Context, session string, q tools.Question) (tools.Answer, error) {
	c.s.turns.waiting(session, true)
	defer c.s.turns.waiting(session, false)
	if c.s.client.caps.stella.Permission {
		p := PermissionParams{
			Kind: q.Kind, Title: q.Title, Detail: q.Detail, Command: q.Command, Cwd: q.Cwd, Diff: q.Diff,
			Options: make([]PermissionOption, len(q.Options)),
		}
		for i, o := range q.Options {
			p.Options[i] = PermissionOption{ID: o.ID, Title: o.Title}
		}
		var r PermissionResult
		err := c.s.client.call(ctx, 0, MethodPermission, p, &r)
		if !isNoMethod(err) {
			return tools.Answer{Choice: r.Choice, Text: r.Text}, err
		}
	}
	return c.askPlain(ctx, q)
}

// askPlain uses window/showMessageRequest. A closed message is no answer, which
// asks nobody and allows nothing.
func (c *sessionClient) askPlain(ctx context.Context, q tools.Question) (tools.Answer, error) {
	p := &protocol.ShowMessageRequestParams{Type: protocol.MessageTypeWarning, Message: plainText(q)}
	for _, o := range q.Options {
		p.Actions = append(p.Actions, protocol.MessageActionItem{Title: o.Title})
	}
	var picked *protocol.MessageActionItem
	if err := c.s.client.call(ctx, 0, protocol.MethodWindowShowMessageRequest, p, &picked); err != nil {
		if isNoMethod(err) {
			return tools.Answer{}, nil
		}
		return tools.Answer{}, err
	}
	if picked != nil {
		for _, o := range q.Options {
			if o.Title == picked.Title {
				return tools.Answer{Choice: o.ID}, nil
			}
		}
	}
	return tools.Answer{}, nil
}

// Bounds of a question that is a message: it has no window to scroll in.
const (
	plainDiffLines   = 12
	plainCommandMost = 2000 // bytes
)

// plainText is a question in one message: what will be run or written, the
// difference shortened.
func plainText(q tools.Question) string {
	parts := []string{"Stella: " + q.Title}
	if q.Command != "" {
		parts = append(parts, "$ "+clipped(q.Command, plainCommandMost))
	}
	if q.Cwd != "" {
		parts = append(parts, "in "+q.Cwd)
	}
	if q.Detail != "" {
		parts = append(parts, q.Detail)
	}
	if q.Diff != "" {
		lines := strings.Split(strings.TrimSuffix(q.Diff, "\n"), "\n")
		if more := len(lines) - plainDiffLines; more > 0 {
			lines = append(lines[:plainDiffLines], fmt.Sprintf("(%d lines more)", more))
		}
		parts = append(parts, lines...)
	}
	return strings.Join(parts, "\n")
}

// clipped shortens s to most bytes at a character and says that it did.
func clipped(s string, most int) string {
	if len(s) <= most {
		return s
	}
	return fmt.Sprintf("%s (%d bytes more)", strings.ToValidUTF8(s[:most], ""), len(s)-most)
}

func isNoMethod(err error) bool {
	var coded *jsonrpc2.Error
	return errors.As(err, &coded) && coded.Code == jsonrpc2.MethodNotFound
}

// Diagnostics asks the extension what the editor shows; a plain client cannot
// tell.
func (c *sessionClient) Diagnostics(ctx context.Context, path string) ([]agent.Diagnostic, bool) {
	if !c.s.client.caps.stella.Diagnostics {
		return nil, false
	}
	var p DiagnosticsParams
	if path != "" {
		name, err := c.s.ws.Resolve("", path)
		if err != nil {
			return nil, false
		}
		p.URI = c.s.ws.URI(name.Path)
	}
	var r DiagnosticsResult
	if err := c.s.client.call(ctx, clientDeadline, MethodDiagnostics, p, &r); err != nil {
		c.s.log.Warn("the editor's diagnostics could not be read", "error", err)
		return nil, false
	}
	out := make([]agent.Diagnostic, 0, len(r.Items))
	for _, item := range r.Items {
		out = append(out, c.diagnosticIn(ctx, item))
	}
	return out, true
}

func (c *sessionClient) diagnosticIn(ctx context.Context, item DiagnosticItem) agent.Diagnostic {
	d := agent.Diagnostic{
		Path:      item.URI,
		StartLine: int(item.Range.Start.Line), StartChar: int(item.Range.Start.Character),
		EndLine: int(item.Range.End.Line), EndChar: int(item.Range.End.Character),
		Severity: item.Severity, Source: item.Source, Message: item.Message,
	}
	name, err := c.s.ws.ResolveURI(item.URI)
	if err != nil {
		return d
	}
	d.Path = string(name.Path)
	if c.s.counting.encoding == workspace.UTF16 {
		return d
	}
	if f, err := c.s.ws.View(ctx, name); err == nil {
		text := string(f.Truth())
		d.StartChar = c.s.counting.utf16(text, item.Range.Start)
		d.EndChar = c.s.counting.utf16(text, item.Range.End)
	}
	return d
}
