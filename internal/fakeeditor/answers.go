package fakeeditor

import (
	"encoding/json"
	"fmt"
	"strings"
)

// prompt is a question of the server that the person has not answered.
type prompt struct {
	id      json.RawMessage
	method  string
	options []option
	text    string // what the person reads
}

type option struct{ ID, Title string }

type prompts struct {
	open []prompt
	auto string // answers every question at once when set
}

// Asked is the note in the transcript that a question now waits for the person.
const Asked = "a question waits for the person"

// titles are the actions that protocol.md names.
var titles = map[string]string{"once": "Allow once", "always": "Always allow", "deny": "Deny"}

// serve answers the server, on the reading goroutine, one message at a time.
func (e *Editor) serve(m message) {
	if m.ID == nil {
		if m.Method == "$/cancelRequest" {
			e.withdraw(m.Params)
		}
		return
	}
	switch m.Method {
	case "stella/applyEdit", "workspace/applyEdit":
		e.serveEdit(m)
	case "stella/permission", "window/showMessageRequest":
		e.servePrompt(m)
	case "stella/diagnostics":
		if !e.o.Extension {
			e.conn.replyError(m.ID, -32601, "no such method: "+m.Method)
			return
		}
		e.conn.reply(m.ID, map[string]any{"items": []any{}})
	case "workspace/configuration":
		e.serveConfiguration(m)
	case "workspace/workspaceFolders":
		e.conn.reply(m.ID, e.initializeParams()["workspaceFolders"])
	case "window/showDocument":
		e.conn.reply(m.ID, map[string]bool{"success": true})
	case "window/workDoneProgress/create", "client/registerCapability", "client/unregisterCapability",
		"workspace/semanticTokens/refresh", "workspace/codeLens/refresh", "workspace/diagnostic/refresh", "workspace/inlayHint/refresh":
		e.conn.reply(m.ID, nil)
	default:
		e.conn.replyError(m.ID, -32601, "no such method: "+m.Method)
	}
}

func (e *Editor) serveConfiguration(m message) {
	var p struct {
		Items []struct {
			Section string `json:"section"`
		} `json:"items"`
	}
	if err := json.Unmarshal(m.Params, &p); err != nil {
		e.conn.replyError(m.ID, -32602, err.Error())
		return
	}
	out := make([]json.RawMessage, len(p.Items))
	for i, item := range p.Items {
		out[i] = json.RawMessage("null")
		if item.Section == "stella" && len(e.o.Settings) > 0 {
			out[i] = e.o.Settings
		}
	}
	e.conn.reply(m.ID, out)
}

func (e *Editor) servePrompt(m message) {
	var p struct {
		Options                               []struct{ ID, Title string } `json:"options"`
		Title, Detail, Command, Diff, Message string

		Actions []struct {
			Title string `json:"title"`
		} `json:"actions"`
	}
	if err := json.Unmarshal(m.Params, &p); err != nil {
		e.conn.replyError(m.ID, -32602, err.Error())
		return
	}
	if m.Method == "stella/permission" && !e.o.Extension {
		e.conn.replyError(m.ID, -32601, "no such method: "+m.Method)
		return
	}
	q := prompt{id: m.ID, method: m.Method, text: strings.Join([]string{p.Title, p.Message, p.Command, p.Detail, p.Diff}, "\n")}
	for _, o := range p.Options {
		q.options = append(q.options, option{o.ID, o.Title})
	}
	for _, a := range p.Actions {
		q.options = append(q.options, option{"", a.Title})
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.prompts.auto != "" {
		if err := e.answer(q, e.prompts.auto, ""); err == nil {
			return
		}
	}
	e.prompts.open = append(e.prompts.open, q)
	e.log.add(Note, message{Method: Asked})
}

// withdraw forgets a question that the server took back.
func (e *Editor) withdraw(params json.RawMessage) {
	var p struct {
		ID json.RawMessage `json:"id"`
	}
	if json.Unmarshal(params, &p) != nil {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	for i, q := range e.prompts.open {
		if string(q.id) == string(p.ID) {
			e.prompts.open = append(e.prompts.open[:i:i], e.prompts.open[i+1:]...)
			e.conn.replyError(q.id, -32800, "cancelled")
			return
		}
	}
}

// AutoAnswer answers every later question at once with choice; empty stops that.
func (e *Editor) AutoAnswer(choice string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.prompts.auto = choice
}

// Prompts is how many questions wait for the person.
func (e *Editor) Prompts() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return len(e.prompts.open)
}

// Question is what the oldest question that waits shows to the person; "" when
// nothing is asked.
func (e *Editor) Question() string {
	e.mu.Lock()
	defer e.mu.Unlock()
	if len(e.prompts.open) == 0 {
		return ""
	}
	return e.prompts.open[0].text
}

// Answer answers the oldest question that waits. choice is an option's id or
// title, "" dismisses it; text is an answer in own words.
func (e *Editor) Answer(choice, text string) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if len(e.prompts.open) == 0 {
		return fmt.Errorf("nothing is asked")
	}
	q := e.prompts.open[0]
	if err := e.answer(q, choice, text); err != nil {
		return err
	}
	e.prompts.open = e.prompts.open[1:]
	return nil
}

func (e *Editor) answer(q prompt, choice, text string) error {
	if choice == "" && text == "" {
		e.conn.reply(q.id, nil)
		return nil
	}
	for _, o := range q.options {
		if o.ID != choice && !strings.EqualFold(o.Title, choice) && (titles[choice] == "" || !strings.EqualFold(o.Title, titles[choice])) {
			continue
		}
		if q.method == "stella/permission" {
			e.conn.reply(q.id, map[string]string{"choice": o.ID, "text": text})
		} else {
			e.conn.reply(q.id, map[string]string{"title": o.Title})
		}
		return nil
	}
	if text != "" && q.method == "stella/permission" {
		e.conn.reply(q.id, map[string]string{"choice": "", "text": text})
		return nil
	}
	return fmt.Errorf("%q is not offered: %v", choice, q.options)
}
