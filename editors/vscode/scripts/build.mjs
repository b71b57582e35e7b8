// Bundles the extension (and, with --tests, the tests) with esbuild.
import { build } from 'esbuild';
import { readdir } from 'node:fs/promises';
import path from 'node:path';

const common = { bundle: true, platform: 'node', format: 'cjs', target: 'node20', sourcemap: false, logLevel: 'warning' };
if (!process.argv.includes('--tests')) {
  await build({ ...common, entryPoints: ['src/extension.ts'], external: ['vscode'], outfile: 'dist/extension.js', minify: true, keepNames: true,
    banner: { js: 'globalThis.stellaLoadBegan=process.threadCpuUsage?.();' } });
} else {
  for (const kind of ['unit', 'host']) {
    const files = (await readdir(path.join('test', kind))).filter((f) => f.endsWith('.test.ts') || f === 'index.ts');
    if (files.length === 0) continue;
    await build({ ...common, entryPoints: files.map((f) => path.join('test', kind, f)), external: ['vscode', 'mocha'], outdir: path.join('dist', 'test', kind) });
  }
}
