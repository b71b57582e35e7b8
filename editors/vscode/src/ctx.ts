// Ctx owns the language client, its restarts, and what the parts share.
import * as vscode from 'vscode';
import type { LanguageClient, LanguageClientOptions, ServerOptions, StaticFeature } from 'vscode-languageclient/node';
import { Applier, DiskStamps } from './apply';
import { findServer } from './bootstrap';
import { Guarded } from './guarded';
import { Changes } from './changes';
import { listDiagnostics } from './diagnostics';
import { elsewhere } from './elsewhere';
import { Method, type ApplyEditParams, type DiagnosticsResult, type GuardStatusParams, type PermissionParams, type SessionUpdateParams } from './protocol';
import { Questions } from './questions';
import { Sessions } from './sessions';
import { StatusItem } from './status';
import { backOff } from './text';
import { TraceChannel } from './trace';

export class Ctx implements vscode.Disposable {
  readonly log = vscode.window.createOutputChannel('Stella', { log: true });
  readonly trace = new TraceChannel();
  readonly status = new StatusItem();
  readonly guarded = new Guarded(this.status);
  readonly stamps = new DiskStamps();
  readonly sessions = new Sessions(this);
  readonly questions = new Questions(this.status, this.sessions.panel, this.sessions.diffs);
  readonly changes = new Changes(this);
  client: LanguageClient | undefined;
  private starting: Promise<void> | undefined;
  private stopped = false;
  private failures = 0;
  private elsewhere = '[]'; // what the server was told last
  private timer: NodeJS.Timeout | undefined;

  constructor(readonly extension: vscode.ExtensionContext) {}

  /** Starts the server; calls made meanwhile share one start. */
  start(): Promise<void> {
    this.starting ??= this.startOnce().finally(() => { this.starting = undefined; });
    return this.starting;
  }

  async restart(): Promise<void> {
    this.failures = 0;
    await this.stopClient();
    await this.start();
  }

  private async startOnce(): Promise<void> {
    if (this.client?.isRunning() === true) return;
    await this.stopClient();
    this.status.set({ problem: undefined, starting: true });
    let binary;
    try {
      binary = await findServer(this.extension, this.log);
    } catch (e) {
      this.failed(e instanceof Error ? e.message : String(e));
      return;
    }
    const server: ServerOptions = { command: binary.command, args: binary.args };
    const library = await import('vscode-languageclient/node'); // the most of the bundle, and not needed to activate
    const client = new library.LanguageClient('stella', 'Stella', server, this.options(library));
    client.registerFeature(capabilities);
    this.client = client;
    const applier = new Applier(client, this.stamps);
    client.onRequest(Method.applyEdit, (p: ApplyEditParams) => applier.apply(p));
    client.onRequest(Method.permission, (p: PermissionParams, token) => this.questions.ask(p, token));
    client.onRequest(Method.diagnostics, (p: { uri?: string }): DiagnosticsResult => listDiagnostics(p.uri, client));
    client.onNotification(Method.sessionUpdate, (p: SessionUpdateParams) => this.sessions.update(p));
    client.onNotification(Method.guardStatus, (p: GuardStatusParams) => this.guarded.status(p));
    try {
      await client.start();
      this.status.set({ problem: undefined, starting: false });
      this.log.info('the server runs');
      this.elsewhere = '[]'; // a new server knows of nobody
      void this.extensionsChanged();
      // Longer up than a crash loop would be: the next failure starts counting anew.
      this.timer = setTimeout(() => { this.failures = 0; }, 60_000);
      this.sessions.refresh();
      void this.sessions.offerResume();
    } catch (e) {
      this.failed(`the server did not start: ${e instanceof Error ? e.message : String(e)}`);
    }
  }

  /** The settings changed: the server gets its own sections, not this extension's. */
  async settingsChanged(): Promise<void> {
    if (this.client?.isRunning() !== true) return;
    const settings = vscode.workspace.getConfiguration('stella').get<object>('settings', {});
    await this.client.sendNotification('workspace/didChangeConfiguration', { settings: { stella: settings } });
    this.trace.settingChanged();
  }

  /** Other extensions came or went: the server keeps quiet where they answer. */
  async extensionsChanged(): Promise<void> {
    const languages = elsewhere((id) => vscode.extensions.getExtension(id) !== undefined);
    const now = JSON.stringify(languages);
    if (now === this.elsewhere || this.client?.isRunning() !== true) return;
    this.elsewhere = now;
    this.log.info(`other extensions answer for: ${languages.join(', ') || 'nothing'}`);
    await this.client.sendNotification(Method.graphElsewhere, { languages });
  }

  private options(library: typeof import('vscode-languageclient/node')): LanguageClientOptions {
    const conf = vscode.workspace.getConfiguration('stella');
    return {
      documentSelector: [{ scheme: 'file' }, { scheme: 'untitled' }],
      initializationOptions: { trusted: vscode.workspace.isTrusted, settings: conf.get<object>('settings', {}) },
      outputChannel: this.log,
      traceOutputChannel: this.trace,
      errorHandler: {
        error: () => ({ action: library.ErrorAction.Continue }),
        // Restarting is ours: with back-off, one at a time, and a button at the end.
        closed: () => {
          this.lost();
          return { action: library.CloseAction.DoNotRestart, handled: true };
        },
      },
    };
  }

  /** The server went away without being asked to. */
  private lost(): void {
    this.questions.lost();
    this.sessions.lost();
    this.guarded.clear();
    if (this.stopped) return;
    const wait = backOff(++this.failures);
    if (wait === undefined) {
      this.failed('the server keeps stopping');
      return;
    }
    this.status.set({ problem: 'server stopped, restarting' });
    this.log.warn(`the server stopped; starting it again in ${wait} ms (${this.failures})`);
    this.timer = setTimeout(() => void this.start(), wait);
  }

  private failed(why: string): void {
    this.log.error(why);
    this.status.set({ problem: 'not running', starting: false });
    void vscode.window.showErrorMessage(`Stella: ${why}`, 'Restart', 'Show Log').then((a) => {
      if (a === 'Restart') void this.restart();
      if (a === 'Show Log') this.log.show();
    });
  }

  /** The running client, or undefined after telling the person. */
  async ready(): Promise<LanguageClient | undefined> {
    if (this.client?.isRunning() !== true) await this.start();
    if (this.client?.isRunning() === true) return this.client;
    return undefined;
  }

  private async stopClient(): Promise<void> {
    clearTimeout(this.timer);
    const c = this.client;
    this.client = undefined;
    if (!c) return;
    this.stopped = true;
    try {
      if (c.isRunning()) await c.stop(2000);
      await c.dispose();
    } catch (e) {
      this.log.warn(`stopping the server: ${String(e)}`);
    } finally {
      this.stopped = false;
    }
  }

  async stop(): Promise<void> {
    await this.stopClient();
  }

  dispose(): void {
    clearTimeout(this.timer);
    this.guarded.dispose();
    this.status.dispose();
    this.stamps.dispose();
    this.changes.dispose();
    this.sessions.dispose();
    this.log.dispose();
    this.trace.dispose();
  }
}

const capabilities: StaticFeature = {
  fillClientCapabilities(c) {
    const experimental = (c.experimental ?? {}) as Record<string, unknown>;
    c.experimental = { ...experimental, stella: { applyEdit: true, diagnostics: true, permission: true } };
  },
  initialize() { /* nothing to register */ },
  getState() { return { kind: 'static' }; },
  clear() { /* nothing was kept */ },
};
