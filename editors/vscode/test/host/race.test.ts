// Thousands of random interleavings of typing, undoing, saving, formatting on
// save, outside writes and our edits, in several documents at the same time. Each
// of our edits carries a word of its own; so does each thing that is typed.
//
// One document is shown and typed into as by a person; drawing it is what costs
// most. The others are tabs in the background, changed by what stands for other
// extensions: the workbench compares their versions in the same place.
import assert from 'node:assert/strict';
import { appendFileSync, readFileSync, writeFileSync } from 'node:fs';
import { cpus, loadavg } from 'node:os';
import path from 'node:path';
import { after, before, describe, it } from 'mocha';
import * as vscode from 'vscode';
import { Applier, DiskStamps, notConfirmed } from '../../src/apply';
import type { ApplyEditParams, Range } from '../../src/protocol';
import { sha256 } from '../../src/text';

const wanted = Number(process.env['STELLA_ROUNDS'] ?? '3000');
// In ms for all of them, more beside other work; fewer rounds than wanted in it are a failure.
const most = 100_000 * Math.min(2.2, Math.max(1, loadavg()[0]! / cpus().length));
const documents = 8;
const root = vscode.workspace.workspaceFolders?.[0]?.uri.fsPath ?? '';
const converter = {
  asUri: (s: string) => vscode.Uri.parse(s),
  asRange: (r: Range) => new vscode.Range(r.start.line, r.start.character, r.end.line, r.end.character),
};
const sum = { rounds: 0, applied: 0, refused: 0, saved: 0, unsaved: 0, formatted: 0, typed: 0, changedByOthers: 0, undone: 0, outside: 0, personSaves: 0, reverts: 0 };
const spent: Record<string, number> = {};
let stamps: DiskStamps;
let applier: Applier;

/** Each series has a random stream of its own, so that a failure can be told by its seed. */
function randomFrom(seed: number): (n: number) => number {
  let s = seed;
  return (n) => {
    s = (s * 1103515245 + 12345) % 2147483648;
    return Math.floor(s / 65536) % n;
  };
}

// Commands such as undo and revert act on the focused editor: one at a time.
let focus: Promise<unknown> = Promise.resolve();
let cover: vscode.TextDocument; // what is shown in the second column in place of the documents there
function focused(s: { doc: vscode.TextDocument; shown: boolean }, command: string, argument?: unknown): Promise<void> {
  const run = focus.then(async () => {
    const viewColumn = s.shown ? vscode.ViewColumn.One : vscode.ViewColumn.Two;
    await vscode.window.showTextDocument(s.doc, { viewColumn, preview: false });
    await vscode.commands.executeCommand(command, argument);
    if (!s.shown) await vscode.window.showTextDocument(cover, { viewColumn, preview: false });
  });
  focus = run.catch(() => undefined);
  return run;
}

async function timed<T>(what: string, p: Thenable<T>): Promise<T> {
  const t = performance.now();
  try { return await p; } finally { spent[what] = (spent[what] ?? 0) + performance.now() - t; }
}

/** Removes spaces at line ends in some saves, as a formatter on save would. */
function formatter(docs: readonly vscode.TextDocument[], random: (n: number) => number): vscode.Disposable {
  return vscode.workspace.onWillSaveTextDocument((e) => {
    if (!docs.includes(e.document) || random(3) > 0) return;
    const edits: vscode.TextEdit[] = [];
    for (let i = 0; i < e.document.lineCount; i++) {
      const l = e.document.lineAt(i);
      const end = l.text.trimEnd().length;
      if (end < l.text.length) edits.push(vscode.TextEdit.delete(new vscode.Range(i, end, i, l.text.length)));
    }
    e.waitUntil(Promise.resolve(edits));
  });
}

class Series {
  private n = 0;
  private readonly random: (n: number) => number;

  readonly shown: boolean;

  constructor(private readonly k: number, readonly doc: vscode.TextDocument, private readonly editor: vscode.TextEditor, private readonly file: string) {
    this.random = randomFrom(7 + k);
    this.shown = k === 0;
  }

  static async open(k: number): Promise<Series> {
    const file = path.join(root, `race-${k}.txt`);
    writeFileSync(file, 'l1\nl2 😀\nl3\n');
    const doc = await vscode.workspace.openTextDocument(vscode.Uri.file(file));
    const editor = await vscode.window.showTextDocument(doc, { viewColumn: k === 0 ? vscode.ViewColumn.One : vscode.ViewColumn.Two, preview: false });
    return new Series(k, doc, editor, file);
  }

  async run(more: () => boolean): Promise<void> {
    while (more()) {
      sum.rounds++;
      await this.round(++this.n);
      if (this.doc.lineCount > 40) await this.change((e) => e.delete(this.doc.uri, new vscode.Range(5, 0, this.doc.lineCount - 1, 0)));
      if (this.n % 40 === 0) await this.settle();
    }
  }

  /** Waits until a clean document shows what the disk has; a second is enough where nothing else is to come. */
  private async reloaded(): Promise<void> {
    for (const end = Date.now() + 1000; this.doc.getText() !== this.disk() && Date.now() < end;) await new Promise((r) => setTimeout(r, 10));
  }

  private disk(): string { return readFileSync(this.file, 'utf8'); }

  private change(make: (e: vscode.WorkspaceEdit) => void): Thenable<boolean> {
    const e = new vscode.WorkspaceEdit();
    make(e);
    return vscode.workspace.applyEdit(e);
  }

  /** True when it came in; keys always do, edits of extensions only when the version is still theirs. */
  private type(text: string): Thenable<boolean> {
    const at = new vscode.Position(this.random(this.doc.lineCount), 0);
    if (!this.shown) {
      sum.changedByOthers++;
      return this.change((e) => e.insert(this.doc.uri, at, text));
    }
    sum.typed++;
    if (this.random(2) === 0) return this.editor.edit((b) => b.insert(at, text));
    return focused(this, 'type', { text }).then(() => true);
  }

  /** One of our edits, with something that a person or a program does before it or at the same time. */
  private async round(n: number): Promise<void> {
    const { doc, random } = this;
    const mine = `<e${n}>`, theirs = `[t${n}]`;
    const line = random(doc.lineCount);
    const seen = doc.getText();
    const p: ApplyEditParams = {
      uri: doc.uri.toString(), version: doc.version, sha256: sha256(seen), save: random(4) === 0, label: 'test',
      edits: [{ range: { start: { line, character: 0 }, end: { line, character: 0 } }, newText: `${mine} ${random(4) === 0 ? '\n' : ''}` }],
    };
    const roll = random(12);
    let typing: Thenable<boolean> | undefined;
    if (roll <= 3) {
      typing = this.type(`${theirs} `);
      if (random(2) === 0) await timed('typing', typing); // else: on its way at the same time
    } else if (roll === 4 && this.shown) {
      sum.undone++;
      await timed('undo', focused(this, 'undo'));
    } else if (roll === 5 && doc.isDirty && stamps.obstacle(doc) === undefined) {
      sum.personSaves++;
      await timed('save', doc.save());
    } else if (roll === 7 && stamps.obstacle(doc) === undefined) {
      if (doc.isDirty) await timed('save', doc.save());
      sum.outside++;
      writeFileSync(this.file, `${this.disk()}outside ${n}\n`);
      if (random(2) === 0) await timed('reload', this.reloaded()); // else: our edit comes before the workbench has noticed
    }
    const before = doc.getText(), diskBefore = this.disk();
    const r = await timed(p.save ? 'our edit, to be saved' : 'our edit', applier.apply(p));
    const typed = typing === undefined ? false : await typing;
    const now = doc.getText(), where = `document ${this.k}, round ${n}`;
    if (r.applied) {
      sum.applied++;
      assert.ok(before === seen, `${where}: applied to a text the server had not seen`);
      if (r.saved) {
        sum.saved++;
        if (r.sha256_after !== undefined && r.sha256_after !== r.sha256_applied) sum.formatted++;
        if (!doc.isDirty) assert.equal(this.disk(), now, `${where}: saved`);
      } else {
        sum.unsaved++;
        if (r.save_reason !== notConfirmed) assert.equal(this.disk(), diskBefore, `${where}: an unsaved edit reached the disk (${JSON.stringify({ ...p, edits: roll, ...r })})`);
        assert.ok(now.includes(mine), `${where}: said applied, and it is not there`);
      }
    } else {
      sum.refused++;
      assert.ok(!now.includes(mine), `${where}: said ${r.reason}, and it is there`);
      assert.equal(this.disk(), diskBefore, `${where}: a refused edit reached the disk`);
    }
    if (typed) assert.ok(now.includes(theirs), `${where}: typing was lost`);
  }

  /** Takes over what came to the disk, so that saves are possible again. */
  private async settle(): Promise<void> {
    if (!this.doc.isDirty && stamps.obstacle(this.doc) === undefined) return;
    sum.reverts++;
    await timed('revert', focused(this, 'workbench.action.files.revert'));
  }
}

describe('stella/applyEdit under interleavings', () => {
  before(() => {
    stamps = new DiskStamps();
    applier = new Applier({ protocol2CodeConverter: converter } as never, stamps);
  });
  after(async () => {
    stamps.dispose();
    await vscode.commands.executeCommand('workbench.action.closeAllEditors');
  });

  it(`${wanted} rounds: no lost character, no false answer`, async () => {
    const all: Series[] = [];
    for (let k = 0; k < documents; k++) all.push(await Series.open(k));
    writeFileSync(path.join(root, 'cover.txt'), '');
    cover = await vscode.workspace.openTextDocument(path.join(root, 'cover.txt'));
    await vscode.window.showTextDocument(cover, { viewColumn: vscode.ViewColumn.Two, preview: false });
    const formats = formatter(all.map((s) => s.doc), randomFrom(99));
    const t = performance.now();
    try {
      let failed = false; // then the others end too: what comes next needs the workbench to itself
      const ends = await Promise.allSettled(all.map((s) => s.run(() => !failed && sum.rounds < wanted && performance.now() - t < most).catch((e: unknown) => {
        failed = true;
        throw e;
      })));
      for (const e of ends) if (e.status === 'rejected') throw e.reason;
    } finally {
      formats.dispose();
      const report = process.env['TEST_REPORT'];
      const ms = (o: Record<string, number>): string => Object.entries(o).map(([k, v]) => `${k} ${Math.round(v)} ms`).join(', ');
      if (report) {
        appendFileSync(report, `      ${sum.rounds} rounds in ${((performance.now() - t) / 1000).toFixed(1)} s: ${sum.applied} applied (${sum.saved} saved, ${sum.formatted} of them formatted, ${sum.unsaved} not), ` +
          `${sum.refused} refused; ${sum.typed} times typed, ${sum.changedByOthers} changed by another extension, ${sum.undone} undone, ${sum.personSaves} saved by the person, ${sum.outside} written outside\n      ${ms(spent)}\n`);
      }
    }
    assert.ok(sum.rounds >= wanted, `${sum.rounds} rounds in ${Math.round(most / 1000)} s, ${wanted} were asked for`);
    assert.ok(sum.applied > sum.rounds / 4 && sum.refused > sum.rounds / 12 && sum.saved > sum.rounds / 60 && sum.formatted > 0 && sum.outside > sum.rounds / 200, `the mix is not a test: ${JSON.stringify(sum)}`);
  });
});
