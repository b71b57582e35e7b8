package lsp

import (
	"context"
	"fmt"
	"strings"

	"go.lsp.dev/protocol"

	"github.com/stella-ls/stella-ls/internal/workspace"
)

// kindAsk is the kind of every action but the quick fix.
const kindAsk protocol.CodeActionKind = "refactor.stella"

func (s *Server) actionRoutes(t table) {
	requestAt(t, protocol.MethodTextDocumentCodeAction, fast, s.actionSnapshot, s.codeAction)
}

// place is where something was asked for, in the text that the person saw then.
type place struct {
	uri     string // the client's spelling
	path    workspace.Path
	display string
	text    string
	symbol  string
	buffer  *workspace.Buffer // nil when the file is not open
}

// placeOf takes the snapshot of a document; it runs on the read loop.
func (s *Server) placeOf(uri string) place {
	name, err := s.ws.ResolveURI(uri)
	if err != nil {
		return place{uri: uri, display: uri}
	}
	at := place{uri: s.ws.URI(name.Path), path: name.Path, display: name.Display}
	if b, ok := s.ws.Document(name.Path); ok {
		at.text, at.buffer = b.Text, &b
	}
	return at
}

func (s *Server) actionSnapshot(p *protocol.CodeActionParams) (place, error) {
	return s.placeOf(string(p.TextDocument.URI)), nil
}

// codeAction offers what a session can do about a place. A client without our
// extension has no text input, so there a comment "stella: ..." is the prompt.
func (s *Server) codeAction(ctx context.Context, p *protocol.CodeActionParams, at place) ([]protocol.CommandOrCodeAction, error) {
	actions := []protocol.CommandOrCodeAction{}
	offer := func(title, command string, kind protocol.CodeActionKind, diag *protocol.Diagnostic, args any) {
		if !wanted(p.Context.Only, kind) {
			return
		}
		actions = append(actions, s.action(title, command, kind, diag, args))
	}
	here := rangeOfLSP(p.Range)
	for i := range p.Context.Diagnostics {
		d := &p.Context.Diagnostics[i]
		offer("Fix with Stella: "+shorten(diagnosticText(d), 60), "fix", protocol.CodeActionKindQuickFix, d, &AskParams{
			URI: at.uri, Range: rangeOf(d.Range), Message: diagnosticText(d),
		})
	}
	for _, session := range s.status.staleIn(at.path) {
		stale := &sessionArg{SessionID: session, URI: at.uri}
		offer("Re-plan against what is here now (Stella)", "replan", kindAsk, nil, stale)
		offer("Show what the session had seen (Stella)", "showSeen", kindAsk, nil, stale)
	}
	actions = append(actions, s.memoryActions(ctx, p, at)...)
	selected := p.Range.Start != p.Range.End
	if p.Context.TriggerKind == protocol.CodeActionTriggerKindAutomatic && !selected {
		return actions, nil // no light bulb on every line
	}
	symbol := s.wordAt(at.text, here.Start)
	ask := &AskParams{URI: at.uri, Range: &here, Symbol: symbol}
	if s.client.caps.ui {
		offer("Ask Stella…", "ask", kindAsk, nil, ask)
	} else if question := commentPrompt(at.text, here); question != "" {
		ask.Text = question
		offer("Ask Stella: "+shorten(question, 60), "ask", kindAsk, nil, ask)
	} else if s.client.caps.disabledActions && wanted(p.Context.Only, kindAsk) {
		actions = append(actions, &protocol.CodeAction{Title: "Ask Stella…", Kind: new(kindAsk), Disabled: protocol.CodeActionDisabled{
			Reason: "write the question into a comment first, like \"stella: why is this slow?\"",
		}})
	}
	what := "this"
	if selected {
		what = "the selection"
	} else if symbol != "" {
		what = symbol
	}
	scope := &AskParams{URI: at.uri, Range: &here, Symbol: symbol}
	offer("Explain "+what+" (Stella)", "explain", kindAsk, nil, scope)
	offer("Write tests for "+what+" (Stella)", "writeTests", kindAsk, nil, scope)
	return actions, nil
}

func rangeOf(r protocol.Range) *Range {
	out := rangeOfLSP(r)
	return &out
}

// needsInput are the commands that our extensions have a view for; the others
// run in the server everywhere.
var needsInput = map[string]bool{"ask": true, "explain": true, "fix": true, "writeTests": true}

// action makes a CodeAction, or a bare command for clients that know no other.
// Our extensions run the command themselves, in their own views.
func (s *Server) action(title, command string, kind protocol.CodeActionKind, diag *protocol.Diagnostic, args any) protocol.CommandOrCodeAction {
	prefix := commandPrefix
	if s.client.caps.ui && needsInput[command] {
		prefix = clientPrefix
	}
	raw, _ := protocol.Marshal(args)
	cmd := protocol.Command{Title: title, Command: prefix + command, Arguments: []protocol.LSPAny{raw}}
	if !s.client.caps.actionLiterals {
		return &cmd
	}
	a := &protocol.CodeAction{Title: title, Kind: &kind, Command: cmd}
	if diag != nil {
		a.Diagnostics = []protocol.Diagnostic{*diag}
	}
	return a
}

// wanted reports whether kind is one of only or below one of them.
func wanted(only []protocol.CodeActionKind, kind protocol.CodeActionKind) bool {
	if len(only) == 0 {
		return true
	}
	for _, o := range only {
		if o == "" || kind == o || strings.HasPrefix(string(kind), string(o)+".") {
			return true
		}
	}
	return false
}

func diagnosticText(d *protocol.Diagnostic) string {
	text := ""
	switch m := d.Message.(type) {
	case protocol.String:
		text = string(m)
	case *protocol.MarkupContent:
		text = m.Value
	}
	if source, ok := d.Source.Get(); ok && source != "" {
		return fmt.Sprintf("%s (%s)", text, source)
	}
	return text
}

func shorten(s string, n int) string {
	s = strings.Join(strings.Fields(s), " ")
	if r := []rune(s); len(r) > n {
		return string(r[:n-1]) + "…"
	}
	return s
}

// wordAt returns the identifier at a position, "" when there is none.
func (s *Server) wordAt(text string, p Position) string {
	if text == "" {
		return ""
	}
	at := s.counting.offset(text, p)
	start, end := at, at
	for start > 0 && isWord(text[start-1]) {
		start--
	}
	for end < len(text) && isWord(text[end]) {
		end++
	}
	if end-start > 80 {
		return ""
	}
	return text[start:end]
}

// isWord takes every byte of a non-ASCII letter for a part of the word.
func isWord(c byte) bool {
	return c == '_' || c >= 0x80 || '0' <= c && c <= '9' || 'a' <= c|0x20 && c|0x20 <= 'z'
}
