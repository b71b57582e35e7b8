package fakemodel

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/stella-ls/stella-ls/agent/model/script"
)

// openai is the chat completions API, with the deviations that compatible
// servers are known for when the script asks for them (wire.quirks).
type openai struct{}

func (openai) decode(body []byte) (script.Request, error) {
	var in struct {
		Model    string `json:"model"`
		Stream   bool   `json:"stream"`
		Messages []struct {
			Role       string `json:"role"`
			Content    blocks `json:"content"`
			ToolCallID string `json:"tool_call_id"`
			ToolCalls  []struct {
				ID       string `json:"id"`
				Function struct {
					Name      string `json:"name"`
					Arguments string `json:"arguments"`
				} `json:"function"`
			} `json:"tool_calls"`
		} `json:"messages"`
		Tools []struct {
			Function struct {
				Name string `json:"name"`
			} `json:"function"`
		} `json:"tools"`
	}
	if err := json.Unmarshal(body, &in); err != nil {
		return script.Request{}, fmt.Errorf("the request is not JSON: %w", err)
	}
	if !in.Stream || len(in.Messages) == 0 {
		return script.Request{}, fmt.Errorf("stream and messages are required here")
	}
	r := script.Request{Model: in.Model}
	for _, t := range in.Tools {
		r.Tools = append(r.Tools, t.Function.Name)
	}
	for _, m := range in.Messages {
		text := m.Content.text()
		msg := script.Message{Role: m.Role}
		switch m.Role {
		case "system", "developer":
			r.System += text
			continue
		case "tool":
			msg.Role = "user"
			msg.Parts = []script.Part{{Kind: "result", CallID: m.ToolCallID, Text: text, IsError: badResult(text)}}
			if n := len(r.Messages); n > 0 && r.Messages[n-1].Role == "user" {
				r.Messages[n-1].Parts = append(r.Messages[n-1].Parts, msg.Parts...)
				continue
			}
		default:
			if text != "" {
				msg.Parts = append(msg.Parts, script.Part{Kind: "text", Text: text})
			}
			for _, c := range m.ToolCalls {
				msg.Parts = append(msg.Parts, script.Part{Kind: "call", CallID: c.ID, Tool: c.Function.Name, Input: json.RawMessage(c.Function.Arguments)})
			}
		}
		r.Messages = append(r.Messages, msg)
	}
	return r, checkPairs(r)
}

// badResult reads the status of a result's object: this wire format has no flag
// for a failed tool.
func badResult(text string) bool {
	_, rest, _ := strings.Cut(text, "\n")
	line, _, _ := strings.Cut(rest, "\n")
	var o struct {
		Status string `json:"status"`
	}
	return json.Unmarshal([]byte(line), &o) == nil && o.Status != "" && o.Status != "ok" && o.Status != "applied"
}

func (openai) errorBody(status int, message string) []byte {
	return []byte(encode(map[string]any{"error": map[string]any{"message": message, "type": anthropicErrorType(status), "code": nil, "param": nil}}))
}

func (openai) errorFrame() frame {
	return frame{data: `{"error":{"message":"Overloaded (scripted)","type":"server_error","code":"overloaded"}}`}
}

// openaiWriter lays out the chunks of one completion.
type openaiWriter struct {
	out   []frame
	model string
	reply *script.Reply
}

func (o *openaiWriter) chunk(delta map[string]any, finish any) {
	if _, says := delta["content"]; !says && o.reply.Wire.Quirk("null-content") {
		delta["content"], delta["refusal"], delta["function_call"] = nil, nil, nil
	}
	o.out = append(o.out, frame{data: encode(map[string]any{"id": "chatcmpl-script", "object": "chat.completion.chunk", "created": 1,
		"model": o.model, "choices": []any{map[string]any{"index": 0, "delta": delta, "finish_reason": finish}}})})
}

func (openai) frames(model string, r *script.Reply) []frame {
	o := &openaiWriter{model: model, reply: r}
	o.chunk(map[string]any{"role": "assistant", "content": ""}, nil)
	reasoning := "reasoning_content"
	if r.Wire.Quirk("reasoning") {
		reasoning = "reasoning"
	}
	for _, p := range pieces(r.Thinking, r.Wire.Delta) {
		o.chunk(map[string]any{reasoning: p}, nil)
	}
	for _, p := range pieces(r.Text, r.Wire.Delta) {
		o.chunk(map[string]any{"content": p}, nil)
	}
	held := len(o.out)
	stopped := o.calls()
	if !stopped && r.Stop != "none" {
		o.finish()
	}
	if r.Hold != "" && held < len(o.out) {
		o.out[held].hold = r.Hold
	}
	return o.out
}

// calls lays out the tool calls; true when a fault stops the stream in one.
func (o *openaiWriter) calls() bool {
	w := o.reply.Wire
	for i, c := range o.reply.Calls {
		list, stopped := inputs(o.reply, i)
		head := map[string]any{"id": c.ID, "type": "function"}
		if w.Quirk("no-id") {
			delete(head, "id")
		}
		first := ""
		if w.Quirk("whole-calls") { // Ollama and others send a call in one piece
			first, list = strings.Join(list, ""), nil
		}
		head["function"] = map[string]any{"name": c.Tool, "arguments": first}
		o.call(i, head)
		for _, p := range list {
			piece := map[string]any{"function": map[string]any{"arguments": p}}
			if w.Quirk("repeat-head") { // the id and name come again with every piece
				piece = map[string]any{"id": c.ID, "type": "function", "function": map[string]any{"name": c.Tool, "arguments": p}}
			}
			if w.Quirk("null-name") {
				piece["id"], piece["function"].(map[string]any)["name"] = nil, nil
			}
			o.call(i, piece)
		}
		if stopped {
			o.out[len(o.out)-1].last = true
			return true
		}
	}
	return false
}

func (o *openaiWriter) call(i int, call map[string]any) {
	switch w := o.reply.Wire; {
	case w.Quirk("no-index"): // no member at all
	case w.Quirk("index-zero"): // every call says 0
		call["index"] = 0
	case w.Quirk("index-one"): // counting starts at 1
		call["index"] = i + 1
	default:
		call["index"] = i
	}
	o.chunk(map[string]any{"tool_calls": []any{call}}, nil)
}

func (o *openaiWriter) finish() {
	r, w := o.reply, o.reply.Wire
	reason := map[string]string{"": "stop", "end_turn": "stop", "tool_use": "tool_calls", "max_tokens": "length", "refusal": "content_filter"}[r.Stop]
	if r.Stop == "" && len(r.Calls) > 0 && !w.Quirk("finish-stop") {
		reason = "tool_calls"
	}
	if w.Quirk("finish-function-call") {
		reason = "function_call"
	}
	if w.Quirk("no-finish") {
		o.chunk(map[string]any{}, nil)
	} else {
		o.chunk(map[string]any{}, reason)
	}
	if !w.Quirk("no-usage") {
		usage := openaiUsage(r.Usage)
		if w.Quirk("cost") {
			usage["cost"] = 0.0125
		}
		o.out = append(o.out, frame{data: encode(map[string]any{"id": "chatcmpl-script", "object": "chat.completion.chunk", "created": 1,
			"model": o.model, "choices": []any{}, "usage": usage})})
	}
	if !w.Quirk("no-done") {
		o.out = append(o.out, frame{data: "[DONE]"})
	}
}

// openaiUsage counts cached tokens within prompt_tokens, as that API does.
func openaiUsage(u script.Usage) map[string]any {
	out := map[string]any{}
	var prompt int64
	for _, n := range []*int64{u.Input, u.CacheRead, u.CacheWrite} {
		if n != nil {
			prompt += *n
		}
	}
	if u.Input != nil {
		out["prompt_tokens"] = prompt
	}
	set(out, "completion_tokens", u.Output)
	if u.CacheRead != nil {
		out["prompt_tokens_details"] = map[string]any{"cached_tokens": *u.CacheRead}
	}
	return out
}
