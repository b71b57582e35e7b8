package lsp

import (
	"bytes"
	"strings"

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
		defer s.diagnose.look(d.URI)
		return s.ws.DidOpen(d.URI, d.LanguageID, d.Version, d.Text)
	})
	notification(t, protocol.MethodTextDocumentDidChange, func(p *didChangeParams) error {
		defer s.diagnose.look(p.TextDocument.URI)
		changes := make([]workspace.ContentChange, len(p.ContentChanges))
		for i, c := range p.ContentChanges {
			changes[i] = workspace.ContentChange{Text: c.Text, Range: rangeIn(c.Range)}
		}
		return s.ws.DidChange(p.TextDocument.URI, p.TextDocument.Version, changes)
	})
	notification(t, protocol.MethodTextDocumentDidSave, func(p *didSaveParams) error {
		defer s.diagnose.look(p.TextDocument.URI)
		return s.ws.DidSave(p.TextDocument.URI, p.Text)
	})
	notification(t, protocol.MethodTextDocumentDidClose, func(p *didCloseParams) error {
		defer s.diagnose.look(p.TextDocument.URI)
		return s.ws.DidClose(p.TextDocument.URI)
	})
}

// lostNotification is told of a notification with parameters that do not fit.
func (s *Server) lostNotification(method string, params []byte, _ error) {
	if strings.HasPrefix(method, "textDocument/did") {
		s.distrustNamed(params, "a "+method+" could not be read", false)
	}
}

// unreadable is told of a message that could not be read at all.
func (s *Server) unreadable(reason string, raw []byte) {
	s.log.Warn("unreadable message", "reason", reason, "bytes", len(raw))
	if bytes.Contains(raw, []byte("textDocument/did")) {
		s.distrustNamed(raw, "a message of the editor could not be read", true)
	}
}

// distrustNamed makes the open documents unsure that a lost message names: they
// may have changed without this server knowing, and what cannot be measured is
// not written. all is what a message means whose end is missing and that names
// none.
func (s *Server) distrustNamed(raw []byte, why string, all bool) {
	if s.ws == nil {
		return
	}
	raw = bytes.ReplaceAll(raw, []byte(`\/`), []byte("/"))
	var named, every []string
	for _, d := range s.ws.Documents() {
		every = append(every, d.Buffer.URI)
		if bytes.Contains(raw, []byte(d.Buffer.URI)) {
			named = append(named, d.Buffer.URI)
		}
	}
	if len(named) == 0 && all {
		named = every
	}
	for _, uri := range named {
		s.ws.Distrust(uri, why)
	}
	if len(named) > 0 {
		s.client.show(protocol.MessageTypeWarning, "Stella: "+why+". Until they are reopened, sessions will not write to: "+strings.Join(named, ", "))
	}
}
