// What the sessions changed: a view with the difference of each file, undo, keep.
import * as vscode from 'vscode';
import type { Ctx } from './ctx';
import { Method, type ChangedFile, type ChangesResult } from './protocol';

export interface Change extends ChangedFile { sessionId: string }

export class Changes implements vscode.TreeDataProvider<Change>, vscode.Disposable {
  private readonly tree = new vscode.EventEmitter<undefined>();
  private readonly subs: vscode.Disposable[] = [];
  /** Edits that the person keeps: no longer listed, until a later edit of the file. */
  private readonly kept = new Set<string>();
  private timer: NodeJS.Timeout | undefined;
  readonly onDidChangeTreeData = this.tree.event;

  constructor(private readonly ctx: Ctx) {
    this.subs.push(vscode.window.registerTreeDataProvider('stella.changes', this));
  }

  /** Something was written or taken back: the view asks again, at most a few times a second. */
  refresh(): void {
    this.timer ??= setTimeout(() => {
      this.timer = undefined;
      this.tree.fire(undefined);
    }, 200);
  }

  async list(): Promise<Change[]> {
    const sessionId = await this.ctx.sessions.withChanges();
    if (sessionId === undefined || !this.ctx.client?.isRunning()) return [];
    try {
      const { files } = await this.ctx.client.sendRequest<ChangesResult>(Method.changes, { sessionId });
      return files.map((f) => ({ ...f, sessionId })).filter((f) => f.edits.some((e) => !this.kept.has(e)));
    } catch (e) {
      this.ctx.log.warn(`listing changes: ${e instanceof Error ? e.message : String(e)}`);
      return [];
    }
  }

  keep(c: Change): void {
    for (const e of c.edits) this.kept.add(e);
    this.tree.fire(undefined);
  }

  /** The change of one file: before its first edit, after its last. */
  async show(c: Change): Promise<void> {
    const name = nameOf(c), first = c.edits[0], last = c.edits[c.edits.length - 1];
    if (first === undefined || last === undefined) return;
    await this.ctx.sessions.diffs.open(`${name}: before the session ↔ after its edits`, name, first, this.ctx.sessions.diffs.side(last, 'after', name));
  }

  /** The newest edit first, so that each stands on the text that it left. */
  async undo(c: Change): Promise<void> {
    for (const edit of [...c.edits].reverse()) {
      if (!(await this.ctx.sessions.undo({ sessionId: c.sessionId, edit }))) return;
    }
  }

  getChildren(parent?: Change): Promise<Change[]> | Change[] { return parent ? [] : this.list(); }

  getTreeItem(c: Change): vscode.TreeItem {
    const item = new vscode.TreeItem(vscode.Uri.parse(c.uri));
    const n = c.edits.length === 1 ? '1 edit' : `${c.edits.length} edits`;
    item.description = c.undoable ? n : `${n}, cannot be undone as it stands`;
    item.tooltip = `${nameOf(c)}: ${item.description}`;
    item.contextValue = c.undoable ? 'undoable' : 'changed';
    item.command = { command: 'stella.changes.show', title: 'Show the change', arguments: [c] };
    return item;
  }

  dispose(): void {
    clearTimeout(this.timer);
    for (const s of this.subs) s.dispose();
    this.tree.dispose();
  }
}

export function nameOf(c: { uri: string }): string {
  return vscode.workspace.asRelativePath(vscode.Uri.parse(c.uri));
}
