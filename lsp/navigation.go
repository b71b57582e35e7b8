package lsp

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"go.lsp.dev/protocol"
	"go.lsp.dev/uri"

	"github.com/stella-ls/stella-ls/contextengine"
	"github.com/stella-ls/stella-ls/graph"
	"github.com/stella-ls/stella-ls/internal/workspace"
)

// The navigation requests have parameters of their own, so that URIs keep the
// client's spelling.
type (
	documentParams struct {
		TextDocument textDocumentID `json:"textDocument"`
	}
	positionParams struct {
		TextDocument textDocumentID `json:"textDocument"`
		Position     Position       `json:"position"`
		Context      struct {
			IncludeDeclaration bool `json:"includeDeclaration"`
		} `json:"context"`
	}
	selectionParams struct {
		TextDocument textDocumentID `json:"textDocument"`
		Positions    []Position     `json:"positions"`
	}
)

func (s *Server) navigationRoutes(t table) {
	onSymbol(s, t, protocol.MethodTextDocumentTypeDefinition, s.locations(func(ctx context.Context, g graph.Service, at graph.At, _ *positionParams) ([]graph.Location, error) {
		return g.TypeDefinition(ctx, at)
	}))
	onSymbol(s, t, protocol.MethodTextDocumentImplementation, s.locations(func(ctx context.Context, g graph.Service, at graph.At, _ *positionParams) ([]graph.Location, error) {
		return g.Implementation(ctx, at)
	}))
	onSymbol(s, t, protocol.MethodTextDocumentReferences, s.locations(func(ctx context.Context, g graph.Service, at graph.At, p *positionParams) ([]graph.Location, error) {
		return g.References(ctx, at, p.Context.IncludeDeclaration)
	}))
	onSymbol(s, t, protocol.MethodTextDocumentDocumentHighlight, s.highlights)
	onSymbol(s, t, protocol.MethodTextDocumentPrepareCallHierarchy, s.prepareCalls)
	requestAt(t, protocol.MethodTextDocumentDefinition, fast, s.placeAt, s.definition)
	requestAt(t, protocol.MethodTextDocumentHover, fast, s.placeAt, s.hover)
	onDocument(s, t, protocol.MethodTextDocumentDocumentSymbol, s.documentSymbols)
	onDocument(s, t, protocol.MethodTextDocumentDocumentLink, s.documentLinks)
	onDocument(s, t, protocol.MethodTextDocumentFoldingRange, s.foldingRanges)
	requestAt(t, protocol.MethodTextDocumentSelectionRange, normal,
		func(p *selectionParams) (place, error) { return s.placeOf(p.TextDocument.URI), nil }, s.selectionRanges)
	request(t, protocol.MethodWorkspaceSymbol, normal, s.workspaceSymbols)
	request(t, protocol.MethodCallHierarchyIncomingCalls, normal, s.incomingCalls)
	request(t, protocol.MethodCallHierarchyOutgoingCalls, normal, s.outgoingCalls)
	request(t, MethodGraphQuery, normal, s.graphQuery)
}

// errQuiet is no graph for this document: none is built in, or another server
// answers for its language. The request is answered with null.
var errQuiet = errors.New("quiet")

// moved reports whether the text that a position was meant for is gone. The
// graph answers for the present text, so the answer would point elsewhere.
func (s *Server) moved(at place) bool {
	b, open := s.ws.Document(at.path)
	return open != (at.buffer != nil) || open && b.Version != at.buffer.Version
}

func (s *Server) placeAt(p *positionParams) (place, error) { return s.placeOf(p.TextDocument.URI), nil }

func (s *Server) at(at place, pos Position) graph.At {
	return graph.At{Path: at.path, Pos: workspace.Position{Line: pos.Line, Character: pos.Character}, Enc: s.counting.encoding}
}

// answer runs one question to the graph and drops its answer when the text has
// moved meanwhile. A nil R is "null" or an empty list on the wire.
func answer[R any](ctx context.Context, s *Server, at place, ask func(g graph.Service) (R, error)) (R, error) {
	var none R
	g, err := s.graphService(ctx)
	if errors.Is(err, errQuiet) || err == nil && (at.path == "" || !s.served(at.path)) {
		return none, nil
	}
	if err != nil {
		return none, err
	}
	r, err := ask(g)
	if err == nil && s.moved(at) {
		return none, protocol.ErrContentModified
	}
	return r, err
}

// onSymbol registers a request about the symbol at a position.
func onSymbol[R any](s *Server, t table, method string, h func(context.Context, graph.Service, graph.At, *positionParams) (R, error)) {
	requestAt(t, method, fast, s.placeAt, func(ctx context.Context, p *positionParams, at place) (R, error) {
		return answer(ctx, s, at, func(g graph.Service) (R, error) { return h(ctx, g, s.at(at, p.Position), p) })
	})
}

// onDocument registers a request about a whole document.
func onDocument[R any](s *Server, t table, method string, h func(context.Context, graph.Service, workspace.Path) (R, error)) {
	at := func(p *documentParams) (place, error) { return s.placeOf(p.TextDocument.URI), nil }
	requestAt(t, method, normal, at, func(ctx context.Context, _ *documentParams, at place) (R, error) {
		return answer(ctx, s, at, func(g graph.Service) (R, error) { return h(ctx, g, at.path) })
	})
}

type locator func(context.Context, graph.Service, graph.At, *positionParams) ([]graph.Location, error)

// locations is a request that is answered with places, each at the name.
func (s *Server) locations(find locator) func(context.Context, graph.Service, graph.At, *positionParams) ([]protocol.Location, error) {
	return func(ctx context.Context, g graph.Service, at graph.At, p *positionParams) ([]protocol.Location, error) {
		found, err := find(ctx, g, at, p)
		return s.locationsOut(found), err
	}
}

// definition also follows the nod_ id of a memory to its file.
func (s *Server) definition(ctx context.Context, p *positionParams, at place) ([]protocol.Location, error) {
	if info, ok := s.memoryAt(ctx, p.Position, at); ok {
		if name, err := s.ws.Resolve(info.root, info.Source); err == nil {
			return []protocol.Location{{URI: uri.URI(s.ws.URI(name.Path))}}, nil
		}
	}
	return answer(ctx, s, at, func(g graph.Service) ([]protocol.Location, error) {
		found, err := g.Definition(ctx, s.at(at, p.Position))
		return s.locationsOut(found), err
	})
}

// remembered is a memory and the root that it belongs to.
type remembered struct {
	contextengine.MemoryInfo
	root string
}

// memoryAt is the memory whose id stands at a position.
func (s *Server) memoryAt(ctx context.Context, pos Position, at place) (remembered, bool) {
	offset := s.counting.offset(at.text, pos)
	id, _, _, ok := contextengine.NodeIDAt(at.text, offset)
	if !ok {
		return remembered{}, false
	}
	engines, err := s.engines(ctx)
	if err != nil {
		return remembered{}, false
	}
	for _, e := range engines {
		if info, ok, err := e.ByID(ctx, id); err == nil && ok {
			return remembered{info, e.Root()}, true
		}
	}
	return remembered{}, false
}

// hover shows signature, doc and uses of the symbol, and the memories that cite
// it or its file; on a memory's id, that memory.
func (s *Server) hover(ctx context.Context, p *positionParams, at place) (*protocol.Hover, error) {
	if info, ok := s.memoryAt(ctx, p.Position, at); ok {
		return markdownHover(contextengine.MemoryText(info.MemoryInfo, s.commandLink), nil), nil
	}
	known, err := answer(ctx, s, at, func(g graph.Service) (*graph.HoverInfo, error) { return g.Hover(ctx, s.at(at, p.Position)) })
	if err != nil {
		return nil, err
	}
	var parts []string
	var under *protocol.Range
	symbol := s.wordAt(at.text, p.Position)
	if known != nil {
		parts = append(parts, hoverText(known))
		r := rangeToLSP(rangeOut(known.Under))
		under, symbol = &r, known.Name
	}
	if memories := s.memoriesHere(ctx, at, symbol); memories != "" {
		parts = append(parts, memories)
	}
	if len(parts) == 0 {
		return nil, nil
	}
	return markdownHover(strings.Join(parts, "\n\n---\n\n"), under), nil
}

func markdownHover(text string, r *protocol.Range) *protocol.Hover {
	return &protocol.Hover{Contents: &protocol.MarkupContent{Kind: protocol.MarkupKindMarkdown, Value: text}, Range: r}
}

func hoverText(h *graph.HoverInfo) string {
	text := fmt.Sprintf("```%s\n%s\n```", h.Language, h.Signature)
	if h.Doc != "" {
		text += "\n\n" + h.Doc
	}
	if h.References > 0 {
		least := ""
		if !h.Counted {
			least = "at least "
		}
		text += fmt.Sprintf("\n\nUsed %s%s in %s.", least, counted(h.References, "time"), counted(h.Files, "file"))
	}
	if h.How == graph.HowName {
		text += "\n\nFound by its name alone; it may be another one."
	}
	return text
}

// memoriesHere are the memories that cite a symbol or its file.
func (s *Server) memoriesHere(ctx context.Context, at place, symbol string) string {
	if s.backend.Memory == nil || at.path == "" {
		return ""
	}
	e := s.backend.Memory.EngineFor(at.path)
	if e == nil {
		return ""
	}
	s.backend.Memory.Settle(ctx)
	infos, err := e.CitingMemories(ctx, string(at.path), symbol)
	if err != nil {
		s.log.Warn("memories could not be looked up", "error", err)
		return ""
	}
	return contextengine.CitedText(infos, s.commandLink)
}

func (s *Server) locationsOut(found []graph.Location) []protocol.Location {
	out := make([]protocol.Location, 0, len(found))
	for _, l := range found {
		out = append(out, protocol.Location{URI: uri.URI(s.ws.URI(l.Path)), Range: rangeToLSP(rangeOut(l.NameRange))})
	}
	return out
}

// counted is a number of things: "1 file", "2 files".
func counted(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}
