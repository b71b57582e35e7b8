// Texts that only exist for a diff editor.
import * as vscode from 'vscode';
import { sides } from './text';

const scheme = 'stella-diff';
const kept = 50;

export class Diffs implements vscode.TextDocumentContentProvider, vscode.Disposable {
  private readonly texts = new Map<string, string>();
  private readonly sub = vscode.workspace.registerTextDocumentContentProvider(scheme, this);
  private next = 0;

  provideTextDocumentContent(uri: vscode.Uri): string {
    return this.texts.get(uri.path) ?? 'This difference is no longer kept.\n';
  }

  /** Opens a diff editor on the two sides of a unified diff. */
  async show(title: string, path: string, diff: string): Promise<void> {
    const { before, after } = sides(diff);
    const n = ++this.next;
    const left = this.keep(`/${n}/seen/${path}`, before);
    const right = this.keep(`/${n}/now/${path}`, after);
    await vscode.commands.executeCommand('vscode.diff', left, right, title, { preview: true, preserveFocus: true });
  }

  private keep(path: string, text: string): vscode.Uri {
    this.texts.set(path, text);
    for (const k of this.texts.keys()) {
      if (this.texts.size <= kept) break;
      this.texts.delete(k);
    }
    return vscode.Uri.from({ scheme, path });
  }

  dispose(): void { this.sub.dispose(); }
}
