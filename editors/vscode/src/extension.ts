// The extension is thin: what a session does is decided in the server. This side
// shows it, answers questions, and applies edits by compare-and-set.
import * as vscode from 'vscode';
import { registerCommands } from './commands';
import { Ctx } from './ctx';

let ctx: Ctx | undefined;

/** What activate returns, for tests and other extensions. */
export interface Api {
  ctx: Ctx;
  /** Processor time of loading and activating in ms; undefined on a Node.js that cannot tell it for one thread. */
  activation: number | undefined;
}

interface CpuTime { user: number; system: number } // microseconds
const cpu = (process as { threadCpuUsage?: (since?: CpuTime) => CpuTime }).threadCpuUsage;
const used = (since: CpuTime | undefined): number => {
  const t = cpu && since ? cpu.call(process, since) : undefined;
  return t ? (t.user + t.system) / 1000 : NaN;
};
const began = (globalThis as { stellaLoadBegan?: CpuTime }).stellaLoadBegan; // the bundle's first statement
const loading = used(began); // all that it imports at once has run

export function activate(context: vscode.ExtensionContext): Promise<Api> {
  const from = cpu?.call(process);
  ctx = new Ctx(context);
  const c = ctx;
  context.subscriptions.push(c, ...registerCommands(c));
  context.subscriptions.push(vscode.workspace.onDidGrantWorkspaceTrust(() => void c.restart()));
  context.subscriptions.push(vscode.workspace.onDidChangeConfiguration((e) => {
    if (e.affectsConfiguration('stella.server')) void c.restart();
    else if (e.affectsConfiguration('stella')) void c.settingsChanged();
  }));
  context.subscriptions.push(vscode.extensions.onDidChange(() => void c.extensionsChanged()));
  void c.start(); // activation does not wait for the server; commands do
  const spent = loading + used(from); // what the editor does in between is not ours
  const activation = Number.isNaN(spent) ? undefined : spent;
  if (activation !== undefined) c.log.info(`activated in ${activation.toFixed(0)} ms of processor time`);
  return Promise.resolve({ ctx: c, activation });
}

export async function deactivate(): Promise<void> {
  await ctx?.stop();
}
