/**
 * kill -9 in each phase of an upgrade, of the program and of its parent process (hard case G6 for upgrades): after a new start one of the two
 * versions runs whole, the state is told as it is, and the upgrade can be begun again or cancelled.
 */
import { existsSync, readdirSync, readlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { expect, test } from 'vitest';
import { queryRows } from '../../scripts/support/query-rows.ts';
import { openDatabase, sql } from '../../src/db/database.ts';
import { silentLog } from '../../src/lib/log.ts';
import { afterFile } from '../support/after-file.ts';
import { childrenOf } from '../support/faulty-world.ts';
import { newDataDir } from '../support/plugin-folder.ts';
import { startWithParent, type Program } from '../support/program.ts';
import { packRelease } from '../support/release-archive.ts';
import { createTestDatabase } from '../support/test-database.ts';
import { ask, startReleases, untilVersion, upgradeOf } from '../support/upgrade-client.ts';

const { url } = await createTestDatabase();
const database = openDatabase({ url, poolSize: 2, log: silentLog, applicationName: 'mailwright-test' });
afterFile(() => database.close());
const dataDir = newDataDir();
const releases = await startReleases();
const incoming = path.join(dataDir, 'releases', '.incoming');
const killAt = path.join(dataDir, 'kill-at');
const KILLER = pathToFileURL(path.resolve(import.meta.dirname, '../support/kill-at-switch.ts')).href;
const settings = {
  ...{ DATABASE_URL: url, DATA_DIR: dataDir, ROLES: 'web', DB_POOL_SIZE: '4' },
  ...{ NODE_OPTIONS: `--import=${KILLER}`, KILL_AT: killAt },
  ...releases.settings,
};
const start = () => startWithParent(settings);

const SLEEP_S = 3;
const TWO = {
  '29991231000001_one': 'CREATE TABLE upgrade_test_one (id int);',
  '29991231000002_two': `CREATE TABLE upgrade_test_two (id int); SELECT pg_sleep(${SLEEP_S});`,
};
const second = packRelease({ version: '0.2.0', migrations: TWO });

/** The parent process, the program and its workers at once. */
async function killAll(program: Program): Promise<void> {
  const children = childrenOf(program);
  const killed = program.kill();
  for (const child of children) process.kill(child, 'SIGKILL');
  await killed;
}

/** Programs that work in this folder. */
function workingIn(folder: string): readonly string[] {
  return readdirSync('/proc').filter((pid) => {
    try {
      return /^\d+$/.test(pid) && readlinkSync(`/proc/${pid}/cwd`).startsWith(folder);
    } catch {
      return false;
    }
  });
}

const tables = () =>
  queryRows<{ name: string }>(
    database,
    sql`SELECT tablename::text AS name FROM pg_tables WHERE tablename LIKE 'upgrade_test_%' ORDER BY 1`,
  );

async function untilSleeping(): Promise<void> {
  const sleeping = () =>
    queryRows(
      database,
      sql`SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND state = 'active' AND wait_event = 'PgSleep'`,
    );
  await expect.poll(sleeping, { interval: 50 }).toHaveLength(1);
}

const soon = { timeout: 120_000, interval: 10 };
const INTERRUPTED = {
  state: 'failed',
  reason: expect.stringMatching(/interrupted: begin again/),
  pending_migrations: [],
};

test('while it is downloaded, unpacked and prepared', async () => {
  const phases: readonly [string, () => unknown][] = [
    ['downloading', () => true],
    ['unpacking', () => existsSync(path.join(incoming, 'package.json'))],
    ['setting up', () => workingIn(incoming).length > 0],
  ];
  for (const [phase, isReached] of phases) {
    const program = await start();
    releases.instead.answer =
      phase === 'downloading' ? (release, send) => send(release.subarray(0, 1_000), false) : undefined;
    await releases.begin(program, second);
    await expect.poll(isReached, soon).toBe(true);
    await killAll(program);
    // What it had started does not go on in a folder that is not its own any more.
    await expect.poll(() => workingIn(incoming), soon).toEqual([]);
    expect(existsSync(path.join(incoming, 'src/generated/.prisma.json'))).toBe(false);
    const again = await start();
    expect(await upgradeOf(again), phase).toMatchObject({ running_version: '0.1.0', ...INTERRUPTED });
    expect(await ask(again, 'POST', '/upgrade/finalize')).toMatchObject({ status: 422 });
    expect(await ask(again, 'POST', '/upgrade/cancel')).toMatchObject({ status: 422 });
    await killAll(again);
  }
}, 900_000);

test('while it migrates, and on both sides of the switch', async () => {
  let program = await start();
  expect(await releases.stage(program, second)).toMatchObject({ state: 'staged' });
  expect(readdirSync(path.join(dataDir, 'releases')).filter((name) => name.startsWith('0.2.0-'))).toHaveLength(1);
  const finalize = () => ask(program, 'POST', '/upgrade/finalize').catch(() => 'killed');

  // While it migrates: nothing of the migrations stays.
  let finalizing = finalize();
  await untilSleeping();
  await killAll(program);
  expect(await finalizing).toBe('killed');
  program = await start();
  const staged = { state: 'staged', running_version: '0.1.0' };
  expect(await upgradeOf(program)).toMatchObject({ ...staged, pending_migrations: Object.keys(TWO) });
  expect(await tables()).toEqual([]);

  // All is migrated, and the link is not yet replaced.
  writeFileSync(killAt, 'before');
  expect(await finalize()).toBe('killed');
  program = await start();
  expect(await upgradeOf(program)).toMatchObject({ ...staged, pending_migrations: [] });
  expect(await tables()).toHaveLength(2);
  // It can be cancelled and begun again there.
  expect(await ask(program, 'POST', '/upgrade/cancel')).toMatchObject({ status: 200 });
  expect(await releases.stage(program, second)).toMatchObject({ ...staged, pending_migrations: [] });

  // The link is replaced, and the state does not say so yet.
  writeFileSync(killAt, 'after');
  finalizing = finalize();
  expect(await finalizing).toBe('killed');
  program = await start();
  expect(await upgradeOf(program)).toMatchObject({ state: 'done', running_version: '0.2.0', reason: null });
  expect(await ask(program, 'POST', '/upgrade/finalize')).toMatchObject({ status: 422 });
  await killAll(program);
}, 900_000);

test('after the switch, before the new version answers', async () => {
  let program = await start();
  /** Puts a version in use, and kills all when the one before has ended. */
  async function killInStart(version: string, files: Readonly<Record<string, string>>): Promise<void> {
    const release = packRelease({ version, migrations: TWO, files });
    expect(await releases.stage(program, release)).toMatchObject({ state: 'staged' });
    const before = childrenOf(program);
    await ask(program, 'POST', '/upgrade/finalize');
    await expect.poll(() => childrenOf(program).some((child) => !before.includes(child)), soon).toBe(true);
    await killAll(program);
  }
  await killInStart('0.3.0', {});
  program = await start();
  expect(await upgradeOf(program)).toMatchObject({ state: 'done', running_version: '0.3.0' });

  // One that does not start: also a parent process that has not seen the version before goes back to it.
  await killInStart('0.4.0', { 'src/program.ts': 'setTimeout(() => process.exit(3), 2_000);' });
  program = await start();
  await untilVersion(program, '0.3.0');
  expect(await upgradeOf(program)).toMatchObject({
    ...{ state: 'failed', reason: expect.stringMatching(/did not start.*It ended \(code 3\)/) },
  });
  expect((await program.stop()).code).toBe(0);
}, 900_000);
