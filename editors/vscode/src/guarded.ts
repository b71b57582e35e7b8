// Guarded files: badges in the explorer and on tabs, a view, the counts.
import * as vscode from 'vscode';
import type { GuardedFile, GuardStatusParams } from './protocol';
import type { StatusItem } from './status';

export class Guarded implements vscode.FileDecorationProvider, vscode.TreeDataProvider<GuardedFile>, vscode.Disposable {
  private readonly files = new Map<string, Map<string, GuardedFile>>(); // by uri, then by session
  private readonly decorations = new vscode.EventEmitter<vscode.Uri[]>();
  private readonly tree = new vscode.EventEmitter<undefined>();
  private readonly subs: vscode.Disposable[] = [];
  readonly onDidChangeFileDecorations = this.decorations.event;
  readonly onDidChangeTreeData = this.tree.event;

  constructor(private readonly statusItem: StatusItem) {
    this.subs.push(vscode.window.registerFileDecorationProvider(this), vscode.window.registerTreeDataProvider('stella.guardedFiles', this));
  }

  status(p: GuardStatusParams): void {
    const touched: vscode.Uri[] = [];
    for (const f of p.files) {
      const uri = vscode.Uri.parse(f.uri);
      const key = uri.toString();
      const rows = this.files.get(key) ?? new Map<string, GuardedFile>();
      if (f.state === '') rows.delete(f.sessionId);
      else rows.set(f.sessionId, f);
      if (rows.size === 0) this.files.delete(key);
      else this.files.set(key, rows);
      touched.push(uri);
    }
    this.statusItem.set({ fresh: p.fresh, stale: p.stale });
    this.decorations.fire(touched);
    this.tree.fire(undefined);
  }

  /** The rows of a file, stale ones first. */
  of(uri: vscode.Uri): GuardedFile[] {
    return [...(this.files.get(uri.toString())?.values() ?? [])].sort((a, b) => Number(b.state === 'stale') - Number(a.state === 'stale'));
  }

  all(): GuardedFile[] {
    return [...this.files.values()].flatMap((m) => [...m.values()])
      .sort((a, b) => Number(b.state === 'stale') - Number(a.state === 'stale') || a.uri.localeCompare(b.uri));
  }

  clear(): void {
    const touched = [...this.files.keys()].map((k) => vscode.Uri.parse(k));
    this.files.clear();
    this.statusItem.set({ fresh: 0, stale: 0 });
    this.decorations.fire(touched);
    this.tree.fire(undefined);
  }

  provideFileDecoration(uri: vscode.Uri): vscode.FileDecoration | undefined {
    const row = this.of(uri)[0];
    if (!row || !vscode.workspace.getConfiguration('stella').get('badges', true)) return undefined;
    if (row.state === 'stale') {
      return new vscode.FileDecoration('S!', `Stella: changed since the session saw it (${row.changedBy.join(', ')})`, new vscode.ThemeColor('list.warningForeground'));
    }
    return new vscode.FileDecoration('S', row.state === 'writing' ? 'Stella: a session is writing' : 'Stella: guarded, as the session saw it');
  }

  getChildren(parent?: GuardedFile): GuardedFile[] { return parent ? [] : this.all(); }

  getTreeItem(f: GuardedFile): vscode.TreeItem {
    const uri = vscode.Uri.parse(f.uri);
    const item = new vscode.TreeItem(uri);
    item.description = f.state === 'stale' ? `stale: ${f.changedBy.join(', ')}` : f.state;
    item.tooltip = `${f.state}, session ${f.sessionId}, seen ${f.seenAt}`;
    item.command = f.state === 'stale'
      ? { command: 'stella.showSeen', title: 'Show the difference', arguments: [uri] }
      : { command: 'vscode.open', title: 'Open', arguments: [uri] };
    return item;
  }

  dispose(): void {
    for (const s of this.subs) s.dispose();
    this.decorations.dispose();
    this.tree.dispose();
  }
}
