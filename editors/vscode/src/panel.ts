// The transcript panel. It streams, folds tool calls, and never takes focus.
import { randomBytes } from 'node:crypto';
import * as vscode from 'vscode';
import type { Refusal, TranscriptEntry, Update, Usage } from './protocol';
import { panelHtml } from './panelhtml';

export type PanelMessage =
  | { type: 'prompt'; text: string; steer: boolean }
  | { type: 'update'; update: Update }
  | { type: 'ended'; stop: string; error?: string; usage?: Usage }
  | { type: 'clear' };

const kept = 5000;

export class TranscriptPanel implements vscode.Disposable {
  private panel: vscode.WebviewPanel | undefined;
  /** The page listens; what was sent before is replayed when it says so. */
  private ready = false;
  private messages: PanelMessage[] = [];
  private readonly refusals: Refusal[] = [];

  constructor(
    private readonly onRefusal: (r: Refusal) => void,
    private readonly onStop: () => void,
    private readonly onAsk: (text: string) => void,
  ) {}

  /** Opens beside the code; the focus stays where it is. */
  show(): void {
    if (this.panel) {
      this.panel.reveal(undefined, true);
      return;
    }
    const panel = vscode.window.createWebviewPanel('stella.transcript', 'Stella', { viewColumn: vscode.ViewColumn.Beside, preserveFocus: true }, { enableScripts: true, localResourceRoots: [], retainContextWhenHidden: true });
    this.panel = panel;
    panel.webview.html = panelHtml(randomBytes(16).toString('base64'));
    panel.webview.onDidReceiveMessage((m: { type: string; refusal?: number; text?: string }) => {
      if (m.type === 'ready') {
        this.ready = true;
        for (const old of this.messages) void panel.webview.postMessage(old);
      }
      if (m.type === 'stop') this.onStop();
      if (m.type === 'ask' && m.text) this.onAsk(m.text);
      const r = m.type === 'diff' && m.refusal !== undefined ? this.refusals[m.refusal] : undefined;
      if (r) this.onRefusal(r);
    });
    panel.onDidDispose(() => {
      this.panel = undefined;
      this.ready = false;
    });
  }

  prompt(_session: string, text: string, steer: boolean): void { this.send({ type: 'prompt', text, steer }); }

  update(_session: string, update: Update): void {
    if (update.refusal) {
      this.refusals.push(update.refusal);
      this.send({ type: 'update', update: { ...update, callId: String(this.refusals.length - 1) } });
      return;
    }
    this.send({ type: 'update', update });
  }

  ended(_session: string, stop: string, error?: string, usage?: Usage): void {
    this.send({ type: 'ended', stop, ...(error !== undefined ? { error } : {}), ...(usage ? { usage } : {}) });
  }

  load(session: string, entries: TranscriptEntry[]): void {
    this.clear();
    for (const e of entries) {
      if (e.toolCall) this.update(session, { kind: 'toolCall', ...e.toolCall });
      else if (e.toolResult) this.update(session, { kind: 'toolResult', ...e.toolResult });
      else if (e.role === 'user') this.prompt(session, e.text ?? '', false);
      else this.update(session, { kind: 'text', text: (e.text ?? '') + '\n' });
    }
  }

  clear(): void {
    this.messages = [];
    if (this.ready) void this.panel?.webview.postMessage({ type: 'clear' });
  }

  /** Everything shown so far, for tests. */
  get log(): readonly PanelMessage[] { return this.messages; }

  private send(m: PanelMessage): void {
    this.messages.push(m);
    if (this.messages.length > kept) this.messages.splice(0, this.messages.length - kept);
    if (this.ready) void this.panel?.webview.postMessage(m);
  }

  dispose(): void { this.panel?.dispose(); }
}
