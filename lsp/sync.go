package lsp

import (
	"bytes"
	"encoding/json"
	"math"

	"go.lsp.dev/protocol"

	"github.com/stella-ls/stella-ls/internal/workspace"
)

// The document notifications have types of their own: the library's normalise
// URIs, and everything sent back about a document must carry the client's
// spelling.
type (
	textDocumentID struct {
		URI     string `json:"uri"`
		Version int32  `json:"version"`
	}
	didOpenParams struct {
		TextDocument struct {
			URI        string `json:"uri"`
			LanguageID string `json:"languageId"`
			Version    int32  `json:"version"`
			Text       string `json:"text"`
		} `json:"textDocument"`
	}
	contentChange struct {
		Range *Range `json:"range"`
		Text  string `json:"text"`
	}
	didChangeParams struct {
		TextDocument   textDocumentID  `json:"textDocument"`
		ContentChanges []contentChange `json:"contentChanges"`
	}
	didSaveParams struct {
		TextDocument textDocumentID `json:"textDocument"`
		Text         *string        `json:"text"`
	}
	didCloseParams struct {
		TextDocument textDocumentID `json:"textDocument"`
	}
)

func (s *Server) syncRoutes(t table) {
	notification(t, protocol.MethodTextDocumentDidOpen, func(p *didOpenParams) error {
		d := p.TextDocument
		return s.ws.DidOpen(d.URI, d.LanguageID, d.Version, d.Text)
	})
	notification(t, protocol.MethodTextDocumentDidChange, func(p *didChangeParams) error {
		changes := make([]workspace.ContentChange, len(p.ContentChanges))
		for i, c := range p.ContentChanges {
			changes[i] = workspace.ContentChange{Text: c.Text, Range: rangeIn(c.Range)}
		}
		return s.ws.DidChange(p.TextDocument.URI, p.TextDocument.Version, changes)
	})
	notification(t, protocol.MethodTextDocumentDidSave, func(p *didSaveParams) error {
		return s.ws.DidSave(p.TextDocument.URI, p.Text)
	})
	notification(t, protocol.MethodTextDocumentDidClose, func(p *didCloseParams) error {
		return s.ws.DidClose(p.TextDocument.URI)
	})
}

// lostNotification is told of a notification with parameters that do not fit.
// If it spoke of a document, what this server holds of it is no longer known.
func (s *Server) lostNotification(method string, params []byte, _ error) {
	if !bytes.HasPrefix([]byte(method), []byte("textDocument/did")) {
		return
	}
	var p didCloseParams
	if json.Unmarshal(params, &p) == nil && p.TextDocument.URI != "" {
		s.distrust(p.TextDocument.URI, "a "+method+" could not be read")
		return
	}
	s.distrustAll("a " + method + " could not be read")
}

// unreadable is told of a message that could not be read at all.
func (s *Server) unreadable(reason string, raw []byte, lostSync bool) {
	s.log.Warn("unreadable message", "reason", reason, "bytes", len(raw))
	if lostSync || bytes.Contains(raw, []byte("textDocument/did")) {
		s.distrustAll("a message of the editor could not be read")
	}
}

// distrustAll makes every open document unsure: one of them may have changed
// without this server knowing, and what cannot be measured is never written.
func (s *Server) distrustAll(why string) {
	if s.ws == nil {
		return
	}
	open := s.ws.Documents()
	for _, d := range open {
		s.markUnsure(d.Buffer.URI)
	}
	if len(open) > 0 {
		s.client.show(protocol.MessageTypeWarning, "Stella: "+why+". Sessions will not write to the files that are open now until they are reopened.")
	}
}

// distrust makes one document unsure until a full text of it arrives.
func (s *Server) distrust(uri, why string) {
	s.markUnsure(uri)
	s.client.show(protocol.MessageTypeWarning, "Stella: "+why+". Sessions will not write to "+uri+" until it is reopened.")
}

// markUnsure tells the workspace in its own terms: a version that does not
// increase.
func (s *Server) markUnsure(uri string) { _ = s.ws.DidChange(uri, math.MinInt32, nil) }
