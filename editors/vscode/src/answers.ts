// What the server asks of the editor: questions to the person, diagnostics.
import * as vscode from 'vscode';
import type { LanguageClient } from 'vscode-languageclient/node';
import type { DiagnosticItem, DiagnosticsResult, PermissionParams, PermissionResult } from './protocol';
import type { StatusItem } from './status';

/** Puts a question before the person. Closing it is no answer and allows nothing. */
export async function answerPermission(p: PermissionParams, status: StatusItem): Promise<PermissionResult> {
  status.set({ waiting: true });
  try {
    if (p.options.length === 0) {
      const text = await vscode.window.showInputBox({ title: `Stella: ${p.title}`, prompt: p.detail, ignoreFocusOut: true });
      return text === undefined ? { choice: '' } : { choice: '', text };
    }
    const about = [p.detail, p.command, p.cwd && `in ${p.cwd}`, p.diff].filter((s): s is string => s !== undefined && s !== '').join(' · ');
    const picked = await vscode.window.showWarningMessage(
      `Stella: ${p.title}${about === '' ? '' : `: ${about}`}`,
      ...p.options.map((o) => ({ title: o.title, id: o.id })),
    );
    return { choice: picked?.id ?? '' };
  } finally {
    status.set({ waiting: false });
  }
}

/** Every diagnostic the editor shows, from every language server. */
export function listDiagnostics(uri: string | undefined, client: LanguageClient): DiagnosticsResult {
  const to = client.code2ProtocolConverter;
  const all: [vscode.Uri, readonly vscode.Diagnostic[]][] = uri
    ? [[client.protocol2CodeConverter.asUri(uri), vscode.languages.getDiagnostics(client.protocol2CodeConverter.asUri(uri))]]
    : vscode.languages.getDiagnostics();
  const items: DiagnosticItem[] = [];
  for (const [u, list] of all) {
    for (const d of list) {
      items.push({ uri: to.asUri(u), range: to.asRange(d.range), severity: d.severity + 1, source: d.source ?? '', message: d.message });
    }
  }
  return { items };
}
