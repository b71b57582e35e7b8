package lsp

import (
	"context"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"go.lsp.dev/protocol"
	"go.lsp.dev/uri"

	"github.com/stella-ls/stella-ls/contextengine"
	"github.com/stella-ls/stella-ls/internal/workspace"
)

// diagnoseDelay waits for the next keystroke.
const diagnoseDelay = 150 * time.Millisecond

// diagnoser publishes diagnostics for files below .stella, the only ones that
// this server judges: dead and doubtful anchors of memories, and settings that
// are not used as they stand. One pass runs at a time, off the read loop.
type diagnoser struct {
	s *Server

	mu      sync.Mutex // guards what follows
	pending map[string]bool
	running bool
}

// look schedules a document that changed; others cost a string search.
func (d *diagnoser) look(uri string) {
	if !strings.Contains(uri, "/.stella/") {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.pending == nil {
		d.pending = map[string]bool{}
	}
	d.pending[uri] = true
	if !d.running {
		d.running = true
		go d.work(d.s.dispatch.base)
	}
}

// lookAtMemories schedules every open memory file: what it is about changed.
func (d *diagnoser) lookAtMemories() {
	for _, doc := range d.s.ws.Documents() {
		if _, ok := memorySlug(doc.Name.Path); ok {
			d.look(doc.Buffer.URI)
		}
	}
}

func (d *diagnoser) work(ctx context.Context) {
	for {
		ok := pause(ctx, diagnoseDelay)
		d.mu.Lock()
		batch := d.pending
		d.pending = nil
		d.running = ok && len(batch) > 0
		d.mu.Unlock()
		if !ok || len(batch) == 0 {
			return
		}
		for uri := range batch {
			d.publish(ctx, uri)
		}
	}
}

func (d *diagnoser) publish(ctx context.Context, spelled string) {
	name, err := d.s.ws.ResolveURI(spelled)
	if err != nil {
		return
	}
	p := &protocol.PublishDiagnosticsParams{URI: uri.URI(spelled), Diagnostics: []protocol.Diagnostic{}}
	if b, open := d.s.ws.Document(name.Path); open {
		p.Version = protocol.NewOptional(b.Version)
		switch filepath.Base(string(name.Path)) {
		case "settings.toml":
			p.Diagnostics = d.s.settingsDiagnostics(ctx, name, b.Text)
		default:
			p.Diagnostics = d.s.anchorDiagnostics(ctx, name.Path, b.Text)
		}
	}
	d.s.client.notify(protocol.MethodTextDocumentPublishDiagnostics, p)
}

// anchorProblems are the anchors of a memory file that no longer hold.
func (s *Server) anchorProblems(ctx context.Context, p workspace.Path, text string) []contextengine.AnchorProblem {
	if _, err := s.sessions(ctx); err != nil || s.backend.Memory == nil {
		return nil
	}
	e := s.backend.Memory.EngineFor(p)
	if e == nil {
		return nil
	}
	s.backend.Memory.Settle(ctx)
	problems, err := e.Diagnose(ctx, string(p), text)
	if err != nil {
		s.log.Warn("anchors could not be checked", "error", err)
	}
	return problems
}

func (s *Server) anchorDiagnostics(ctx context.Context, p workspace.Path, text string) []protocol.Diagnostic {
	out := []protocol.Diagnostic{}
	for _, x := range s.anchorProblems(ctx, p, text) {
		severity := protocol.DiagnosticSeverityInformation
		if x.Dead {
			severity = protocol.DiagnosticSeverityWarning
		}
		out = append(out, s.ownDiagnostic(text, x.Start, x.End, severity, x.Reason))
	}
	return out
}

func (s *Server) ownDiagnostic(text string, start, end int, severity protocol.DiagnosticSeverity, message string) protocol.Diagnostic {
	return protocol.Diagnostic{
		Range: rangeToLSP(s.counting.span(text, start, end)), Severity: severity,
		Source: protocol.NewOptional("stella"), Message: protocol.String(message),
	}
}

// settingsDiagnostics shows what of the project's settings is not used, as of
// the file on disk: settings count when they are saved.
func (s *Server) settingsDiagnostics(ctx context.Context, name workspace.Name, text string) []protocol.Diagnostic {
	out := []protocol.Diagnostic{}
	if _, err := s.sessions(ctx); err != nil || s.backend.Problems == nil {
		return out
	}
	lines := strings.SplitAfter(text, "\n")
	for _, p := range s.backend.Problems(name.Root) {
		if filepath.Clean(p.File) != filepath.Clean(string(name.Path)) {
			continue
		}
		n := min(max(p.Line-1, 0), len(lines)-1)
		start := len(strings.Join(lines[:n], ""))
		end := start + len(strings.TrimRight(lines[n], "\r\n"))
		message := p.Message
		if p.Key != "" {
			message = p.Key + " " + message
		}
		severity := protocol.DiagnosticSeverityWarning
		if p.Unreadable {
			severity = protocol.DiagnosticSeverityError
		}
		out = append(out, s.ownDiagnostic(text, start, end, severity, message))
	}
	return out
}

// memoryActions are what can be done in a memory file: promote it to a rule, and
// remove an anchor that leads nowhere.
func (s *Server) memoryActions(ctx context.Context, p *protocol.CodeActionParams, at place) []protocol.CommandOrCodeAction {
	slug, ok := memorySlug(at.path)
	if !ok || at.buffer == nil {
		return nil
	}
	var out []protocol.CommandOrCodeAction
	if wanted(p.Context.Only, kindAsk) {
		out = append(out, s.action("Promote to rule (Stella)", "memory.promote", kindAsk, nil, &MemoryParams{ID: contextengine.MemoryID(slug)}))
	}
	if !s.client.caps.actionLiterals || !wanted(p.Context.Only, protocol.CodeActionKindQuickFix) {
		return out
	}
	for _, x := range s.anchorProblems(ctx, at.path, at.text) {
		r := s.counting.span(at.text, x.Start, x.End)
		if !x.Dead || !touch(r, rangeOfLSP(p.Range)) {
			continue
		}
		version := at.buffer.Version
		edit := &protocol.TextDocumentEdit{Edits: []protocol.TextDocumentEditElement{&protocol.TextEdit{Range: rangeToLSP(r)}}}
		edit.TextDocument.URI = uri.URI(at.uri)
		edit.TextDocument.Version = &version
		out = append(out, &protocol.CodeAction{
			Title: "Remove the dead anchor " + at.text[x.Start:x.End], Kind: new(protocol.CodeActionKindQuickFix),
			Edit: &protocol.WorkspaceEdit{DocumentChanges: []protocol.DocumentChange{edit}},
		})
	}
	return out
}

// memorySlug is the name of the memory that a file holds.
func memorySlug(p workspace.Path) (string, bool) {
	dir, file := filepath.Split(filepath.ToSlash(string(p)))
	slug, isMarkdown := strings.CutSuffix(file, ".md")
	return slug, isMarkdown && strings.HasSuffix(dir, "/.stella/memories/")
}

// touch reports whether two ranges share a place.
func touch(a, b Range) bool { return !before(a.End, b.Start) && !before(b.End, a.Start) }

func before(a, b Position) bool {
	return a.Line < b.Line || a.Line == b.Line && a.Character < b.Character
}
