import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { test } from 'node:test';
import { backOff, countLines, questionSummary, refusalIn, refusals, sha256, sides, statusText } from '../../src/text';

test('digests are over UTF-8', () => {
  assert.equal(sha256('é😀\r\n'), 'sha256:' + createHash('sha256').update(Buffer.from('é😀\r\n', 'utf8')).digest('hex'));
});

test('the two sides of a diff', () => {
  const { before, after } = sides('--- a\n+++ b\n@@ -1,3 +1,3 @@\n one\n-two\n+2\n three\n\\ No newline at end of file\n');
  assert.equal(before, '@@ -1,3 +1,3 @@\none\ntwo\nthree\n');
  assert.equal(after, '@@ -1,3 +1,3 @@\none\n2\nthree\n');
});

test('status in words', () => {
  const s = { running: false, step: 0, waiting: false, fresh: 0, stale: 0 };
  assert.equal(statusText(s), '$(eye) stella: idle');
  assert.equal(statusText({ ...s, running: true, step: 3, fresh: 2 }), '$(sync~spin) stella: working, step 3, 2 guarded');
  assert.equal(statusText({ ...s, fresh: 11, stale: 1 }), '$(warning) stella: idle, 12 guarded, 1 stale');
  assert.equal(statusText({ ...s, running: true, waiting: true, fresh: 1 }), '$(question) stella: waiting for you, 1 guarded');
  assert.match(statusText({ ...s, problem: 'not running' }), /not running/);
});

test('restarts back off and then stop', () => {
  assert.deepEqual([1, 2, 3, 4, 5, 6].map(backOff), [500, 1000, 2000, 4000, 8000, undefined]);
});

test('a question in one line', () => {
  const diff = '--- a.py\n+++ a.py\n@@ -1 +1,2 @@\n-one\n+1\n+2\n';
  assert.deepEqual(countLines(diff), { added: 2, removed: 1 });
  assert.equal(questionSummary({ detail: 'two\nfiles', diff }), '+2 \u22121 lines');
  assert.equal(questionSummary({ detail: '', command: 'make\n  test', cwd: '/w' }), 'make ⏎ test in /w');
  assert.equal(questionSummary({ detail: '', command: 'x'.repeat(500) }).length, 161);
  assert.equal(questionSummary({ detail: 'why' }), 'why');
});

test('refusals in a transcript', () => {
  const one = { status: 'stale_base', path: 'a.py', next: 're-read it' };
  assert.deepEqual(refusalIn(`a.py changed\n${JSON.stringify(one)}\n\n@@`), one);
  assert.equal(refusalIn('exit 1\n{"status":"ok","exit":1}'), undefined);
  assert.equal(refusalIn('one line'), undefined);
  assert.equal(refusalIn('head\n{not json'), undefined);
  interface R { status: string; files?: R[] }
  assert.deepEqual(refusals<R>({ status: 'stale_base' }).map((r) => r.status), ['stale_base']);
  assert.deepEqual(refusals<R>({ status: 'stale_base', files: [{ status: 'cancelled' }, { status: 'stale_base' }] }).map((r) => r.status), ['stale_base']);
});
