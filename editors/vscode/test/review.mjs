// What comes after the main job, in a real workbench: permission questions, the
// list of changes, undo beside what the person did meanwhile, and a window reload
// in the middle of a turn. A screenshot after each step; look at them.
//
//   node test/review.mjs
//
// Environment: CODE_SERVER_DIR, STELLA_SHOTS (see scripts/test-vscode.sh).
import assert from 'node:assert/strict';
import { access, rename, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { workbench } from './drive.mjs';

const edit = (file, from, to) => `{tool: edit_file, input: {path: ${file}, base: "{{base ${file}}}", edits: [{old: "${from}", new: "${to}"}]}}`;
const read = (file) => `{tool: read_file, input: {path: ${file}}}`;
const run = (command) => `{tool: run_command, input: {command: "${command}"}}`;
const turn = (file, from, to, done) => `
  - calls: [${read(file)}]
  - calls: [${edit(file, from, to)}]
  - expect: {tool_result: {status: applied}}
    text: "${done}"`;

const w = await workbench({
  prefix: 'review-',
  files: {
    'prices.py': 'SMALL = 10\nMEDIUM = 20\nLARGE = 30\n',
    'rates.py': 'LOW = 1\nMID = 5\nHIGH = 9\n',
    'moved.py': 'A = 1\n',
    'gone.py': 'B = 1\n',
  },
  server: { permissions: { write: 'ask', command: 'ask' } },
  settings: { 'explorer.confirmDelete': false, 'stella.trace.server': 'verbose' },
  script: `turns:
  - text: "I raise the large one."
    calls: [${read('prices.py')}]
  - calls: [${edit('prices.py', '30', '35')}]
  - expect: {tool_result: {status: applied}}
    calls: [${run('echo first')}]
  - expect: {tool_result: {status: ok, contains: first}}
    calls: [${run('echo first')}]
  - expect: {tool_result: {status: ok, contains: first}}
    calls: [${run('rm -rf build')}]
  - expect: {tool_result: {status: denied}}
    text: "Raised, and nothing deleted."${turn('rates.py', 'HIGH = 9', 'HIGH = 7', 'Lower.')}${turn('rates.py', 'HIGH = 9', 'HIGH = 8', 'Higher.')}${turn('moved.py', 'A = 1', 'A = 2', 'Moved next.')}${turn('gone.py', 'B = 1', 'B = 2', 'Gone next.')}
  - text: "This will take a while."
    calls: [${read('rates.py')}]
  - wait: never
    text: "never said"
`,
});
const { page, step, until, transcript, told, press, palette, statusText } = w;
const exists = (name) => access(w.file(name)).then(() => true, () => false);
const toStart = async (name) => {
  await w.tab(name).first().click();
  await w.line(0).click({ position: { x: 40, y: 8 } });
  await page.keyboard.press('Control+Home');
};
const clear = () => palette('Notifications: Clear All Notifications');

try {
  await step('workbench', async () => {
    await page.goto(w.cs.url);
    await w.row('prices.py').waitFor();
    await until(statusText, async () => (await statusText()) === 'stella: idle');
    await w.openFile('prices.py');
  });
  await step('a write is asked about: path, size, difference', async () => {
    await w.ask('raise the large price');
    assert.match(await told('Stella: Change prices.py?'), /\+1 \u22121 lines/);
    const box = transcript.locator('.question');
    await box.waitFor();
    assert.match(await box.innerText(), /Change prices\.py\?[^]*-LARGE = 30\n+\+LARGE = 35/);
    assert.doesNotMatch(await box.innerText(), /"old"|\{/, 'no raw input');
    await until(statusText, async () => /^stella: waiting for you, 1 guarded$/.test(await statusText()));
  });
  await step('the change can be looked at before it is answered', async () => {
    await press('Change prices.py?', 'Show the change');
    await page.locator('.monaco-diff-editor .view-line', { hasText: /LARGE\s*=\s*35/ }).first().waitFor();
    await told('Change prices.py?');
    assert.match(await w.disk('prices.py'), /LARGE = 30/, 'nothing is written yet');
  });
  await step('allow once: it is written', async () => {
    await press('Change prices.py?', 'Allow once');
    await transcript.getByText('answered: Allow once').waitFor();
    await until('on disk', async () => (await w.disk('prices.py')).includes('LARGE = 35'));
  });
  await step('a command is asked about, as it will run', async () => {
    await told('Stella: Run a command? echo first');
    assert.match(await transcript.locator('.question').last().innerText(), /\$ echo first[^]*in .*ws/);
  });
  await step('always: the same command is not asked about again; deny: nothing runs', async () => {
    await press('Run a command?', 'Always allow');
    await told('Run a command? rm -rf build');
    assert.equal(await transcript.locator('.question').count(), 3, 'one write, two commands');
    // From the status item, by keyboard.
    await palette('Stella: Answer What Waits for You');
    await w.choose('Deny');
    await transcript.getByText('Raised, and nothing deleted.').waitFor();
    await until(statusText, async () => /^stella: idle, 1 guarded$/.test(await statusText()));
    await clear();
  });
  await step('the changes of the session are listed', async () => {
    await palette('Stella: Changes of the Session');
    await w.choose('prices.py');
    await page.locator('.monaco-diff-editor .view-line', { hasText: /LARGE\s*=\s*35/ }).first().waitFor();
    await page.locator('.tab', { hasText: 'before the session' }).waitFor();
  });
  await step('undo, beside what was typed elsewhere in the file; one undo step takes it back', async () => {
    await toStart('prices.py');
    await page.keyboard.insertText('# mine\n');
    await palette('Stella: Undo Turn');
    await until(async () => (await w.lines()).join('|'), async () => (await w.lines()).includes('LARGE = 30') && (await w.lines()).includes('# mine'));
    await told('Stella: undone in prices.py');
    assert.match(await w.disk('prices.py'), /LARGE = 35/, 'the person has not saved');
    await w.tab('prices.py').first().click();
    await page.keyboard.press('Control+Z');
    await until(async () => (await w.lines()).join('|'), async () => (await w.lines()).includes('LARGE = 35') && (await w.lines()).includes('# mine'));
    await page.keyboard.press('Control+S');
    await clear();
  });
  await step('undo after the person saved', async () => {
    await w.openFile('rates.py');
    await w.ask('lower');
    await press('Change rates.py?', 'Always allow');
    await transcript.getByText('Lower.', { exact: true }).waitFor();
    await toStart('rates.py');
    await page.keyboard.insertText('# saved\n');
    await page.keyboard.press('Control+S');
    await until('saved', async () => (await w.disk('rates.py')) === '# saved\nLOW = 1\nMID = 5\nHIGH = 7\n');
    await until('the workbench has noticed', async () => (await page.locator('.tab.dirty[data-resource-name="rates.py"]').count()) === 0);
    await palette('Stella: Undo Turn');
    await until('undone and saved', async () => (await w.disk('rates.py')) === '# saved\nLOW = 1\nMID = 5\nHIGH = 9\n');
    await clear();
  });
  await step('undo where the person changed the same line is refused, in words and with the difference', async () => {
    await w.ask('higher');
    await transcript.getByText('Higher.', { exact: true }).waitFor();
    await until('on disk', async () => (await w.disk('rates.py')).includes('HIGH = 8'));
    await toStart('rates.py');
    await page.keyboard.press('Control+End');
    await page.keyboard.press('ArrowUp');
    await page.keyboard.press('End');
    await page.keyboard.insertText('  # really');
    await palette('Stella: Undo Turn');
    await told('Stella: rates.py was not undone');
    await w.shot('undo-refused');
    assert.ok((await w.lines()).includes('HIGH = 8  # really'), 'the person’s line');
    await press('was not undone', 'Show the difference');
    await page.locator('.monaco-diff-editor .view-line', { hasText: /really/ }).first().waitFor();
    await clear();
  });
  await step('undo of a file that the person renamed or deleted brings nothing back', async () => {
    for (const [name, prompt, done] of [['moved.py', 'move', 'Moved next.'], ['gone.py', 'delete', 'Gone next.']]) {
      await w.ask(prompt);
      await transcript.getByText(done, { exact: true }).waitFor();
      if (name === 'moved.py') await rename(w.file(name), w.file('elsewhere.py'));
      else await rm(w.file(name));
      await palette('Stella: Undo Turn');
      await told(`Stella: ${name} was not undone`);
      assert.equal(await exists(name), false, `${name} came back`);
      await clear();
    }
    assert.equal(await w.disk('elsewhere.py'), 'A = 2\n');
  });
  await step('a window reload in the middle of a turn', async () => {
    await palette('Stella: Changes of the Session');
    await w.choose('rates.py');
    await page.locator('.tab', { hasText: 'rates.py: before the session' }).waitFor();
    await w.ask('take long');
    await transcript.getByText('This will take a while.').waitFor();
    await until(statusText, async () => (await statusText()).includes('working'));
    // The new server's script begins with what comes next.
    await writeFile(path.join(path.dirname(w.folder), 'script.yaml'), 'turns:\n  - text: "Where was I? Here."\n');
    await palette('Developer: Reload Window');
    await until('the old page is gone', async () => (await w.status.count()) === 0);
    await until(statusText, async () => /^stella: idle/.test(await statusText()));
    await told('Stella: "raise the large price" was interrupted in the middle of a turn.');
  });
  await step('the transcript and the differences came back with the window', async () => {
    await transcript.getByText('This will take a while.').waitFor();
    assert.equal(await transcript.getByText('You: [stella engine').count(), 0, 'the engine’s words are not the person’s');
    for (const [tab, line] of [['rates.py: before the session', /HIGH\s*=\s*8/], ['rates.py: seen by the session', /really/]]) {
      await page.locator('.tab', { hasText: tab }).first().click();
      await page.locator('.monaco-diff-editor .view-line', { hasText: line }).first().waitFor();
    }
  });
  await step('one click continues', async () => {
    await press('was interrupted', 'Continue');
    await transcript.getByText('Where was I? Here.').waitFor();
    await until(statusText, async () => /^stella: idle/.test(await statusText()));
  });
  await step('the views: sessions, guarded files, changes', async () => {
    await palette('View: Show Stella');
    const side = page.locator('.part.sidebar');
    for (const view of ['Sessions', 'Guarded Files', 'Changes']) await side.locator('.pane-header', { hasText: view }).waitFor();
    await side.locator('.monaco-list-row', { hasText: 'rates.py' }).last().waitFor();
    await side.locator('.monaco-list-row', { hasText: 'raise the large price' }).waitFor();
  });
} finally {
  await w.end();
}
