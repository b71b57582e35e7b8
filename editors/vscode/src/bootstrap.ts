// Finds the server's binary and checks that it runs.
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import path from 'node:path';
import { promisify } from 'node:util';
import * as vscode from 'vscode';

export interface Binary { command: string; args: string[] }

/**
 * In this order: the setting (trusted workspaces only), the binary inside the
 * extension, the PATH (trusted only). Every step is logged. Throws with words
 * that say what to do.
 */
export async function findServer(context: vscode.ExtensionContext, log: vscode.LogOutputChannel): Promise<Binary> {
  const conf = vscode.workspace.getConfiguration('stella');
  const trusted = vscode.workspace.isTrusted;
  const exe = process.platform === 'win32' ? 'stella-ls.exe' : 'stella-ls';
  const candidates: { from: string; command: string }[] = [];
  const set = conf.get<string>('server.path', '');
  if (set !== '' && trusted) candidates.push({ from: 'setting stella.server.path', command: set });
  else if (set !== '') log.info('stella.server.path is not used: the workspace is not trusted');
  const bundled = path.join(context.extensionPath, 'server', exe);
  if (existsSync(bundled)) candidates.push({ from: 'inside the extension', command: bundled });
  if (trusted) candidates.push({ from: 'PATH', command: exe });
  const problems: string[] = [];
  for (const c of candidates) {
    try {
      const { stdout } = await promisify(execFile)(c.command, ['--version'], { timeout: 10_000 });
      log.info(`server: ${c.command} (${c.from}): ${stdout.trim()}`);
      return { command: c.command, args: ['serve', '--stdio', ...(trusted ? conf.get<string[]>('server.extraArgs', []) : [])] };
    } catch (e) {
      const why = e instanceof Error ? e.message : String(e);
      log.warn(`not ${c.command} (${c.from}): ${why}`);
      problems.push(`${c.command} (${c.from}): ${why}`);
      if (c.command === set) break; // what was asked for by name is not replaced behind the person's back
    }
  }
  throw new Error(`no server that runs was found. Install it with \`make install\`, or set stella.server.path. ${problems.join('; ')}`);
}
