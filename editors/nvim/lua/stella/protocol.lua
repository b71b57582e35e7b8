-- The custom messages: a mirror of lsp/protocol.go. A test of the server fails
-- when the two drift apart.

---@class stella.ApplyEditParams
---@field uri string
---@field version integer
---@field sha256 string "sha256:" and hex, over the buffer's whole text as UTF-8
---@field edits {range: lsp.Range, newText: string}[]
---@field save boolean
---@field label string

---@class stella.ApplyEditResult
---@field applied boolean
---@field reason? 'version'|'content'|'closed'|'readonly'|'error'
---@field version integer
---@field sha256_applied string
---@field saved boolean
---@field save_reason? string
---@field sha256_after? string

---@class stella.GuardedFile
---@field uri string
---@field sessionId string
---@field state 'fresh'|'stale'|'writing'
---@field seenAt string
---@field changedBy string[]
---@field diff? string

---@class stella.Update
---@field kind 'text'|'thinking'|'toolCall'|'toolResult'|'recall'|'usage'|'notice'
---@field text? string
---@field callId? string
---@field tool? string
---@field input? table
---@field ok? boolean
---@field refusal? table
---@field frames? {id: string, kind: string, label: string}[]
---@field usage? table

return {
  -- client to server
  sessionStart = 'stella/session/start',
  sessionPrompt = 'stella/session/prompt',
  sessionCancel = 'stella/session/cancel',
  sessionList = 'stella/session/list',
  sessionResume = 'stella/session/resume',
  sessionGet = 'stella/session/get',
  guardFiles = 'stella/guard/files',
  content = 'stella/content',
  changes = 'stella/changes',
  undo = 'stella/undo',
  memoryList = 'stella/memory/list',
  memoryPromote = 'stella/memory/promote',
  memoryUnquarantine = 'stella/memory/unquarantine',
  memoryForget = 'stella/memory/forget',
  memoryHistory = 'stella/memory/history',
  graphQuery = 'stella/graph/query',
  graphElsewhere = 'stella/graph/elsewhere',
  contextPreview = 'stella/context/preview',
  testRelease = 'stella/test/release',
  -- server to client
  sessionUpdate = 'stella/session/update',
  guardStatus = 'stella/guard/status',
  applyEdit = 'stella/applyEdit',
  permission = 'stella/permission',
  diagnostics = 'stella/diagnostics',
}
