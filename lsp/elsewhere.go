package lsp

import (
	"context"
	"slices"
	"sync/atomic"

	"github.com/stella-ls/stella-ls/graph"
	"github.com/stella-ls/stella-ls/internal/workspace"
)

// elsewhere are the languages that another server of the same editor answers
// for. Only the editor knows, so its extension tells, at the start and whenever
// that changes; a client without one never does.
type elsewhere struct {
	languages atomic.Pointer[[]string]
}

func (e *elsewhere) has(language string) bool {
	list := e.languages.Load()
	return list != nil && slices.Contains(*list, language)
}

func (s *Server) elsewhereRoutes(t table) {
	notification(t, MethodGraphElsewhere, func(p *GraphElsewhereParams) error {
		s.elsewhere.languages.Store(&p.Languages)
		return nil
	})
}

// serves reports whether this editor is to get answers about a language from
// here. The backend must be open.
func (s *Server) serves(language string) bool {
	return s.backend.Serves == nil || s.backend.Serves(language, s.elsewhere.has(language))
}

// language is the LSP identifier of the document's language: the editor's word
// for an open one, else by the name. "" is unknown.
func (s *Server) language(p workspace.Path) string {
	if b, open := s.ws.Document(p); open && b.LanguageID != "" {
		return b.LanguageID
	}
	return graph.LanguageID(string(p))
}

// served keeps what lies in files of languages that this editor gets from here.
func (s *Server) served(p workspace.Path) bool { return s.serves(s.language(p)) }

// graphService waits for the code graph.
func (s *Server) graphService(ctx context.Context) (graph.Service, error) {
	if _, err := s.sessions(ctx); err != nil {
		return nil, err
	}
	if s.backend.Graph == nil {
		return nil, errQuiet
	}
	return s.backend.Graph, nil
}
