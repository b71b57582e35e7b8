// stella/applyEdit inside a real extension host: no lost character, no false
// "applied", nobody's bytes on disk overwritten.
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { after, before, describe, it } from 'mocha';
import * as vscode from 'vscode';
import { Applier, DiskStamps } from '../../src/apply';
import type { ApplyEditParams, Range } from '../../src/protocol';
import { sha256 } from '../../src/text';

const converter = {
  asUri: (s: string) => vscode.Uri.parse(s),
  asRange: (r: Range) => new vscode.Range(r.start.line, r.start.character, r.end.line, r.end.character),
};
const root = vscode.workspace.workspaceFolders?.[0]?.uri.fsPath ?? '';
const at = (l1: number, c1: number, l2: number, c2: number): Range => ({ start: { line: l1, character: c1 }, end: { line: l2, character: c2 } });

let stamps: DiskStamps;
let applier: Applier;
before(() => {
  stamps = new DiskStamps();
  applier = new Applier({ protocol2CodeConverter: converter } as never, stamps);
});
after(() => stamps.dispose());

async function open(name: string, bytes: string | Buffer): Promise<{ doc: vscode.TextDocument; editor: vscode.TextEditor; file: string }> {
  const file = path.join(root, name);
  writeFileSync(file, bytes);
  const doc = await vscode.workspace.openTextDocument(vscode.Uri.file(file));
  const editor = await vscode.window.showTextDocument(doc);
  await until(() => stamps.obstacle(doc) === undefined);
  return { doc, editor, file };
}

async function until(cond: () => boolean | Promise<boolean>, ms = 20_000): Promise<void> {
  for (const end = Date.now() + ms; !(await cond());) {
    if (Date.now() > end) throw new Error('timed out');
    await new Promise((r) => setTimeout(r, 5));
  }
}

function params(doc: vscode.TextDocument, edits: { range: Range; newText: string }[], save = false): ApplyEditParams {
  return { uri: doc.uri.toString(), version: doc.version, sha256: sha256(doc.getText()), edits, save, label: 'test' };
}

describe('stella/applyEdit', () => {
  it('applies and saves', async () => {
    const { doc, file } = await open('a.txt', 'one\ntwo 😀 x\nthree\n');
    const r = await applier.apply(params(doc, [{ range: at(1, 7, 1, 8), newText: 'y' }], true));
    assert.deepEqual([r.applied, r.saved], [true, true], JSON.stringify(r));
    assert.equal(readFileSync(file, 'utf8'), 'one\ntwo 😀 y\nthree\n');
    assert.equal(r.sha256_applied, sha256('one\ntwo 😀 y\nthree\n'));
    assert.equal(r.sha256_after, r.sha256_applied);
  });

  it('refuses a text it was not computed from, and changes nothing', async () => {
    const { doc, editor, file } = await open('b.txt', 'one\n');
    const p = params(doc, [{ range: at(0, 0, 0, 3), newText: 'uno' }], true);
    await editor.edit((b) => b.insert(new vscode.Position(0, 0), 'mine\n'));
    const r = await applier.apply(p);
    assert.deepEqual([r.applied, r.reason], [false, 'content']);
    assert.equal(doc.getText(), 'mine\none\n');
    assert.equal(readFileSync(file, 'utf8'), 'one\n');
  });

  it('same text, newer version', async () => {
    const { doc, editor } = await open('c.txt', 'one\n');
    const p = params(doc, [{ range: at(0, 0, 0, 3), newText: 'uno' }]);
    await editor.edit((b) => b.insert(new vscode.Position(0, 0), 'x'));
    await editor.edit((b) => b.delete(new vscode.Range(0, 0, 0, 1)));
    const r = await applier.apply(p);
    assert.deepEqual([r.applied, r.reason], [false, 'version']);
  });

  it('typing while the edit is on its way to the workbench wins', async () => {
    const { doc, editor } = await open('d.txt', 'one\n');
    for (let i = 0; i < 30; i++) {
      const p = params(doc, [{ range: at(0, 0, 0, 0), newText: `<e${i}>` }]);
      const typing = editor.edit((b) => b.insert(new vscode.Position(0, 0), `[t${i}]`), { undoStopBefore: false, undoStopAfter: false });
      const r = await applier.apply(p); // the typing was sent first
      const typed = await typing;
      const text = doc.getText();
      assert.equal(text.includes(`[t${i}]`), typed, 'typing');
      assert.equal(text.includes(`<e${i}>`), r.applied, `round ${i}: ${JSON.stringify(r)} ${text}`);
    }
  });

  it('a document with unsaved changes is not saved', async () => {
    const { doc, editor, file } = await open('e.txt', 'one\n');
    await editor.edit((b) => b.insert(new vscode.Position(0, 0), 'mine\n'));
    const r = await applier.apply(params(doc, [{ range: at(1, 0, 1, 3), newText: 'uno' }], true));
    assert.deepEqual([r.applied, r.saved], [true, false]);
    assert.match(r.save_reason ?? '', /unsaved/);
    assert.equal(readFileSync(file, 'utf8'), 'one\n');
    assert.equal(doc.isDirty, true);
  });

  it('a save never overrides what came to the disk', async () => {
    const { doc, file } = await open('f.txt', 'one\n');
    const p = params(doc, [{ range: at(0, 0, 0, 3), newText: 'uno' }], true);
    writeFileSync(file, 'theirs, longer\n');
    const r = await applier.apply(p);
    if (r.applied) {
      assert.equal(r.saved, false, JSON.stringify(r));
    } else { // the workbench had already taken the new text over
      assert.ok(r.reason === 'content' || r.reason === 'version');
    }
    assert.equal(readFileSync(file, 'utf8'), 'theirs, longer\n');
  });

  it('bytes that nobody touched survive', async () => {
    for (const [name, before, afterwards] of [
      ['dos.txt', 'one\r\ntwo\r\n', 'uno\r\ntwo\r\n'],
      ['noeol.txt', 'one\ntwo', 'uno\ntwo'],
      ['bom.txt', '\uFEFFone\ntwo\n', '\uFEFFuno\ntwo\n'],
    ] as const) {
      const { doc, file } = await open(name, before);
      const r = await applier.apply(params(doc, [{ range: at(0, 0, 0, 3), newText: 'uno' }], true));
      assert.deepEqual([r.applied, r.saved], [true, true], `${name} ${JSON.stringify(r)}`);
      assert.equal(readFileSync(file, 'utf8'), afterwards, name);
      assert.equal(r.sha256_after, sha256(doc.getText()), name);
    }
  });

  it('closed documents say so', async () => {
    const r = await applier.apply({ uri: vscode.Uri.file(path.join(root, 'none.txt')).toString(), version: 1, sha256: '', edits: [], save: false, label: '' });
    assert.deepEqual([r.applied, r.reason], [false, 'closed']);
  });
});
