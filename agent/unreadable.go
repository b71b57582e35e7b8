package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/stella-ls/stella-ls/agent/model"
	"github.com/stella-ls/stella-ls/internal/record"
	"github.com/stella-ls/stella-ls/internal/secret"
)

// loadUnreadable opens a session whose record cannot be read. What can be saved
// of its conversation is there for people; the model begins anew, and no existing
// file may be changed before it was read again. The record is left as it is, and
// what follows is kept beside it.
func (m *Manager) loadUnreadable(ctx context.Context, id string, why error) (*Session, error) {
	l := m.o.Record.Salvage(ctx, id)
	root, err := m.root(l.Root)
	if err != nil {
		return nil, err
	}
	brain, err := m.o.Model(l.Model)
	if err != nil {
		return nil, err
	}
	s, err := m.open(ctx, StartOptions{Title: l.Title, Model: l.Model}, opening{id: id, root: root}, brain)
	if err != nil {
		return nil, err
	}
	s.durable.unreadable = true
	s.guard.Unavailable("the record of what this session had seen cannot be read")
	m.restoreEdits(ctx, s, l)
	st := salvaged(l)
	st.log = append(st.log, entry{kind: fromEngine, turn: st.turns, step: st.steps, msg: userText(s.mark +
		" The record of this conversation cannot be read, so you know nothing of what was before. Read a file before you change it.")})
	told := secret.Mask(fmt.Sprintf("the record of session %s cannot be read: %v. Nothing of your files is lost. "+
		"The session can be used, but it has forgotten what it saw: every file has to be read again before it is changed.", id, reason(why)))
	s.early = append(s.early, told)
	m.o.Tell("Stella: " + told)
	m.o.Log.Error("a session's record cannot be read", "session", id, "err", why.Error())
	return s, m.run(s, st)
}

// reason is an error of the record without what its text says for others.
func reason(err error) error {
	var e *record.Error
	if errors.As(err, &e) {
		return e.Err
	}
	return err
}

// salvaged is a transcript that people can read and the model does not get.
func salvaged(l *record.Loaded) state {
	st := state{status: Idle, turns: l.Turn, steps: l.Step}
	for _, raw := range l.Transcript {
		var p piece
		if json.Unmarshal(raw, &p) != nil {
			continue
		}
		for _, e := range p.Entries {
			st.log = append(st.log, entry{kind: e.Kind, msg: e.Msg, turn: e.Turn, step: e.Step, gone: true})
		}
	}
	var stored storedState
	if json.Unmarshal(l.State, &stored) == nil {
		st.turns, st.steps, st.usage = max(st.turns, stored.Turns), stored.Steps, stored.Usage
	}
	return st
}

// Look is a recorded session's transcript, read without opening the session:
// another process may run it. With an error it is what could be read.
func (m *Manager) Look(ctx context.Context, id string) (Transcript, error) {
	if s, err := m.get(id); err == nil || !errors.Is(err, ErrNoSession) || m.o.Record == nil {
		if err != nil {
			return Transcript{}, err
		}
		return s.transcript()
	}
	l, err := m.o.Record.Load(ctx, id)
	if errors.Is(err, record.ErrNotFound) || errors.Is(err, record.ErrName) {
		return Transcript{}, fmt.Errorf("%w (asked for %q)", ErrNoSession, id)
	}
	var st state
	if err == nil {
		st, _, err = restore(l)
	}
	if err != nil {
		l = m.o.Record.Salvage(ctx, id)
		st = salvaged(l)
	}
	t := Transcript{Usage: st.usage, Info: Info{ID: id, Title: l.Title, State: st.status, UpdatedAt: l.Updated, Turns: st.turns, Guarded: l.Guarded, Root: l.Root, Model: l.Model}}
	for _, e := range st.log {
		t.Messages = append(t.Messages, e.msg)
	}
	return t, err
}

// lostResult closes a call whose result was not recorded.
func lostResult(call model.Part) model.Part {
	return model.Part{Kind: model.ToolResultPart, CallID: call.CallID, Tool: call.Tool, IsError: true, Status: "cancelled",
		Text: call.Tool + ": its result was lost when the server ended; whether it had an effect is not known\n{\"status\":\"cancelled\"}"}
}

// repaired makes a valid conversation of a transcript that was cut between a
// call and its result, or lost a piece: every call gets a result, and a result
// without its call goes.
func repaired(log []entry) []entry {
	var out []entry
	for i, e := range log {
		switch {
		case e.kind == toolResults:
			calls := entry{}
			if i > 0 && log[i-1].kind == fromModel {
				calls = log[i-1]
			}
			if e.msg.Parts = answering(calls, e); len(e.msg.Parts) == 0 {
				e.gone = true // it keeps its number
			}
			out = append(out, e)
		case e.kind == fromModel && hasCalls(e) && (i+1 == len(log) || log[i+1].kind != toolResults):
			out = append(out, e, entry{kind: toolResults, turn: e.turn, step: e.step, msg: model.Message{Role: model.User, Parts: answering(e, entry{})}})
		default:
			out = append(out, e)
		}
	}
	return out
}

// answering are the results of a message's calls, in the order in which they
// were given; those that are missing follow.
func answering(calls, results entry) (parts []model.Part) {
	wanted := map[string]bool{}
	for _, c := range calls.msg.Parts {
		wanted[c.CallID] = wanted[c.CallID] || c.Kind == model.ToolCallPart
	}
	for _, r := range results.msg.Parts {
		if r.Kind != model.ToolResultPart {
			parts = append(parts, r)
		} else if wanted[r.CallID] {
			wanted[r.CallID] = false
			parts = append(parts, r)
		}
	}
	for _, c := range calls.msg.Parts {
		if c.Kind == model.ToolCallPart && wanted[c.CallID] {
			wanted[c.CallID] = false
			parts = append(parts, lostResult(c))
		}
	}
	return parts
}
