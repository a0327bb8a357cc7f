/** The embedded database is made whole or not at all: a set-up that is killed does not stand in the way of the next. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { afterAll, expect, it } from 'vitest';
import { startEmbeddedDatabase } from '../../src/db/embedded.ts';
import { onBusyMachine } from '../support/busy-machine.ts';

const base = mkdtempSync(path.join(tmpdir(), 'mailwright-embedded-'));
const folder = path.join(base, 'postgres');
afterAll(() => rmSync(base, { recursive: true, force: true }));

const hasBegun = (): boolean =>
  readdirSync(base, { recursive: true, encoding: 'utf8' }).some((name) => name.endsWith(`${path.sep}global`));

it('comes up after a first start that was killed in the middle', async () => {
  const program = `import { startEmbeddedDatabase } from ${JSON.stringify(path.resolve('src/db/embedded.ts'))}; await startEmbeddedDatabase({ folder: ${JSON.stringify(folder)} });`;
  const first = spawn(process.execPath, ['--input-type=module', '-e', program], { detached: true, stdio: 'ignore' });
  const ended = once(first, 'exit');
  while (!hasBegun()) await sleep(5);
  await sleep(100);
  // The whole group: the program and the set-up that it runs.
  process.kill(-(first.pid ?? 0), 'SIGKILL');
  await ended;
  const database = await startEmbeddedDatabase({ folder });
  const client = new pg.Client({ connectionString: database.url });
  await client.connect();
  const { rows } = await client.query('SELECT 1 AS one');
  await client.end();
  await database.stop();
  expect(rows).toEqual([{ one: 1 }]);
});

it('says at once when the server ends instead of starting', async () => {
  const startedAt = performance.now();
  await expect(startEmbeddedDatabase({ folder, settings: ['no_such_setting=1'] })).rejects.toThrow('does not start');
  expect(performance.now() - startedAt).toBeLessThan(onBusyMachine(10_000));
});
