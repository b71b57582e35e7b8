// Package agent runs sessions: one conversation with one model over one
// workspace. A session is one goroutine with a mailbox; cancelling a turn is
// cancelling its context. Sessions share nothing but the workspace.
//
// Order of a step: cancel and steering, human edits on believed files announced
// to the model, budget, compaction, the streamed model call, tool calls (reads
// in parallel, each mutating call a barrier, in call order), step record.
package agent

import (
	"context"
	"encoding/json"
	"time"

	"github.com/stella-ls/stella-ls/agent/model"
	"github.com/stella-ls/stella-ls/agent/tools"
	"github.com/stella-ls/stella-ls/guard"
)

// Stop is why a turn ended; the values are part of the LSP surface.
type Stop string

const (
	StopEndTurn   Stop = "end_turn"
	StopCancelled Stop = "cancelled"
	StopMaxSteps  Stop = "max_steps"
	StopBudget    Stop = "budget"
	StopError     Stop = "error"
	StopLoop      Stop = "loop"    // the same call with the same result, six times
	StopSteered   Stop = "steered" // the prompt joined the running turn
)

// SessionState is what a session is doing.
type SessionState string

const (
	Idle        SessionState = "idle"
	Running     SessionState = "running"
	Interrupted SessionState = "interrupted" // a turn was running when the process died
)

// StartOptions open a session.
type StartOptions struct {
	Title string
	Model string // empty: the settings' choice
	Root  string // directory; empty: the workspace's first root
}

// Attachment is context that came with a prompt.
type Attachment struct {
	Path string // absolute
	// First, Last are 1-based lines; 0,0 is the whole file.
	First, Last int
}

// Prompt is one request of the human.
type Prompt struct {
	Session string
	Text    string
	Context []Attachment
	// Steer joins a running turn instead of being refused as busy.
	Steer bool
}

// Outcome is how a turn ended.
type Outcome struct {
	TurnID string
	Stop   Stop
	Error  string
	Usage  model.Usage
}

// UpdateKind names what an Update carries; the values are part of the LSP surface.
type UpdateKind string

const (
	UpdateText       UpdateKind = "text"
	UpdateThinking   UpdateKind = "thinking"
	UpdateToolCall   UpdateKind = "toolCall"
	UpdateToolResult UpdateKind = "toolResult"
	UpdateRecall     UpdateKind = "recall"
	UpdateUsage      UpdateKind = "usage"
	UpdateNotice     UpdateKind = "notice"
)

// Update is one streamed event of a session. Updates of one session are
// delivered in order and none is dropped; an answer never overtakes them.
type Update struct {
	Session string
	TurnID  string
	Step    int
	Kind    UpdateKind
	Text    string
	CallID  string
	Tool    string
	Input   json.RawMessage
	OK      bool
	Refusal *guard.Result
	Frames  []Frame
	Usage   *model.Usage
}

// Frame is a recalled piece, as shown to people.
type Frame struct {
	ID    string `json:"id"`
	Kind  string `json:"kind"`
	Label string `json:"label"`
}

// Client is what a session needs of whoever shows it: lsp, the command line, a test.
type Client interface {
	tools.Asker
	// Update must not block for long and must keep order.
	Update(u Update)
	// Diagnostics is what the editor shows now; path "" means everywhere.
	// ok is false when the client cannot tell.
	Diagnostics(ctx context.Context, path string) (items []Diagnostic, ok bool)
}

// Diagnostic is one message of any language server, 0-based, UTF-16.
type Diagnostic = tools.Diagnostic

// Context is the context engine, as a session sees it. contextengine
// implements it; nil means none.
type Context interface {
	// Prefix returns the baked prefix for a session that starts now; it is
	// called once and its bytes are sent unchanged with every request. The
	// memories it shows count as shown to session.
	Prefix(ctx context.Context, session, base, root string) (string, error)
	// Recall returns the recall block for a turn, "" when nothing is relevant.
	// It is called once a turn.
	Recall(ctx context.Context, q RecallQuery) (RecallBlock, error)
	// TurnEnded records the episode and reflects; it must not hold up the answer.
	TurnEnded(ctx context.Context, t TurnSummary)
	// Tools are save_memory and cite_memory.
	Tools(session string) []tools.Tool
}

// RecallQuery is what recall may go by.
type RecallQuery struct {
	Session string
	Turn    int
	Prompt  string
	Root    string
	// Anchors: open file, files the prompt names, dirty files, touched files.
	OpenFile string
	Symbol   string
	Dirty    []string
	Touched  []string
}

// RecallBlock is a rendered block.
type RecallBlock struct {
	Text    string
	Frames  []Frame
	Control bool // recall was suppressed: this is a control turn
	// Notes are for people: a provider that failed, a state that could not be read.
	Notes []string
	// BeforePrompt places the block right before the turn's prompt instead of
	// first of all messages.
	BeforePrompt bool
}

// ToolCall is one tool call of a turn, without what was asked or answered.
type ToolCall struct {
	Step   int // of the session
	Tool   string
	Status string // of the result: ok, applied, stale_base, denied, ...
	Took   time.Duration
}

// TurnSummary is what a turn was, for episodes and reflection.
type TurnSummary struct {
	Session, TurnID string
	Turn            int
	Root            string
	Prompt          string
	Stop            Stop
	Steps           int
	Touched         []string
	Failures        []string // failing tool output, bounded
	Answer          string   // the last text of the model, bounded
	ToolCalls       int
	// Calls are the tool calls in order, for figures: the first maxCallsKept.
	Calls          []ToolCall
	Started, Ended time.Time
	// Derived is true when a tool result of the turn was Derived.
	Derived bool
	Usage   model.Usage
	Control bool
	Model   model.Model
}
