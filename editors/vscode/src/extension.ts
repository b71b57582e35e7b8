// The extension is thin: what a session does is decided in the server. This side
// shows it, answers questions, and applies edits by compare-and-set.
import * as vscode from 'vscode';
import { registerCommands } from './commands';
import { Ctx } from './ctx';

let ctx: Ctx | undefined;

/** What activate returns, for tests and other extensions. */
export interface Api { ctx: Ctx }

export async function activate(context: vscode.ExtensionContext): Promise<Api> {
  ctx = new Ctx(context);
  const c = ctx;
  context.subscriptions.push(c, ...registerCommands(c));
  context.subscriptions.push(vscode.workspace.onDidGrantWorkspaceTrust(() => void c.restart()));
  context.subscriptions.push(vscode.workspace.onDidChangeConfiguration((e) => {
    if (e.affectsConfiguration('stella.server')) void c.restart();
    else if (e.affectsConfiguration('stella')) void c.settingsChanged();
  }));
  await c.start();
  return { ctx: c };
}

export async function deactivate(): Promise<void> {
  await ctx?.stop();
}
