// The packed extension without the server's binary stays below 600 KB.
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';

const zip = await readFile('dist/stella-ls.vsix');
const end = zip.lastIndexOf(Buffer.from('PK\x05\x06')); // end of the central directory
assert.ok(end > 0, 'no zip file');
const count = zip.readUInt16LE(end + 10);
let at = zip.readUInt32LE(end + 16), ours = 0, server = 0;
for (let i = 0; i < count; i++) {
  assert.equal(zip.toString('latin1', at, at + 4), 'PK\x01\x02');
  const packed = zip.readUInt32LE(at + 20), name = zip.readUInt16LE(at + 28), extra = zip.readUInt16LE(at + 30), comment = zip.readUInt16LE(at + 32);
  const path = zip.toString('utf8', at + 46, at + 46 + name);
  if (path.startsWith('extension/server/')) server += packed;
  else ours += packed + 46 + 30 + 2 * name + extra + comment; // with its headers
  at += 46 + name + extra + comment;
}
console.log(`ok   the extension: ${(ours / 1000).toFixed(0)} KB packed, and the server ${(server / 1e6).toFixed(1)} MB`);
assert.ok(server > 0, 'the server is not inside');
assert.ok(ours < 600_000, `${ours} bytes`);
