package lsp

import (
	"context"
	"strings"

	"go.lsp.dev/protocol"

	"github.com/stella-ls/stella-ls/contextengine"
)

// idPrefix begins every memory's id. Nothing else is completed here, so that no
// list of ours stands among those of a language's own server.
const idPrefix = "nod_"

// maxCompletions bounds one list; what is typed further narrows it down.
const maxCompletions = 50

// completion offers memories where an id is being typed: by the id's digits, or
// by a word of the memory or its name.
func (s *Server) completion(ctx context.Context, p *positionParams, at place) (*protocol.CompletionList, error) {
	end := s.counting.offset(at.text, p.Position)
	start := end
	for start > 0 && isSlug(at.text[start-1]) {
		start--
	}
	typed := at.text[start:end]
	if !strings.HasPrefix(typed, idPrefix) {
		return nil, nil
	}
	engines, err := s.engines(ctx)
	if err != nil {
		return nil, err
	}
	// The list was narrowed down here; a filter of the client's, which knows ids
	// only, would hide what was found by a word.
	list := &protocol.CompletionList{IsIncomplete: true, Items: []protocol.CompletionItem{}}
	under := rangeToLSP(s.counting.span(at.text, start, end))
	for _, e := range engines {
		infos, err := e.CompleteIDs(ctx, typed)
		if err != nil {
			return nil, err
		}
		for _, i := range infos[:min(len(infos), maxCompletions-len(list.Items))] {
			list.Items = append(list.Items, completionItem(i, typed, under))
		}
	}
	return list, nil
}

func completionItem(i contextengine.MemoryInfo, typed string, under protocol.Range) protocol.CompletionItem {
	item := protocol.CompletionItem{
		Label: i.ID, Kind: protocol.CompletionItemKindReference, FilterText: protocol.NewOptional(typed),
		Detail:        protocol.NewOptional(i.Memory),
		Documentation: &protocol.MarkupContent{Kind: protocol.MarkupKindMarkdown, Value: contextengine.MemoryText(i, nil)},
		TextEdit:      &protocol.TextEdit{Range: under, NewText: i.ID},
	}
	return item
}

// isSlug is a character of an id or of a memory's name.
func isSlug(c byte) bool {
	return c == '_' || c == '-' || '0' <= c && c <= '9' || 'a' <= c && c <= 'z'
}
