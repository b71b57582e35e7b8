// Runs dist/test/host inside code-server's extension host, with the extension
// loaded from this folder as one under development.
import { mkdtemp, mkdir, readFile, writeFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { cpuSeconds, startCodeServer } from './code-server.mjs';

const extension = path.resolve(import.meta.dirname ?? path.dirname(new URL(import.meta.url).pathname), '..');
const work = await mkdtemp(path.join(tmpdir(), 'xh-'));
const folder = path.join(work, 'ws');
const report = path.join(work, 'report.txt');
await mkdir(path.join(folder, '.git'), { recursive: true });
await writeFile(path.join(work, 'script.yaml'), 'turns:\n  - text: Seen.\n');
await writeFile(report, '');

// What these tests do not look at costs time in a headless browser without a
// graphics card: no local history, minimap, highlights and suggestions.
const quiet = {
  'workbench.localHistory.enabled': false,
  'workbench.reduceMotion': 'on',
  'editor.minimap.enabled': false,
  'editor.cursorBlinking': 'solid',
  'editor.occurrencesHighlight': 'off',
  'editor.selectionHighlight': false,
  'editor.wordBasedSuggestions': 'off',
  'editor.quickSuggestions': { other: 'off', comments: 'off', strings: 'off' },
  'editor.bracketPairColorization.enabled': false,
  'editor.guides.indentation': false,
  'editor.autoClosingBrackets': 'never',
  'editor.links': false,
  'editor.colorDecorators': false,
  'editor.codeLens': false,
  'breadcrumbs.enabled': false,
  'workbench.editor.showTabs': 'none',
  'workbench.statusBar.visible': false,
  'workbench.activityBar.location': 'hidden',
  'explorer.autoReveal': false,
  'explorer.decorations.badges': false,
  'outline.showVariables': false,
};

// And what is not drawn costs nothing at all. Focus needs the editor itself.
const undrawn = `
* { animation: none !important; transition: none !important }
.part:not(.editor), .tabs-and-actions-container, .breadcrumbs-control, .view-lines, .view-overlays, .margin, .minimap, .scrollbar,
.decorationsOverviewRuler, .notifications-toasts, .notifications-center { display: none !important }`;

const cs = await startCodeServer({
  viewport: { width: 500, height: 300 },
  folder,
  env: { TEST_REPORT: report, TEST_GREP: process.env.TEST_GREP ?? '', STELLA_HOME: path.join(work, 'state'), STELLA_ROUNDS: process.env.STELLA_ROUNDS ?? '3000' },
  settings: {
    'stella.settings': { model: { provider: 'script', script: path.join(work, 'script.yaml') } },
    'files.eol': '\n',
    ...quiet,
  },
  payload: (remote) => [
    ['extensionDevelopmentPath', `${remote}${extension}`],
    ['extensionTestsPath', `${remote}${path.join(extension, 'dist/test/host/index.js')}`],
  ],
});
const consoleLines = [];
let code = 1;
try {
  code = await new Promise((done, fail) => {
    const limit = setTimeout(() => fail(new Error('the tests did not end in 8 minutes')), 480_000);
    Promise.all([
      cs.page.exposeFunction('codeAutomationLog', (type, args) => { consoleLines.push(`[${type}] ${args.join(' ')}`); }),
      cs.page.exposeFunction('codeAutomationExit', (c) => { clearTimeout(limit); done(c); }),
      cs.page.addInitScript((css) => {
        document.addEventListener('DOMContentLoaded', () => {
          document.head.append(Object.assign(document.createElement('style'), { textContent: css }));
        });
      }, undrawn),
    ]).then(() => cs.page.goto(cs.url, { timeout: 120_000 })).catch(fail);
  });
} catch (e) {
  console.error(e);
} finally {
  if (process.env.STELLA_CPU) {
    for (const p of (await cpuSeconds()).sort((a, b) => b.seconds - a.seconds).slice(0, 8)) console.log(`${p.seconds.toFixed(1)} s  ${p.pid} ${p.command.slice(0, 150)}`);
  }
  if (code !== 0) console.error([cs.log(), ...consoleLines].join('\n').slice(-8000));
  await cs.stop();
  process.stdout.write(await readFile(report, 'utf8'));
  await rm(work, { recursive: true, force: true, maxRetries: 5 });
}
process.exit(code);
