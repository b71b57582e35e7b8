import assert from 'node:assert/strict';
import { test } from 'node:test';
import { elsewhere, providers } from '../../src/elsewhere';

test('languages that others answer for', () => {
  assert.deepEqual(elsewhere(() => false), []);
  assert.deepEqual(elsewhere((id) => id === 'rust-lang.rust-analyzer'), ['rust']);
  const both = ['ms-pyright.pyright', 'ms-python.vscode-pylance', 'vscode.typescript-language-features'];
  assert.deepEqual(elsewhere((id) => both.includes(id)), ['javascript', 'javascriptreact', 'python', 'typescript', 'typescriptreact']);
  for (const id of Object.keys(providers)) assert.equal(id, id.toLowerCase());
});
