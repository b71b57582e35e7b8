// VS Code requires this file inside the extension host and calls run(). What
// mocha prints goes to the file that TEST_REPORT names.
import { appendFileSync, readdirSync } from 'node:fs';
import path from 'node:path';
import { format } from 'node:util';
// eslint-disable-next-line @typescript-eslint/no-require-imports
const Mocha = require('mocha') as MochaModule;

interface Runner { stats: { passes: number; pending: number } }
interface MochaModule {
  new (o: object): { addFile(f: string): void; run(done: (failures: number) => void): Runner };
  reporters: { Base: { consoleLog: (...a: unknown[]) => void } };
}

export async function run(): Promise<void> {
  const report = process.env['TEST_REPORT'];
  const say = (...a: unknown[]): void => { if (report) appendFileSync(report, `${format(...a)}\n`); };
  Mocha.reporters.Base.consoleLog = say;
  const mocha = new Mocha({ ui: 'bdd', reporter: 'spec', timeout: 240_000, color: false, ...(process.env['TEST_GREP'] ? { grep: process.env['TEST_GREP'] } : {}) });
  for (const f of readdirSync(__dirname).filter((n) => n.endsWith('.test.js'))) mocha.addFile(path.join(__dirname, f));
  await new Promise<void>((done, fail) => {
    const runner = mocha.run((failures) => {
      const { passes, pending } = runner.stats;
      say(`${passes} passed, ${failures} failed, ${pending} skipped`);
      if (failures > 0 || passes === 0) fail(new Error(`${failures} of ${passes + failures} tests failed`));
      else done();
    });
  });
}
