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
  await until(async () => (await stamps.obstacle(doc)) === undefined);
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

  it('random interleavings: no lost character, no false answer', async () => {
    const rounds = Number(process.env['STELLA_ROUNDS'] ?? '1500');
    let seed = 7;
    const random = (n: number): number => { seed = (seed * 1103515245 + 12345) % 2147483648; return Math.floor(seed / 65536) % n; };
    const { doc, editor, file } = await open('race.txt', 'l1\nl2 😀\nl3\n');
    const formatter = vscode.workspace.onWillSaveTextDocument((e) => {
      if (e.document !== doc || random(3) > 0) return;
      const edits: vscode.TextEdit[] = [];
      for (let i = 0; i < doc.lineCount; i++) {
        const l = doc.lineAt(i);
        const end = l.text.replace(/\s+$/, '').length;
        if (end < l.text.length) edits.push(vscode.TextEdit.delete(new vscode.Range(i, end, i, l.text.length)));
      }
      e.waitUntil(Promise.resolve(edits));
    });
    let done = 0, applied = 0, refused = 0, saved = 0, unsaved = 0, formatted = 0;
    try {
      const end = Date.now() + 120_000; // a slow machine makes fewer, never too few to mean something
      for (let n = 1; n <= rounds && (n <= 300 || Date.now() < end); n++) {
        done = n;
        const line = random(doc.lineCount);
        const p = params(doc, [{ range: at(line, 0, line, 0), newText: `<e${n}> ${random(4) === 0 ? '\n' : ''}` }], random(2) === 0);
        const roll = random(12);
        let typed: string | undefined;
        const text0 = doc.getText();
        let act: Thenable<unknown> | undefined;
        if (roll <= 3) {
          typed = `[t${n}] `;
          const mark = typed;
          act = editor.edit((b) => b.insert(new vscode.Position(random(doc.lineCount), 0), mark));
          if (random(2) === 0) await act; // else: on its way at the same time
        } else if (roll === 4) {
          act = vscode.commands.executeCommand('undo');
          await act;
        } else if (roll <= 7 && (await stamps.obstacle(doc)) === undefined) {
          await doc.save();
        } else if (roll === 8 && !doc.isDirty) {
          writeFileSync(file, `${readFileSync(file, 'utf8')}outside ${n}\n`);
        }
        const before = doc.getText(), diskBefore = readFileSync(file, 'utf8');
        const r = await applier.apply(p);
        await act;
        const now = doc.getText();
        if (r.applied) {
          applied++;
          assert.ok(before === text0, `round ${n}: applied to a text the server had not seen`);
          if (r.saved) {
            saved++;
            if (r.sha256_after !== undefined && r.sha256_after !== r.sha256_applied) formatted++;
            if (!doc.isDirty) assert.equal(readFileSync(file, 'utf8'), now, `round ${n}: saved`);
          } else {
            unsaved++;
            assert.equal(readFileSync(file, 'utf8'), diskBefore, `round ${n}: an unsaved edit reached the disk`);
            assert.ok(now.includes(`<e${n}>`), `round ${n}: said applied, and it is not there`);
          }
        } else {
          refused++;
          assert.ok(!now.includes(`<e${n}>`), `round ${n}: said ${r.reason}, and it is there`);
          assert.equal(readFileSync(file, 'utf8'), diskBefore, `round ${n}: a refused edit reached the disk`);
        }
        if (typed !== undefined && (await act) === true) assert.ok(now.includes(typed.trim()), `round ${n}: typing was lost`);
        if (doc.lineCount > 60) await editor.edit((b) => b.delete(new vscode.Range(5, 0, doc.lineCount - 1, 0)));
        if (n % 20 === 0) {
          if (doc.isDirty) await vscode.commands.executeCommand('workbench.action.files.revert');
          await until(async () => !doc.isDirty && (await stamps.obstacle(doc)) === undefined && doc.getText() === readFileSync(file, 'utf8')).catch(async () => {
            await vscode.commands.executeCommand('workbench.action.files.revert');
          });
        }
      }
    } finally {
      formatter.dispose();
      if (process.env['TEST_REPORT']) (await import('node:fs')).appendFileSync(process.env['TEST_REPORT'], `      ${done} rounds: ${applied} applied (${saved} saved, ${formatted} of them formatted, ${unsaved} not), ${refused} refused\n`);
    }
    assert.ok(applied > done / 4 && refused > done / 12 && saved > done / 40, 'the mix is not a test');
  });
});
