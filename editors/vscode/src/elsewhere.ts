// VS Code cannot list who provides definitions, so a table of extensions stands in
// for it: with graph.serve = "auto" the server keeps quiet about their languages, and
// nothing appears twice. Nothing here knows VS Code.

const script = ['javascript', 'javascriptreact', 'typescript', 'typescriptreact'];

/** Extensions that bring a language server, and the languages it answers for. */
export const providers: Readonly<Record<string, readonly string[]>> = {
  'vscode.typescript-language-features': script, // built in
  'typescriptteam.native-preview': script,
  'denoland.vscode-deno': script,
  'ms-python.vscode-pylance': ['python'],
  'ms-pyright.pyright': ['python'],
  'detachhead.basedpyright': ['python'],
  'anysphere.cursorpyright': ['python'],
  'astral-sh.ty': ['python'],
  'meta.pyrefly': ['python'],
  'rust-lang.rust-analyzer': ['rust'],
  'golang.go': ['go'],
  'ms-mssql.mssql': ['sql'],
};

/** The languages that another extension answers for; has tells which are installed and enabled. */
export function elsewhere(has: (id: string) => boolean): string[] {
  const found = Object.entries(providers).filter(([id]) => has(id)).flatMap(([, languages]) => languages);
  return [...new Set(found)].sort();
}
