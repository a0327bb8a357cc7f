/** Upgrading a running program from within: what is refused, each phase broken once, and the new version in place of the old one. */
import { existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { queryRows } from '../../scripts/support/query-rows.ts';
import { openDatabase, sql } from '../../src/db/database.ts';
import { silentLog } from '../../src/lib/log.ts';
import { afterFile } from '../support/after-file.ts';
import { newSigner } from '../support/plugin-archive.ts';
import { newDataDir } from '../support/plugin-folder.ts';
import { startProgram } from '../support/program.ts';
import { packRelease } from '../support/release-archive.ts';
import { createTestDatabase } from '../support/test-database.ts';
import { ask, startReleases, untilVersion, upgradeOf } from '../support/upgrade-client.ts';

/** With the parent process. */
const MAIN = path.resolve(import.meta.dirname, '../../src/main.ts');
const releases = await startReleases();
const { stage } = releases;

const { url } = await createTestDatabase();
const database = openDatabase({ url, poolSize: 2, log: silentLog, applicationName: 'mailwright-test' });
afterFile(() => database.close());
const dataDir = newDataDir();
const settings = {
  ...{ DATABASE_URL: url, DATA_DIR: dataDir, ROLES: 'web,worker', DB_POOL_SIZE: '8' },
  ...releases.settings,
};

const tables = async () =>
  (
    await queryRows<{ name: string }>(
      database,
      sql`SELECT tablename::text AS name FROM pg_tables WHERE tablename LIKE 'upgrade_test_%' ORDER BY 1`,
    )
  ).map(({ name }) => name);

const MIGRATIONS = {
  '29991231000001_one': 'CREATE TABLE upgrade_test_one (id int);',
  '29991231000002_two': 'CREATE TABLE upgrade_test_two (id int);',
};

/** A process that ended while it prepared a version; its number is that of another process now. */
function leaveUnfinished(): void {
  mkdirSync(path.join(dataDir, 'releases'));
  const status = { state: 'preparing', reason: null, version: '0.2.0', folder: null, sizeBytes: 1, pid: process.pid };
  writeFileSync(path.join(dataDir, 'releases', 'upgrade.json'), JSON.stringify({ ...status, changedAt: new Date(0) }));
}

test('each phase is broken once, then the newer version takes the place of the running one', async () => {
  const program = await startProgram(settings, MAIN);
  const { running_version: base } = await upgradeOf(program);
  leaveUnfinished();
  expect(await upgradeOf(program)).toMatchObject({ state: 'failed', reason: expect.stringMatching(/interrupted/) });
  const good = packRelease({ version: '0.2.0', migrations: MIGRATIONS });

  // What is refused before anything is kept.
  expect(await stage(program, good, { sha256: 'a'.repeat(64) })).toMatchObject({
    state: 'failed',
    reason: expect.stringMatching(/checksum/),
  });
  expect(await stage(program, good, { signature: newSigner().sign(good) })).toMatchObject({
    state: 'failed',
    reason: expect.stringMatching(/No release key/),
  });
  expect(await stage(program, packRelease({ version: '0.0.1', migrations: {} }))).toMatchObject({
    reason: expect.stringMatching(/not newer/),
  });
  expect(await stage(program, Buffer.from('nothing'))).toMatchObject({
    reason: expect.stringMatching(/neither a zip/),
  });
  const broken = { 'src/app/start-web.ts': 'import "./none.ts";' };
  expect(await stage(program, packRelease({ version: '0.2.0', migrations: {}, files: broken }))).toMatchObject({
    ...{ state: 'failed', reason: expect.stringMatching(/code cannot be loaded/) },
  });
  expect(await ask(program, 'POST', '/upgrade/finalize')).toMatchObject({
    status: 422,
    body: { message: expect.stringMatching(/staged/) },
  });
  expect(readdirSync(path.join(dataDir, 'releases'))).toEqual(['upgrade.json']);

  // A migration that fails: nothing of any of them stays.
  const bad = { ...MIGRATIONS, '29991231000002_two': 'LOCK TABLE plan; SELECT 1 / 0;' };
  expect(await stage(program, packRelease({ version: '0.2.0', migrations: bad }))).toMatchObject({ state: 'staged' });
  // It does not wait for long for a table that is in use.
  await database.transaction(async (tx) => {
    await tx.execute(sql`SELECT 1 FROM plan LIMIT 1`);
    expect((await ask(program, 'POST', '/upgrade/finalize')).body.errors).toEqual({
      migration: [expect.stringMatching(/lock timeout/)],
    });
  });
  expect(await ask(program, 'POST', '/upgrade/finalize')).toMatchObject({
    ...{ status: 422, body: { errors: { migration: [expect.stringMatching(/two failed and was undone/)] } } },
  });
  expect(await tables()).toEqual([]);
  expect(await upgradeOf(program)).toMatchObject({ state: 'staged', running_version: base });
  expect((await ask(program, 'POST', '/upgrade/cancel')).body.upgrade).toMatchObject({ state: 'cancelled' });

  // One step by hand, and the old version starts again with it.
  expect(await stage(program, good)).toMatchObject({ state: 'staged', pending_migrations: Object.keys(MIGRATIONS) });
  expect(await ask(program, 'POST', '/upgrade/run-file', { migration: '29991231000002_two' })).toMatchObject({
    status: 422,
  });
  const stepped = await ask(program, 'POST', '/upgrade/run-file', { migration: '29991231000001_one' });
  expect(stepped.body.upgrade).toMatchObject({ pending_migrations: ['29991231000002_two'] });

  // Another version does not know that step: it is refused, and the old version still starts.
  await ask(program, 'POST', '/upgrade/cancel');
  const without = { '29991231000002_two': MIGRATIONS['29991231000002_two'] };
  expect(await stage(program, packRelease({ version: '0.2.1', migrations: without }))).toMatchObject({
    state: 'staged',
  });
  expect((await ask(program, 'POST', '/upgrade/finalize')).body.errors).toEqual({
    migration: [expect.stringMatching(/29991231000001_one, which version 0.2.1 does not know/)],
  });
  await ask(program, 'POST', '/upgrade/cancel');
  expect(await stage(program, good)).toMatchObject({ state: 'staged' });
  await program.kill();
  const again = await startProgram(settings, MAIN);
  expect(await upgradeOf(again)).toMatchObject({ state: 'staged', running_version: base });

  // The rest, in another request.
  const startedAt = performance.now();
  expect((await ask(again, 'POST', '/upgrade/finalize')).body.upgrade).toMatchObject({
    state: 'done',
    pending_migrations: [],
  });
  await untilVersion(again, '0.2.0');
  console.log(`Upgraded in ${Math.round(performance.now() - startedAt)} ms.`);
  expect(await tables()).toEqual(['upgrade_test_one', 'upgrade_test_two']);
  const steps = () => queryRows(database, sql`SELECT s.key FROM setting s WHERE key = 'installation.upgrade_steps'`);
  await expect.poll(steps).toEqual([]);
  expect(await upgradeOf(again)).toMatchObject({ state: 'done' });

  // A still newer one that does not start: the one before comes back by itself.
  const files = { 'src/program.ts': 'process.exit(3);' };
  const third = { '29991231000003_three': 'CREATE TABLE upgrade_test_three (id int);' };
  const faulty = packRelease({ version: '0.3.0', migrations: { ...MIGRATIONS, ...third }, files });
  expect(await stage(again, faulty)).toMatchObject({ state: 'staged' });
  await ask(again, 'POST', '/upgrade/finalize');
  await expect.poll(() => again.output(), { timeout: 120_000 }).toContain('did not start');
  await untilVersion(again, '0.2.0');
  expect(await upgradeOf(again)).toMatchObject({ state: 'failed', reason: expect.stringMatching(/did not start/) });
  expect(existsSync(path.join(dataDir, 'releases', 'current'))).toBe(true);
  expect((await again.stop()).code).toBe(0);
}, 1_200_000);
