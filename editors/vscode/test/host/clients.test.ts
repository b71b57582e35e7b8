// What this VS Code does, compared with its column in docs/clients.md.
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { after, before, describe, it } from 'mocha';
import * as vscode from 'vscode';
import { Applier, DiskStamps } from '../../src/apply';
import type { Api } from '../../src/extension';
import type { ApplyEditParams, ApplyEditResult, Range } from '../../src/protocol';
import { sha256 } from '../../src/text';

const root = vscode.workspace.workspaceFolders?.[0]?.uri.fsPath ?? '';
const extension = vscode.extensions.getExtension<Api>('stella-ls.stella-ls');
const want = new Map<string, string>();
let seen = 0;
let n = 0;
let stamps: DiskStamps;
let applier: Applier;
let plainApply: (p: unknown) => Promise<{ applied: boolean }>;

function row(name: string, got: string): void {
  seen++;
  assert.ok(want.has(name), `docs/clients.md has no row ${name}`);
  assert.equal(got, want.get(name), name);
}

async function until(cond: () => boolean | Promise<boolean>): Promise<void> {
  for (const end = Date.now() + 30_000; !(await cond());) {
    if (Date.now() > end) throw new Error('timed out');
    await new Promise((r) => setTimeout(r, 5));
  }
}

async function open(bytes: string | Buffer): Promise<{ doc: vscode.TextDocument; file: string; editor: vscode.TextEditor }> {
  const file = path.join(root, `client-${++n}.txt`);
  writeFileSync(file, bytes);
  const doc = await vscode.workspace.openTextDocument(vscode.Uri.file(file));
  const editor = await vscode.window.showTextDocument(doc);
  await until(() => stamps.obstacle(doc) === undefined);
  return { doc, file, editor };
}

const first: Range = { start: { line: 0, character: 0 }, end: { line: 0, character: 3 } };
const ours = (doc: vscode.TextDocument, save = false): ApplyEditParams =>
  ({ uri: doc.uri.toString(), version: doc.version, sha256: sha256(doc.getText()), edits: [{ range: first, newText: 'uno' }], save, label: 'test' });
const why = (r: ApplyEditResult): string => `refused: ${r.reason ?? 'not at all'}`;

async function plain(doc: vscode.TextDocument, version: number): Promise<string> {
  const before = doc.getText();
  const { applied } = await plainApply({ edit: { documentChanges: [{
    textDocument: { uri: doc.uri.toString(), version },
    edits: [{ range: { start: { line: 0, character: 0 }, end: { line: 0, character: 0 } }, newText: 'X' }],
  }] } });
  return `answers ${applied ? 'applied' : 'not applied'}, text ${doc.getText() === before ? 'unchanged' : 'changed'}`;
}

/** Opens bytes, changes "one" to "uno" by our edit, and saves as asked. */
async function saved(bytes: string | Buffer, save = true): Promise<{ shown: string; disk: Buffer; doc: vscode.TextDocument }> {
  const { doc, file } = await open(bytes);
  const shown = doc.getText();
  const r = await applier.apply(ours(doc, save));
  assert.deepEqual([r.applied, r.saved], [true, save], JSON.stringify(r));
  if (!save) assert.ok(await doc.save());
  return { shown, disk: readFileSync(file), doc };
}

describe('docs/clients.md', () => {
  before(async () => {
    assert.ok(extension);
    const { ctx } = await extension.activate();
    await until(() => ctx.client?.isRunning() === true);
    const client = ctx.client as unknown as { handleApplyWorkspaceEdit(p: unknown): Promise<{ applied: boolean }> };
    plainApply = (p) => client.handleApplyWorkspaceEdit(p);
    stamps = new DiskStamps();
    applier = new Applier({ protocol2CodeConverter: {
      asUri: (s: string) => vscode.Uri.parse(s),
      asRange: (r: Range) => new vscode.Range(r.start.line, r.start.character, r.end.line, r.end.character),
    } } as never, stamps);
    const page = readFileSync(path.join(extension.extensionPath, '../../docs/clients.md'), 'utf8');
    let column = -1;
    for (const line of page.split('\n').filter((l) => l.startsWith('| '))) {
      const cells = line.slice(1, line.lastIndexOf('|')).split('|').map((c) => c.trim());
      if (column < 0) column = cells.indexOf('VS Code');
      else want.set(cells[0] ?? '', cells[column] ?? '');
    }
  });
  after(() => stamps.dispose());

  it('plain edits', async () => {
    const { doc, editor } = await open('one\n');
    row('version in didOpen', String(doc.version));
    await editor.edit((b) => b.insert(new vscode.Position(0, 0), 'a'));
    const old = doc.version;
    await editor.edit((b) => b.insert(new vscode.Position(0, 0), 'b'));
    row('plain, edit for an older version', await plain(doc, old));
    row('plain, edit for the present version', await plain(doc, doc.version));
    row('plain, edit for version 0', await plain(doc, 0));
    const closed = path.join(root, 'closed-plain.txt');
    writeFileSync(closed, 'one\n');
    const { applied } = await plainApply({ edit: { documentChanges: [{
      textDocument: { uri: vscode.Uri.file(closed).toString(), version: null },
      edits: [{ range: { start: { line: 0, character: 0 }, end: { line: 0, character: 0 } }, newText: 'X' }],
    }] } });
    const opened = (): boolean => vscode.workspace.textDocuments.some((d) => d.uri.fsPath === closed && d.getText() === 'Xone\n' && d.isDirty);
    await until(opened).catch(() => undefined);
    row('plain, edit for a closed file (version null)', `answers ${applied ? 'applied' : 'not applied'}, ` +
      (readFileSync(closed, 'utf8') === 'one\n' ? (opened() ? 'opened with the change unsaved' : 'unchanged') : 'changed on disk'));
  });

  it('our edits', async () => {
    const { doc, editor } = await open('one\n');
    const p = ours(doc);
    await editor.edit((b) => b.insert(new vscode.Position(0, 0), 'mine'));
    row('ours, edit for an older text', why(await applier.apply(p)));
    await editor.edit((b) => b.delete(new vscode.Range(0, 0, 0, 4)));
    row('ours, same text at an older version', why(await applier.apply(p)));
    row('ours, a closed buffer', why(await applier.apply({ ...p, uri: vscode.Uri.file(path.join(root, 'closed.txt')).toString() })));
  });

  it('bytes', async () => {
    let s = await saved('\uFEFFone\n');
    row('BOM', `${s.shown === 'one\n' ? 'not in the text' : 'in the text'}; ${s.disk.toString() === '\uFEFFuno\n' ? 'kept' : 'lost'} by the save`);
    s = await saved('one\r\ntwo\r\n');
    row('CRLF', `${s.shown === 'one\r\ntwo\r\n' ? 'in the text' : 'not in the text'}; ${s.disk.toString() === 'uno\r\ntwo\r\n' ? 'kept' : 'lost'} by the save`);
    s = await saved('one\r\ntwo\nthree\r\n', false);
    row('mixed line ends', `${s.shown === 'one\r\ntwo\nthree\r\n' ? 'as they are' : 'unified in the text'}; ${s.disk.toString() === 'uno\r\ntwo\nthree\r\n' ? 'kept' : 'unified'} by the save`);
    s = await saved(Buffer.from('one\ncaf\xe9\n', 'latin1'), false);
    row('Latin-1', `${s.shown === 'one\ncafé\n' ? 'decoded' : 'replacement characters'}; ${s.disk.equals(Buffer.from('uno\ncaf\xe9\n', 'latin1')) ? 'kept' : 'destroyed'} by the save`);
    s = await saved('one\ntwo');
    row('no final newline, saved by us', s.disk.toString() === 'uno\ntwo' ? 'kept' : 'added');
  });

  it('saves', async () => {
    const a = await open('one');
    await a.editor.edit((b) => b.insert(new vscode.Position(0, 0), 'x'));
    assert.ok(await a.doc.save());
    row('no final newline, saved by the person', readFileSync(a.file, 'utf8') === 'xone' ? 'kept' : 'added on disk');
    const b = await open('one\n');
    writeFileSync(b.file, 'theirs, longer\n');
    const r = await applier.apply(ours(b.doc, true));
    row('our save over a changed disk', !r.saved && readFileSync(b.file, 'utf8') === 'theirs, longer\n' ? 'not saved' : 'saved');
  });

  it('has no row that was not seen', () => assert.equal(seen, want.size));
});
