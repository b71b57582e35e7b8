// Questions of the server to the person: may this be written, may that be run?
// Each is shown in the transcript in full, as a notification in short, and behind
// the status item; the first answer counts. None takes the focus.
import * as vscode from 'vscode';
import type { Diffs } from './diffs';
import type { TranscriptPanel } from './panel';
import type { PermissionParams, PermissionResult } from './protocol';
import type { StatusItem } from './status';
import { questionSummary } from './text';

interface Pending { n: number; p: PermissionParams; settle: (r: PermissionResult, words: string) => void }

export class Questions {
  private readonly open = new Map<number, Pending>();
  private next = 0;

  constructor(private readonly status: StatusItem, private readonly panel: TranscriptPanel, private readonly diffs: Diffs) {}

  /** What waits for the person, the oldest first. */
  get waiting(): PermissionParams[] { return [...this.open.values()].map((q) => q.p); }

  /** Ends with the person's answer, or with none when the server takes the question back. Closing a question allows nothing. */
  ask(p: PermissionParams, token: vscode.CancellationToken): Promise<PermissionResult> {
    return new Promise((done) => {
      const n = ++this.next;
      const taken = token.onCancellationRequested(() => settle({ choice: '' }, 'taken back'));
      const settle = (r: PermissionResult, words: string): void => {
        if (!this.open.delete(n)) return; // somebody was faster
        taken.dispose();
        this.panel.answered(n, words);
        this.status.set({ waiting: this.open.size > 0 });
        done(r);
      };
      this.open.set(n, { n, p, settle });
      this.status.set({ waiting: true });
      this.panel.question(n, p);
      void this.notify(n);
    });
  }

  /** An answer from the transcript. */
  answer(n: number, choice: string): void {
    const q = this.open.get(n);
    const o = q?.p.options.find((x) => x.id === choice);
    if (q && o) q.settle({ choice }, o.title);
    else if (q) void this.write(q);
  }

  /** The oldest question as a list to choose from; what the status item opens. */
  async pick(): Promise<void> {
    const q = [...this.open.values()][0];
    if (!q) {
      void vscode.window.showInformationMessage('Stella: nothing waits for you.');
      return;
    }
    if (q.p.options.length === 0) return this.write(q);
    const picked = await vscode.window.showQuickPick(
      [...q.p.options.map((o) => ({ label: o.title, id: o.id })), ...(q.p.diff ? [{ label: '$(diff) Show the change', id: 'show-the-change' }] : [])],
      { title: `Stella: ${q.p.title}`, placeHolder: questionSummary(q.p), ignoreFocusOut: true },
    );
    if (picked?.id === 'show-the-change') return this.show(q.p);
    if (picked) q.settle({ choice: picked.id }, picked.label);
  }

  /** The server is gone, and its questions with it. */
  lost(): void {
    for (const q of [...this.open.values()]) q.settle({ choice: '' }, 'the server stopped');
  }

  private async notify(n: number): Promise<void> {
    for (;;) {
      const q = this.open.get(n);
      if (!q) return;
      const { p } = q;
      const more = p.diff ? 'Show the change' : 'Show';
      const buttons = p.options.length === 0 ? ['Answer…'] : [...p.options.map((o) => o.title), more];
      const summary = questionSummary(p);
      const picked = await vscode.window.showWarningMessage(`Stella: ${p.title}${summary === '' ? '' : ` ${summary}`}`, ...buttons);
      if (picked === more) {
        await this.show(p); // and ask again: seeing is not answering
        continue;
      }
      if (picked === 'Answer…') return this.write(q);
      const o = p.options.find((x) => x.title === picked);
      q.settle({ choice: o?.id ?? '' }, o?.title ?? 'closed without an answer');
      return;
    }
  }

  private async show(p: PermissionParams): Promise<void> {
    if (p.diff) await this.diffs.openHunks(`Stella: ${p.title}`, p.title.replace(/^\w+ |\?$/g, ''), p.diff);
    else this.panel.show();
  }

  private async write(q: Pending): Promise<void> {
    const text = await vscode.window.showInputBox({ title: `Stella: ${q.p.title}`, prompt: q.p.detail, ignoreFocusOut: true });
    q.settle(text === undefined ? { choice: '' } : { choice: '', text }, text ?? 'closed without an answer');
  }
}
