// The extension with the built server, inside a real extension host.
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { before, describe, it } from 'mocha';
import * as vscode from 'vscode';
import type { Api } from '../../src/extension';

const root = vscode.workspace.workspaceFolders?.[0]?.uri.fsPath ?? '';
let api: Api;

async function until(what: string, cond: () => boolean | Promise<boolean>, ms = 30_000): Promise<void> {
  for (const end = Date.now() + ms; !(await cond());) {
    if (Date.now() > end) throw new Error(`timed out: ${what}`);
    await new Promise((r) => setTimeout(r, 10));
  }
}

describe('the server in the extension', () => {
  before(async () => {
    const ext = vscode.extensions.getExtension<Api>('stella-ls.stella-ls');
    assert.ok(ext, 'the extension is there');
    api = await ext.activate();
    await until('the server runs', () => api.ctx.client?.isRunning() === true);
  });

  it('says so in the status item', () => {
    assert.equal(api.ctx.status.text, '$(eye) stella: idle');
  });

  it('offers code actions where they are asked for', async () => {
    const file = path.join(root, 'actions.py');
    writeFileSync(file, 'def price(tier):\n    return 80\n');
    const doc = await vscode.workspace.openTextDocument(vscode.Uri.file(file));
    await vscode.window.showTextDocument(doc);
    let titles: string[] = [];
    await until('code actions', async () => {
      const actions = await vscode.commands.executeCommand<vscode.CodeAction[]>('vscode.executeCodeActionProvider', doc.uri, new vscode.Range(0, 4, 0, 4));
      titles = actions.map((a) => a.title);
      return titles.some((t) => t.startsWith('Ask Stella'));
    }).catch((e: unknown) => { throw new Error(`${String(e)}; offered: ${titles.join(' | ')}`); });
    assert.ok(titles.some((t) => t.startsWith('Explain')), titles.join(' | '));
    assert.ok(titles.some((t) => t.startsWith('Write tests')), titles.join(' | '));
  });

  it('lists sessions', async () => {
    assert.deepEqual(await api.ctx.sessions.list(), []);
  });

  it('starts again when the server dies, and documents are announced again', async () => {
    const client = api.ctx.client as unknown as { _serverProcess?: { pid?: number; kill(s: string): void } };
    const pid = client._serverProcess?.pid;
    assert.ok(pid, 'the server is a child process');
    process.kill(pid, 'SIGKILL');
    await until('restart', () => {
      const c = api.ctx.client as unknown as { _serverProcess?: { pid?: number } } | undefined;
      return c !== undefined && api.ctx.client?.isRunning() === true && c._serverProcess?.pid !== pid;
    });
    await until('status', () => api.ctx.status.text === '$(eye) stella: idle');
  });
});
