// What the server asks of the editor itself: the diagnostics that it shows.
import * as vscode from 'vscode';
import type { LanguageClient } from 'vscode-languageclient/node';
import type { DiagnosticItem, DiagnosticsResult } from './protocol';

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
