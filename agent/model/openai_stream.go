package model

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/packages/respjson"
)

// openaiAnswer puts a message together from its chunks, and bears with the
// habits of compatible servers.
type openaiAnswer struct {
	on     func(Event)
	serial int // makes generated call ids unique within a conversation

	text, thinking, refusal strings.Builder
	calls                   []*openaiCall
	usage                   Usage
	finish                  string
	heard                   bool
}

type openaiCall struct {
	index    int64
	id, name string
	args     strings.Builder
}

func (a *openaiAnswer) take(c openai.ChatCompletionChunk) {
	a.takeUsage(c)
	for _, choice := range c.Choices {
		if choice.Index != 0 {
			continue
		}
		a.heard = true
		if choice.FinishReason != "" {
			a.finish = choice.FinishReason
		}
		d := choice.Delta
		a.say(EventThinking, &a.thinking, reasoning(d.JSON.ExtraFields))
		a.say(EventText, &a.text, d.Content)
		a.say(EventText, &a.refusal, d.Refusal)
		if len(d.ToolCalls) > 0 {
			a.on(Event{Kind: EventBlockEnd})
		}
		for _, call := range d.ToolCalls {
			a.call(call)
		}
	}
}

func (a *openaiAnswer) say(k EventKind, to *strings.Builder, text string) {
	if text != "" {
		to.WriteString(text)
		a.on(Event{Kind: k, Text: text})
	}
}

// reasoning is the thinking that many servers send beside the standard:
// reasoning_content (DeepSeek, vLLM, llama.cpp, LM Studio), reasoning (Ollama, OpenRouter).
func reasoning(extra map[string]respjson.Field) string {
	for _, name := range []string{"reasoning_content", "reasoning"} {
		var s string
		if f, ok := extra[name]; ok && json.Unmarshal([]byte(f.Raw()), &s) == nil && s != "" {
			return s
		}
	}
	return ""
}

// takeUsage takes the newest numbers: some servers repeat them in every chunk.
// Cached tokens are part of prompt_tokens here and are taken apart.
func (a *openaiAnswer) takeUsage(c openai.ChatCompletionChunk) {
	u := c.Usage
	if u.JSON.PromptTokens.Valid() {
		input := u.PromptTokens
		if d := u.PromptTokensDetails; d.JSON.CachedTokens.Valid() {
			cached := d.CachedTokens
			input -= cached
			a.usage.CacheRead = &cached
		}
		a.usage.Input = &input
	}
	reported(&a.usage.Output, u.CompletionTokens, u.JSON.CompletionTokens.Valid())
	var cost float64
	if f, ok := u.JSON.ExtraFields["cost"]; ok && json.Unmarshal([]byte(f.Raw()), &cost) == nil && cost > 0 {
		a.usage.USD = &cost // OpenRouter, in USD
	}
}

func (a *openaiAnswer) call(piece openai.ChatCompletionChunkChoiceDeltaToolCall) {
	c := a.find(piece)
	if c == nil {
		c = &openaiCall{index: piece.Index}
		a.calls = append(a.calls, c)
	}
	if c.id == "" {
		c.id = piece.ID
	}
	if c.name == "" {
		c.name = piece.Function.Name
	}
	c.args.WriteString(piece.Function.Arguments)
}

// find is the call that a piece belongs to; nil when it begins a new one. The
// index decides where servers use it as they should. Some leave it out or say 0
// for every call: there a new id, or a name after a whole input, begins a call.
func (a *openaiAnswer) find(piece openai.ChatCompletionChunkChoiceDeltaToolCall) *openaiCall {
	for i := len(a.calls) - 1; i >= 0; i-- {
		c := a.calls[i]
		if c.index != piece.Index && piece.JSON.Index.Valid() {
			continue
		}
		if piece.ID != "" && c.id != "" {
			if piece.ID == c.id {
				return c
			}
			continue
		}
		if piece.Function.Name != "" && c.name != "" && json.Valid([]byte(c.args.String())) {
			return nil
		}
		return c
	}
	return nil
}

// response is the whole message, or why there is none. done is whether the
// stream said [DONE].
func (a *openaiAnswer) response(p endpoint, done bool) (Response, *failure) {
	if !a.heard {
		return Response{}, p.dropped("the stream ended before the answer began")
	}
	if a.finish == "" && !done {
		if n := len(a.calls); n > 0 {
			return Response{}, p.dropped("the stream was cut in the middle of a call of " + a.calls[n-1].name)
		}
		return Response{}, p.dropped("the stream was cut in the middle of the answer")
	}
	res := Response{Message: Message{Role: Assistant}, Usage: a.usage, Stop: StopEnd}
	add := func(kind PartKind, text string) {
		if text != "" {
			res.Message.Parts = append(res.Message.Parts, Part{Kind: kind, Text: text})
		}
	}
	add(ThinkingPart, a.thinking.String())
	add(TextPart, a.text.String())
	add(TextPart, a.refusal.String())
	for i, c := range a.calls {
		if c.id == "" {
			c.id = fmt.Sprintf("call_%d_%d", a.serial, i)
		}
		res.Message.Parts = append(res.Message.Parts, callPart(c.id, c.name, c.args.String()))
	}
	switch {
	case a.finish == "length":
		res.Stop = StopMaxTokens
		cutCalls(&res.Message)
	case a.finish == "content_filter" || a.refusal.Len() > 0:
		res.Stop = StopRefusal
	case len(a.calls) > 0: // whatever finish_reason says: stop, function_call, eos, ...
		res.Stop = StopTools
	}
	return res, nil
}
