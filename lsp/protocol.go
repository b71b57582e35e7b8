package lsp

import "encoding/json"

// This file holds every custom message of the server. It is mirrored by
// editors/vscode/src/protocol.ts and editors/nvim/lua/stella/protocol.lua, and
// described in docs/protocol.md; a test fails when they drift apart.
//
// Positions are in the negotiated encoding. Digests carry the "sha256:" prefix.

// Custom methods, client to server.
const (
	MethodSessionStart   = "stella/session/start"
	MethodSessionPrompt  = "stella/session/prompt"
	MethodSessionCancel  = "stella/session/cancel"
	MethodSessionList    = "stella/session/list"
	MethodSessionResume  = "stella/session/resume"
	MethodSessionGet     = "stella/session/get"
	MethodGuardFiles     = "stella/guard/files"
	MethodContent        = "stella/content"
	MethodChanges        = "stella/changes"
	MethodUndo           = "stella/undo"
	MethodMemoryList     = "stella/memory/list"
	MethodMemoryPromote  = "stella/memory/promote"
	MethodMemoryUnq      = "stella/memory/unquarantine"
	MethodMemoryForget   = "stella/memory/forget"
	MethodMemoryHistory  = "stella/memory/history"
	MethodGraphQuery     = "stella/graph/query"
	MethodGraphElsewhere = "stella/graph/elsewhere" // notification
	MethodContextPreview = "stella/context/preview"
	MethodTestRelease    = "stella/test/release" // only with --test-hooks
)

// Custom methods, server to client.
const (
	MethodSessionUpdate = "stella/session/update" // notification
	MethodGuardStatus   = "stella/guard/status"   // notification
	MethodApplyEdit     = "stella/applyEdit"
	MethodPermission    = "stella/permission"
	MethodDiagnostics   = "stella/diagnostics"
)

// ClientCapabilities is experimental.stella of initialize: which server
// requests the client answers.
type ClientCapabilities struct {
	ApplyEdit   bool `json:"applyEdit,omitempty"`
	Diagnostics bool `json:"diagnostics,omitempty"`
	Permission  bool `json:"permission,omitempty"`
}

// ServerCapabilities is the server's own experimental.stella.
type ServerCapabilities struct {
	Version string   `json:"version"`
	Methods []string `json:"methods"`
}

// InitializationOptions is what our extensions pass in initialize.
type InitializationOptions struct {
	Trusted  *bool           `json:"trusted,omitempty"`
	Settings json.RawMessage `json:"settings,omitempty"` // the stella section
}

type SessionStartParams struct {
	Title string `json:"title,omitempty"`
	Model string `json:"model,omitempty"`
	Root  string `json:"root,omitempty"`
}

type SessionStartResult struct {
	SessionID string `json:"sessionId"`
}

type Position struct {
	Line      uint32 `json:"line"`
	Character uint32 `json:"character"`
}

type Range struct {
	Start Position `json:"start"`
	End   Position `json:"end"`
}

type ContextItem struct {
	URI   string `json:"uri"`
	Range *Range `json:"range,omitempty"`
}

type SessionPromptParams struct {
	SessionID string        `json:"sessionId"`
	Text      string        `json:"text"`
	Context   []ContextItem `json:"context,omitempty"`
	Steer     bool          `json:"steer,omitempty"`
}

type SessionPromptResult struct {
	TurnID string `json:"turnId"`
	Stop   string `json:"stop"`
	Error  string `json:"error,omitempty"`
	Usage  Usage  `json:"usage"`
}

// Usage counts tokens; a missing member was not reported.
type Usage struct {
	Input      *int64   `json:"input,omitempty"`
	CacheRead  *int64   `json:"cacheRead,omitempty"`
	CacheWrite *int64   `json:"cacheWrite,omitempty"`
	Output     *int64   `json:"output,omitempty"`
	USD        *float64 `json:"usd,omitempty"`
}

type SessionIDParams struct {
	SessionID string `json:"sessionId"`
}

type SessionInfo struct {
	SessionID string `json:"sessionId"`
	Title     string `json:"title"`
	State     string `json:"state"` // idle, running, interrupted
	UpdatedAt string `json:"updatedAt"`
	Turns     int    `json:"turns"`
	Guarded   int    `json:"guarded"`
}

type SessionListResult struct {
	Sessions []SessionInfo `json:"sessions"`
}

type SessionResumeParams struct {
	SessionID string `json:"sessionId"`
	Continue  bool   `json:"continue,omitempty"`
}

type SessionResumeResult struct {
	SessionID   string `json:"sessionId"`
	Interrupted bool   `json:"interrupted"`
}

type TranscriptEntry struct {
	Role       string          `json:"role"`
	Text       string          `json:"text,omitempty"`
	ToolCall   *TranscriptCall `json:"toolCall,omitempty"`
	ToolResult *TranscriptTool `json:"toolResult,omitempty"`
}

type TranscriptCall struct {
	CallID string          `json:"callId"`
	Tool   string          `json:"tool"`
	Input  json.RawMessage `json:"input"`
}

type TranscriptTool struct {
	CallID string `json:"callId"`
	Tool   string `json:"tool"`
	OK     bool   `json:"ok"`
	Text   string `json:"text"`
}

type SessionGetResult struct {
	SessionID  string            `json:"sessionId"`
	Transcript []TranscriptEntry `json:"transcript"`
	Usage      Usage             `json:"usage"`
}

type SessionUpdateParams struct {
	SessionID string `json:"sessionId"`
	TurnID    string `json:"turnId"`
	Step      int    `json:"step"`
	Update    Update `json:"update"`
}

// Update is one streamed event; which members are set follows Kind.
type Update struct {
	Kind    string          `json:"kind"` // text thinking toolCall toolResult recall usage notice
	Text    string          `json:"text,omitempty"`
	CallID  string          `json:"callId,omitempty"`
	Tool    string          `json:"tool,omitempty"`
	Input   json.RawMessage `json:"input,omitempty"`
	OK      *bool           `json:"ok,omitempty"`
	Refusal json.RawMessage `json:"refusal,omitempty"` // guard.Result
	Frames  []RecallFrame   `json:"frames,omitempty"`
	Usage   *Usage          `json:"usage,omitempty"`
}

type RecallFrame struct {
	ID    string `json:"id"`
	Kind  string `json:"kind"`
	Label string `json:"label"`
}

type GuardFilesParams struct {
	SessionID string `json:"sessionId,omitempty"`
}

type GuardedFile struct {
	URI       string   `json:"uri"`
	SessionID string   `json:"sessionId"`
	State     string   `json:"state"` // fresh, stale, writing
	SeenAt    string   `json:"seenAt"`
	ChangedBy []string `json:"changedBy"`
	Diff      string   `json:"diff,omitempty"`
}

type GuardFilesResult struct {
	Files []GuardedFile `json:"files"`
}

type GuardStatusParams struct {
	Files []GuardedFile `json:"files"`
	Fresh int           `json:"fresh"`
	Stale int           `json:"stale"`
}

type TextEdit struct {
	Range   Range  `json:"range"`
	NewText string `json:"newText"`
}

type ApplyEditParams struct {
	URI     string     `json:"uri"`
	Version int32      `json:"version"`
	SHA256  string     `json:"sha256"` // of the buffer's whole text, UTF-8
	Edits   []TextEdit `json:"edits"`
	Save    bool       `json:"save"`
	Label   string     `json:"label"`
}

type ApplyEditResult struct {
	Applied       bool   `json:"applied"`
	Reason        string `json:"reason,omitempty"` // version content closed readonly error
	Version       int32  `json:"version"`
	SHA256Applied string `json:"sha256_applied"`
	Saved         bool   `json:"saved"`
	SaveReason    string `json:"save_reason,omitempty"`
	SHA256After   string `json:"sha256_after,omitempty"`
}

type PermissionOption struct {
	ID    string `json:"id"`
	Title string `json:"title"`
}

type PermissionParams struct {
	Kind    string             `json:"kind"` // command write network mcp trust question
	Title   string             `json:"title"`
	Detail  string             `json:"detail"`
	Command string             `json:"command,omitempty"`
	Cwd     string             `json:"cwd,omitempty"`
	Diff    string             `json:"diff,omitempty"`
	Options []PermissionOption `json:"options"`
}

type PermissionResult struct {
	Choice string `json:"choice"`
	Text   string `json:"text,omitempty"`
}

type ContentParams struct {
	EditID string `json:"editId"`
	Side   string `json:"side"` // before, after
}

type ContentResult struct {
	Text string `json:"text"`
}

type DiagnosticsParams struct {
	URI string `json:"uri,omitempty"`
}

type DiagnosticItem struct {
	URI      string `json:"uri"`
	Range    Range  `json:"range"`
	Severity int    `json:"severity"`
	Source   string `json:"source"`
	Message  string `json:"message"`
}

type DiagnosticsResult struct {
	Items []DiagnosticItem `json:"items"`
}

type ChangesParams struct {
	SessionID string `json:"sessionId"`
	TurnID    string `json:"turnId,omitempty"`
}

type ChangedFile struct {
	URI      string   `json:"uri"`
	Diff     string   `json:"diff"`
	Edits    []string `json:"edits"`
	Undoable bool     `json:"undoable"`
}

type ChangesResult struct {
	Files []ChangedFile `json:"files"`
}

type UndoParams struct {
	SessionID string `json:"sessionId"`
	TurnID    string `json:"turnId,omitempty"`
	Edit      string `json:"edit,omitempty"`
}

type UndoResult struct {
	Undone  []string          `json:"undone"`
	Refused []json.RawMessage `json:"refused"` // guard.Result
}

type TestReleaseParams struct {
	Name string `json:"name"`
}

// AskParams is the argument of the commands ask, explain, fix and writeTests,
// as code actions carry it. A client that has an input asks for Text itself.
type AskParams struct {
	SessionID string `json:"sessionId,omitempty"` // empty: the newest idle one, or a new one
	Text      string `json:"text,omitempty"`
	URI       string `json:"uri,omitempty"`
	Range     *Range `json:"range,omitempty"`
	Symbol    string `json:"symbol,omitempty"`
	Message   string `json:"message,omitempty"` // fix: the diagnostic
}

// AskResult is how such a command's turn ended. Text is the model's last answer.
type AskResult struct {
	SessionID string `json:"sessionId"`
	TurnID    string `json:"turnId"`
	Stop      string `json:"stop"`
	Error     string `json:"error,omitempty"`
	Text      string `json:"text"`
}

// MemoryListParams may ask stella/memory/list, which answers like "memory list
// --format json", for another time: what was believed at asOf, what was true at
// validAt. Each is asked on its own; without both it is about now.
type MemoryListParams struct {
	AsOf    string `json:"asOf,omitempty"`    // RFC 3339
	ValidAt string `json:"validAt,omitempty"` // RFC 3339
}

// MemoryParams name a memory by its nod_ id or its slug.
type MemoryParams struct {
	ID     string `json:"id"`
	Reason string `json:"reason,omitempty"`
}

type MemoryPromoteResult struct {
	Path string `json:"path"` // the rule that it became
}

type MemoryHistoryResult struct {
	Revisions []MemoryRevision `json:"revisions"` // oldest first
}

// MemoryRevision is one thing that was believed; times are RFC 3339, empty ones open.
type MemoryRevision struct {
	Text         string `json:"text"`
	Origin       string `json:"origin"`
	Reason       string `json:"reason,omitempty"`
	ValidFrom    string `json:"validFrom,omitempty"`
	ValidTo      string `json:"validTo,omitempty"`
	RecordedAt   string `json:"recordedAt"`
	SupersededAt string `json:"supersededAt,omitempty"`
}

// ContextPreviewParams ask what would be recalled for a prompt here.
type ContextPreviewParams struct {
	Text     string    `json:"text"`
	URI      string    `json:"uri,omitempty"`
	Position *Position `json:"position,omitempty"`
}

type ContextPreviewResult struct {
	Block   string         `json:"block"`
	Frames  []PreviewFrame `json:"frames"`
	Dropped []PreviewDrop  `json:"dropped"`
}

type PreviewFrame struct {
	ID       string `json:"id"`
	Kind     string `json:"kind"`
	Label    string `json:"label"`
	Provider string `json:"provider"`
	Tokens   int    `json:"tokens"`
}

type PreviewDrop struct {
	ID     string `json:"id"`
	Label  string `json:"label"`
	Reason string `json:"reason"`
	Detail string `json:"detail,omitempty"`
}

// GraphQueryParams are the command line's: op is definitions, references,
// imports, importers or neighbors. Paths may be URIs. The answer is what
// "stella-ls graph --json" prints.
type GraphQueryParams struct {
	Op       string    `json:"op"`
	Target   string    `json:"target"`
	Path     string    `json:"path,omitempty"`
	Position *Position `json:"position,omitempty"` // with path: the name at that place
}

// GraphElsewhereParams are the languages, by LSP identifier, that another server of
// the same editor answers for now: all of them, whenever the list changes.
type GraphElsewhereParams struct {
	Languages []string `json:"languages"`
}
