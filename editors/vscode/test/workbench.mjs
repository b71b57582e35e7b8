// The main job in a real VS Code workbench, as a person meets it: ask from a code
// action, watch the transcript stream, type while the session works, see the
// refusal with its difference, the badge and the status; the session plans anew
// and the typing survives. A screenshot after each step; look at them.
//
//   node test/workbench.mjs
//
// Environment: CODE_SERVER_DIR, STELLA_SHOTS (see scripts/test-vscode.sh).
import assert from 'node:assert/strict';
import { mkdtemp, mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { startCodeServer } from './code-server.mjs';

const shots = path.resolve(process.env.STELLA_SHOTS ?? 'dist/shots');
const work = await mkdtemp(path.join(tmpdir(), 'wb-'));
const folder = path.join(work, 'ws');
const file = path.join(folder, 'pricing.py');
const script = path.join(work, 'script.yaml');
await mkdir(path.join(folder, '.git'), { recursive: true });
await mkdir(shots, { recursive: true });
await writeFile(file, 'def price(tier):\n    if tier == "gold":\n        return 80\n    return 100\n');
// The second call waits for the person by way of a hold that a later prompt of
// the test releases through the server's test hook.
await writeFile(script, `turns:
  - text: "Let me look at the prices."
    calls: [{tool: read_file, input: {path: pricing.py}}]
  - text: "Gold becomes 75."
    wait: typed
    calls: [{tool: edit_file, input: {path: pricing.py, base: "{{base pricing.py}}", edits: [{old: "return 80", new: "return 75"}]}}]
  - expect: {tool_result: {status: stale_base, changed_by: {contains: typing}, diff_since_read: {contains: "+# mine"}}}
    text: "It changed while I was thinking; I read it again."
    calls: [{tool: read_file, input: {path: pricing.py}}]
  - calls: [{tool: edit_file, input: {path: pricing.py, base: "{{base pricing.py}}", edits: [{old: "return 80", new: "return 75"}]}}]
  - expect: {tool_result: {status: applied}}
    text: "Done, and your line is still there."
  - text: "One more."
    calls: [{tool: edit_file, input: {path: pricing.py, base: "{{base pricing.py}}", edits: [{old: "return 100", new: "return 110"}]}}]
  - expect: {tool_result: {status: applied, saved: true}}
    text: "Saved."
`);

const cs = await startCodeServer({
  folder,
  vsix: ['dist/stella-ls.vsix'],
  env: { STELLA_HOME: path.join(work, 'state') },
  settings: {
    'stella.settings': { model: { provider: 'script', script } },
    'stella.server.extraArgs': ['--test-hooks'],
    'stella.trace.server': 'verbose',
    'workbench.editor.enablePreview': false,
  },
});
const { page } = cs;
page.setDefaultTimeout(60000);
let passed = 0, failed = 0;
const step = async (name, f) => {
  if (failed) return;
  const t = Date.now();
  try { await f(); passed++; console.log(`ok   ${name} (${Date.now() - t} ms)`); }
  catch (e) { failed++; console.log(`FAIL ${name}\n${e.stack}`); }
  await page.screenshot({ path: path.join(shots, `${String(passed + failed).padStart(2, '0')}-${name.replace(/\W+/g, '-')}.png`) }).catch(() => {});
};
const until = async (what, f, ms = 60000) => {
  for (const end = Date.now() + ms; ;) {
    const v = await f();
    if (v) return v;
    if (Date.now() > end) throw new Error(`timed out: ${typeof what === 'function' ? await what() : what}`);
    await new Promise((r) => setTimeout(r, 25));
  }
};

const status = page.locator('[id="stella-ls.stella-ls.stella.status"]');
const statusText = async () => ((await status.count()) ? (await status.innerText()).replaceAll('\u00a0', ' ') : '');
const line = (n) => page.locator('.editor-instance .view-lines .view-line').nth(n);
const text = async (l) => (await l.innerText()).replaceAll('\u00a0', ' ');
const quickInput = page.locator('.quick-input-widget input');
const row = page.locator('.explorer-folders-view .monaco-list-row', { hasText: 'pricing.py' });
// The transcript: a frame in a frame.
const transcript = page.frameLocator('iframe.webview.ready').frameLocator('iframe#active-frame').locator('#log');
const palette = async (title) => {
  await page.keyboard.press('F1');
  await quickInput.fill(`>${title}`);
  await page.locator('.quick-input-list .monaco-list-row', { hasText: title }).first().waitFor();
  await page.keyboard.press('Enter');
};

try {
  await step('workbench', async () => {
    await page.goto(cs.url);
    await page.locator('.monaco-workbench .part.statusbar').waitFor();
    await row.dblclick();
    await until('text', async () => (await line(2).count()) && (await text(line(2))).trim() === 'return 80');
  });
  await step('the status item is idle', () => until(statusText, async () => (await statusText()).includes('stella: idle')));
  await step('ask from a code action', async () => {
    const action = page.locator('.action-widget .monaco-list-row', { hasText: 'Ask Stella' });
    await until('the menu', async () => {
      await line(1).click({ position: { x: 60, y: 8 } });
      await page.locator('.monaco-editor.focused').first().waitFor();
      await page.keyboard.press('Control+.');
      return action.first().waitFor({ timeout: 5000 }).then(() => true, () => false);
    });
    await page.screenshot({ path: path.join(shots, 'code-actions.png') });
    await action.first().click();
    await quickInput.waitFor();
    await quickInput.fill('make gold 75');
    await page.keyboard.press('Enter');
  });
  await step('the transcript streams, the focus stays', async () => {
    await transcript.getByText('You: make gold 75').waitFor();
    await transcript.getByText('Let me look at the prices.').waitFor();
    await transcript.getByText('tool: read_file pricing.py').waitFor();
    await until(statusText, async () => /working, step \d+, 1 guarded/.test(await statusText()));
  });
  await step('the file carries a badge', async () => {
    await until('badge S', async () => /\bS$/.test((await row.innerText()).trim()) || (await row.locator('.monaco-icon-label').evaluate((e) => getComputedStyle(e, '::after').content)).includes('S'));
  });
  await step('typing makes it stale', async () => {
    await line(0).click({ position: { x: 40, y: 8 } });
    await page.keyboard.press('Control+Home');
    await page.keyboard.insertText('# mine\n');
    const t = Date.now();
    await until(statusText, async () => (await statusText()).includes('1 stale'));
    console.log(`     stale in the status bar ${Date.now() - t} ms after the keystroke (seen from outside, polling)`);
    await until('badge S!', async () => (await row.locator('.monaco-icon-label').evaluate((e) => getComputedStyle(e, '::after').content)).includes('S!'));
    assert.match(await readFile(file, 'utf8'), /^def price/, 'unsaved');
  });
  await step('the stale write is refused, with its difference', async () => {
    await palette('Stella: Release a Test Gate');
    const box = transcript.locator('.refusal');
    await box.waitFor();
    const shown = await box.innerText();
    assert.match(shown, /refused: pricing\.py \(stale_base\)/);
    assert.match(shown, /typing in the editor/);
    assert.match(shown, /\+# mine/);
    await transcript.getByText('Done, and your line is still there.').waitFor();
    await until(statusText, async () => /stella: idle, 1 guarded$/.test((await statusText()).trim()));
  });
  await step('the edit landed beside the typing, unsaved', async () => {
    // The lines stand in the page in the order in which they were made.
    const shown = async () => (await page.locator('.editor-instance .view-lines .view-line').allInnerTexts()).map((t) => t.replaceAll('\u00a0', ' ').trim());
    await until(async () => (await shown()).join('|'), async () => (await shown()).includes('return 75'));
    assert.ok((await shown()).includes('# mine'), 'the typing');
    await page.locator('.tab.dirty[data-resource-name="pricing.py"]').waitFor();
    assert.match(await readFile(file, 'utf8'), /return 80/, 'the disk is the person’s');
  });
  await step('the difference opens in a diff editor', async () => {
    await transcript.getByRole('button', { name: 'Open the difference' }).click();
    await page.locator('.monaco-diff-editor').first().waitFor();
    await page.locator('.tab', { hasText: 'seen by the session' }).waitFor();
    await page.locator('.monaco-diff-editor .view-line', { hasText: /#\s*mine/ }).first().waitFor();
  });
  await step('after a save, a session’s edit is saved too', async () => {
    await page.locator('.tab[data-resource-name="pricing.py"]').first().click();
    await line(0).click();
    await page.keyboard.press('Control+S');
    await until('saved', async () => (await readFile(file, 'utf8')).startsWith('# mine'));
    await palette('Stella: Ask');
    await quickInput.fill('one more');
    await page.keyboard.press('Enter');
    await transcript.getByText('Saved.').waitFor();
    await until('on disk', async () => (await readFile(file, 'utf8')).includes('return 110'));
    assert.equal(await page.locator('.tab.dirty[data-resource-name="pricing.py"]').count(), 0);
  });
  await step('the menu of the status item', async () => {
    await status.click();
    await page.locator('.quick-input-list .monaco-list-row', { hasText: 'Guarded files' }).waitFor();
    await page.keyboard.press('Escape');
  });
} finally {
  if (failed) {
    console.log(await page.locator('.notification-list-item-message').allInnerTexts().catch(() => ''));
    const logs = (await readdir(path.join(cs.home, 'data', 'logs'), { recursive: true })).filter((f) => /Stella[^/]*\.log$/.test(f));
    for (const f of logs) console.log(`-- ${f}\n${(await readFile(path.join(cs.home, 'data', 'logs', f), 'utf8')).slice(-6000)}`);
  }
  await cs.stop();
  await rm(work, { recursive: true, force: true, maxRetries: 5 });
}
console.log(`${passed} passed, ${failed} failed`);
process.exit(failed ? 1 : 0);
