package lsp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"go.lsp.dev/jsonrpc2"
	"go.lsp.dev/protocol"

	"github.com/stella-ls/stella-ls/agent"
)

func (s *Server) reviewRoutes(t table) {
	request(t, MethodContent, normal, s.content)
	request(t, MethodChanges, normal, s.changes)
	request(t, MethodUndo, long, s.undo)
}

func (p *ContentParams) validate() error {
	if p.Side != "before" && p.Side != "after" {
		return errors.New(`side must be "before" or "after"`)
	}
	return nil
}

func (p *ChangesParams) validate() error { return needSession(p.SessionID) }
func (p *UndoParams) validate() error    { return needSession(p.SessionID) }

func (s *Server) content(ctx context.Context, p *ContentParams) (ContentResult, error) {
	m, err := s.sessions(ctx)
	if err != nil {
		return ContentResult{}, err
	}
	before, after, ok := m.Content(p.EditID)
	if !ok {
		return ContentResult{}, jsonrpc2.NewError(jsonrpc2.InvalidParams, fmt.Sprintf("no edit or refused call %q: stella/changes lists the edits", p.EditID))
	}
	if p.Side == "before" {
		return ContentResult{Text: string(before)}, nil
	}
	return ContentResult{Text: string(after)}, nil
}

func (s *Server) changes(ctx context.Context, p *ChangesParams) (ChangesResult, error) {
	m, err := s.sessions(ctx)
	if err != nil {
		return ChangesResult{}, err
	}
	files, err := m.Changes(ctx, p.SessionID, p.TurnID)
	if err != nil {
		return ChangesResult{}, sessionError(err)
	}
	out := ChangesResult{Files: []ChangedFile{}}
	for _, f := range files {
		c := ChangedFile{URI: s.ws.URI(f.Path), Diff: f.Diff, Undoable: f.Undoable, Edits: []string{}}
		for _, id := range f.Edits {
			c.Edits = append(c.Edits, p.SessionID+"/"+id) // as stella/content takes it
		}
		out.Files = append(out.Files, c)
	}
	return out, nil
}

// undo takes back an edit or a turn. What could not be is a refusal, not an error.
func (s *Server) undo(ctx context.Context, p *UndoParams) (UndoResult, error) {
	m, err := s.sessions(ctx)
	if err != nil {
		return UndoResult{}, err
	}
	undone, err := m.Undo(ctx, p.SessionID, p.TurnID, p.Edit)
	if err != nil {
		return UndoResult{}, sessionError(err)
	}
	out := UndoResult{Undone: []string{}, Refused: []json.RawMessage{}}
	for _, u := range undone {
		if u.Result.OK() {
			out.Undone = append(out.Undone, s.ws.URI(u.Path))
		} else {
			out.Refused = append(out.Refused, rawJSON(u.Result))
		}
	}
	return out, nil
}

// undoCommand is undo for clients without a view: the newest session, and what
// became of it as a message.
func (s *Server) undoCommand(ctx context.Context, arg json.RawMessage) (any, error) {
	p, err := decode[UndoParams](withSession(arg, "newest"))
	if err != nil {
		return nil, err
	}
	if p.SessionID == "newest" {
		m, err := s.sessions(ctx)
		if err != nil {
			return nil, err
		}
		if p.SessionID = newest(m.List()); p.SessionID == "" {
			return nil, jsonrpc2.NewError(codeRequestFailed, "no session has changed anything")
		}
	}
	r, err := s.undo(ctx, p)
	if err == nil && !s.client.caps.ui {
		s.client.show(protocol.MessageTypeInfo, fmt.Sprintf("Stella: undone in %d files, refused in %d", len(r.Undone), len(r.Refused)))
	}
	return r, err
}

func newest(list []agent.Info) string {
	for _, i := range list {
		if i.Turns > 0 {
			return i.ID
		}
	}
	return ""
}

// withSession gives an argument without a sessionId a stand-in.
func withSession(arg json.RawMessage, id string) jsonrpc2.RawMessage {
	m := map[string]any{}
	if len(arg) > 0 && json.Unmarshal(arg, &m) != nil {
		return jsonrpc2.RawMessage(arg) // decoding it says what is wrong
	}
	if m["sessionId"] == nil {
		m["sessionId"] = id
	}
	return jsonrpc2.RawMessage(rawJSON(m))
}
