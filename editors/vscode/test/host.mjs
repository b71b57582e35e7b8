// Runs dist/test/host inside code-server's extension host, with the extension
// loaded from this folder as one under development.
import { mkdtemp, mkdir, readFile, writeFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { startCodeServer } from './code-server.mjs';

const extension = path.resolve(import.meta.dirname ?? path.dirname(new URL(import.meta.url).pathname), '..');
const work = await mkdtemp(path.join(tmpdir(), 'xh-'));
const folder = path.join(work, 'ws');
const report = path.join(work, 'report.txt');
await mkdir(path.join(folder, '.git'), { recursive: true });
await writeFile(path.join(work, 'script.yaml'), 'turns: []\n');
await writeFile(report, '');

const cs = await startCodeServer({
  folder,
  env: { TEST_REPORT: report, STELLA_HOME: path.join(work, 'state'), STELLA_ROUNDS: process.env.STELLA_ROUNDS ?? '3000' },
  settings: {
    'stella.settings': { model: { provider: 'script', script: path.join(work, 'script.yaml') } },
    'files.eol': '\n',
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
    ]).then(() => cs.page.goto(cs.url, { timeout: 120_000 })).catch(fail);
  });
} catch (e) {
  console.error(e);
} finally {
  if (code !== 0) console.error([cs.log(), ...consoleLines].join('\n').slice(-8000));
  await cs.stop();
  process.stdout.write(await readFile(report, 'utf8'));
  await rm(work, { recursive: true, force: true, maxRetries: 5 });
}
process.exit(code);
