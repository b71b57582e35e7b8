package script

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync"
)

// Request is a model call, decoded from whichever wire format carried it.
type Request struct {
	Purpose string // "turn", "reflect", "taxonomy"; empty is a turn
	Session string // the caller's cache key; may be empty
	Model   string
	System  string
	// Messages keep the order of the wire; a tool result is a part of a user message.
	Messages []Message
	Tools    []string
}

// Message is what one side said.
type Message struct {
	Role  string // "user", "assistant"
	Parts []Part
}

// Part is a text, a tool call or a tool result.
type Part struct {
	Kind    string // "text", "thinking", "call", "result"
	Text    string
	CallID  string
	Tool    string
	Input   json.RawMessage
	IsError bool
}

// Reply is an answer with its templates filled in.
type Reply struct {
	Entry
	Calls []ReplyCall
	// Fault is set while the entry's fault has attempts left.
	Fault  *Fault
	Usage  Usage
	PaceMS int
}

// ReplyCall is a tool call ready to be sent. Input is the exact text.
type ReplyCall struct {
	ID, Tool, Input string
}

// Error is why a call got no answer. It fails the turn, and says where in the
// script and why.
type Error struct {
	Where string // "turns[2].expect.tool_result.status"
	Why   string
}

func (e *Error) Error() string { return "script " + e.Where + ": " + e.Why }

// maxFailures bounds what an engine remembers of wrong expectations.
const maxFailures = 100

// Engine plays a script to any number of sessions at once.
type Engine struct {
	script *Script
	gate   *Gate

	mu       sync.Mutex // guards all below; never held while waiting
	used     []bool
	tries    []int
	reflect  int
	taxonomy int
	sessions map[string]*memory
	failures []*Error
}

// memory is what an engine knows of one session, beyond what a request shows:
// a compacted transcript must not make {{base PATH}} forget.
type memory struct {
	ordinal int // from 1, in order of first call
	lastID  int
	seen    map[string]bool     // ids of results already taken in
	bases   map[string][]string // path -> bases, oldest first
}

// NewEngine plays s from its start. A nil gate makes waits an error.
func NewEngine(s *Script, gate *Gate) *Engine {
	return &Engine{script: s, gate: gate, used: make([]bool, len(s.Turns)),
		tries: make([]int, len(s.Turns)), sessions: map[string]*memory{}}
}

// Failures are the wrong expectations so far, oldest first.
func (e *Engine) Failures() []*Error {
	e.mu.Lock()
	defer e.mu.Unlock()
	return append([]*Error(nil), e.failures...)
}

// Remaining counts the entries of turns that nobody asked for yet.
func (e *Engine) Remaining() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	n := 0
	for _, u := range e.used {
		if !u {
			n++
		}
	}
	return n
}

// Next answers one call. It checks the entry's expectation, fills in its
// templates and uses the entry up, unless a fault stands before it. It does not
// wait: the caller honours Reply.Wait and Reply.Hold through Hold.
func (e *Engine) Next(r Request) (*Reply, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	switch r.Purpose {
	case "reflect":
		return e.listed(&e.reflect, e.script.Reflect, r), nil
	case "taxonomy":
		return e.listed(&e.taxonomy, e.script.Taxonomy, r), nil
	}
	m := e.remember(r)
	i := e.find(m.ordinal)
	if i < 0 {
		return nil, e.fail(&Error{"turns", fmt.Sprintf("no entry is left for this call; the script has %d for turns (last message: %s)", len(e.script.Turns), excerpt(lastText(r)))})
	}
	reply, err := e.play(i, r, m)
	if err != nil {
		e.used[i] = true
		return nil, e.fail(err)
	}
	return reply, nil
}

func (e *Engine) play(i int, r Request, m *memory) (*Reply, *Error) {
	entry := e.script.Turns[i]
	where := fmt.Sprintf("turns[%d]", i)
	if (entry.Wait != "" || entry.Hold != "") && e.gate == nil {
		return nil, &Error{where, "wait and hold work only with --test-hooks"}
	}
	x := expander{request: r, memory: m}
	if err := matchExpect(where+".expect", entry.Expect, r, &x); err != nil {
		return nil, err
	}
	reply := &Reply{Entry: entry, PaceMS: e.script.PaceMS, Usage: estimate(r, entry)}
	if f := entry.Fault; f != nil && e.tries[i] < max(f.Times, 1) {
		e.tries[i]++
		reply.Fault = f
	} else {
		e.used[i] = true
	}
	var err error
	if reply.Text, err = x.text(entry.Text); err != nil {
		return nil, &Error{where + ".text", err.Error()}
	}
	for n, c := range entry.Calls {
		call, err := x.call(c)
		if err != nil {
			return nil, &Error{fmt.Sprintf("%s.calls[%d]", where, n), err.Error()}
		}
		if call.ID == "" {
			call.ID = "call_" + strconv.Itoa(m.lastID+1+n)
		}
		reply.Calls = append(reply.Calls, call)
	}
	return reply, nil
}

// Hold waits for a gate; an empty name does not wait.
func (e *Engine) Hold(ctx context.Context, name string) error {
	if name == "" {
		return nil
	}
	return e.gate.Wait(ctx, name)
}

func (e *Engine) find(ordinal int) int {
	for i, entry := range e.script.Turns {
		if !e.used[i] && (entry.Session == 0 || entry.Session == ordinal) {
			return i
		}
	}
	return -1
}

func (e *Engine) listed(next *int, list []string, r Request) *Reply {
	entry := Entry{Text: "[]"}
	if *next < len(list) {
		entry.Text = list[*next]
		*next++
	}
	return &Reply{Entry: entry, PaceMS: 0, Usage: estimate(r, entry)}
}

func (e *Engine) fail(err *Error) *Error {
	if len(e.failures) < maxFailures {
		e.failures = append(e.failures, err)
	}
	return err
}

var generatedID = regexp.MustCompile(`^call_(\d+)$`)

// remember takes in what the request shows of its session.
func (e *Engine) remember(r Request) *memory {
	m := e.sessions[r.Session]
	if m == nil {
		m = &memory{ordinal: len(e.sessions) + 1, seen: map[string]bool{}, bases: map[string][]string{}}
		e.sessions[r.Session] = m
	}
	for _, msg := range r.Messages {
		for _, p := range msg.Parts {
			if g := generatedID.FindStringSubmatch(p.CallID); g != nil {
				if n, err := strconv.Atoi(g[1]); err == nil {
					m.lastID = max(m.lastID, n)
				}
			}
			if p.Kind == "result" && !m.seen[p.CallID] {
				m.seen[p.CallID] = true
				m.takeBases(object(p.Text))
			}
		}
	}
	return m
}

func (m *memory) takeBases(o map[string]any) {
	path, _ := o["path"].(string)
	base, _ := o["base"].(string)
	if path != "" && base != "" {
		m.bases[path] = append(m.bases[path], base)
	}
	files, _ := o["files"].([]any)
	for _, f := range files {
		if f, ok := f.(map[string]any); ok {
			m.takeBases(f)
		}
	}
}

// object is the JSON object on line 2 of a tool result, nil without one.
func object(result string) map[string]any {
	_, rest, _ := strings.Cut(result, "\n")
	line, _, _ := strings.Cut(rest, "\n")
	var o map[string]any
	if json.Unmarshal([]byte(line), &o) != nil {
		return nil
	}
	return o
}

// estimate counts tokens as a quarter of the bytes, so that budgets move in a
// scripted run and every run reports the same numbers.
func estimate(r Request, entry Entry) Usage {
	if entry.Usage != nil {
		return *entry.Usage
	}
	in := len(r.System)
	for _, m := range r.Messages {
		for _, p := range m.Parts {
			in += len(p.Text) + len(p.Input)
		}
	}
	out := len(entry.Text) + len(entry.Thinking)
	for _, c := range entry.Calls {
		b, _ := json.Marshal(c.Input)
		out += len(b) + len(c.Raw)
	}
	input, output := int64(in/4+1), int64(out/4+1)
	return Usage{Input: &input, Output: &output}
}

func lastText(r Request) string {
	if len(r.Messages) == 0 {
		return ""
	}
	parts := r.Messages[len(r.Messages)-1].Parts
	if len(parts) == 0 {
		return ""
	}
	return parts[len(parts)-1].Text
}

// excerpt bounds what an error quotes.
func excerpt(s string) string {
	const most = 400
	if len(s) <= most {
		return strconv.Quote(s)
	}
	return strconv.Quote(strings.ToValidUTF8(s[:most], "")) + fmt.Sprintf(" and %d bytes more", len(s)-most)
}
