package lsp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"go.lsp.dev/jsonrpc2"
	"go.lsp.dev/protocol"
	"go.lsp.dev/uri"

	"github.com/stella-ls/stella-ls/graph"
	"github.com/stella-ls/stella-ls/internal/workspace"
)

// maxSymbols bounds workspace/symbol.
const maxSymbols = 200

func (s *Server) highlights(ctx context.Context, g graph.Service, at graph.At, _ *positionParams) ([]protocol.DocumentHighlight, error) {
	found, err := g.Highlights(ctx, at)
	out := make([]protocol.DocumentHighlight, 0, len(found))
	for _, l := range found {
		kind := protocol.DocumentHighlightKindRead
		if l.Kind == "write" || l.Kind == "definition" {
			kind = protocol.DocumentHighlightKindWrite
		}
		out = append(out, protocol.DocumentHighlight{Range: rangeToLSP(rangeOut(l.NameRange)), Kind: kind})
	}
	return out, err
}

func (s *Server) documentSymbols(ctx context.Context, g graph.Service, p workspace.Path) ([]protocol.DocumentSymbol, error) {
	found, err := g.DocumentSymbols(ctx, p, s.counting.encoding)
	return symbolsOut(found), err
}

func symbolsOut(list []graph.Symbol) []protocol.DocumentSymbol {
	out := make([]protocol.DocumentSymbol, 0, len(list))
	for _, x := range list {
		d := protocol.DocumentSymbol{
			Name: x.Name, Kind: symbolKind(x.Kind),
			Range: rangeToLSP(rangeOut(x.Range)), SelectionRange: rangeToLSP(rangeOut(x.NameRange)),
		}
		if x.Detail != "" {
			d.Detail = &x.Detail
		}
		if len(x.Children) > 0 {
			d.Children = symbolsOut(x.Children)
		}
		out = append(out, d)
	}
	return out
}

// kinds are the graph's kinds of definitions as LSP has them.
var kinds = map[string]protocol.SymbolKind{
	"function": protocol.SymbolKindFunction, "method": protocol.SymbolKindMethod, "constructor": protocol.SymbolKindConstructor,
	"class": protocol.SymbolKindClass, "struct": protocol.SymbolKindStruct, "union": protocol.SymbolKindStruct,
	"enum": protocol.SymbolKindEnum, "variant": protocol.SymbolKindEnumMember, "enum_member": protocol.SymbolKindEnumMember,
	"interface": protocol.SymbolKindInterface, "trait": protocol.SymbolKindInterface, "impl": protocol.SymbolKindClass,
	"field": protocol.SymbolKindField, "property": protocol.SymbolKindProperty, "column": protocol.SymbolKindField,
	"constant": protocol.SymbolKindConstant, "const": protocol.SymbolKindConstant, "static": protocol.SymbolKindConstant,
	"variable": protocol.SymbolKindVariable, "parameter": protocol.SymbolKindVariable,
	"type": protocol.SymbolKindClass, "alias": protocol.SymbolKindClass, "macro": protocol.SymbolKindFunction,
	"module": protocol.SymbolKindModule, "namespace": protocol.SymbolKindNamespace, "schema": protocol.SymbolKindNamespace,
	"table": protocol.SymbolKindStruct, "view": protocol.SymbolKindStruct, "index": protocol.SymbolKindKey,
	"procedure": protocol.SymbolKindFunction, "trigger": protocol.SymbolKindEvent,
}

func symbolKind(kind string) protocol.SymbolKind {
	if k, ok := kinds[kind]; ok {
		return k
	}
	if first, _, found := strings.Cut(kind, " "); found { // "materialized view"
		return symbolKind(kind[len(first)+1:])
	}
	return protocol.SymbolKindVariable
}

func (s *Server) documentLinks(ctx context.Context, g graph.Service, p workspace.Path) ([]protocol.DocumentLink, error) {
	found, err := g.Links(ctx, p, s.counting.encoding)
	out := make([]protocol.DocumentLink, 0, len(found))
	for _, l := range found {
		target := uri.URI(s.ws.URI(l.Target))
		out = append(out, protocol.DocumentLink{Range: rangeToLSP(rangeOut(l.Range)), Target: &target})
	}
	return out, err
}

func (s *Server) foldingRanges(ctx context.Context, g graph.Service, p workspace.Path) ([]protocol.FoldingRange, error) {
	found, err := g.FoldingRanges(ctx, p)
	out := make([]protocol.FoldingRange, 0, len(found))
	for _, f := range found {
		out = append(out, protocol.FoldingRange{StartLine: uint32(f.StartLine), EndLine: uint32(f.EndLine), Kind: protocol.FoldingRangeKind(f.Kind)})
	}
	return out, err
}

func (s *Server) selectionRanges(ctx context.Context, p *selectionParams, at place) ([]protocol.SelectionRange, error) {
	return answer(ctx, s, at, func(g graph.Service) ([]protocol.SelectionRange, error) {
		out := make([]protocol.SelectionRange, 0, len(p.Positions))
		for _, pos := range p.Positions {
			chain, err := g.SelectionRanges(ctx, s.at(at, pos))
			if err != nil {
				return nil, err
			}
			here := protocol.Position{Line: pos.Line, Character: pos.Character}
			one := protocol.SelectionRange{Range: protocol.Range{Start: here, End: here}}
			for i := len(chain) - 1; i >= 0; i-- { // innermost first: the last is the outermost parent
				next := protocol.SelectionRange{Range: rangeToLSP(rangeOut(chain[i]))}
				if i < len(chain)-1 {
					parent := one
					next.Parent = &parent
				}
				one = next
			}
			out = append(out, one)
		}
		return out, nil
	})
}

func (s *Server) workspaceSymbols(ctx context.Context, p *struct {
	Query string `json:"query"`
}) ([]protocol.SymbolInformation, error) {
	g, err := s.graphService(ctx)
	if err != nil {
		return nil, quiet(err)
	}
	found, err := g.WorkspaceSymbols(ctx, p.Query, maxSymbols, s.served, s.counting.encoding)
	out := make([]protocol.SymbolInformation, 0, len(found))
	for _, l := range found {
		x := protocol.SymbolInformation{Location: protocol.Location{URI: uri.URI(s.ws.URI(l.Path)), Range: rangeToLSP(rangeOut(l.NameRange))}}
		x.Name, x.Kind = l.Name, symbolKind(l.Kind)
		if l.Container != "" {
			container := l.Container
			x.ContainerName = &container
		}
		out = append(out, x)
	}
	return out, err
}

func quiet(err error) error {
	if errors.Is(err, errQuiet) {
		return nil
	}
	return err
}

// A call hierarchy item needs no data of ours: its place says what it is.
type callItem struct {
	Item struct {
		URI            string `json:"uri"`
		SelectionRange Range  `json:"selectionRange"`
	} `json:"item"`
}

func (s *Server) prepareCalls(ctx context.Context, g graph.Service, at graph.At, _ *positionParams) ([]protocol.CallHierarchyItem, error) {
	found, err := g.Definition(ctx, at)
	out := make([]protocol.CallHierarchyItem, 0, len(found))
	for _, l := range found {
		out = append(out, s.callItemOut(l))
	}
	return out, err
}

func (s *Server) callItemOut(l graph.Location) protocol.CallHierarchyItem {
	item := protocol.CallHierarchyItem{
		Name: l.Name, Kind: symbolKind(l.Kind), URI: uri.URI(s.ws.URI(l.Path)),
		Range: rangeToLSP(rangeOut(l.Range)), SelectionRange: rangeToLSP(rangeOut(l.NameRange)),
	}
	if l.Container != "" {
		item.Detail = &l.Container
	}
	return item
}

func (s *Server) incomingCalls(ctx context.Context, p *callItem) ([]protocol.CallHierarchyIncomingCall, error) {
	calls, err := s.calls(ctx, p, graph.Service.IncomingCalls)
	out := make([]protocol.CallHierarchyIncomingCall, 0, len(calls))
	for _, c := range calls {
		out = append(out, protocol.CallHierarchyIncomingCall{From: s.callItemOut(c.Symbol), FromRanges: sitesOut(c.Sites)})
	}
	return out, err
}

func (s *Server) outgoingCalls(ctx context.Context, p *callItem) ([]protocol.CallHierarchyOutgoingCall, error) {
	calls, err := s.calls(ctx, p, graph.Service.OutgoingCalls)
	out := make([]protocol.CallHierarchyOutgoingCall, 0, len(calls))
	for _, c := range calls {
		out = append(out, protocol.CallHierarchyOutgoingCall{To: s.callItemOut(c.Symbol), FromRanges: sitesOut(c.Sites)})
	}
	return out, err
}

func (s *Server) calls(ctx context.Context, p *callItem, find func(graph.Service, context.Context, graph.At) ([]graph.Call, error)) ([]graph.Call, error) {
	name, err := s.ws.ResolveURI(p.Item.URI)
	if err != nil {
		return nil, jsonrpc2.NewError(jsonrpc2.InvalidParams, err.Error())
	}
	g, err := s.graphService(ctx)
	if err != nil {
		return nil, quiet(err)
	}
	return find(g, ctx, s.at(place{path: name.Path}, p.Item.SelectionRange.Start))
}

func sitesOut(sites []workspace.Range) []protocol.Range {
	out := make([]protocol.Range, 0, len(sites))
	for _, r := range sites {
		out = append(out, rangeToLSP(rangeOut(r)))
	}
	return out
}

func (p *GraphQueryParams) validate() error {
	switch graph.Op(p.Op) {
	case graph.OpDefinitions, graph.OpReferences, graph.OpImports, graph.OpImporters, graph.OpNeighbors:
	default:
		return fmt.Errorf("op %q is none of definitions, references, imports, importers, neighbors", p.Op)
	}
	if p.Target == "" && p.Position == nil {
		return errors.New("target is missing: a symbol's name, or a file's path")
	}
	return nil
}

// graphQuery answers exactly like "stella-ls graph --json".
func (s *Server) graphQuery(ctx context.Context, p *GraphQueryParams) (json.RawMessage, error) {
	g, err := s.graphService(ctx)
	if errors.Is(err, errQuiet) {
		return nil, jsonrpc2.NewError(codeRequestFailed, "this server has no code graph")
	}
	if err != nil {
		return nil, err
	}
	q := graph.Query{Op: graph.Op(p.Op), Target: s.plainPath(p.Target), Path: s.plainPath(p.Path)}
	if p.Position != nil {
		q.Position = &graph.Position{Line: int(p.Position.Line), Character: s.utf16Column(ctx, q.Path, *p.Position)}
	}
	a, err := g.Query(ctx, q)
	if err != nil {
		return nil, err
	}
	return rawJSON(a), nil
}

// plainPath turns a URI into a path and leaves everything else as it is.
func (s *Server) plainPath(spelled string) string {
	if !strings.HasPrefix(spelled, "file:") {
		return spelled
	}
	if name, err := s.ws.ResolveURI(spelled); err == nil {
		return string(name.Path)
	}
	return spelled
}

func (s *Server) utf16Column(ctx context.Context, path string, pos Position) int {
	if s.counting.encoding == workspace.UTF16 {
		return int(pos.Character)
	}
	name, err := s.ws.Resolve("", path)
	if err != nil {
		return int(pos.Character)
	}
	f, err := s.ws.View(ctx, name)
	if err != nil {
		return int(pos.Character)
	}
	return s.counting.utf16(string(f.Truth()), pos)
}

// reindexCommand looks at every file again.
func (s *Server) reindexCommand(ctx context.Context, _ json.RawMessage) (any, error) {
	g, err := s.graphService(ctx)
	if err != nil {
		return nil, quiet(err)
	}
	g.Reindex()
	return nil, nil
}
