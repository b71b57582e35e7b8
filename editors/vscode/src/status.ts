// One status bar item, fed by one state.
import * as vscode from 'vscode';
import { statusText, type StatusCounts } from './text';

export class StatusItem implements vscode.Disposable {
  private readonly item = vscode.window.createStatusBarItem('stella.status', vscode.StatusBarAlignment.Left, 50);
  private readonly changed = new vscode.EventEmitter<Readonly<StatusCounts>>();
  readonly onDidChange = this.changed.event;
  private state: StatusCounts = { starting: true, running: false, step: 0, waiting: false, fresh: 0, stale: 0 };

  constructor() {
    this.item.name = 'Stella';
    this.item.command = 'stella.menu';
    this.draw();
    this.item.show();
  }

  /** Changes part of the state; `problem: undefined` clears the problem. */
  set(part: { [K in keyof StatusCounts]?: StatusCounts[K] | undefined }): void {
    const next: Record<string, unknown> = { ...this.state, ...part };
    if ('problem' in part && part.problem === undefined) delete next['problem'];
    this.state = next as unknown as StatusCounts;
    this.draw();
    this.changed.fire(this.state);
  }

  get text(): string { return this.item.text; }

  get counts(): Readonly<StatusCounts> { return this.state; }

  private draw(): void {
    this.item.text = statusText(this.state);
    this.item.tooltip = this.state.stale > 0
      ? `${this.state.stale} files changed since a session saw them. A write to them is refused until the session has read them again.`
      : this.state.waiting ? 'Stella asks you something' : 'Stella: sessions and guarded files';
    this.item.backgroundColor = this.state.stale > 0 || this.state.waiting || this.state.problem !== undefined ? new vscode.ThemeColor('statusBarItem.warningBackground') : undefined;
  }

  dispose(): void {
    this.item.dispose();
    this.changed.dispose();
  }
}
