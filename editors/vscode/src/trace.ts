// The traffic between editor and server, as stella.trace.server wants it. The
// client library writes it to a log channel at the level "trace", which a channel
// of that kind drops unless its own level is set by hand: this one follows the
// setting.
import * as vscode from 'vscode';

const longest = 20_000; // characters of one message

export class TraceChannel implements vscode.LogOutputChannel {
  private readonly out = vscode.window.createOutputChannel('Stella Trace');
  private readonly level = new vscode.EventEmitter<vscode.LogLevel>();
  readonly onDidChangeLogLevel = this.level.event;

  get name(): string { return this.out.name; }

  get logLevel(): vscode.LogLevel {
    const wanted = vscode.workspace.getConfiguration('stella').get('trace.server', 'off');
    return wanted === 'off' ? vscode.LogLevel.Info : vscode.LogLevel.Trace;
  }

  /** The setting changed: the client asks for the level again. */
  settingChanged(): void { this.level.fire(this.logLevel); }

  trace(message: string): void { this.line(message); }
  debug(message: string): void { this.line(message); }
  info(message: string): void { this.line(message); }
  warn(message: string): void { this.line(message); }
  error(e: string | Error): void { this.line(String(e)); }

  private line(text: string): void {
    const more = text.length - longest;
    this.out.appendLine(`${new Date().toISOString()} ${more > 0 ? `${text.slice(0, longest)}… (${more} characters more)` : text}`);
  }

  append(value: string): void { this.out.append(value); }
  appendLine(value: string): void { this.out.appendLine(value); }
  replace(value: string): void { this.out.replace(value); }
  clear(): void { this.out.clear(); }
  show(): void { this.out.show(true); }
  hide(): void { this.out.hide(); }

  dispose(): void {
    this.level.dispose();
    this.out.dispose();
  }
}
