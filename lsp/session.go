package lsp

import (
	"context"
	"encoding/json"
	"errors"

	"go.lsp.dev/jsonrpc2"
	"go.lsp.dev/protocol"

	"github.com/stella-ls/stella-ls/agent"
)

func (s *Server) sessionRoutes(t table) {
	request(t, MethodSessionStart, long, s.sessionStart)
	request(t, MethodSessionPrompt, long, s.sessionPrompt)
	request(t, MethodSessionCancel, normal, s.sessionCancel)
	request(t, MethodSessionList, normal, s.sessionList)
	request(t, MethodSessionResume, long, s.sessionResume)
	request(t, MethodSessionGet, normal, s.sessionGet)
	notification(t, protocol.MethodWindowWorkDoneProgressCancel, func(p *struct {
		Token json.RawMessage `json:"token"`
	}) error {
		var token string
		if json.Unmarshal(p.Token, &token) == nil {
			s.turns.cancelToken(token)
		}
		return nil
	})
	if s.config.TestHooks {
		request(t, MethodTestRelease, normal, s.testRelease)
	}
}

func (p *SessionPromptParams) validate() error { return needSession(p.SessionID) }
func (p *SessionIDParams) validate() error     { return needSession(p.SessionID) }
func (p *SessionResumeParams) validate() error { return needSession(p.SessionID) }

func needSession(id string) error {
	if id == "" {
		return errors.New("sessionId is missing: stella/session/start gives one")
	}
	return nil
}

func (p *TestReleaseParams) validate() error {
	if p.Name == "" {
		return errors.New("name is missing: the wait to let go on")
	}
	return nil
}

func (s *Server) sessionStart(ctx context.Context, p *SessionStartParams) (SessionStartResult, error) {
	m, err := s.sessions(ctx)
	if err != nil {
		return SessionStartResult{}, err
	}
	root := p.Root
	if dir, ok := pathOf(protocolURI(root)); ok {
		root = dir
	}
	id, err := m.Start(ctx, agent.StartOptions{Title: p.Title, Model: p.Model, Root: root})
	return SessionStartResult{SessionID: id}, sessionError(err)
}

// sessionPrompt runs a turn. All its updates are queued before this returns, so
// the answer follows them.
func (s *Server) sessionPrompt(ctx context.Context, p *SessionPromptParams) (SessionPromptResult, error) {
	m, err := s.sessions(ctx)
	if err != nil {
		return SessionPromptResult{}, err
	}
	prompt := agent.Prompt{Session: p.SessionID, Text: p.Text, Steer: p.Steer}
	for _, c := range p.Context {
		name, err := s.ws.ResolveURI(c.URI)
		if err != nil {
			return SessionPromptResult{}, jsonrpc2.NewError(jsonrpc2.InvalidParams, err.Error())
		}
		first, last := linesOf(c.Range)
		prompt.Context = append(prompt.Context, agent.Attachment{Path: string(name.Path), First: first, Last: last})
	}
	o, err := s.turns.run(ctx, m, prompt)
	if err != nil {
		return SessionPromptResult{}, sessionError(err)
	}
	return SessionPromptResult{TurnID: o.TurnID, Stop: string(o.Stop), Error: o.Error, Usage: usageOut(o.Usage)}, nil
}

func (s *Server) sessionCancel(ctx context.Context, p *SessionIDParams) (struct{}, error) {
	m, err := s.sessions(ctx)
	if err != nil {
		return struct{}{}, err
	}
	return struct{}{}, sessionError(m.Cancel(p.SessionID))
}

func (s *Server) sessionList(ctx context.Context, _ *struct{}) (SessionListResult, error) {
	m, err := s.sessions(ctx)
	if err != nil {
		return SessionListResult{}, err
	}
	out := SessionListResult{Sessions: []SessionInfo{}}
	for _, i := range m.List() {
		out.Sessions = append(out.Sessions, infoOut(i))
	}
	return out, nil
}

func (s *Server) sessionResume(ctx context.Context, p *SessionResumeParams) (SessionResumeResult, error) {
	m, err := s.sessions(ctx)
	if err != nil {
		return SessionResumeResult{}, err
	}
	interrupted, err := m.Resume(ctx, p.SessionID, p.Continue)
	return SessionResumeResult{SessionID: p.SessionID, Interrupted: interrupted}, sessionError(err)
}

func (s *Server) sessionGet(ctx context.Context, p *SessionIDParams) (SessionGetResult, error) {
	m, err := s.sessions(ctx)
	if err != nil {
		return SessionGetResult{}, err
	}
	t, err := m.Get(p.SessionID)
	if err != nil {
		return SessionGetResult{}, sessionError(err)
	}
	return transcriptOut(t), nil
}

func (s *Server) testRelease(ctx context.Context, p *TestReleaseParams) (struct{}, error) {
	if _, err := s.sessions(ctx); err != nil {
		return struct{}{}, err
	}
	if s.backend.Release == nil {
		return struct{}{}, errors.New("this server's model has nothing to release")
	}
	s.backend.Release(p.Name)
	return struct{}{}, nil
}

// sessionError gives the manager's errors their codes: what the caller named
// wrongly is the parameters' fault, the rest failed.
func sessionError(err error) error {
	switch {
	case errors.Is(err, agent.ErrNoSession), errors.Is(err, agent.ErrEmptyPrompt), errors.Is(err, agent.ErrNoEdits), errors.Is(err, agent.ErrTurn):
		return jsonrpc2.NewError(jsonrpc2.InvalidParams, err.Error())
	default:
		return err
	}
}

// rawJSON encodes a value of another package by its own rules.
func rawJSON(v any) json.RawMessage {
	b, err := json.Marshal(v)
	if err != nil {
		return nil
	}
	return b
}
