// Package model streams one request to a language model and yields what comes
// back. Anthropic and any OpenAI-compatible server are reached through their
// official SDKs; "script" plays a file of turns. All three take the same path.
package model

import (
	"context"
	"encoding/json"
)

// Role is who said a message.
type Role string

const (
	User      Role = "user"
	Assistant Role = "assistant"
)

// PartKind is what a Part holds.
type PartKind string

const (
	TextPart       PartKind = "text"
	ThinkingPart   PartKind = "thinking"
	ToolCallPart   PartKind = "tool_call"
	ToolResultPart PartKind = "tool_result"
)

// Part is one piece of a message.
type Part struct {
	Kind PartKind `json:"kind"`
	Text string   `json:"text,omitempty"` // text, thinking, the text of a tool result
	// Signature is opaque provider data that must be sent back with thinking.
	Signature string `json:"signature,omitempty"`
	// ToolCallPart, ToolResultPart.
	CallID string          `json:"callId,omitempty"`
	Tool   string          `json:"tool,omitempty"`
	Input  json.RawMessage `json:"input,omitempty"`
	// BadInput is why Input is not a JSON object; the call must not be run.
	BadInput string `json:"badInput,omitempty"`
	IsError  bool   `json:"isError,omitempty"`
	// Status is the status member of a tool result's object, if it has one.
	Status string `json:"status,omitempty"`
}

// Message is one turn of the transcript.
type Message struct {
	Role  Role   `json:"role"`
	Parts []Part `json:"parts"`
}

// ToolSpec is a tool as the model sees it.
type ToolSpec struct {
	Name        string
	Description string
	Schema      json.RawMessage // JSON Schema of an object
}

// Purpose says what a call is for; the script provider keeps a list for each.
type Purpose string

const (
	Turn     Purpose = "turn"
	Reflect  Purpose = "reflect"
	Taxonomy Purpose = "taxonomy"
)

// Request is one model call.
type Request struct {
	Purpose Purpose
	// System is the baked prefix. It gets a cache mark of its own.
	System   string
	Messages []Message
	Tools    []ToolSpec
	// MaxTokens bounds the output; 0 takes the settings' value.
	MaxTokens   int
	Temperature *float64
	// CacheKey is stable for a session (OpenAI-like servers).
	CacheKey string
}

// Usage keeps the kinds of tokens apart. Nil is "not reported", which is not zero.
type Usage struct {
	Input      *int64 `json:"input,omitempty"` // billed in full, cache excluded
	CacheRead  *int64 `json:"cacheRead,omitempty"`
	CacheWrite *int64 `json:"cacheWrite,omitempty"`
	Output     *int64 `json:"output,omitempty"`
	// USD is the price of it, nil when no price is known.
	USD *float64 `json:"usd,omitempty"`
}

// EventKind is what an Event reports.
type EventKind string

const (
	EventText     EventKind = "text"
	EventThinking EventKind = "thinking"
	// EventBlockEnd says that nothing more joins the text or thinking so far; a
	// tool call may be on its way.
	EventBlockEnd EventKind = "block_end"
	EventRetry    EventKind = "retry" // Text says why and how long the wait is
)

// Event is one streamed piece.
type Event struct {
	Kind EventKind
	Text string
}

// StopReason is why the model stopped.
type StopReason string

const (
	StopEnd       StopReason = "end_turn"
	StopTools     StopReason = "tool_use"
	StopMaxTokens StopReason = "max_tokens"
	StopRefusal   StopReason = "refusal"
)

// Response is a whole answer. A stream cut in the middle of a tool call gives
// an error and no Response, so that half a call is never run.
type Response struct {
	Message Message
	Stop    StopReason
	Usage   Usage
}

// Model is one provider and model name.
type Model interface {
	// Name is what people see, such as "anthropic/claude-...".
	Name() string
	// Stream sends r, calls on for every event in order, and returns the whole
	// answer. It retries by itself what may be retried (429, 5xx, overloaded,
	// dropped streams), reporting each wait as an EventRetry. It returns
	// ctx.Err() within milliseconds of cancellation.
	Stream(ctx context.Context, r Request, on func(Event)) (Response, error)
}

// Error is a failed model call, in words for people. It never holds a key.
type Error struct {
	Provider string
	Status   int // HTTP status; 0 when there was none
	Message  string
	Hint     string // what to do
	Err      error
}

func (e *Error) Error() string {
	s := e.Provider + ": " + e.Message
	if e.Hint != "" {
		s += " (" + e.Hint + ")"
	}
	return s
}

func (e *Error) Unwrap() error { return e.Err }
