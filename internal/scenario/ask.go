package scenario

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/stella-ls/stella-ls/internal/fakeeditor"
)

// ask is one prompt of the person, running or over.
type ask struct {
	session string // the server's id
	from    int    // where its messages begin in the log
	id      json.RawMessage
	wait    func(context.Context) (json.RawMessage, error)

	stop    string
	problem string
	usage   map[string]any
	calls   int // that were announced
	results []result
	texts   []string
	notices []string
}

// result is what a tool gave the model.
type result struct {
	tool   string
	ok     bool
	text   string
	object map[string]any // line 2 of the text
}

// begin sends a prompt.
func (w *world) begin(prompt string) (*ask, error) {
	if err := w.server(); err != nil {
		return nil, err
	}
	if w.running != nil {
		return nil, errors.New("another ask is running; join it first")
	}
	s, err := w.session()
	if err != nil {
		return nil, err
	}
	a := &ask{session: s.id, from: len(w.ed.Records())}
	id, ch := w.ed.Start("stella/session/prompt", map[string]any{"sessionId": s.id, "text": prompt})
	a.id, a.wait = id, func(ctx context.Context) (json.RawMessage, error) { return w.ed.Wait(ctx, ch) }
	w.last, w.reviewed = nil, false
	return a, nil
}

// session is the current session, started when it is new.
func (w *world) session() (*session, error) {
	if s := w.sessions[w.current]; s != nil {
		return s, nil
	}
	var r struct {
		SessionID string `json:"sessionId"`
	}
	if err := w.call("stella/session/start", map[string]any{"title": w.current, "root": w.rootOf[w.current]}, &r); err != nil {
		return nil, err
	}
	if r.SessionID == "" {
		return nil, errors.New("stella/session/start gave no sessionId")
	}
	s := &session{id: r.SessionID, ordinal: len(w.sessions) + 1}
	w.sessions[w.current] = s
	return s, nil
}

func (w *world) call(method string, params, result any) error {
	ctx, cancel := w.deadline()
	defer cancel()
	raw, err := w.ed.Call(ctx, method, params)
	if err != nil {
		return fmt.Errorf("%s: %w", method, err)
	}
	if result == nil {
		return nil
	}
	if err := json.Unmarshal(raw, result); err != nil {
		return fmt.Errorf("%s: %w: %s", method, err, raw)
	}
	return nil
}

// join waits for the end of a and collects what happened.
func (w *world) join(a *ask) error {
	ctx, cancel := w.deadline()
	defer cancel()
	raw, err := a.wait(ctx)
	if err != nil {
		return fmt.Errorf("stella/session/prompt: %w", err)
	}
	var r struct {
		TurnID string          `json:"turnId"`
		Stop   string          `json:"stop"`
		Error  string          `json:"error"`
		Usage  json.RawMessage `json:"usage"`
	}
	if err := json.Unmarshal(raw, &r); err != nil {
		return fmt.Errorf("stella/session/prompt: %w: %s", err, raw)
	}
	if r.TurnID == "" || len(r.Usage) == 0 {
		return fmt.Errorf("stella/session/prompt: turnId and usage are missing: %s", raw)
	}
	a.stop, a.problem = r.Stop, r.Error
	if err := json.Unmarshal(r.Usage, &a.usage); err != nil {
		return fmt.Errorf("stella/session/prompt: usage: %w: %s", err, r.Usage)
	}
	w.last = a
	return w.collect(a)
}

// collect reads the updates of a turn out of the log.
func (w *world) collect(a *ask) error {
	a.results, a.texts, a.notices, a.calls = nil, nil, nil, 0
	for _, r := range w.ed.Records()[a.from:] {
		u, ok, err := update(r)
		if err != nil {
			return err
		}
		if !ok || u.SessionID != a.session {
			continue
		}
		switch u.Update.Kind {
		case "text":
			a.texts = append(a.texts, u.Update.Text)
		case "notice":
			a.notices = append(a.notices, u.Update.Text)
		case "toolCall":
			a.calls++
		case "toolResult":
			res := result{tool: u.Update.Tool, text: u.Update.Text, object: object(u.Update.Text)}
			if u.Update.OK == nil {
				return fmt.Errorf("a toolResult update does not say ok: %s", r.Params)
			}
			res.ok = *u.Update.OK
			if res.object == nil && len(u.Update.Refusal) > 0 {
				_ = json.Unmarshal(u.Update.Refusal, &res.object)
			}
			a.results = append(a.results, res)
		}
	}
	return nil
}

type sessionUpdate struct {
	SessionID string `json:"sessionId"`
	TurnID    string `json:"turnId"`
	Step      int    `json:"step"`
	Update    struct {
		Kind    string          `json:"kind"`
		Text    string          `json:"text"`
		CallID  string          `json:"callId"`
		Tool    string          `json:"tool"`
		OK      *bool           `json:"ok"`
		Refusal json.RawMessage `json:"refusal"`
	} `json:"update"`
}

func update(r fakeeditor.Record) (u sessionUpdate, ok bool, err error) {
	if r.Dir != fakeeditor.Received || r.Method != "stella/session/update" {
		return u, false, nil
	}
	if err := json.Unmarshal(r.Params, &u); err != nil {
		return u, false, fmt.Errorf("stella/session/update: %w: %s", err, r.Params)
	}
	return u, true, nil
}

// object reads the JSON object on line 2 of a tool result.
func object(text string) map[string]any {
	_, rest, _ := strings.Cut(text, "\n")
	l, _, _ := strings.Cut(rest, "\n")
	var o map[string]any
	if json.Unmarshal([]byte(l), &o) != nil {
		return nil
	}
	return o
}

// lastEnded fails when the last ask ended in another way than a turn should and
// no want asked about it.
func (w *world) lastEnded() error {
	a := w.last
	if a == nil || w.reviewed {
		return nil
	}
	w.reviewed = true
	if a.stop != "end_turn" {
		return fmt.Errorf("the last ask stopped with %q: %s", a.stop, a.problem)
	}
	return nil
}

// held waits until the model has stopped at a hold of the running ask.
func (w *world) held(name string) error {
	if w.running == nil {
		return errors.New("no ask& is running")
	}
	ctx, cancel := w.deadline()
	defer cancel()
	said := ""
	_, _, err := w.ed.Await(ctx, w.running.from, func(r fakeeditor.Record) bool {
		if r.Dir == fakeeditor.Received && r.Method == "" && r.ID == string(w.running.id) {
			return true // the turn ended before
		}
		u, ok, err := update(r)
		if err == nil && ok && u.Update.Kind == "text" {
			said += u.Update.Text
		}
		return strings.Contains(said, holding(name))
	})
	if err != nil {
		return err
	}
	if !strings.Contains(said, holding(name)) {
		a := w.running
		w.running = nil
		if err := w.join(a); err != nil {
			return err
		}
		w.reviewed = true
		return fmt.Errorf("the turn ended (%s %s) before the model came to hold %s", a.stop, a.problem, name)
	}
	return nil
}
