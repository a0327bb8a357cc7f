/** A new version of an active plugin in its folder: the next start activates it, with two processes and with kill -9 in the middle. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { queryRows } from '../../scripts/support/query-rows.ts';
import { openDatabase, sql, type Database } from '../../src/db/database.ts';
import { silentLog } from '../../src/lib/log.ts';
import { afterFile } from '../support/after-file.ts';
import { pluginClient } from '../support/plugin-client.ts';
import { newDataDir, writePlugin } from '../support/plugin-folder.ts';
import { startProgram } from '../support/program.ts';
import { testInstallation } from '../support/test-context.ts';
import { createTestDatabase } from '../support/test-database.ts';

const FIRST = { '1_a.sql': 'CREATE TABLE acme_a (id int);' };
const SECOND = {
  ...FIRST,
  '2_b.sql': `ALTER TABLE acme_a ADD COLUMN b int; INSERT INTO acme_a (b) VALUES (7); SELECT pg_sleep(2);`,
  '3_c.sql': 'CREATE TABLE acme_c (id int); SELECT pg_sleep(3);',
};

async function newInstallation() {
  const { url } = await createTestDatabase();
  const database = openDatabase({ url, poolSize: 2, log: silentLog, applicationName: 'of-the-test' });
  afterFile(() => database.close());
  const dataDir = newDataDir();
  const settings = { ROLES: 'web,worker', DB_POOL_SIZE: '8', DATABASE_URL: url, DATA_DIR: dataDir };
  writePlugin(dataDir, 'acme/grows', { migrations: FIRST });
  const program = await startProgram(settings);
  expect(await pluginClient(program).activate('acme/grows')).toMatchObject({ version: '1.0.0', status: 'ACTIVE' });
  await program.stop();
  return { settings, dataDir, database };
}

async function stateOf(database: Database) {
  const [state] = await queryRows(
    database,
    sql`SELECT p.version, p.status, p.error, (SELECT array_agg(no ORDER BY no)::int[] FROM plugin_migration) AS applied,
               (SELECT count(*)::int FROM information_schema.columns WHERE table_name LIKE 'acme\\_%') AS columns
          FROM plugin p WHERE p.vendor = 'acme'`,
  );
  return state;
}

/** Scripts of the plugin that sleep now, by the times at which they began. */
const sleeping = (database: Database) =>
  queryRows<{ since: string }>(
    database,
    sql`SELECT query_start::text AS since FROM pg_stat_activity WHERE datname = current_database() AND wait_event = 'PgSleep' AND query LIKE 'DO %'`,
  );

/** Starts the program and kills it so long after this script of the plugin, its first or its second, has begun to sleep. */
async function startAndKill(
  settings: Readonly<Record<string, string>>,
  database: Database,
  { script, afterMs }: { readonly script: number; readonly afterMs: number },
): Promise<void> {
  const { PATH = '' } = process.env;
  const child = spawn(process.execPath, [path.resolve('src/program.ts')], {
    stdio: 'ignore',
    env: { PATH, PORT: '0', APP_SECRET: testInstallation.secret, INBOX: 'off', LOG_FORMAT: 'json', ...settings },
  });
  const gone = once(child, 'exit');
  const begun = new Set<string>();
  for (; begun.size < script; await sleep(20)) for (const { since } of await sleeping(database)) begun.add(since);
  await sleep(afterMs);
  child.kill('SIGKILL');
  await gone;
  // The server ends the connection when the script has ended.
  while ((await sleeping(database)).length > 0) await sleep(20);
}

const OLD = { version: '1.0.0', status: 'active', error: null, applied: [1], columns: 1 };
const NEW = { version: '2.0.0', status: 'active', error: null, applied: [1, 2, 3], columns: 3 };

test('two processes that start at once activate the new version once, and both run it', async () => {
  const { settings, dataDir, database } = await newInstallation();
  expect(await stateOf(database)).toEqual(OLD);
  writePlugin(dataDir, 'acme/grows', { version: '2.0.0', migrations: SECOND });
  const programs = await Promise.all([startProgram(settings), startProgram(settings)]);
  expect(await stateOf(database)).toEqual(NEW);
  expect(await queryRows(database, sql`SELECT b FROM acme_a`)).toEqual([{ b: 7 }]);
  for (const program of programs) {
    expect(await pluginClient(program).plugin('acme/grows')).toMatchObject({
      isLive: true,
      version: '2.0.0',
      fault: null,
    });
    expect(program.output()).not.toContain('plugin.not_activated');
    await program.stop();
  }
});

test('kill -9 in the middle leaves the old version, and the next start ends it', async () => {
  const { settings, dataDir, database } = await newInstallation();
  writePlugin(dataDir, 'acme/grows', { version: '2.0.0', migrations: SECOND });
  for (const moment of [
    { script: 1, afterMs: 0 },
    { script: 1, afterMs: 500 },
    { script: 2, afterMs: 0 },
  ]) {
    await startAndKill(settings, database, moment);
    expect(await stateOf(database), `killed at ${JSON.stringify(moment)}`).toEqual(OLD);
  }
  const last = await startProgram(settings);
  expect(await stateOf(database)).toEqual(NEW);
  expect(await queryRows(database, sql`SELECT b FROM acme_a`)).toEqual([{ b: 7 }]);
  await last.stop();
});

test('a new version whose migration fails leaves the tables of the old one; it is inactive, with the reason', async () => {
  const { settings, dataDir, database } = await newInstallation();
  writePlugin(dataDir, 'acme/grows', { version: '2.0.0', migrations: { ...FIRST, '2_bad.sql': 'SELECT 1 / 0;' } });
  const program = await startProgram(settings);
  expect(await stateOf(database)).toMatchObject({
    ...OLD,
    status: 'inactive',
    error: expect.stringContaining('by zero'),
  });
  expect(await pluginClient(program).plugin('acme/grows')).toMatchObject({ isLive: false });
  await program.stop();
});
