// Sessions as the person meets them: ask, steer, cancel, resume, undo.
import * as vscode from 'vscode';
import { CancellationTokenSource } from 'vscode';
import type { Ctx } from './ctx';
import { Diffs } from './diffs';
import { TranscriptPanel } from './panel';
import { refusals, undoRefusal } from './text';
import { Method, type ContextItem, type GuardFilesResult, type Refusal, type SessionGetResult, type SessionInfo, type SessionListResult, type SessionPromptResult, type SessionResumeResult, type SessionStartResult, type SessionUpdateParams, type UndoResult, type UndoParams } from './protocol';

export class Sessions implements vscode.TreeDataProvider<SessionInfo>, vscode.Disposable {
  current: string | undefined;
  /** The last refusal of each path, for "re-plan" and "show what it had seen". */
  readonly refusals = new Map<string, Refusal>();
  readonly panel: TranscriptPanel;
  readonly diffs: Diffs;
  private readonly running = new Map<string, CancellationTokenSource>();
  private readonly tree = new vscode.EventEmitter<undefined>();
  private readonly sub: vscode.Disposable;
  readonly onDidChangeTreeData = this.tree.event;

  constructor(private readonly ctx: Ctx) {
    this.diffs = new Diffs(ctx);
    this.panel = new TranscriptPanel({
      refusal: (r, content) => void this.showRefusal(r, content),
      stop: () => void this.cancel(),
      ask: (text) => void this.ask(text),
      answer: (n, choice) => ctx.questions.answer(n, choice),
      revived: (session) => void this.revive(session),
    });
    this.sub = vscode.window.registerTreeDataProvider('stella.sessions', this);
  }

  /** Asks in the current session; joins the running turn if there is one. */
  async ask(text: string, context?: ContextItem[]): Promise<SessionPromptResult | undefined> {
    const client = await this.ctx.ready();
    if (!client) return undefined;
    try {
      this.current ??= (await client.sendRequest<SessionStartResult>(Method.sessionStart, {})).sessionId;
    } catch (e) {
      void vscode.window.showErrorMessage(`Stella: ${message(e)}`);
      return undefined;
    }
    const id = this.current;
    const steer = this.running.has(id);
    this.panel.show();
    this.panel.prompt(id, text, steer);
    const params = { sessionId: id, text, ...(context ? { context } : {}), ...(steer ? { steer } : {}) };
    if (steer) return client.sendRequest<SessionPromptResult>(Method.sessionPrompt, params);
    const source = new CancellationTokenSource();
    this.running.set(id, source);
    this.ctx.status.set({ running: true, step: 0 });
    this.tree.fire(undefined);
    try {
      const r = await client.sendRequest<SessionPromptResult>(Method.sessionPrompt, params, source.token);
      this.panel.ended(id, r.stop, r.error, r.usage);
      return r;
    } catch (e) {
      this.panel.ended(id, 'error', message(e));
      return undefined;
    } finally {
      this.running.delete(id);
      source.dispose();
      this.ctx.status.set({ running: this.running.size > 0 });
      this.tree.fire(undefined);
    }
  }

  update(p: SessionUpdateParams): void {
    this.ctx.status.set({ step: p.step });
    for (const r of p.update.refusal ? refusals(p.update.refusal) : []) if (r.path !== undefined) this.refusals.set(r.path, r);
    if (p.update.kind === 'toolResult') this.ctx.changes.refresh();
    this.panel.update(p.sessionId, p.update);
  }

  async cancel(): Promise<void> {
    if (this.current === undefined || !this.ctx.client) return;
    await this.ctx.client.sendRequest(Method.sessionCancel, { sessionId: this.current });
  }

  fresh(): void {
    this.current = undefined;
    this.panel.clear();
  }

  /** The server is gone, and with it every running turn. */
  lost(): void {
    for (const id of this.running.keys()) this.panel.ended(id, 'error', 'the server stopped; use Stella: Resume a Session');
    this.running.clear();
    this.current = undefined;
    this.ctx.status.set({ running: false, waiting: false });
  }

  refresh(): void {
    this.tree.fire(undefined);
    this.ctx.changes.refresh();
  }

  async list(): Promise<SessionInfo[]> {
    if (!this.ctx.client?.isRunning()) return [];
    try {
      return (await this.ctx.client.sendRequest<SessionListResult>(Method.sessionList, {})).sessions;
    } catch (e) {
      this.ctx.log.warn(`listing sessions: ${message(e)}`);
      return [];
    }
  }

  async pick(): Promise<void> {
    const list = await this.list();
    if (list.length === 0) {
      void vscode.window.showInformationMessage('Stella: no sessions yet.');
      return;
    }
    const picked = await vscode.window.showQuickPick(
      list.map((s) => ({ label: s.title || s.sessionId, description: `${s.state}, ${s.turns} turns, ${s.guarded} guarded`, s })),
      { title: 'Resume a session' },
    );
    if (picked) await this.resume(picked.s.sessionId, picked.s.state === 'interrupted');
  }

  /** Shows a session, which is spoken to from then on; `go` continues its interrupted turn. */
  async resume(id: string, go: boolean): Promise<void> {
    const client = await this.ctx.ready();
    if (!client) return;
    try {
      const got = await client.sendRequest<SessionGetResult>(Method.sessionGet, { sessionId: id });
      this.current = id;
      this.panel.show();
      this.panel.load(id, got.transcript);
      this.ctx.changes.refresh();
      if (!go) return; // an interruption that is only looked at can still be continued later
      const r = await client.sendRequest<SessionResumeResult>(Method.sessionResume, { sessionId: id, continue: true });
      if (r.interrupted) void this.follow(id);
    } catch (e) {
      void vscode.window.showErrorMessage(`Stella: ${message(e)}`);
    }
  }

  /** A continued turn runs in the server, and no request of ours ends with it. */
  private async follow(id: string): Promise<void> {
    const source = new CancellationTokenSource();
    this.running.set(id, source);
    this.ctx.status.set({ running: true });
    this.tree.fire(undefined);
    while (this.running.get(id) === source && (await this.list()).some((s) => s.sessionId === id && s.state === 'running')) {
      await new Promise((r) => setTimeout(r, 300));
    }
    source.dispose();
    if (this.running.get(id) !== source) return; // the server went away meanwhile
    this.running.delete(id);
    this.panel.ended(id, 'ended');
    this.ctx.status.set({ running: this.running.size > 0 });
    this.tree.fire(undefined);
  }

  /** After a crash or a window reload: one click continues. */
  async offerResume(): Promise<void> {
    const cut = (await this.list()).filter((s) => s.state === 'interrupted');
    const s = cut[0];
    if (!s) return;
    const others = cut.length === 1 ? '' : ` ${cut.length - 1} more are in the Sessions view.`;
    const go = await vscode.window.showInformationMessage(`Stella: "${s.title || s.sessionId}" was interrupted in the middle of a turn.${others}`, 'Continue', 'Show');
    if (go !== undefined) await this.resume(s.sessionId, go === 'Continue');
  }

  /** The panel came back with the window: it shows its session again, which goes on when it is asked something. */
  private async revive(session: string): Promise<void> {
    const client = await this.ctx.ready();
    if (!client) return;
    try {
      const got = await client.sendRequest<SessionGetResult>(Method.sessionGet, { sessionId: session });
      this.current ??= session;
      if (this.current === session) this.panel.load(session, got.transcript);
      this.ctx.changes.refresh();
    } catch (e) {
      this.ctx.log.warn(`the transcript of ${session}: ${message(e)}`);
    }
  }

  /** The session whose changes are reviewed: the one that is spoken to, else the newest that did something. */
  async withChanges(): Promise<string | undefined> {
    return this.current ?? (await this.list()).find((s) => s.turns > 0)?.sessionId;
  }

  /** Takes back a turn (the last one) or an edit. True when nothing was refused. */
  async undo(p?: UndoParams): Promise<boolean> {
    const client = await this.ctx.ready();
    const sessionId = p?.sessionId ?? (await this.withChanges());
    if (!client) return false;
    if (sessionId === undefined) {
      void vscode.window.showInformationMessage('Stella: no session has changed anything.');
      return false;
    }
    try {
      const r = await client.sendRequest<UndoResult>(Method.undo, { ...p, sessionId });
      for (const f of r.refused) this.undoRefused(f);
      const names = r.undone.map((u) => vscode.workspace.asRelativePath(vscode.Uri.parse(u)));
      if (names.length > 0) void vscode.window.showInformationMessage(`Stella: undone in ${names.slice(0, 3).join(', ')}${names.length > 3 ? ` and ${names.length - 3} more` : ''}.`);
      return r.refused.length === 0;
    } catch (e) {
      void vscode.window.showErrorMessage(`Stella: ${message(e)}`);
      return false;
    } finally {
      this.ctx.changes.refresh();
    }
  }

  private undoRefused(f: Refusal): void {
    const words = `Stella: ${f.path ?? 'a file'} was not undone (${(f.changed_by ?? []).join(', ') || undoRefusal(f.status)}).${f.next ? ` To do: ${f.next}` : ''}`;
    const show = f.diff_since_read ? ['Show the difference'] : [];
    void vscode.window.showWarningMessage(words, ...show).then((a) => {
      if (a !== undefined) void this.showRefusal(f);
    });
  }

  /** content is the refusal's name for stella/content, when the server has one. */
  async showRefusal(r: Refusal, content?: string): Promise<void> {
    const name = r.path ?? 'file';
    if (!r.diff_since_read) {
      void vscode.window.showInformationMessage(`Stella: ${name} (${r.status}) has no difference to show.`);
      return;
    }
    const title = `${name}: seen by the session ↔ now`;
    if (content !== undefined) await this.diffs.open(title, name, content);
    else await this.diffs.openHunks(title, name, r.diff_since_read);
  }

  /** The difference between what the sessions saw of a file and what it is now, the file itself on the right. */
  async showSeen(uri: vscode.Uri): Promise<void> {
    const client = await this.ctx.ready();
    if (!client) return;
    const wanted = uri.toString();
    const { files } = await client.sendRequest<GuardFilesResult>(Method.guardFiles, {});
    const row = files.find((f) => vscode.Uri.parse(f.uri).toString() === wanted && f.diff);
    if (!row?.diff) {
      void vscode.window.showInformationMessage('Stella: this file is as the sessions saw it.');
      return;
    }
    const name = vscode.workspace.asRelativePath(uri);
    await this.diffs.open(`${name}: seen by the session ↔ now (${row.changedBy.join(', ')})`, name, `${row.sessionId}/seen/${uri.fsPath}`, uri);
  }

  getChildren(parent?: SessionInfo): Promise<SessionInfo[]> | SessionInfo[] { return parent ? [] : this.list(); }

  getTreeItem(s: SessionInfo): vscode.TreeItem {
    const item = new vscode.TreeItem(s.title || s.sessionId);
    item.description = `${s.state}, ${s.turns} turns, ${s.guarded} guarded`;
    item.command = { command: 'stella.resume', title: 'Show', arguments: [s.sessionId] };
    return item;
  }

  dispose(): void {
    this.sub.dispose();
    this.panel.dispose();
    this.diffs.dispose();
    this.tree.dispose();
  }
}

function message(e: unknown): string {
  return e instanceof Error ? e.message : String(e);
}
