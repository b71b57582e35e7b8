// What the tests in a real workbench share: a scratch workspace with a scripted
// model, steps with a screenshot after each, and the places of the page.
import { mkdtemp, mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { startCodeServer } from './code-server.mjs';

/** files: by name; script: the model's; prefix: of the screenshots' names; settings: of the editor; server: sections of settings.toml. */
export async function workbench({ files, script, prefix = '', settings = {}, server = {} }) {
  const shots = path.resolve(process.env.STELLA_SHOTS ?? 'dist/shots');
  const work = await mkdtemp(path.join(tmpdir(), 'wb-'));
  const folder = path.join(work, 'ws');
  const file = (name) => path.join(folder, name);
  await mkdir(path.join(folder, '.git'), { recursive: true });
  await mkdir(shots, { recursive: true });
  for (const [name, text] of Object.entries(files)) await writeFile(file(name), text);
  await writeFile(path.join(work, 'script.yaml'), script);
  const cs = await startCodeServer({
    folder,
    vsix: ['dist/stella-ls.vsix'],
    env: { STELLA_HOME: path.join(work, 'state') },
    settings: {
      'stella.settings': { model: { provider: 'script', script: path.join(work, 'script.yaml') }, ...server },
      'stella.server.extraArgs': ['--test-hooks'],
      'workbench.editor.enablePreview': false,
      ...settings,
    },
  });
  const { page } = cs;
  page.setDefaultTimeout(60000);
  const w = { cs, page, folder, file, shots, passed: 0, failed: 0 };

  w.shot = (name) => page.screenshot({ path: path.join(shots, `${prefix}${name}.png`) }).catch(() => {});
  w.step = async (name, f) => {
    if (w.failed) return;
    const t = Date.now();
    try { await f(); w.passed++; console.log(`ok   ${name} (${Date.now() - t} ms)`); }
    catch (e) { w.failed++; console.log(`FAIL ${name}\n${e.stack}`); }
    if (w.failed) await w.palette('Notifications: Show Notifications').then(() => new Promise((r) => setTimeout(r, 1000)), () => {});
    await w.shot(`${String(w.passed + w.failed).padStart(2, '0')}-${name.replace(/\W+/g, '-')}`);
  };
  w.until = async (what, f, ms = 60000) => {
    for (const end = Date.now() + ms; ;) {
      const v = await f();
      if (v) return v;
      if (Date.now() > end) throw new Error(`timed out: ${typeof what === 'function' ? await what() : what}`);
      await new Promise((r) => setTimeout(r, 25));
    }
  };
  w.disk = (name) => readFile(file(name), 'utf8');

  w.status = page.locator('[id="stella-ls.stella-ls.stella.status"]');
  w.statusText = async () => ((await w.status.count()) ? (await w.status.innerText()).replaceAll('\u00a0', ' ').trim() : '');
  w.line = (n) => page.locator('.editor-instance .view-lines .view-line').nth(n);
  w.text = async (l) => (await l.innerText()).replaceAll('\u00a0', ' ');
  /** The text of the visible editors, line by line. */
  w.lines = async () => (await page.locator('.editor-instance .view-lines .view-line').allInnerTexts()).map((t) => t.replaceAll('\u00a0', ' ').trimEnd());
  w.quickInput = page.locator('.quick-input-widget input');
  w.row = (name) => page.locator('.explorer-folders-view .monaco-list-row', { hasText: name });
  w.tab = (name) => page.locator(`.tab[data-resource-name="${name}"]`);
  // The transcript: a frame in a frame.
  w.transcript = page.frameLocator('iframe.webview.ready').frameLocator('iframe#active-frame').locator('#log');
  w.toast = (text) => page.locator('.notification-list-item', { hasText: text });
  /** A notification, also one that has left the corner of the screen for the list. */
  w.told = async (text) => {
    await w.until(`the notification ${text}`, async () => {
      for (const end = Date.now() + 8000; Date.now() < end; await new Promise((r) => setTimeout(r, 50))) if (await w.toast(text).count()) return true;
      await w.palette('Notifications: Show Notifications');
      return false;
    });
    return w.toast(text).first().innerText();
  };
  w.press = async (text, button) => {
    await w.told(text);
    await w.toast(text).first().getByRole('button', { name: button, exact: true }).click();
  };
  w.palette = async (title) => {
    await page.keyboard.press('F1');
    await w.quickInput.fill(`>${title}`);
    await page.locator('.quick-input-list .monaco-list-row', { hasText: title }).first().waitFor();
    await page.keyboard.press('Enter');
  };
  w.choose = async (text) => {
    await page.locator('.quick-input-list .monaco-list-row', { hasText: text }).first().click();
  };
  w.ask = async (text) => {
    await w.palette('Stella: Ask');
    await w.quickInput.waitFor();
    await w.quickInput.fill(text);
    await page.keyboard.press('Enter');
  };
  w.openFile = async (name) => {
    await w.row(name).dblclick();
    await w.tab(name).waitFor();
  };
  /** Ends everything and the process: 0 when all steps passed. */
  w.end = async () => {
    if (w.failed) {
      console.log(await page.locator('.notification-list-item-message').allInnerTexts().catch(() => ''));
      const logs = (await readdir(path.join(cs.home, 'data', 'logs'), { recursive: true })).filter((f) => /Stella[^/]*\.log$/.test(f));
      for (const f of logs) {
        const log = await readFile(path.join(cs.home, 'data', 'logs', f), 'utf8');
        console.log(`-- ${f}\n${log.slice(-6000)}`);
        if (process.env.STELLA_KEEP_LOGS) await writeFile(path.join(shots, path.basename(f)), log);
      }
    }
    await cs.stop();
    await rm(work, { recursive: true, force: true, maxRetries: 5 });
    console.log(`${w.passed} passed, ${w.failed} failed`);
    process.exit(w.failed ? 1 : 0);
  };
  return w;
}
