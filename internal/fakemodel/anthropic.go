package fakemodel

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"github.com/stella-ls/stella-ls/agent/model/script"
)

// anthropic is the Messages API.
type anthropic struct{}

// blocks is a content that may be one string or a list of blocks.
type blocks []block

type block struct {
	Type      string          `json:"type"`
	Text      string          `json:"text"`
	Thinking  string          `json:"thinking"`
	ID        string          `json:"id"`
	Name      string          `json:"name"`
	Input     json.RawMessage `json:"input"`
	ToolUseID string          `json:"tool_use_id"`
	Content   blocks          `json:"content"`
	IsError   bool            `json:"is_error"`
}

func (b *blocks) UnmarshalJSON(data []byte) error {
	var s string
	if json.Unmarshal(data, &s) == nil {
		*b = blocks{{Type: "text", Text: s}}
		return nil
	}
	return json.Unmarshal(data, (*[]block)(b))
}

func (b blocks) text() string {
	var out []string
	for _, x := range b {
		out = append(out, x.Text)
	}
	return strings.Join(out, "\n")
}

func (anthropic) decode(body []byte) (script.Request, error) {
	var in struct {
		Model     string `json:"model"`
		MaxTokens int    `json:"max_tokens"`
		Stream    bool   `json:"stream"`
		System    blocks `json:"system"`
		Messages  []struct {
			Role    string `json:"role"`
			Content blocks `json:"content"`
		} `json:"messages"`
		Tools []struct {
			Name string `json:"name"`
		} `json:"tools"`
	}
	if err := json.Unmarshal(body, &in); err != nil {
		return script.Request{}, fmt.Errorf("the request is not JSON: %w", err)
	}
	if !in.Stream || in.MaxTokens <= 0 || len(in.Messages) == 0 {
		return script.Request{}, fmt.Errorf("stream, max_tokens and messages are required here")
	}
	r := script.Request{Model: in.Model, System: in.System.text()}
	for _, t := range in.Tools {
		r.Tools = append(r.Tools, t.Name)
	}
	for _, m := range in.Messages {
		r.Messages = append(r.Messages, script.Message{Role: m.Role, Parts: anthropicParts(m.Content)})
	}
	return r, checkPairs(r)
}

func anthropicParts(content blocks) []script.Part {
	var parts []script.Part
	for _, b := range content {
		switch b.Type {
		case "text":
			parts = append(parts, script.Part{Kind: "text", Text: b.Text})
		case "thinking":
			parts = append(parts, script.Part{Kind: "thinking", Text: b.Thinking})
		case "tool_use":
			parts = append(parts, script.Part{Kind: "call", CallID: b.ID, Tool: b.Name, Input: b.Input})
		case "tool_result":
			parts = append(parts, script.Part{Kind: "result", CallID: b.ToolUseID, Text: b.Content.text(), IsError: b.IsError})
		}
	}
	return parts
}

// checkPairs refuses what the real servers refuse: a call without its result in
// the user's next turn, and a result without its call. Consecutive user
// messages are one turn.
func checkPairs(r script.Request) error {
	open := map[string]bool{}
	for i, m := range r.Messages {
		if m.Role == "assistant" {
			if len(open) > 0 {
				return fmt.Errorf("messages.%d: %d tool calls of the turn before have no result", i, len(open))
			}
		}
		for _, p := range m.Parts {
			switch {
			case p.Kind == "call":
				open[p.CallID] = true
			case p.Kind == "result" && !open[p.CallID]:
				return fmt.Errorf("messages.%d: tool result %s has no call in the turn before", i, p.CallID)
			case p.Kind == "result":
				delete(open, p.CallID)
			}
		}
	}
	if len(open) > 0 {
		return fmt.Errorf("%d tool calls of the last assistant message have no result", len(open))
	}
	return nil
}

func (anthropic) errorBody(status int, message string) []byte {
	return []byte(encode(map[string]any{"type": "error", "request_id": "req_script",
		"error": map[string]any{"type": anthropicErrorType(status), "message": message}}))
}

func anthropicErrorType(status int) string {
	switch status {
	case http.StatusUnauthorized:
		return "authentication_error"
	case http.StatusForbidden:
		return "permission_error"
	case http.StatusNotFound:
		return "not_found_error"
	case http.StatusTooManyRequests:
		return "rate_limit_error"
	case 529:
		return "overloaded_error"
	}
	if status >= 500 {
		return "api_error"
	}
	return "invalid_request_error"
}

func (anthropic) errorFrame() frame {
	return frame{event: "error", data: `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded (scripted)"}}`}
}

// anthropicWriter lays out the events of one message.
type anthropicWriter struct {
	out   []frame
	index int
}

func (a *anthropicWriter) add(kind string, rest map[string]any) {
	rest["type"] = kind
	a.out = append(a.out, frame{event: kind, data: encode(rest)})
}

func (a *anthropicWriter) open(content map[string]any) {
	a.add("content_block_start", map[string]any{"index": a.index, "content_block": content})
}

func (a *anthropicWriter) delta(kind, member, text string) {
	a.add("content_block_delta", map[string]any{"index": a.index, "delta": map[string]any{"type": kind, member: text}})
}

func (a *anthropicWriter) shut() {
	a.add("content_block_stop", map[string]any{"index": a.index})
	a.index++
}

func (anthropic) frames(model string, r *script.Reply) []frame {
	a := &anthropicWriter{}
	usage := map[string]any{}
	set(usage, "input_tokens", r.Usage.Input)
	set(usage, "cache_read_input_tokens", r.Usage.CacheRead)
	set(usage, "cache_creation_input_tokens", r.Usage.CacheWrite)
	a.add("message_start", map[string]any{"message": map[string]any{"id": "msg_script", "type": "message", "role": "assistant",
		"model": model, "content": []any{}, "stop_reason": nil, "stop_sequence": nil, "usage": usage}})
	if r.Thinking != "" || r.Signature != "" {
		a.open(map[string]any{"type": "thinking", "thinking": "", "signature": ""})
		for _, p := range pieces(r.Thinking, r.Wire.Delta) {
			a.delta("thinking_delta", "thinking", p)
		}
		if r.Signature != "" {
			a.delta("signature_delta", "signature", r.Signature)
		}
		a.shut()
	}
	if r.Text != "" {
		a.open(map[string]any{"type": "text", "text": ""})
		for _, p := range pieces(r.Text, r.Wire.Delta) {
			a.delta("text_delta", "text", p)
		}
		a.shut()
	}
	held := len(a.out)
	if !a.calls(r) {
		a.finish(r)
	}
	if r.Hold != "" && held < len(a.out) {
		a.out[held].hold = r.Hold
	}
	return a.out
}

// calls lays out the tool calls; true when a fault stops the stream in one.
func (a *anthropicWriter) calls(r *script.Reply) bool {
	for i, c := range r.Calls {
		a.open(map[string]any{"type": "tool_use", "id": c.ID, "name": c.Tool, "input": map[string]any{}})
		list, stopped := inputs(r, i)
		for _, p := range list {
			a.delta("input_json_delta", "partial_json", p)
		}
		if stopped {
			a.out[len(a.out)-1].last = true
			return true
		}
		a.shut()
	}
	return false
}

func (a *anthropicWriter) finish(r *script.Reply) {
	stop := r.Stop
	if stop == "none" {
		a.out = a.out[:len(a.out)-1] // the last block stays open, too
		return
	}
	if stop == "" {
		stop = "end_turn"
		if len(r.Calls) > 0 {
			stop = "tool_use"
		}
	}
	usage := map[string]any{}
	set(usage, "output_tokens", r.Usage.Output)
	a.add("message_delta", map[string]any{"delta": map[string]any{"stop_reason": stop, "stop_sequence": nil}, "usage": usage})
	a.add("message_stop", map[string]any{})
}

func set(m map[string]any, key string, v *int64) {
	if v != nil {
		m[key] = *v
	}
}
