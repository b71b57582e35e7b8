// Sessions as the person meets them: ask, steer, cancel, resume, undo.
import * as vscode from 'vscode';
import { CancellationTokenSource } from 'vscode';
import type { Ctx } from './ctx';
import { Diffs } from './diffs';
import { TranscriptPanel } from './panel';
import { Method, type ContextItem, type GuardFilesResult, type Refusal, type SessionGetResult, type SessionInfo, type SessionListResult, type SessionPromptResult, type SessionResumeResult, type SessionStartResult, type SessionUpdateParams, type UndoResult } from './protocol';

export class Sessions implements vscode.TreeDataProvider<SessionInfo>, vscode.Disposable {
  current: string | undefined;
  /** The last refusal of each path, for "re-plan" and "show what it had seen". */
  readonly refusals = new Map<string, Refusal>();
  readonly panel: TranscriptPanel;
  readonly diffs = new Diffs();
  private readonly running = new Map<string, CancellationTokenSource>();
  private readonly tree = new vscode.EventEmitter<undefined>();
  private readonly sub: vscode.Disposable;
  readonly onDidChangeTreeData = this.tree.event;

  constructor(private readonly ctx: Ctx) {
    this.panel = new TranscriptPanel((r) => void this.showRefusal(r), () => void this.cancel(), (text) => void this.ask(text));
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
    if (p.update.refusal?.path !== undefined) this.refusals.set(p.update.refusal.path, p.update.refusal);
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

  async resume(id: string, go: boolean): Promise<void> {
    const client = await this.ctx.ready();
    if (!client) return;
    try {
      const r = await client.sendRequest<SessionResumeResult>(Method.sessionResume, { sessionId: id, ...(go ? { continue: true } : {}) });
      this.current = r.sessionId;
      const got = await client.sendRequest<SessionGetResult>(Method.sessionGet, { sessionId: id });
      this.panel.show();
      this.panel.load(id, got.transcript);
    } catch (e) {
      void vscode.window.showErrorMessage(`Stella: ${message(e)}`);
    }
  }

  /** After a crash or a window reload: one click continues. */
  async offerResume(): Promise<void> {
    const cut = (await this.list()).filter((s) => s.state === 'interrupted');
    const s = cut[0];
    if (!s) return;
    const go = await vscode.window.showInformationMessage(`Stella: the turn "${s.title || s.sessionId}" was interrupted.`, 'Continue', 'Show');
    if (go !== undefined) await this.resume(s.sessionId, go === 'Continue');
  }

  async undo(): Promise<void> {
    if (this.current === undefined || !this.ctx.client) {
      void vscode.window.showInformationMessage('Stella: no session to undo in.');
      return;
    }
    try {
      const r = await this.ctx.client.sendRequest<UndoResult>(Method.undo, { sessionId: this.current });
      for (const f of r.refused) {
        void vscode.window.showWarningMessage(`Stella: ${f.path ?? 'a file'} was not undone. ${f.next ?? ''}`, 'Show').then((a) => {
          if (a === 'Show') void this.showRefusal(f);
        });
      }
      void vscode.window.showInformationMessage(`Stella: ${r.undone.length} files undone.`);
    } catch (e) {
      void vscode.window.showErrorMessage(`Stella: ${message(e)}`);
    }
  }

  async showRefusal(r: Refusal): Promise<void> {
    if (!r.diff_since_read) {
      void vscode.window.showInformationMessage(`Stella: ${r.path ?? 'the file'} (${r.status}) has no difference to show.`);
      return;
    }
    await this.diffs.show(`${r.path ?? 'file'}: seen by the session ↔ now`, r.path ?? 'file', r.diff_since_read);
  }

  /** The difference between what the sessions saw of a file and what it is now. */
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
    await this.diffs.show(`${name}: seen by the session ↔ now (${row.changedBy.join(', ')})`, name, row.diff);
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
