// The transcript panel. It streams, folds tool calls, and never takes focus.
import { randomBytes } from 'node:crypto';
import * as vscode from 'vscode';
import type { PermissionParams, Refusal, TranscriptEntry, Update, Usage } from './protocol';
import { panelHtml } from './panelhtml';
import { refusalIn, refusals } from './text';

export type PanelMessage =
  | { type: 'session'; id: string }
  | { type: 'prompt'; text: string; steer: boolean }
  | { type: 'update'; update: Update }
  | { type: 'refusal'; n: number; refusal: Refusal }
  | { type: 'question'; n: number; question: PermissionParams }
  | { type: 'answered'; n: number; words: string }
  | { type: 'ended'; stop: string; error?: string; usage?: Usage }
  | { type: 'clear' };

/** What the person does in the page. */
export interface PanelActions {
  refusal(r: Refusal, content?: string): void;
  stop(): void;
  ask(text: string): void;
  answer(question: number, choice: string): void;
  /** The window was reloaded, and the page of a session came back. */
  revived(session: string): void;
}

interface FromPage { type: string; refusal?: number; text?: string; question?: number; choice?: string }

const kept = 5000;
const engineNote = /^\[stella engine [^\]]*\] */; // what the engine told the model, not the person
const viewType = 'stella.transcript';

export class TranscriptPanel implements vscode.Disposable {
  private panel: vscode.WebviewPanel | undefined;
  /** The page listens; what was sent before is replayed when it says so. */
  private ready = false;
  private messages: PanelMessage[] = [];
  private readonly refused: { r: Refusal; content: string }[] = [];
  private readonly sub: vscode.Disposable;

  constructor(private readonly on: PanelActions) {
    this.sub = vscode.window.registerWebviewPanelSerializer(viewType, {
      deserializeWebviewPanel: (panel, state: { session?: string } | undefined) => {
        this.adopt(panel);
        if (state?.session !== undefined) this.on.revived(state.session);
        return Promise.resolve();
      },
    });
  }

  /** Opens beside the code; the focus stays where it is. */
  show(): void {
    if (this.panel) this.panel.reveal(undefined, true);
    else this.adopt(vscode.window.createWebviewPanel(viewType, 'Stella', { viewColumn: vscode.ViewColumn.Beside, preserveFocus: true }, { retainContextWhenHidden: true }));
  }

  private adopt(panel: vscode.WebviewPanel): void {
    this.panel?.dispose();
    this.panel = panel;
    this.ready = false;
    panel.webview.options = { enableScripts: true, localResourceRoots: [] };
    panel.webview.onDidReceiveMessage((m: FromPage) => this.heard(panel, m));
    panel.onDidDispose(() => {
      if (this.panel !== panel) return;
      this.panel = undefined;
      this.ready = false;
    });
    panel.webview.html = panelHtml(randomBytes(16).toString('base64'));
  }

  private heard(panel: vscode.WebviewPanel, m: FromPage): void {
    if (m.type === 'ready') { // also when the page was hidden and is made anew
      this.ready = true;
      for (const old of this.messages) void panel.webview.postMessage(old);
    }
    if (m.type === 'stop') this.on.stop();
    if (m.type === 'ask' && m.text) this.on.ask(m.text);
    if (m.type === 'answer' && m.question !== undefined) this.on.answer(m.question, m.choice ?? '');
    const r = m.type === 'diff' && m.refusal !== undefined ? this.refused[m.refusal] : undefined;
    if (r) this.on.refusal(r.r, r.content);
  }

  /** A prompt of a session; the page remembers the session over a reload. */
  prompt(session: string, text: string, steer: boolean): void {
    this.send({ type: 'session', id: session });
    this.send({ type: 'prompt', text, steer });
  }

  update(session: string, update: Update): void {
    if (!update.refusal) {
      this.send({ type: 'update', update });
      return;
    }
    const list = refusals(update.refusal);
    for (const r of list) {
      const content = `${session}/${update.callId ?? ''}${list.length > 1 || update.refusal.files ? `/${r.path ?? ''}` : ''}`;
      this.refused.push({ r, content });
      this.send({ type: 'refusal', n: this.refused.length - 1, refusal: r });
    }
  }

  question(n: number, question: PermissionParams): void { this.send({ type: 'question', n, question }); }

  answered(n: number, words: string): void { this.send({ type: 'answered', n, words }); }

  ended(_session: string, stop: string, error?: string, usage?: Usage): void {
    this.send({ type: 'ended', stop, ...(error !== undefined ? { error } : {}), ...(usage ? { usage } : {}) });
  }

  load(session: string, entries: TranscriptEntry[]): void {
    this.clear();
    this.send({ type: 'session', id: session });
    for (const e of entries) {
      if (e.toolCall) this.update(session, { kind: 'toolCall', ...e.toolCall });
      else if (e.toolResult) {
        const refusal = e.toolResult.ok ? undefined : refusalIn<Refusal>(e.toolResult.text);
        this.update(session, { kind: 'toolResult', ...e.toolResult, ...(refusal ? { refusal } : {}) });
      } else if (e.role === 'user' && engineNote.test(e.text ?? '')) this.update(session, { kind: 'notice', text: (e.text ?? '').replace(engineNote, '') });
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

  dispose(): void {
    this.sub.dispose();
    this.panel?.dispose();
  }
}
