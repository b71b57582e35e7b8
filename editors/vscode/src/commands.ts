// Every command. They exist at once and say so while the server is down.
import * as vscode from 'vscode';
import { execFile } from 'node:child_process';
import { findServer } from './bootstrap';
import { nameOf, type Change } from './changes';
import type { Ctx } from './ctx';
import { Method, type AskParams, type ContextItem } from './protocol';
import { questionSummary } from './text';

/** Where a command without arguments was called: the selection in the active editor. */
function here(): { uri: vscode.Uri; selection: vscode.Selection; symbol: string } | undefined {
  const e = vscode.window.activeTextEditor;
  if (!e) return undefined;
  const word = e.document.getWordRangeAtPosition(e.selection.active);
  return { uri: e.document.uri, selection: e.selection, symbol: word ? e.document.getText(word) : '' };
}

function place(a: AskParams | undefined): ContextItem[] | undefined {
  if (a?.uri) return [{ uri: a.uri, ...(a.range && !isEmpty(a.range) ? { range: a.range } : {}) }];
  const h = here();
  if (!h || h.uri.scheme !== 'file') return undefined;
  return [{ uri: h.uri.toString(), ...(h.selection.isEmpty ? {} : { range: plain(h.selection) }) }];
}

function isEmpty(r: { start: { line: number; character: number }; end: { line: number; character: number } }): boolean {
  return r.start.line === r.end.line && r.start.character === r.end.character;
}

function plain(r: vscode.Range): NonNullable<AskParams['range']> {
  return { start: { line: r.start.line, character: r.start.character }, end: { line: r.end.line, character: r.end.character } };
}

function subject(a: AskParams | undefined): string {
  if (a?.range && !isEmpty(a.range)) return 'the selected code';
  const symbol = a?.symbol ?? here()?.symbol ?? '';
  if (!a && here()?.selection.isEmpty === false) return 'the selected code';
  return symbol === '' ? 'this code' : `\`${symbol}\``;
}

export function registerCommands(ctx: Ctx): vscode.Disposable[] {
  const on = (name: string, run: (...args: never[]) => unknown): vscode.Disposable => vscode.commands.registerCommand(`stella.${name}`, run);
  return [
    on('ask', async (a?: AskParams) => {
      const at = place(a); // before the input box takes the focus
      const text = a?.text ?? await vscode.window.showInputBox({ title: `Ask Stella about ${subject(a)}`, prompt: 'What should it do?', ignoreFocusOut: true });
      return text ? ctx.sessions.ask(text, at) : undefined;
    }),
    on('explain', (a?: AskParams) => ctx.sessions.ask(`Explain ${subject(a)}: what it does, why it is there, and what to know before changing it. Change no file.`, place(a))),
    on('writeTests', (a?: AskParams) => ctx.sessions.ask(`Write tests for ${subject(a)}, in the style and place of the tests that are there.`, place(a))),
    on('fix', (a?: AskParams) => fix(ctx, a)),
    on('cancel', () => ctx.sessions.cancel()),
    on('newSession', () => ctx.sessions.fresh()),
    on('resume', (id?: string) => (typeof id === 'string' ? ctx.sessions.resume(id, false) : ctx.sessions.pick())),
    on('undo', () => ctx.sessions.undo()),
    on('answer', () => ctx.questions.pick()),
    on('changes', () => pickChange(ctx)),
    on('changes.show', (c: Change) => ctx.changes.show(c)),
    on('changes.undo', (c: Change) => ctx.changes.undo(c)),
    on('changes.keep', (c: Change) => ctx.changes.keep(c)),
    on('changes.refresh', () => ctx.changes.refresh()),
    on('replan', () => ctx.sessions.ask('The last write was refused because the file changed. Read it again and plan the change against what is there now.')),
    on('showSeen', (uri?: vscode.Uri) => {
      const at = uri ?? here()?.uri;
      return at ? ctx.sessions.showSeen(at) : undefined;
    }),
    on('guarded', () => pickGuarded(ctx)),
    on('transcript', () => ctx.sessions.panel.show()),
    on('menu', () => menu(ctx)),
    on('restart', () => ctx.restart()),
    on('doctor', () => doctor(ctx)),
    on('showLog', () => ctx.log.show()),
    // Only with the server's --test-hooks: lets a waiting scripted model go on.
    on('test.release', (name = 'typed') => ctx.client?.sendRequest(Method.testRelease, { name })),
  ];
}

async function fix(ctx: Ctx, a?: AskParams): Promise<unknown> {
  const h = here();
  const found = a?.message ?? (h ? vscode.languages.getDiagnostics(h.uri).find((d) => d.range.contains(h.selection.active))?.message : undefined);
  if (found === undefined) {
    void vscode.window.showInformationMessage('Stella: no diagnostic here.');
    return undefined;
  }
  const line = a?.range ? ` on line ${a.range.start.line + 1}` : h ? ` on line ${h.selection.active.line + 1}` : '';
  return ctx.sessions.ask(`Fix this${line}: ${found}`, place(a));
}

async function pickGuarded(ctx: Ctx): Promise<void> {
  const picked = await vscode.window.showQuickPick(
    ctx.guarded.all().map((f) => ({
      label: `${f.state === 'stale' ? '$(warning) ' : '$(eye) '}${vscode.workspace.asRelativePath(vscode.Uri.parse(f.uri))}`,
      description: f.state, detail: f.changedBy.join(', '), f,
    })),
    { title: 'Files that sessions have seen' },
  );
  if (!picked) return;
  const uri = vscode.Uri.parse(picked.f.uri);
  if (picked.f.state === 'stale') await ctx.sessions.showSeen(uri);
  else await vscode.window.showTextDocument(uri);
}

async function pickChange(ctx: Ctx): Promise<void> {
  const list = await ctx.changes.list();
  if (list.length === 0) {
    void vscode.window.showInformationMessage('Stella: no session has changed anything that was not taken back or kept.');
    return;
  }
  const picked = await vscode.window.showQuickPick(
    list.map((c) => ({ label: `$(diff) ${nameOf(c)}`, description: c.undoable ? '' : 'cannot be undone as it stands', c })),
    { title: 'Files that the session changed' },
  );
  if (picked) await ctx.changes.show(picked.c);
}

async function menu(ctx: Ctx): Promise<void> {
  const s = ctx.status.counts;
  const items: (vscode.QuickPickItem & { command: string })[] = [];
  for (const q of ctx.questions.waiting.slice(0, 1)) items.push({ label: `$(question) Answer: ${q.title}`, description: questionSummary(q), command: 'stella.answer' });
  if (s.problem !== undefined) items.push({ label: '$(refresh) Restart the server', description: s.problem, command: 'stella.restart' });
  if (s.running) items.push({ label: '$(debug-stop) Stop the running turn', description: `step ${s.step}`, command: 'stella.cancel' });
  items.push(
    { label: '$(comment-discussion) Ask…', command: 'stella.ask' },
    { label: '$(list-unordered) Show the transcript', command: 'stella.transcript' },
    { label: '$(eye) Guarded files…', description: `${s.fresh} fresh, ${s.stale} stale`, command: 'stella.guarded' },
    { label: '$(history) Resume a session…', command: 'stella.resume' },
    { label: '$(diff) Changes of the session…', command: 'stella.changes' },
    { label: '$(discard) Undo the last turn', command: 'stella.undo' },
    { label: '$(output) Show the log', command: 'stella.showLog' },
  );
  const picked = await vscode.window.showQuickPick(items, { title: 'Stella' });
  if (picked) await vscode.commands.executeCommand(picked.command);
}

async function doctor(ctx: Ctx): Promise<void> {
  try {
    const b = await findServer(ctx.extension, ctx.log);
    execFile(b.command, ['doctor'], { timeout: 20_000, cwd: vscode.workspace.workspaceFolders?.[0]?.uri.fsPath }, (_e, out, err) => {
      ctx.log.info(`doctor:\n${out}${err}`);
      ctx.log.show();
    });
  } catch (e) {
    void vscode.window.showErrorMessage(`Stella: ${e instanceof Error ? e.message : String(e)}`);
  }
}
