package scenario

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strings"
	"time"
)

// leave remembers the sessions of a server that ends.
func (w *world) leave() {
	maps.Copy(w.former, w.sessions)
	w.sessions, w.running = map[string]*session{}, nil
}

// resume makes the current session of an earlier server the current one here.
func (w *world) resume(goOn bool) error {
	s := w.former[w.current]
	if s == nil {
		return errors.New("no earlier server had a session " + w.current)
	}
	params := map[string]any{"sessionId": s.id}
	if goOn {
		params["continue"] = true
	}
	var r struct {
		SessionID   string `json:"sessionId"`
		Interrupted bool   `json:"interrupted"`
	}
	if err := w.call("stella/session/resume", params, &r); err != nil {
		return err
	}
	if r.SessionID != s.id || goOn && !r.Interrupted {
		return fmt.Errorf("resume of %s answered %+v", s.id, r)
	}
	w.sessions[w.current] = s
	return nil
}

// goOn resumes the turn that was interrupted and waits for its end, which no
// answer tells.
func (w *world) goOn() error {
	if err := w.server(); err != nil {
		return err
	}
	from := len(w.ed.Records())
	if err := w.resume(true); err != nil {
		return err
	}
	ctx, cancel := w.deadline()
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		state, err := w.listed()
		if err != nil {
			return err
		}
		if state == "idle" {
			break
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return errors.New("the resumed turn did not end")
		}
	}
	w.last = &ask{session: w.sessions[w.current].id, from: from, stop: "end_turn"}
	return w.collect(w.last)
}

// listed is the state of the current session, of this server or the one before,
// in stella/session/list; "none" when it is not there.
func (w *world) listed() (string, error) {
	s := w.sessions[w.current]
	if s == nil {
		s = w.former[w.current]
	}
	var r struct {
		Sessions []struct {
			SessionID string `json:"sessionId"`
			State     string `json:"state"`
		} `json:"sessions"`
	}
	if err := w.call("stella/session/list", map[string]any{}, &r); err != nil {
		return "", err
	}
	for _, l := range r.Sessions {
		if s != nil && l.SessionID == s.id {
			return l.State, nil
		}
	}
	return "none", nil
}

func wantListed(w *world, a []string) error {
	state, err := w.listed()
	if err != nil {
		return err
	}
	return compare("the session's state", state, "is", a[0])
}

// wantChanges compares stella/changes: the paths that can be undone, and with a
// "!" before it one that cannot.
func wantChanges(w *world, a []string) error {
	s := w.sessions[w.current]
	if s == nil {
		s = w.former[w.current]
	}
	if s == nil {
		return errors.New("there is no session")
	}
	var r struct {
		Files []struct {
			URI      string   `json:"uri"`
			Edits    []string `json:"edits"`
			Undoable bool     `json:"undoable"`
		} `json:"files"`
	}
	if err := w.call("stella/changes", map[string]string{"sessionId": s.id}, &r); err != nil {
		return err
	}
	var got, want []string
	for _, f := range r.Files {
		mark := ""
		if !f.Undoable {
			mark = "!"
		}
		got = append(got, mark+f.URI)
		for _, id := range f.Edits { // what is listed can be looked at
			var text json.RawMessage
			if err := w.call("stella/content", map[string]string{"editId": id, "side": "before"}, &text); err != nil {
				return err
			}
		}
	}
	for _, p := range a {
		if p == "none" {
			continue
		}
		name, not := strings.CutPrefix(p, "!")
		mark := ""
		if not {
			mark = "!"
		}
		want = append(want, mark+w.ed.URI(w.path(name)))
	}
	return compare("stella/changes", strings.Join(got, " "), "is", strings.Join(want, " "))
}
