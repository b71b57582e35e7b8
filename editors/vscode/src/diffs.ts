// The two sides of a difference, as read-only files of a scheme of their own, so
// that a diff editor on them comes back after a window reload: what they hold is
// asked of the server (stella/content) whenever the workbench wants it.
import * as vscode from 'vscode';
import type { Ctx } from './ctx';
import { Method, type ContentResult } from './protocol';
import { sides } from './text';

export const diffScheme = 'stella-diff';
const most = 50; // differences in memory
const longestUri = 16_000; // characters of a difference

export class Diffs implements vscode.FileSystemProvider, vscode.Disposable {
  /** Long differences that the server has no id for, such as that of a question; gone after a reload. */
  private readonly texts = new Map<string, string>();
  private readonly changed = new vscode.EventEmitter<vscode.FileChangeEvent[]>();
  private readonly sub: vscode.Disposable;
  private next = 0;
  readonly onDidChangeFile = this.changed.event;

  constructor(private readonly ctx: Ctx) {
    this.sub = vscode.workspace.registerFileSystemProvider(diffScheme, this, { isReadonly: true });
  }

  /** A side of an edit, of a refused call, or of what a session saw of a file. */
  side(editId: string, side: 'before' | 'after', name: string): vscode.Uri {
    return vscode.Uri.from({ scheme: diffScheme, path: `/${side === 'before' ? 'seen' : 'now'}/${name}`, query: new URLSearchParams({ edit: editId, side }).toString() });
  }

  /** Opens a diff editor on what the server has under an id. */
  async open(title: string, name: string, editId: string, after?: vscode.Uri): Promise<void> {
    await show(this.side(editId, 'before', name), after ?? this.side(editId, 'after', name), title);
  }

  /** Opens a diff editor on the hunks of a unified diff, which the server has no id for. */
  async openHunks(title: string, name: string, diff: string): Promise<void> {
    const side = diff.length <= longestUri ? (which: 'before' | 'after') => this.inUri(which, name, diff) : this.inMemory(name, diff);
    await show(side('before'), side('after'), title);
  }

  /** A short diff travels in the URI, and so comes back after a reload. */
  private inUri(side: 'before' | 'after', name: string, diff: string): vscode.Uri {
    return vscode.Uri.from({ scheme: diffScheme, path: `/hunks/${name}`, query: new URLSearchParams({ diff, side }).toString() });
  }

  private inMemory(name: string, diff: string): (side: 'before' | 'after') => vscode.Uri {
    const kept = String(++this.next);
    this.texts.set(kept, diff);
    for (const k of this.texts.keys()) {
      if (this.texts.size <= most) break;
      this.texts.delete(k);
    }
    return (side) => vscode.Uri.from({ scheme: diffScheme, path: `/hunks/${name}`, query: new URLSearchParams({ kept, side }).toString() });
  }

  private async text(uri: vscode.Uri): Promise<string> {
    const q = new URLSearchParams(uri.query);
    const key = q.get('kept');
    const diff = q.get('diff') ?? (key === null ? undefined : this.texts.get(key) ?? 'This difference is no longer kept.\n');
    if (diff !== undefined) return q.get('side') === 'before' ? sides(diff).before : sides(diff).after;
    const client = await this.ctx.ready();
    if (!client) throw vscode.FileSystemError.Unavailable('the server does not run');
    try {
      return (await client.sendRequest<ContentResult>(Method.content, { editId: q.get('edit') ?? '', side: q.get('side') ?? '' })).text;
    } catch (e) {
      throw vscode.FileSystemError.FileNotFound(e instanceof Error ? e.message : String(e));
    }
  }

  async readFile(uri: vscode.Uri): Promise<Uint8Array> { return Buffer.from(await this.text(uri), 'utf8'); }

  async stat(uri: vscode.Uri): Promise<vscode.FileStat> {
    return { type: vscode.FileType.File, ctime: 0, mtime: 0, size: (await this.readFile(uri)).length, permissions: vscode.FilePermission.Readonly };
  }

  watch(): vscode.Disposable { return new vscode.Disposable(() => { /* a side never changes */ }); }
  readDirectory(): [string, vscode.FileType][] { return []; }
  createDirectory(): void { throw vscode.FileSystemError.NoPermissions(); }
  writeFile(): void { throw vscode.FileSystemError.NoPermissions(); }
  delete(): void { throw vscode.FileSystemError.NoPermissions(); }
  rename(): void { throw vscode.FileSystemError.NoPermissions(); }

  dispose(): void {
    this.sub.dispose();
    this.changed.dispose();
  }
}

/** Beside nothing and without the focus: whoever types goes on typing. */
async function show(left: vscode.Uri, right: vscode.Uri, title: string): Promise<void> {
  await vscode.commands.executeCommand('vscode.diff', left, right, title, { preview: true, preserveFocus: true });
}
