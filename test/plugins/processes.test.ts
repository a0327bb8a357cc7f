/** Plugins and processes: several at once, kill -9 in the middle, safe mode, and folders that are gone. */
import { cpSync, existsSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { queryRows } from '../../scripts/support/query-rows.ts';
import { openDatabase, sql, type Database } from '../../src/db/database.ts';
import { silentLog } from '../../src/lib/log.ts';
import { afterFile } from '../support/after-file.ts';
import { pluginClient } from '../support/plugin-client.ts';
import { folderOf, newDataDir, writePlugin } from '../support/plugin-folder.ts';
import { startProgram, type Program } from '../support/program.ts';
import { startSmtpReceiver } from '../support/smtp-receiver.ts';
import { createTestDatabase } from '../support/test-database.ts';

const ROLES = { ROLES: 'web,worker', DB_POOL_SIZE: '8' };

async function newInstallation(): Promise<{ settings: Record<string, string>; dataDir: string; database: Database }> {
  const { url } = await createTestDatabase();
  const database = openDatabase({ url, poolSize: 2, log: silentLog, applicationName: 'mailwright-test' });
  afterFile(() => database.close());
  const dataDir = newDataDir();
  return { settings: { ...ROLES, DATABASE_URL: url, DATA_DIR: dataDir }, dataDir, database };
}

const isLive = async (program: Program, plugin: string) => (await pluginClient(program).plugin(plugin)).isLive;

async function until(what: () => Promise<boolean | undefined> | boolean): Promise<void> {
  while (!(await what())) await sleep(50);
}

test('a change reaches all processes of an installation without a restart', async () => {
  const { settings, dataDir } = await newInstallation();
  const [first, second] = [await startProgram(settings), await startProgram(settings)];
  writePlugin(dataDir, 'acme/both', {
    migrations: { '1_a.sql': 'CREATE TABLE acme_a (id int);' },
    code: `import { appendFileSync } from 'node:fs';
      import { version } from './version.ts';
      const note = (what) => appendFileSync(new URL('./noted', import.meta.url), what + ' ' + version + ' ' + process.pid + '\\n');
      export const plugin = {
        name: 'acme/both',
        boot(hooks) {
          note('boot');
          hooks.on('activate_plugin_acme/both', () => note('activated'));
        },
      };`,
    files: { 'version.ts': `export const version: string = 'one';` },
  });
  expect(await pluginClient(first).activate('acme/both')).toMatchObject({ status: 'ACTIVE', isLive: true });
  await until(() => isLive(second, 'acme/both'));
  const noted = () =>
    readFileSync(path.join(folderOf(dataDir, 'acme/both'), 'noted'), 'utf8')
      .trim()
      .split('\n');
  // The hook of the activation is fired in one of them.
  await until(() => noted().some((line) => line.startsWith('activated')));
  const pids = [first, second].map(({ process: { pid } }) => `activated one ${pid}`);
  expect(pids).toEqual(expect.arrayContaining(noted().filter((line) => line.startsWith('activated'))));
  expect(noted().filter((line) => line.startsWith('activated'))).toHaveLength(1);
  expect(noted()).toEqual(expect.arrayContaining([`boot one ${second.process.pid}`]));

  expect(await pluginClient(second).deactivate('acme/both')).toMatchObject({ isLive: false });
  await until(async () => !(await isLive(first, 'acme/both')));

  // Other code is used by both.
  writeFileSync(
    path.join(folderOf(dataDir, 'acme/both'), 'version.ts'),
    `export const version: string = 'two, a longer one';`,
  );
  expect(await pluginClient(second).activate('acme/both')).toMatchObject({ isLive: true });
  await until(() => isLive(first, 'acme/both'));
  const last = noted().filter((line) => line.includes('two'));
  expect(last).toEqual(expect.arrayContaining([first, second].map((it) => `boot two, a longer one ${it.process.pid}`)));

  // Also a process that starts later, and one that only works.
  const third = await startProgram(settings);
  expect(await isLive(third, 'acme/both')).toBe(true);

  await pluginClient(third).deactivate('acme/both');
  expect(await pluginClient(third).remove('acme/both', { keepData: false })).toMatchObject({ name: 'both' });
  expect(existsSync(folderOf(dataDir, 'acme/both'))).toBe(false);
  for (const program of [first, second, third]) {
    expect(await pluginClient(program).plugin('acme/both')).toMatchObject({ code: 'PLUGIN_NOT_FOUND' });
    await program.stop();
    expect(program.output()).not.toMatch(/"event":"plugin|DeprecationWarning/);
  }
});

test('several processes that activate at once do it once', async () => {
  const { settings, dataDir, database } = await newInstallation();
  const programs = [await startProgram(settings), await startProgram(settings)];
  writePlugin(dataDir, 'acme/race', {
    migrations: { '1_a.sql': 'CREATE TABLE acme_race (id int); SELECT pg_sleep(0.3);' },
    code: `import { appendFileSync } from 'node:fs';
      export const plugin = { name: 'acme/race', boot: (hooks) =>
        hooks.on('activate_plugin_acme/race', () => appendFileSync(new URL('./noted', import.meta.url), 'x')) };`,
  });
  const answers = await Promise.all([...programs, ...programs].map((it) => pluginClient(it).activate('acme/race')));
  for (const answer of answers) expect(answer).toMatchObject({ status: 'ACTIVE', error: null });
  const noted = path.join(folderOf(dataDir, 'acme/race'), 'noted');
  const times = () => (existsSync(noted) ? readFileSync(noted, 'utf8') : '');
  await until(() => times() !== '');
  expect(times()).toBe('x');
  const first = sql`SELECT 1 FROM hot.event WHERE kind = 'plugin_activated' AND (data->>'isFirst')::bool AND object_uid = 'acme/race'`;
  expect(await queryRows(database, first)).toHaveLength(1);
  expect(await queryRows(database, sql`SELECT no FROM plugin_migration`)).toEqual([{ no: 1 }]);
  await Promise.all(programs.map((program) => program.stop()));
  expect(times()).toBe('x');
});

test('kill -9 in the middle of an activation leaves it inactive or active, never half', async () => {
  const { settings, dataDir, database } = await newInstallation();
  const migrations = {
    '1_a.sql': 'CREATE TABLE acme_a (id int);',
    '2_b.sql': 'CREATE TABLE acme_b (id int); SELECT pg_sleep(0.2);',
    '3_c.sql': 'CREATE TABLE acme_c (id int);',
  };
  writePlugin(dataDir, 'acme/half', { migrations });
  const seen = new Set<string>();
  // Before the migrations, in them, and after them.
  for (const killAfterMs of [0, 40, 80, 120, 200, 300, 400, 500]) {
    const program = await startProgram(settings);
    const activating = pluginClient(program)
      .activate('acme/half')
      .catch(() => undefined);
    await sleep(killAfterMs);
    await program.kill();
    await activating;
    // The server notices the end of the connection.
    await until(
      async () =>
        (
          await queryRows(
            database,
            sql`SELECT 1 FROM pg_locks l JOIN pg_class c ON c.oid = l.relation WHERE c.relname = 'plugin' AND l.mode = 'RowShareLock' AND l.pid <> pg_backend_pid()`,
          )
        ).length === 0,
    );
    const [state] = await queryRows<{
      status: string;
      applied: number;
      tables: number;
      first: boolean;
      events: number;
    }>(
      database,
      sql`SELECT p.status, (SELECT count(*)::int FROM plugin_migration) AS applied, p.first_activated_at IS NOT NULL AS first,
                 (SELECT count(*)::int FROM hot.event WHERE object_uid = 'acme/half') AS events,
                 (SELECT count(*)::int FROM pg_tables WHERE tablename LIKE 'acme\\_%') AS tables
            FROM plugin p WHERE vendor = 'acme'`,
    );
    expect([
      { status: 'inactive', applied: 0, tables: 0, first: false, events: 0 },
      { status: 'active', applied: 3, tables: 3, first: true, events: 1 },
    ]).toContainEqual(state);
    seen.add(state?.status ?? '');
    if (state?.status === 'active') break;
  }
  const last = await startProgram(settings);
  expect(await pluginClient(last).activate('acme/half')).toMatchObject({ status: 'ACTIVE', isLive: true, error: null });
  expect(seen).toContain('inactive');
  await last.stop();
  // Up to nine starts of the program.
}, 900_000);

test('kill -9 in the middle of a deletion: the next start ends it', async () => {
  const { settings, dataDir, database } = await newInstallation();
  writePlugin(dataDir, 'acme/gone', { migrations: { '1_a.sql': 'CREATE TABLE acme_a (id int);' } });
  const program = await startProgram(settings);
  await pluginClient(program).activate('acme/gone');
  await pluginClient(program).deactivate('acme/gone');
  await program.kill();
  // As it is between the two steps.
  await database.execute(sql`UPDATE plugin SET status = 'deleting' WHERE vendor = 'acme'`);
  const next = await startProgram(settings);
  expect(await pluginClient(next).plugin('acme/gone')).toMatchObject({ code: 'PLUGIN_NOT_FOUND' });
  expect(existsSync(folderOf(dataDir, 'acme/gone'))).toBe(false);
  expect(await queryRows(database, sql`SELECT 1 FROM plugin WHERE vendor = 'acme'`)).toEqual([]);
  await next.stop();
});

test('plugins that harm do not stop the start; SAFE_MODE starts without the code of added ones', async () => {
  const { settings, dataDir } = await newInstallation();
  const program = await startProgram(settings);
  writePlugin(dataDir, 'acme/harm');
  writePlugin(dataDir, 'acme/hangs', { code: `await new Promise(() => setInterval(() => undefined, 1000));` });
  await pluginClient(program).activate('acme/harm');
  await program.stop();
  writePlugin(dataDir, 'acme/harm', { code: `globalThis.fetch = undefined; throw new Error('harm');` });
  const harmed = await startProgram(settings);
  expect(await pluginClient(harmed).plugin('acme/harm')).toMatchObject({
    status: 'ACTIVE',
    isLive: false,
    fault: 'harm',
  });
  expect((await pluginClient(harmed).plugin('acme/hangs')).fault).toContain('longer than');
  await harmed.stop();

  const safe = await startProgram({ ...settings, SAFE_MODE: '1' });
  expect(await pluginClient(safe).plugin('acme/harm')).toMatchObject({ status: 'ACTIVE', isLive: false, fault: null });
  expect(await isLive(safe, 'mailwright/smtp')).toBe(true);
  expect(safe.output()).not.toContain('"message":"harm"');
  const refused = await pluginClient(safe).activate('acme/hangs');
  expect(JSON.stringify(refused.fields)).toContain('SAFE_MODE');
  expect(await pluginClient(safe).deactivate('acme/harm')).toMatchObject({ status: 'INACTIVE' });
  expect(await pluginClient(safe).remove('acme/harm')).toMatchObject({ name: 'harm' });
  await safe.stop();
});

test('the folder of a bundled plugin can be removed: its type is gone, and its servers say so', async () => {
  const { settings, dataDir } = await newInstallation();
  // The program without plugins/mailwright/smtp.
  const copy = path.join(dataDir, 'program');
  const root = path.resolve(import.meta.dirname, '../..');
  mkdirSync(copy);
  for (const part of ['src', 'prisma', 'package.json', 'plugins', 'schema.graphql'])
    cpSync(path.join(root, part), path.join(copy, part), { recursive: true });
  symlinkSync(path.join(root, 'node_modules'), path.join(copy, 'node_modules'));
  const main = path.join(copy, 'src/program.ts');

  const receiver = await startSmtpReceiver();
  afterFile(() => receiver.close());
  const whole = await startProgram(settings, main);
  const types = 'query { it: sendingServerTypes { ... on SendingServerTypesSuccess { nodes { type } } } }';
  expect(JSON.stringify(await pluginClient(whole).graphql(types))).toContain('"smtp"');
  const created = await pluginClient(whole).graphql(
    `mutation ($settings: JsonObject!) { it: createSendingServer(input: { name: "One", type: "smtp", settings: $settings }) {
      __typename ... on SendingServer { fault } ... on Error { message } ... on ValidationError { fields { field messages } } } }`,
    { settings: receiver.settings },
  );
  expect(created['it']).toMatchObject({ __typename: 'SendingServer', fault: null });
  await whole.stop();

  const folder = path.join(copy, 'plugins/mailwright/smtp');
  rmSync(folder, { recursive: true });
  const without = await startProgram(settings, main);
  expect(JSON.stringify(await pluginClient(without).graphql(types))).not.toContain('"smtp"');
  expect(await pluginClient(without).plugin('mailwright/smtp')).toMatchObject({
    ...{ status: 'ACTIVE', isLive: false, fault: 'Its folder is not there.' },
  });
  const servers = 'query { it: sendingServersPage { ... on SendingServerPage { nodes { name fault } } } }';
  expect(JSON.stringify(await pluginClient(without).graphql(servers))).toContain(
    'No active plugin provides servers of type',
  );
  await without.stop();

  // Put back, all is as before.
  cpSync(path.join(root, 'plugins/mailwright/smtp'), folder, { recursive: true });
  const again = await startProgram(settings, main);
  expect(await isLive(again, 'mailwright/smtp')).toBe(true);
  expect(JSON.stringify(await pluginClient(again).graphql(servers))).toContain('"fault":null');
  await again.stop();
});
