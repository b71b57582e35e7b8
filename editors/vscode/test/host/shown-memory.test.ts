// Hover in a real extension host with the built server: the memory that cites a
// symbol is shown with its id and how often sessions cited it, and marked once
// it is quarantined.
import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { after, before, describe, it } from 'mocha';
import * as vscode from 'vscode';
import type { Api } from '../../src/extension';

const root = vscode.workspace.workspaceFolders?.[0]?.uri.fsPath ?? '';
const id = 'nod_d8e68b0b69512e3d25f0a6cc'; // of memory://port
const file = path.join(root, 'deploy', 'proxy.py');
let api: Api;
let settings: unknown;
let session = '';

async function until(what: string, cond: () => boolean | Promise<boolean>, ms = 60_000): Promise<void> {
  for (const end = Date.now() + ms; !(await cond());) {
    if (Date.now() > end) throw new Error(`timed out: ${what}`);
    await new Promise((r) => setTimeout(r, 20));
  }
}

function write(name: string, text: string): void {
  mkdirSync(path.dirname(name), { recursive: true });
  writeFileSync(name, text);
}

const cite = (score: number, truthful: boolean): string =>
  `  - calls: [{tool: cite_memory, input: {memory_id: ${id}, useful_score: ${String(score)}, truthful: ${String(truthful)}, remark: "looked at the proxy"}}]\n  - text: Over.\n`;

async function prompt(): Promise<void> {
  const r = await api.ctx.client?.sendRequest<{ stop: string; error?: string }>('stella/session/prompt', { sessionId: session, text: 'look at the proxy' });
  assert.equal(r?.stop, 'end_turn', r?.error);
}

async function hover(): Promise<string> {
  const found = await vscode.commands.executeCommand<vscode.Hover[]>('vscode.executeHoverProvider', vscode.Uri.file(file), new vscode.Position(0, 6));
  return found.flatMap((x) => x.contents).map((c) => (typeof c === 'string' ? c : c.value)).join('\n');
}

describe('memories in the hover', () => {
  before(async () => {
    const ext = vscode.extensions.getExtension<Api>('stella-ls.stella-ls');
    assert.ok(ext, 'the extension is there');
    api = await ext.activate();
    await until('the server runs', () => api.ctx.client?.isRunning() === true);
    write(file, 'def start_proxy():\n    return 8080\n');
    write(path.join(root, '.stella', 'memories', 'port.md'), 'The staging proxy listens on port 8080 (start_proxy in deploy/proxy.py).\n');
    const script = path.join(path.dirname(root), 'memories.yaml');
    write(script, `turns:\n${cite(5, true)}${cite(4, true)}${cite(1, false)}${cite(1, false)}`);
    const all = vscode.workspace.getConfiguration('stella');
    settings = all.inspect('settings')?.globalValue;
    await all.update('settings', { model: { provider: 'script', script } }, vscode.ConfigurationTarget.Global);
    await vscode.window.showTextDocument(await vscode.workspace.openTextDocument(vscode.Uri.file(file)));
    // The new settings reach the server behind the update; a session that starts
    // with the old script, which has no turns, fails at its first prompt.
    await until('a session with the new script', async () => {
      const r = await api.ctx.client?.sendRequest<{ sessionId: string }>('stella/session/start', { title: 'memories' });
      session = r?.sessionId ?? '';
      try {
        await prompt();
        return true;
      } catch {
        return false;
      }
    });
  });

  after(async () => {
    await vscode.workspace.getConfiguration('stella').update('settings', settings, vscode.ConfigurationTarget.Global);
  });

  it('shows the memory that cites the symbol, and its citations', async () => {
    let text = await hover();
    assert.ok(text.includes(id) && text.includes('cited once'), text);
    await prompt();
    text = await hover();
    assert.ok(text.includes(id) && text.includes('cited 2 times'), text);
    assert.ok(text.includes('looked at the proxy'), text);
  });

  it('marks a quarantined one', async () => {
    await prompt();
    const once = await hover();
    assert.ok(once.includes(id) && !once.includes('quarantined'), once);
    await prompt();
    const text = await hover();
    assert.ok(text.includes(id) && text.includes('~~') && text.includes('quarantined'), text);
  });
});
