/** The parent process outlives that a program cannot be started for a while, as when the machine has no room for another process. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { expect, test } from 'vitest';
import { afterFile } from '../support/after-file.ts';

const KEEPER = path.resolve(import.meta.dirname, '../../src/parent/keep-program.ts');

test('a program that cannot be started again for a while is started later', { timeout: 120_000 }, async () => {
  const folder = mkdtempSync(path.join(os.tmpdir(), 'mailwright-keeper-'));
  afterFile(() => rmSync(folder, { recursive: true, force: true }));
  mkdirSync(path.join(folder, 'src'));
  writeFileSync(path.join(folder, 'package.json'), '{ "type": "module" }');
  const inFolder = (name: string) => path.join(folder, name);
  const [node, main] = [inFolder('node'), inFolder('main.ts')];
  const [program, first] = [inFolder('src/program.ts'), inFolder('first')];
  const restore = () => copyFileSync(process.execPath, node);
  restore();
  writeFileSync(main, `import { keepProgram } from '${KEEPER}'; await keepProgram('${program}');`);
  // The first time it takes away what it was started with, and ends.
  writeFileSync(
    program,
    `import { existsSync, rmSync, writeFileSync } from 'node:fs';
    process.send({ kind: 'ready', port: 0 }, () => {
      if (existsSync('${first}')) return process.send({ kind: 'stopping' }, () => process.exit(7));
      writeFileSync('${first}', '');
      rmSync('${node}');
      process.exit(1);
    });`,
  );
  const parent = spawn(node, [main], {
    env: { ...process.env, DATA_DIR: folder },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  const ended = once(parent, 'exit');
  let told = '';
  parent.stderr.on('data', (bytes: Buffer) => (told += bytes.toString()));
  await expect.poll(() => told, { timeout: 120_000 }).toContain('Mailwright cannot be started');
  expect(existsSync(node)).toBe(false);
  restore();
  expect(await ended).toEqual([7, null]);
});
