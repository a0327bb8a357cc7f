/**
 * The embedded database is made whole or not at all, by whoever comes first; nothing that a kill, a power cut or another
 * user left stands in the way of the next start, or is said in words.
 */
import { execFileSync, spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { afterAll, expect, it } from 'vitest';
import { databaseUserFor, spawnIdentity } from '../../src/db/embedded-user.ts';
import { startEmbeddedDatabase } from '../../src/db/embedded.ts';
import { onBusyMachine } from '../support/busy-machine.ts';

const base = mkdtempSync(path.join(tmpdir(), 'mailwright-embedded-'));
const folder = path.join(base, 'postgres');
afterAll(() => rmSync(base, { recursive: true, force: true }));

const data = path.join(folder, 'data');
const pidFile = path.join(data, 'postmaster.pid');
const isRoot = process.getuid?.() === 0;

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

/** Starts the database, says where it is, and stops it when its input ends. */
function startElsewhere(place: string): { child: ChildProcess; said: Promise<string> } {
  const program = `import { startEmbeddedDatabase } from ${JSON.stringify(path.resolve('src/db/embedded.ts'))};
    try {
      const database = await startEmbeddedDatabase({ folder: ${JSON.stringify(place)} });
      console.log(database.url);
      process.stdin.resume().on('end', () => database.stop());
    } catch (error) { console.log(String(error)); }`;
  const child = spawn(process.execPath, ['--input-type=module', '-e', program], { stdio: ['pipe', 'pipe', 'inherit'] });
  return { child, said: once(child.stdout, 'data').then(([text]) => String(text).trim()) };
}

async function canBeAsked(url: string): Promise<boolean> {
  const client = new pg.Client({ connectionString: url });
  client.on('error', () => undefined);
  const isThere = await client.connect().then(
    () => true,
    () => false,
  );
  await client.end();
  return isThere;
}

it('is one for all processes that start at the same moment, the first time and later, until the last one stops', async () => {
  const place = path.join(base, 'shared', 'postgres');
  for (let round = 0; round < 2; round++) {
    const processes = Array.from({ length: 2 }, () => startElsewhere(place));
    const urls = await Promise.all(processes.map(({ said }) => said));
    expect(urls[0]).toMatch(/^postgresql:/);
    expect(new Set(urls).size).toBe(1);
    const ends = processes.map(({ child }) => once(child, 'exit'));
    for (const { child } of processes) child.stdin?.end();
    await Promise.all(ends);
    expect(await canBeAsked(String(urls[0]))).toBe(false);
    expect(readdirSync(place).filter((name) => /^(?:data\.new|password\.)/.test(name))).toEqual([]);
  }
}, 300_000);

it('comes up after a power cut though another program has the number of its server by now', async () => {
  await (await startEmbeddedDatabase({ folder })).stop();
  const database = await startEmbeddedDatabase({ folder });
  const left = readFileSync(pidFile, 'utf8').split('\n').slice(1);
  await database.stop();
  // Of the same user: PostgreSQL asks no more than whether it may send it a signal.
  const another = spawn('sleep', ['600'], { ...spawnIdentity(databaseUserFor(folder, data)), stdio: 'ignore' });
  try {
    writeFileSync(pidFile, [another.pid, ...left].join('\n'));
    if (isRoot) execFileSync('chown', ['--reference', data, pidFile]);
    const again = await startEmbeddedDatabase({ folder });
    expect(await canBeAsked(again.url)).toBe(true);
    await again.stop();
  } finally {
    another.kill();
  }
});

it.runIf(isRoot)('stays with the user it was made for', async () => {
  execFileSync('chown', ['-R', '12345:12345', folder]);
  const database = await startEmbeddedDatabase({ folder });
  expect(await canBeAsked(database.url)).toBe(true);
  await database.stop();
  expect(statSync(data).uid).toBe(12_345);
});

it('deletes nothing when its folder holds something else, and says so', async () => {
  const place = path.join(base, 'damaged');
  mkdirSync(path.join(place, 'data'), { recursive: true });
  writeFileSync(path.join(place, 'data', 'postgresql.conf'), 'precious');
  if (isRoot) chmodSync(base, 0o755);
  await expect(startEmbeddedDatabase({ folder: place })).rejects.toThrow('no whole database');
  expect(readFileSync(path.join(place, 'data', 'postgresql.conf'), 'utf8')).toBe('precious');
});
