package contextengine

import (
	"context"
)

// Engine is one workspace folder's context engine; safe for concurrent use.
type Engine struct{}

// New returns an engine; nothing is opened or created yet.
func New(o Options) *Engine { panic("todo") }

func (e *Engine) Close() error { panic("todo") }

func (e *Engine) Prefix(ctx context.Context, session, base string) (Prefix, error) { panic("todo") }
func (e *Engine) Recall(ctx context.Context, q Query) (Recalled, error)            { panic("todo") }
func (e *Engine) Preview(ctx context.Context, q Query) (Recalled, error)           { panic("todo") }
func (e *Engine) TurnEnded(ctx context.Context, t Turn, ask Ask) (TurnRecord, error) {
	panic("todo")
}

func (e *Engine) PrepareSave(ctx context.Context, r SaveRequest) (Draft, error) { panic("todo") }
func (e *Engine) Saved(ctx context.Context, d Draft) (MemoryInfo, error)        { panic("todo") }
func (e *Engine) SaveMemory(ctx context.Context, r SaveRequest) (SaveResult, error) {
	panic("todo")
}
func (e *Engine) Cite(ctx context.Context, r CiteRequest) (CiteResult, error) { panic("todo") }

func (e *Engine) List(ctx context.Context, w When) ([]MemoryInfo, error)          { panic("todo") }
func (e *Engine) ByID(ctx context.Context, id string) (MemoryInfo, bool, error)   { panic("todo") }
func (e *Engine) Promote(ctx context.Context, id string) (path string, err error) { panic("todo") }
func (e *Engine) Unquarantine(ctx context.Context, id, reason string) error       { panic("todo") }
func (e *Engine) Forget(ctx context.Context, id, reason string) error             { panic("todo") }
func (e *Engine) CitingMemories(ctx context.Context, path, symbol string) ([]MemoryInfo, error) {
	panic("todo")
}
func (e *Engine) CompleteIDs(ctx context.Context, prefix string) ([]MemoryInfo, error) {
	panic("todo")
}
func (e *Engine) Diagnose(ctx context.Context, path, text string) ([]AnchorProblem, error) {
	panic("todo")
}

// FileChanged tells that abs may hold something new: memories with an anchor
// there become doubtful (or stop being so). It returns the ids whose mark changed.
func (e *Engine) FileChanged(ctx context.Context, abs string) ([]string, error) { panic("todo") }
