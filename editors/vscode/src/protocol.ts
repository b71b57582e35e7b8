// The custom messages: a mirror of lsp/protocol.go. A test of the server fails
// when the two drift apart. Digests carry the "sha256:" prefix; positions are in
// the negotiated encoding, which is UTF-16 with this client.

export const Method = {
  // client to server
  sessionStart: 'stella/session/start',
  sessionPrompt: 'stella/session/prompt',
  sessionCancel: 'stella/session/cancel',
  sessionList: 'stella/session/list',
  sessionResume: 'stella/session/resume',
  sessionGet: 'stella/session/get',
  guardFiles: 'stella/guard/files',
  content: 'stella/content',
  changes: 'stella/changes',
  undo: 'stella/undo',
  memoryList: 'stella/memory/list',
  memoryPromote: 'stella/memory/promote',
  memoryUnquarantine: 'stella/memory/unquarantine',
  memoryForget: 'stella/memory/forget',
  memoryHistory: 'stella/memory/history',
  graphQuery: 'stella/graph/query',
  graphElsewhere: 'stella/graph/elsewhere',
  contextPreview: 'stella/context/preview',
  testRelease: 'stella/test/release',
  // server to client
  sessionUpdate: 'stella/session/update',
  guardStatus: 'stella/guard/status',
  applyEdit: 'stella/applyEdit',
  permission: 'stella/permission',
  diagnostics: 'stella/diagnostics',
} as const;

export interface Position { line: number; character: number }
export interface Range { start: Position; end: Position }

export interface SessionStartResult { sessionId: string }

export interface ContextItem { uri: string; range?: Range }

export interface SessionPromptParams { sessionId: string; text: string; context?: ContextItem[]; steer?: boolean }

export type Stop = 'end_turn' | 'cancelled' | 'max_steps' | 'budget' | 'error' | 'loop' | 'steered';

export interface SessionPromptResult { turnId: string; stop: Stop; error?: string; usage: Usage }

export interface Usage { input?: number; cacheRead?: number; cacheWrite?: number; output?: number; usd?: number }

export interface SessionInfo {
  sessionId: string;
  title: string;
  state: 'idle' | 'running' | 'interrupted';
  updatedAt: string;
  turns: number;
  guarded: number;
}

export interface SessionListResult { sessions: SessionInfo[] }

export interface SessionResumeResult { sessionId: string; interrupted: boolean }

export interface TranscriptEntry {
  role: string;
  text?: string;
  toolCall?: { callId: string; tool: string; input: unknown };
  toolResult?: { callId: string; tool: string; ok: boolean; text: string };
}

export interface SessionGetResult { sessionId: string; transcript: TranscriptEntry[]; usage: Usage }

export interface SessionUpdateParams { sessionId: string; turnId: string; step: number; update: Update }

export interface Update {
  kind: 'text' | 'thinking' | 'toolCall' | 'toolResult' | 'recall' | 'usage' | 'notice';
  text?: string;
  callId?: string;
  tool?: string;
  input?: unknown;
  ok?: boolean;
  refusal?: Refusal;
  frames?: RecallFrame[];
  usage?: Usage;
}

export interface RecallFrame { id: string; kind: string; label: string }

export interface Refusal {
  status: string;
  path?: string;
  expected?: string;
  actual?: string | null;
  changed_by?: string[];
  diff_since_read?: string;
  diff_cut?: number;
  next?: string;
  files?: Refusal[];
}

export interface GuardedFile {
  uri: string;
  sessionId: string;
  state: 'fresh' | 'stale' | 'writing' | string;
  seenAt: string;
  changedBy: string[];
  diff?: string;
}

export interface GuardFilesResult { files: GuardedFile[] }

export interface GuardStatusParams { files: GuardedFile[]; fresh: number; stale: number }

export interface TextEdit { range: Range; newText: string }

export interface ApplyEditParams {
  uri: string;
  version: number;
  sha256: string;
  edits: TextEdit[];
  save: boolean;
  label: string;
}

export interface ApplyEditResult {
  applied: boolean;
  reason?: 'version' | 'content' | 'closed' | 'readonly' | 'error';
  version: number;
  sha256_applied: string;
  saved: boolean;
  save_reason?: string;
  sha256_after?: string;
}

export interface PermissionOption { id: string; title: string }

export interface PermissionParams {
  kind: 'command' | 'write' | 'network' | 'mcp' | 'trust' | 'question';
  title: string;
  detail: string;
  command?: string;
  cwd?: string;
  diff?: string;
  options: PermissionOption[];
}

export interface PermissionResult { choice: string; text?: string }

export interface ContentResult { text: string }

export interface DiagnosticItem { uri: string; range: Range; severity: number; source: string; message: string }

export interface DiagnosticsResult { items: DiagnosticItem[] }

export interface ChangedFile { uri: string; diff: string; edits: string[]; undoable: boolean }

export interface ChangesResult { files: ChangedFile[] }

export interface UndoParams { sessionId: string; turnId?: string; edit?: string }

export interface UndoResult { undone: string[]; refused: Refusal[] }

/** The argument of the commands ask, explain, fix and writeTests. */
export interface AskParams {
  sessionId?: string;
  text?: string;
  uri?: string;
  range?: Range;
  symbol?: string;
  message?: string;
}
