// stella/applyEdit: compare the document with what the server computed its edit
// from, and apply. There is no await between the comparison and applyEdit, and
// the workbench compares the version once more on its side.
import { statSync } from 'node:fs';
import * as vscode from 'vscode';
import type { LanguageClient } from 'vscode-languageclient/node';
import type { ApplyEditParams, ApplyEditResult } from './protocol';
import { sha256 } from './text';

/** Enough to tell that a file is not the one it was; content is the server's to compare. */
type Stamp = string;

/**
 * What the disk was when a document was last loaded or saved. Looked at
 * synchronously: nothing comes between an event and its look at the disk, or
 * between the last look and the save.
 */
export class DiskStamps implements vscode.Disposable {
  private readonly known = new Map<string, Stamp>();
  private readonly subs: vscode.Disposable[] = [];

  constructor() {
    this.subs.push(
      vscode.workspace.onDidOpenTextDocument((d) => this.take(d)),
      // What was typed since the save does not matter: the disk has what was saved.
      vscode.workspace.onDidSaveTextDocument((d) => this.set(d, stamp(d.uri))),
      vscode.workspace.onDidCloseTextDocument((d) => this.known.delete(d.uri.toString())),
      // A clean document that changes without becoming dirty was reloaded from disk.
      vscode.workspace.onDidChangeTextDocument((e) => { if (!e.document.isDirty) this.reloaded(e.document); }),
    );
    for (const d of vscode.workspace.textDocuments) this.take(d);
  }

  private take(d: vscode.TextDocument): void {
    if (!d.isDirty) this.set(d, stamp(d.uri));
  }

  /** The first key typed into a clean document can be told before its dirty state: look again a little later. */
  private reloaded(d: vscode.TextDocument): void {
    const s = stamp(d.uri), version = d.version;
    setTimeout(() => { if (!d.isDirty && !d.isClosed && d.version === version) this.set(d, s); }, 20);
  }

  private set(d: vscode.TextDocument, s: Stamp | undefined): void {
    if (s !== undefined && d.uri.scheme === 'file') this.known.set(d.uri.toString(), s);
  }

  /** Why a document must not be saved now; undefined when nothing stands against it. */
  obstacle(d: vscode.TextDocument): string | undefined {
    if (d.isUntitled) return 'the document has no file yet';
    const known = this.known.get(d.uri.toString());
    const now = stamp(d.uri);
    if (now === undefined) return 'the file was deleted on disk, or cannot be looked at';
    if (known === undefined) return 'it is not known what was on disk when the document was opened';
    if (known !== now) return 'the file changed on disk since the document was loaded';
    return undefined;
  }

  dispose(): void {
    for (const s of this.subs) s.dispose();
  }
}

function stamp(uri: vscode.Uri): Stamp | undefined {
  try {
    const s = statSync(uri.fsPath, { bigint: true });
    return `${s.mtimeNs} ${s.size} ${s.ino}`;
  } catch {
    return undefined; // gone, or not to be looked at: either way not to be saved over
  }
}

export class Applier {
  constructor(private readonly client: Pick<LanguageClient, 'protocol2CodeConverter'>, private readonly stamps: DiskStamps) {}

  async apply(p: ApplyEditParams): Promise<ApplyEditResult> {
    const converter = this.client.protocol2CodeConverter;
    const uri = converter.asUri(p.uri);
    const doc = vscode.workspace.textDocuments.find((d) => d.uri.toString() === uri.toString() && !d.isClosed);
    if (!doc) return refused('closed', 0, '');
    const text = doc.getText();
    const digest = sha256(text);
    if (digest !== p.sha256) return refused('content', doc.version, digest);
    if (doc.version !== p.version) return refused('version', doc.version, digest);
    const wasDirty = doc.isDirty;
    const edit = new vscode.WorkspaceEdit();
    edit.set(uri, p.edits.map((e) => new vscode.TextEdit(converter.asRange(e.range), e.newText)));
    const change = nextChange(doc);
    const applying = vscode.workspace.applyEdit(edit); // from the comparison to here: no await
    let ok: boolean;
    try {
      ok = await applying;
    } catch {
      change.dispose();
      return refused('error', doc.version, sha256(doc.getText()));
    }
    if (!ok) {
      change.dispose();
      return refused(doc.version === p.version && (await readonly(uri)) ? 'readonly' : 'version', doc.version, sha256(doc.getText()));
    }
    const done = p.edits.length === 0 ? { version: doc.version, text: doc.getText() } : change.first() ?? { version: doc.version, text: doc.getText() };
    change.dispose();
    const result: ApplyEditResult = { applied: true, version: done.version, sha256_applied: sha256(done.text), saved: false };
    if (p.save) await this.save(doc, wasDirty, result);
    return result;
  }

  private async save(doc: vscode.TextDocument, wasDirty: boolean, r: ApplyEditResult): Promise<void> {
    if (wasDirty) {
      r.save_reason = 'the document held unsaved changes';
      return;
    }
    if (sha256(doc.getText()) !== r.sha256_applied) {
      r.save_reason = 'somebody typed meanwhile';
      return;
    }
    const obstacle = this.stamps.obstacle(doc);
    if (obstacle !== undefined) {
      r.save_reason = obstacle;
      return;
    }
    // The workbench answers false when it was typed into during the save, also
    // when the file was written: the event tells.
    let saved = false, reason = 'the editor did not save the file';
    const before = stamp(doc.uri);
    const written = vscode.workspace.onDidSaveTextDocument((d) => { if (d === doc) saved = true; });
    try {
      if (await doc.save()) saved = true;
    } catch (e) {
      reason = e instanceof Error ? e.message : String(e);
    } finally {
      written.dispose();
    }
    if (!saved) {
      r.save_reason = stamp(doc.uri) === before ? reason : notConfirmed;
      return;
    }
    r.saved = true;
    r.version = doc.version;
    // Unsaved again: somebody typed during the save, and what the disk holds is
    // not known here; the server looks for itself.
    if (!doc.isDirty) r.sha256_after = sha256(doc.getText());
  }
}

/** The file changed during the save, and the editor does not say that it was the save. */
export const notConfirmed = 'the editor did not confirm the save, and the file changed on disk meanwhile';

function refused(reason: NonNullable<ApplyEditResult['reason']>, version: number, digest: string): ApplyEditResult {
  return { applied: false, reason, version, sha256_applied: digest, saved: false };
}

async function readonly(uri: vscode.Uri): Promise<boolean> {
  try {
    const s = await vscode.workspace.fs.stat(uri);
    return s.permissions === vscode.FilePermission.Readonly || vscode.workspace.fs.isWritableFileSystem(uri.scheme) === false;
  } catch {
    return false;
  }
}

/** Keeps the text of the document right after its next change, before anything typed later. */
function nextChange(doc: vscode.TextDocument): { first(): { version: number; text: string } | undefined; dispose(): void } {
  let got: { version: number; text: string } | undefined;
  const sub = vscode.workspace.onDidChangeTextDocument((e) => {
    if (e.document === doc && e.contentChanges.length > 0) got ??= { version: doc.version, text: doc.getText() };
  });
  return { first: () => got, dispose: () => sub.dispose() };
}
