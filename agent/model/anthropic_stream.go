package model

import (
	"fmt"
	"strings"

	sdk "github.com/anthropics/anthropic-sdk-go/v2"
)

// anthropicAnswer puts a message together from its events. Events of unknown
// types and unknown members are passed over.
type anthropicAnswer struct {
	on      func(Event)
	blocks  []*anthropicBlock
	usage   Usage
	stop    string
	began   bool
	stopped bool // message_stop arrived
}

type anthropicBlock struct {
	index     int64
	kind      string
	text      strings.Builder // of text, thinking, or a call's input
	signature string
	id, name  string
	closed    bool
}

func (a *anthropicAnswer) take(e sdk.MessageStreamEventUnion) error {
	switch e.Type {
	case "message_start":
		a.began = true
		u := e.Message.Usage
		reported(&a.usage.Input, u.InputTokens, u.JSON.InputTokens.Valid())
		reported(&a.usage.CacheRead, u.CacheReadInputTokens, u.JSON.CacheReadInputTokens.Valid())
		reported(&a.usage.CacheWrite, u.CacheCreationInputTokens, u.JSON.CacheCreationInputTokens.Valid())
		reported(&a.usage.Output, u.OutputTokens, u.JSON.OutputTokens.Valid())
	case "content_block_start":
		a.open(e)
	case "content_block_delta":
		return a.delta(e)
	case "content_block_stop":
		if b := a.block(e.Index); b != nil {
			b.closed = true
			a.on(Event{Kind: EventBlockEnd})
		}
	case "message_delta":
		if s := string(e.Delta.StopReason); s != "" {
			a.stop = s
		}
		u := e.Usage // cumulative
		reported(&a.usage.Input, u.InputTokens, u.JSON.InputTokens.Valid())
		reported(&a.usage.CacheRead, u.CacheReadInputTokens, u.JSON.CacheReadInputTokens.Valid())
		reported(&a.usage.CacheWrite, u.CacheCreationInputTokens, u.JSON.CacheCreationInputTokens.Valid())
		reported(&a.usage.Output, u.OutputTokens, u.JSON.OutputTokens.Valid())
	case "message_stop":
		a.stopped = true
	}
	return nil
}

// reported sets *to only if the server said the number: absent is not zero.
func reported(to **int64, n int64, said bool) {
	if said {
		*to = &n
	}
}

func (a *anthropicAnswer) open(e sdk.MessageStreamEventUnion) {
	c := e.ContentBlock
	b := &anthropicBlock{index: e.Index, kind: c.Type, id: c.ID, name: c.Name, signature: c.Signature}
	switch c.Type {
	case "text":
		b.text.WriteString(c.Text)
		a.say(EventText, c.Text)
	case "thinking":
		b.text.WriteString(c.Thinking)
		a.say(EventThinking, c.Thinking)
	case "redacted_thinking":
		b.signature = redactedPrefix + c.Data
	}
	a.blocks = append(a.blocks, b)
}

func (a *anthropicAnswer) say(k EventKind, text string) {
	if text != "" {
		a.on(Event{Kind: k, Text: text})
	}
}

func (a *anthropicAnswer) block(index int64) *anthropicBlock {
	for i := len(a.blocks) - 1; i >= 0; i-- {
		if a.blocks[i].index == index {
			return a.blocks[i]
		}
	}
	return nil
}

func (a *anthropicAnswer) delta(e sdk.MessageStreamEventUnion) error {
	b := a.block(e.Index)
	if b == nil {
		return fmt.Errorf("a piece of block %d came before its start", e.Index)
	}
	switch e.Delta.Type {
	case "text_delta":
		b.text.WriteString(e.Delta.Text)
		a.say(EventText, e.Delta.Text)
	case "thinking_delta":
		b.text.WriteString(e.Delta.Thinking)
		a.say(EventThinking, e.Delta.Thinking)
	case "signature_delta":
		b.signature += e.Delta.Signature
	case "input_json_delta":
		b.text.WriteString(e.Delta.PartialJSON)
	}
	return nil
}

// response is the whole message, or why there is none: a stream that ended
// before its message did gives nothing, so that half a call is never run.
func (a *anthropicAnswer) response(p endpoint) (Response, *failure) {
	if !a.began {
		return Response{}, p.dropped("the stream ended before the answer began")
	}
	for _, b := range a.blocks {
		if !b.closed {
			if b.kind == "tool_use" {
				return Response{}, p.dropped("the stream was cut in the middle of a call of " + b.name)
			}
			return Response{}, p.dropped("the stream was cut in the middle of the answer")
		}
	}
	if !a.stopped && a.stop == "" {
		return Response{}, p.dropped("the stream ended without saying why the model stopped")
	}
	res := Response{Message: Message{Role: Assistant}, Usage: a.usage}
	calls := false
	for _, b := range a.blocks {
		switch b.kind {
		case "text":
			if b.text.Len() > 0 {
				res.Message.Parts = append(res.Message.Parts, Part{Kind: TextPart, Text: b.text.String()})
			}
		case "thinking", "redacted_thinking":
			res.Message.Parts = append(res.Message.Parts, Part{Kind: ThinkingPart, Text: b.text.String(), Signature: b.signature})
		case "tool_use":
			calls = true
			res.Message.Parts = append(res.Message.Parts, callPart(b.id, b.name, b.text.String()))
		}
	}
	switch {
	case a.stop == "refusal":
		res.Stop = StopRefusal
	case a.stop == "max_tokens" || a.stop == "model_context_window_exceeded":
		res.Stop = StopMaxTokens
		cutCalls(&res.Message)
	case calls:
		res.Stop = StopTools
	default:
		res.Stop = StopEnd
	}
	return res, nil
}

// cutCalls says of a call whose input broke off at the output limit why it did.
func cutCalls(m *Message) {
	for i := range m.Parts {
		if p := &m.Parts[i]; p.BadInput != "" {
			p.BadInput = "the answer reached its output limit in the middle of this call; make a smaller change at a time. " + p.BadInput
		}
	}
}
