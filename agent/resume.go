package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/stella-ls/stella-ls/guard"
	"github.com/stella-ls/stella-ls/internal/record"
	"github.com/stella-ls/stella-ls/internal/workspace"
)

// recorded lists the sessions that only the record has. Those that another
// process runs now are among them if elsewhere is true.
func (m *Manager) recorded(ctx context.Context, elsewhere bool) []Info {
	if m.o.Record == nil {
		return nil
	}
	list, err := m.o.Record.Sessions(ctx)
	if err != nil {
		m.o.Log.Error("not every session could be listed", "err", err.Error())
	}
	var out []Info
	for _, r := range list {
		m.mu.Lock()
		_, here := m.sessions[r.Session]
		m.mu.Unlock()
		if here || r.Live && !elsewhere || len(out) == recordedMost {
			continue
		}
		out = append(out, recordedInfo(r))
	}
	return out
}

func recordedInfo(r record.Info) Info {
	info := Info{ID: r.Session, Title: r.Title, State: Idle, UpdatedAt: r.Updated, Turns: r.Turn, Guarded: r.Guarded, Root: r.Root, Model: r.Model, Elsewhere: r.Live}
	switch {
	case r.Interrupted:
		info.State = Interrupted
	case r.Running:
		info.State = Running
	}
	if r.Err != nil {
		info.Title = "cannot be read: " + r.Err.Error()
	}
	return info
}

// recordedMost bounds the list of earlier sessions.
const recordedMost = 200

// find returns a session, from the record if it is not open.
func (m *Manager) find(ctx context.Context, id string) (*Session, error) {
	s, err := m.get(id)
	if err == nil || !errors.Is(err, ErrNoSession) || m.o.Record == nil {
		return s, err
	}
	m.loading.Lock()
	defer m.loading.Unlock()
	if s, again := m.get(id); again == nil {
		return s, nil
	}
	s, loadErr := m.load(ctx, id)
	if errors.Is(loadErr, record.ErrNotFound) || errors.Is(loadErr, record.ErrName) {
		return nil, err
	}
	return s, loadErr
}

// load opens a recorded session: transcript, beliefs and budget are what they
// were before any tool can touch a file.
func (m *Manager) load(ctx context.Context, id string) (*Session, error) {
	rec, l, err := m.o.Record.Resume(ctx, id)
	if errors.Is(err, record.ErrDamaged) || errors.Is(err, record.ErrNewer) {
		return m.loadUnreadable(ctx, id, err)
	}
	if err != nil {
		return nil, err
	}
	s, st, err := m.reopen(ctx, l)
	if errors.Is(err, record.ErrDamaged) {
		_ = rec.Close()
		return m.loadUnreadable(ctx, id, err)
	}
	if err != nil {
		_ = rec.Close()
		return nil, fmt.Errorf("session %s cannot be resumed: %w", id, err)
	}
	s.durable.session, s.durable.written = rec, len(st.log)
	if err := m.run(s, st); err != nil {
		_ = rec.Close()
		return nil, err
	}
	return s, nil
}

func (m *Manager) reopen(ctx context.Context, l *record.Loaded) (*Session, state, error) {
	st, first, err := restore(l)
	if err != nil {
		return nil, st, err
	}
	brain, err := m.o.Model(l.Model)
	if err != nil {
		return nil, st, err
	}
	s, err := m.open(ctx, StartOptions{Title: l.Title, Model: l.Model}, opening{id: l.Session, root: l.Root, chosen: first.Chosen, prefix: first.Prefix, mark: first.Mark}, brain)
	if err != nil {
		return nil, st, err
	}
	s.guard.Restore(l.Beliefs)
	m.restoreEdits(ctx, s, l)
	if l.Resume != nil {
		_ = json.Unmarshal(l.Resume, &s.interrupted)
	}
	return s, st, nil
}

// imagesKept is how many of the newest edits get their images back at once; of
// older ones the record has them.
const imagesKept = 50

// restoreEdits gives the guard the edits that were applied. Of one whose write
// was under way when the process died the file itself tells.
func (m *Manager) restoreEdits(ctx context.Context, s *Session, l *record.Loaded) {
	var list []guard.EditRecord
	last := 0
	for i, e := range l.Edits {
		if n, err := strconv.Atoi(strings.TrimPrefix(e.ID, "e")); err == nil {
			last = max(last, n)
		}
		if e.State == record.EditAbandoned {
			continue
		}
		r := e.EditRecord
		if i >= len(l.Edits)-imagesKept || e.State == record.EditPending {
			full, err := l.Record(e.ID)
			if err != nil {
				s.early = append(s.early, "edit "+e.ID+" cannot be undone: "+err.Error())
				continue
			}
			r = full
		}
		if e.State == record.EditPending && !m.landed(ctx, r) {
			continue
		}
		list = append(list, r)
	}
	s.guard.RestoreEdits(list)
	s.guard.SkipEdits(last)
}

// landed reports whether the disk, or the buffer, holds what an edit was to make
// of it.
func (m *Manager) landed(ctx context.Context, e guard.EditRecord) bool {
	if e.Kind == guard.ChangeMove {
		return m.holds(ctx, string(e.Path), nil) && m.holds(ctx, e.To, e.After)
	}
	if e.AfterAbsent {
		return m.holds(ctx, string(e.Path), nil)
	}
	return m.holds(ctx, string(e.Path), e.After)
}

// holds: path holds content; nil is that nothing is there.
func (m *Manager) holds(ctx context.Context, path string, content []byte) bool {
	name, err := m.o.Workspace.Resolve("", path)
	if err != nil {
		return false
	}
	file, err := m.o.Workspace.View(ctx, name)
	if err != nil {
		return false
	}
	if content == nil {
		return !file.Exists()
	}
	return file.Exists() && file.Base() == workspace.DigestOf(content)
}

// Resume makes an interrupted or earlier session usable and, with cont, goes on
// with the turn that was running, in the background. interrupted tells whether
// one was; without cont it stays so until it is continued or prompted anew.
func (m *Manager) Resume(ctx context.Context, session string, cont bool) (interrupted bool, err error) {
	s, err := m.find(ctx, session)
	if err != nil {
		return false, err
	}
	interrupted, _, err = s.resume(s.m.life, cont)
	return interrupted, err
}

// Continue is Resume with cont that waits for the turn's end; ending ctx cancels
// the turn. Without an interrupted turn it does nothing, and says so.
func (m *Manager) Continue(ctx context.Context, session string) (o Outcome, interrupted bool, err error) {
	s, err := m.find(ctx, session)
	if err != nil {
		return o, false, err
	}
	interrupted, t, err := s.resume(ctx, true)
	if t == nil || err != nil {
		return o, interrupted, err
	}
	<-t.done
	return t.outcome, interrupted, nil
}

// resume tells whether a turn was interrupted, and with cont goes on with it.
func (s *Session) resume(ctx context.Context, cont bool) (interrupted bool, t *turn, err error) {
	var refused error
	err = s.do(func(st *state) {
		interrupted = st.status == Interrupted
		switch {
		case !interrupted:
		case s.m.life.Err() != nil:
			refused = ErrClosed
		case cont:
			t = s.begin(ctx, st, Prompt{Session: s.id, Text: s.interrupted.Prompt})
			st.turns-- // it is the same turn
			t.n, t.id, t.resumed = s.interrupted.Turn, turnID(s.interrupted.Turn), true
			t.usage, t.steps = s.interrupted.Usage, s.interrupted.Steps
			close(t.go_)
		}
	})
	return interrupted, t, errors.Join(err, refused)
}

// Sessions that were resumed keep the prompt of the interrupted turn as it was;
// what the engine says about it comes after.
const resumedNotice = "The server ended in the middle of this turn and is back now. What was under way may or may not have happened: " +
	"look at the files again before you go on with the request."

// editOf is an edit with its images, from the record when the guard let them go.
func (s *Session) editOf(id string) (before, after []byte, ok bool) {
	if before, after, ok = s.guard.Content(id); ok {
		return before, after, true
	}
	s.durable.mu.Lock()
	rec := s.durable.session
	s.durable.mu.Unlock()
	if rec == nil {
		return nil, nil, false
	}
	if !slices.ContainsFunc(s.guard.Edits(), func(e guard.EditRecord) bool { return e.ID == id }) {
		return nil, nil, false
	}
	r, err := rec.Record(id)
	return r.Before, r.After, err == nil
}
