package lsp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"go.lsp.dev/jsonrpc2"
	"go.lsp.dev/protocol"

	"github.com/stella-ls/stella-ls/contextengine"
	"github.com/stella-ls/stella-ls/internal/workspace"
)

// Memories are the context engines of the roots; agent/memory is behind it.
type Memories interface {
	Engine(root string) *contextengine.Engine
	// EngineFor is the engine of the root that holds a path; nil outside all.
	EngineFor(p workspace.Path) *contextengine.Engine
	// Settle waits until the engines know of every change of a file so far.
	Settle(ctx context.Context)
}

func (s *Server) memoryRoutes(t table) {
	request(t, MethodMemoryList, normal, s.memoryList)
	request(t, MethodMemoryPromote, normal, s.memoryPromote)
	request(t, MethodMemoryUnq, normal, s.memoryUnquarantine)
	request(t, MethodMemoryForget, normal, s.memoryForget)
	request(t, MethodMemoryHistory, normal, s.memoryHistory)
	requestAt(t, protocol.MethodTextDocumentCompletion, fast, s.placeAt, s.completion)
	requestAt(t, MethodContextPreview, normal, s.previewSnapshot, s.contextPreview)
}

func (p *MemoryParams) validate() error {
	if p.ID == "" {
		return errors.New("id is missing: stella/memory/list gives them")
	}
	return nil
}

// engines are those of all roots.
func (s *Server) engines(ctx context.Context) ([]*contextengine.Engine, error) {
	if _, err := s.sessions(ctx); err != nil {
		return nil, err
	}
	if s.backend.Memory == nil {
		return nil, jsonrpc2.NewError(codeRequestFailed, "this server has no context engine")
	}
	s.backend.Memory.Settle(ctx)
	var out []*contextengine.Engine
	for _, root := range s.ws.Roots() {
		out = append(out, s.backend.Memory.Engine(root))
	}
	return out, nil
}

func (p *MemoryListParams) validate() error {
	_, err := p.when()
	return err
}

// when is the time that a list is about.
func (p *MemoryListParams) when() (w contextengine.When, err error) {
	for _, t := range []struct {
		name, text string
		to         *time.Time
	}{{"asOf", p.AsOf, &w.AsOf}, {"validAt", p.ValidAt, &w.ValidAt}} {
		if t.text == "" {
			continue
		}
		if *t.to, err = time.Parse(time.RFC3339, t.text); err != nil {
			return w, fmt.Errorf("%s %q is no time: write it like 2026-05-04T09:30:00Z", t.name, t.text)
		}
	}
	return w, nil
}

func (s *Server) memoryList(ctx context.Context, p *MemoryListParams) ([]contextengine.MemoryInfo, error) {
	when, err := p.when()
	if err != nil {
		return nil, err
	}
	engines, err := s.engines(ctx)
	if err != nil {
		return nil, err
	}
	out := []contextengine.MemoryInfo{}
	for _, e := range engines {
		infos, err := e.List(ctx, when)
		if err != nil {
			return nil, err
		}
		out = append(out, infos...)
	}
	return out, nil
}

// owner is the engine that holds a memory, which may be named by its slug.
func (s *Server) owner(ctx context.Context, id string) (*contextengine.Engine, error) {
	engines, err := s.engines(ctx)
	if err != nil {
		return nil, err
	}
	for _, e := range engines {
		if _, ok, err := e.ByID(ctx, id); err != nil {
			return nil, err
		} else if ok {
			return e, nil
		}
	}
	return nil, jsonrpc2.NewError(jsonrpc2.InvalidParams, fmt.Sprintf("no memory %q: stella/memory/list gives the ids", id))
}

func (s *Server) memoryPromote(ctx context.Context, p *MemoryParams) (MemoryPromoteResult, error) {
	e, err := s.owner(ctx, p.ID)
	if err != nil {
		return MemoryPromoteResult{}, err
	}
	path, err := e.Promote(ctx, p.ID)
	return MemoryPromoteResult{Path: path}, err
}

func (s *Server) memoryUnquarantine(ctx context.Context, p *MemoryParams) (struct{}, error) {
	e, err := s.owner(ctx, p.ID)
	if err != nil {
		return struct{}{}, err
	}
	return struct{}{}, e.Unquarantine(ctx, p.ID, p.Reason)
}

func (s *Server) memoryForget(ctx context.Context, p *MemoryParams) (struct{}, error) {
	e, err := s.owner(ctx, p.ID)
	if err != nil {
		return struct{}{}, err
	}
	return struct{}{}, e.Forget(ctx, p.ID, p.Reason)
}

// memoryHistory answers for memories that are forgotten, too.
func (s *Server) memoryHistory(ctx context.Context, p *MemoryParams) (MemoryHistoryResult, error) {
	out := MemoryHistoryResult{Revisions: []MemoryRevision{}}
	engines, err := s.engines(ctx)
	if err != nil {
		return out, err
	}
	for _, e := range engines {
		revisions, err := e.History(ctx, p.ID)
		if err != nil {
			return out, err
		}
		for _, r := range revisions {
			out.Revisions = append(out.Revisions, MemoryRevision{
				Text: r.Text, Origin: r.Origin, Reason: r.Reason, ValidFrom: stamp(r.ValidFrom), ValidTo: stamp(r.ValidTo),
				RecordedAt: stamp(r.RecordedAt), SupersededAt: stamp(r.SupersededAt),
			})
		}
	}
	return out, nil
}

// saveMemoryCommand is a memory in the person's own words.
func (s *Server) saveMemoryCommand(ctx context.Context, arg json.RawMessage) (any, error) {
	type params struct {
		Slug   string `json:"slug"`
		Memory string `json:"memory"`
		URI    string `json:"uri"`
	}
	return typed(arg, func(p *params) (contextengine.SaveResult, error) {
		engines, err := s.engines(ctx)
		if err != nil {
			return contextengine.SaveResult{}, err
		}
		if len(engines) == 0 {
			return contextengine.SaveResult{}, jsonrpc2.NewError(codeRequestFailed, "no folder is open that a memory could belong to")
		}
		e := engines[0]
		if name, err := s.ws.ResolveURI(p.URI); p.URI != "" && err == nil && name.Inside() {
			e = s.backend.Memory.Engine(name.Root)
		}
		return e.SaveMemory(ctx, contextengine.SaveRequest{Slug: p.Slug, Memory: p.Memory})
	})
}

// previewSnapshot is where a preview is asked from.
func (s *Server) previewSnapshot(p *ContextPreviewParams) (place, error) {
	if p.URI == "" {
		return place{}, nil
	}
	at := s.placeOf(p.URI)
	if p.Position != nil {
		at.symbol = s.wordAt(at.text, *p.Position)
	}
	return at, nil
}

// contextPreview says what a prompt would recall here, and records nothing.
func (s *Server) contextPreview(ctx context.Context, p *ContextPreviewParams, at place) (ContextPreviewResult, error) {
	out := ContextPreviewResult{Frames: []PreviewFrame{}, Dropped: []PreviewDrop{}}
	engines, err := s.engines(ctx)
	if err != nil || len(engines) == 0 {
		return out, err
	}
	e := engines[0]
	if own := s.backend.Memory.EngineFor(at.path); at.path != "" && own != nil {
		e = own
	}
	var dirty []string
	for _, d := range s.ws.Documents() {
		if d.Buffer.Dirty {
			dirty = append(dirty, string(d.Name.Path))
		}
	}
	r, err := e.Preview(ctx, contextengine.Query{Prompt: p.Text, OpenFile: string(at.path), Symbol: at.symbol, Dirty: dirty})
	if err != nil {
		return out, err
	}
	out.Block = r.Block
	for _, f := range r.Frames {
		out.Frames = append(out.Frames, PreviewFrame{ID: f.ID, Kind: f.Kind, Label: f.Label, Provider: f.Provider, Tokens: f.Tokens})
	}
	for _, d := range r.Dropped {
		out.Dropped = append(out.Dropped, PreviewDrop{ID: d.ID, Label: d.Label, Reason: d.Reason, Detail: d.Detail})
	}
	return out, nil
}

// commandLink is a Markdown link that runs one of our extension's commands;
// other clients get plain text, since a dead link is worse than none.
func (s *Server) commandLink(command, id string) string {
	if !s.client.caps.ui {
		return ""
	}
	args := strings.NewReplacer(`"`, "%22", "{", "%7B", "}", "%7D").Replace(fmt.Sprintf(`{"id":"%s"}`, id))
	return fmt.Sprintf("[%s](command:stella.memory.%s?%s)", command, command, args)
}
