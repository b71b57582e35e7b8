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

	"github.com/stella-ls/stella-ls/agent"
	"github.com/stella-ls/stella-ls/agent/model"
)

func protocolURI(s string) uri.URI { return uri.URI(s) }

// askCommand runs a turn for a client that has no view of its own: the answer
// comes as the command's result and is shown as a document or a message.
func (s *Server) askCommand(kind string) command {
	return func(ctx context.Context, arg json.RawMessage) (any, error) {
		if len(arg) > 0 && arg[0] == '"' { // the question alone
			var text string
			if err := json.Unmarshal(arg, &text); err != nil {
				return nil, jsonrpc2.NewError(jsonrpc2.InvalidParams, err.Error())
			}
			arg = rawJSON(AskParams{Text: text})
		}
		return typed(arg, func(p *AskParams) (AskResult, error) { return s.ask(ctx, kind, p) })
	}
}

func (s *Server) ask(ctx context.Context, kind string, p *AskParams) (AskResult, error) {
	m, err := s.sessions(ctx)
	if err != nil {
		return AskResult{}, err
	}
	prompt, err := s.askPrompt(kind, p)
	if err != nil {
		return AskResult{}, err
	}
	if prompt.Session, err = s.sessionFor(ctx, m, p.SessionID); err != nil {
		return AskResult{}, sessionError(err)
	}
	o, err := s.turns.run(ctx, m, prompt)
	if err != nil {
		return AskResult{}, sessionError(err)
	}
	r := AskResult{SessionID: prompt.Session, TurnID: o.TurnID, Stop: string(o.Stop), Error: o.Error}
	if t, err := m.Get(prompt.Session); err == nil {
		r.Text = lastAnswer(t)
		s.showAnswer(t, r)
	}
	return r, nil
}

// sessionFor is the named session, else the newest idle one, else a new one.
func (s *Server) sessionFor(ctx context.Context, m Sessions, named string) (string, error) {
	if named != "" {
		return named, nil
	}
	for _, i := range m.List() {
		if i.State == agent.Idle {
			return i.ID, nil
		}
	}
	return m.Start(ctx, agent.StartOptions{})
}

// askPrompt words what the person wants, and attaches the place.
func (s *Server) askPrompt(kind string, p *AskParams) (agent.Prompt, error) {
	var out agent.Prompt
	where := "this workspace"
	if p.URI != "" {
		name, err := s.ws.ResolveURI(p.URI)
		if err != nil {
			return out, jsonrpc2.NewError(jsonrpc2.InvalidParams, err.Error())
		}
		first, last := linesOf(p.Range)
		where = name.Display
		if first > 0 {
			where = fmt.Sprintf("%s, lines %d to %d", name.Display, first, last)
		}
		out.Context = []agent.Attachment{{Path: string(name.Path), First: first, Last: last}}
	}
	subject := where
	if p.Symbol != "" {
		subject = fmt.Sprintf("`%s` (%s)", p.Symbol, where)
	}
	switch kind {
	case "explain":
		out.Text = "Explain " + subject + ": what it does, why it is there, and what to know before changing it. Change no file."
	case "fix":
		if p.Message == "" {
			return out, jsonrpc2.NewError(jsonrpc2.InvalidParams, "message is missing: the problem to fix")
		}
		out.Text = fmt.Sprintf("Fix this problem, reported in %s: %s", where, p.Message)
	case "writeTests":
		out.Text = "Write tests for " + subject + ", in the style and place of the tests that are there."
	default:
		if strings.TrimSpace(p.Text) == "" {
			return out, jsonrpc2.NewError(jsonrpc2.InvalidParams, "text is missing: the question")
		}
		out.Text = p.Text
	}
	return out, nil
}

// lastAnswer is the text of the newest message of the model.
func lastAnswer(t agent.Transcript) string {
	for i := len(t.Messages) - 1; i >= 0; i-- {
		m := t.Messages[i]
		if m.Role != model.Assistant {
			continue
		}
		var parts []string
		for _, p := range m.Parts {
			if p.Kind == model.TextPart && p.Text != "" {
				parts = append(parts, p.Text)
			}
		}
		if len(parts) > 0 {
			return strings.Join(parts, "\n\n")
		}
	}
	return ""
}

// maxMessage is how much of an answer fits a message box.
const maxMessage = 1500

// showAnswer shows a turn's end where the client has no view for it.
func (s *Server) showAnswer(t agent.Transcript, r AskResult) {
	if s.client.caps.ui {
		return
	}
	path := ""
	if s.config.Transcript != nil {
		var err error
		if path, err = s.config.Transcript(t); err != nil {
			s.log.Warn("the transcript could not be written", "error", err)
		}
	}
	if path != "" && s.client.caps.showDocument {
		var shown protocol.ShowDocumentResult
		p := &protocol.ShowDocumentParams{URI: uri.File(path)}
		if err := s.client.call(s.dispatch.base, clientDeadline, protocol.MethodWindowShowDocument, p, &shown); err == nil && shown.Success {
			return
		}
	}
	text := r.Text
	if r.Error != "" {
		text = strings.TrimSpace(text + "\n\n" + r.Error)
	}
	if cut := []rune(text); len(cut) > maxMessage {
		text = string(cut[:maxMessage]) + "…"
	}
	if path != "" {
		text += "\n\nThe whole transcript: " + path
	}
	s.client.show(protocol.MessageTypeInfo, "Stella ("+r.Stop+"): "+text)
}

type sessionArg struct {
	SessionID string `json:"sessionId"`
	URI       string `json:"uri"`
}

// cancelCommand ends the named turn, or every running one.
func (s *Server) cancelCommand(ctx context.Context, arg json.RawMessage) (any, error) {
	return typed(arg, func(p *sessionArg) (any, error) {
		m, err := s.sessions(ctx)
		if err != nil {
			return nil, err
		}
		if p.SessionID != "" {
			return nil, sessionError(m.Cancel(p.SessionID))
		}
		var failed error
		for _, i := range m.List() {
			if i.State == agent.Running {
				failed = errors.Join(failed, m.Cancel(i.ID))
			}
		}
		return nil, failed
	})
}

// resumeCommand goes on with the named session, or the newest interrupted one.
func (s *Server) resumeCommand(ctx context.Context, arg json.RawMessage) (any, error) {
	return typed(arg, func(p *sessionArg) (any, error) {
		m, err := s.sessions(ctx)
		if err != nil {
			return nil, err
		}
		id := p.SessionID
		if id == "" {
			for _, i := range m.List() {
				if i.State == agent.Interrupted {
					id = i.ID
					break
				}
			}
		}
		if id == "" {
			return nil, jsonrpc2.NewError(codeRequestFailed, "no session was interrupted")
		}
		was, err := m.Resume(ctx, id, true)
		return SessionResumeResult{SessionID: id, Interrupted: was}, sessionError(err)
	})
}

// replanCommand asks a session to redo a refused change against what is there.
func (s *Server) replanCommand(ctx context.Context, arg json.RawMessage) (any, error) {
	return typed(arg, func(p *sessionArg) (any, error) {
		if p.URI == "" || p.SessionID == "" {
			return nil, jsonrpc2.NewError(jsonrpc2.InvalidParams, "uri and sessionId are needed: the refused file and its session")
		}
		name, err := s.ws.ResolveURI(p.URI)
		if err != nil {
			return nil, jsonrpc2.NewError(jsonrpc2.InvalidParams, err.Error())
		}
		return s.ask(ctx, "ask", &AskParams{SessionID: p.SessionID, Text: fmt.Sprintf(
			"%s changed since you read it, so your change was refused. Read it again and redo the change against what is there now, keeping what others wrote.", name.Display)})
	})
}

// showSeenCommand shows what changed in a file since a session saw it.
func (s *Server) showSeenCommand(ctx context.Context, arg json.RawMessage) (any, error) {
	return typed(arg, func(p *sessionArg) (GuardFilesResult, error) {
		all, err := s.guardFiles(ctx, &GuardFilesParams{SessionID: p.SessionID})
		if err != nil {
			return all, err
		}
		out := GuardFilesResult{Files: []GuardedFile{}}
		for _, f := range all.Files {
			if p.URI == "" || f.URI == p.URI {
				out.Files = append(out.Files, f)
			}
		}
		if !s.client.caps.ui {
			for _, f := range out.Files {
				s.client.show(protocol.MessageTypeInfo, fmt.Sprintf("Stella: %s is %s\n%s", f.URI, f.State, f.Diff))
			}
		}
		return out, nil
	})
}
