/** The life of a plugin (specification 3.5) on two processes of one installation, as requests to both of them see it. */
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { queryRows } from '../../scripts/support/query-rows.ts';
import { openDatabase, sql } from '../../src/db/database.ts';
import { silentLog } from '../../src/lib/log.ts';
import { newUid } from '../../src/lib/ids.ts';
import { afterFile } from '../support/after-file.ts';
import { pluginArchive } from '../support/plugin-archive.ts';
import { pluginClient } from '../support/plugin-client.ts';
import { folderOf, manifestOf, newDataDir, writePlugin } from '../support/plugin-folder.ts';
import { startProgram, type Program } from '../support/program.ts';
import { createTestDatabase } from '../support/test-database.ts';

const { url } = await createTestDatabase();
const database = openDatabase({ url, poolSize: 2, log: silentLog, applicationName: 'mailwright-test' });
afterFile(() => database.close());
const dataDir = newDataDir();
const settings = { ROLES: 'web,worker', DB_POOL_SIZE: '8', DATABASE_URL: url, DATA_DIR: dataDir };
const both = [await startProgram(settings), await startProgram(settings)] as const;
const [first, second] = both;
const pids = both.map(({ process: { pid } }) => pid);

/** What the code of plugins has done, in which process: lines of a file beside the folders of plugins. */
const noted = (what: string): (number | undefined)[] =>
  (existsSync(path.join(dataDir, 'noted')) ? readFileSync(path.join(dataDir, 'noted'), 'utf8') : '')
    .split('\n')
    .filter((line) => line.startsWith(`${what} `))
    .map((line) => Number(line.split(' ').at(-1)));

const NOTE = `
  import { appendFileSync } from 'node:fs';
  const note = (what) => appendFileSync(${JSON.stringify(path.join(dataDir, 'noted'))}, what + ' ' + process.pid + '\\n');`;

const MIGRATIONS = {
  '1_life.sql': 'CREATE TABLE acme_life (id serial); INSERT INTO acme_life DEFAULT VALUES;',
  '1_life.down.sql': 'ALTER TABLE acme_life RENAME TO acme_left; DROP TABLE acme_left;',
};

function addPlugin(): void {
  writePlugin(dataDir, 'acme/life', {
    migrations: MIGRATIONS,
    code: `${NOTE}
      export const plugin = {
        name: 'acme/life',
        register: () => note('register'),
        boot(hooks) {
          note('boot');
          hooks.on('activate_plugin_acme/life', () => note('activated'));
          hooks.on('customer_added', ({ email }) => note('customer ' + email));
          hooks.add('route', { method: 'GET', path: '/', auth: 'public', handle: () => ({ text: 'alive' }) });
          hooks.add('admin.sidebar.groups', { label: 'Life', items: [] });
        },
      };`,
  });
}

/** What a client of this process gets of the plugin. */
async function seenAt(program: Program): Promise<readonly unknown[]> {
  const client = pluginClient(program);
  const route = await fetch(`${program.baseUrl}/plugins/acme/life`);
  const slots = await client.graphql(
    '{ it: extensionSlots(page: "admin") { ... on ExtensionSlotsSuccess { nodes { label } } } }',
  );
  const { status } = await client.plugin('acme/life');
  return [status, route.status, JSON.stringify(slots).includes('"Life"')];
}

const ACTIVE = ['ACTIVE', 200, true];
const INACTIVE = ['INACTIVE', 404, false];
const untilBoth = async (state: readonly unknown[]) => {
  for (const program of both) await expect.poll(() => seenAt(program), { timeout: 120_000 }).toEqual(state);
};
/** A new customer: what hooks were fired before it have been heard. */
async function untilHooksAreHeard(): Promise<void> {
  const email = `${newUid()}@heard.example`;
  const body = { email, password: 'correct horse battery', first_name: 'A', last_name: 'B' };
  const { status } = await fetch(`${first.baseUrl}/api/v1/customers`, {
    method: 'POST',
    headers: { Authorization: `Bearer ${first.token}`, 'Content-Type': 'application/json' },
    body: JSON.stringify(body),
  });
  expect(status).toBe(201);
  await expect.poll(() => noted(`customer ${email}`), { timeout: 120_000 }).toHaveLength(1);
}

const tables = () =>
  queryRows<{ name: string }>(
    database,
    sql`SELECT tablename::text AS name FROM pg_tables WHERE schemaname IN ('public', 'hot') ORDER BY 1`,
  );
const life = () => queryRows<{ id: number }>(database, sql`SELECT id FROM acme_life`);
const applied = () => queryRows(database, sql`SELECT no FROM plugin_migration WHERE vendor = 'acme'`);

test('discovered: a row with status inactive, register() has run, the hooks of boot() are off', async () => {
  addPlugin();
  for (const program of both) await pluginClient(program).discover();
  expect(await queryRows(database, sql`SELECT status FROM plugin WHERE vendor = 'acme'`)).toEqual([
    { status: 'inactive' },
  ]);
  await untilBoth(INACTIVE);
  expect(new Set(noted('register'))).toEqual(new Set(pids));
  expect(noted('register')).toHaveLength(2);
  expect(noted('boot')).toEqual([]);
  expect(existsSync(path.join(folderOf(dataDir, 'acme/life'), 'index.ts'))).toBe(true);
});

test('first activation: migrations run, the hook is fired once, routes and hooks are live', async () => {
  expect(await pluginClient(first).activate('acme/life')).toMatchObject({ status: 'ACTIVE', error: null });
  await untilBoth(ACTIVE);
  expect(await life()).toEqual([{ id: 1 }]);
  expect(await applied()).toEqual([{ no: 1 }]);
  await untilHooksAreHeard();
  expect(noted('activated')).toHaveLength(1);
  expect(pids).toEqual(expect.arrayContaining(noted('activated')));
});

test('deactivated at the other process: hooks and routes are off, folder and tables stay', async () => {
  expect(await pluginClient(second).deactivate('acme/life')).toMatchObject({ status: 'INACTIVE' });
  await untilBoth(INACTIVE);
  expect(await life()).toEqual([{ id: 1 }]);
  expect(existsSync(folderOf(dataDir, 'acme/life'))).toBe(true);
});

test('re-activated: neither migrations nor the hook', async () => {
  expect(await pluginClient(second).activate('acme/life')).toMatchObject({ status: 'ACTIVE' });
  await untilBoth(ACTIVE);
  await untilHooksAreHeard();
  expect(noted('activated')).toHaveLength(1);
  expect(await life()).toEqual([{ id: 1 }]);
  expect(await pluginClient(first).remove('acme/life')).toMatchObject({ code: 'PLUGIN_IS_ACTIVE' });
  await untilBoth(ACTIVE);
});

test.for([
  [true, ['acme_life']],
  [false, []],
] as const)('deleted with keep_data %s: folder and row are gone, the hook is fired', async ([keepData, left]) => {
  writePlugin(dataDir, 'watch/life', {
    code: `${NOTE}
      export const plugin = { name: 'watch/life', boot(hooks) {
        hooks.on('delete_plugin_acme/life', ({ name, keepData }) => note('deleted ' + name + ' ' + keepData));
      } };`,
  });
  expect(await pluginClient(first).activate('watch/life')).toMatchObject({ status: 'ACTIVE' });
  // The hook is fired in one of them.
  for (const program of both)
    await expect.poll(async () => (await pluginClient(program).plugin('watch/life')).isLive).toBe(true);
  if (!existsSync(folderOf(dataDir, 'acme/life'))) addPlugin();
  await pluginClient(second).activate('acme/life');
  await pluginClient(first).deactivate('acme/life');
  const before = await tables();
  expect(await pluginClient(second).remove('acme/life', { keepData })).toMatchObject({ name: 'life' });
  for (const program of both) {
    const gone = [undefined, 404, false];
    await expect.poll(() => seenAt(program), { timeout: 120_000 }).toEqual(gone);
    expect(await pluginClient(program).plugin('acme/life')).toMatchObject({ code: 'PLUGIN_NOT_FOUND' });
  }
  expect(existsSync(folderOf(dataDir, 'acme/life'))).toBe(false);
  expect(await queryRows(database, sql`SELECT 1 FROM plugin WHERE vendor = 'acme'`)).toEqual([]);
  const own = ({ name }: { name: string }) => name.startsWith('acme_');
  expect((await tables()).filter(own).map(({ name }) => name)).toEqual(left);
  expect((await tables()).filter((each) => !own(each))).toEqual(before.filter((each) => !own(each)));
  await expect.poll(() => noted(`deleted acme/life ${keepData}`), { timeout: 120_000 }).toHaveLength(1);
});

test('installed at one machine: activated at another one, it is live on both', async () => {
  const machine = newDataDir();
  const other = await startProgram({ ...settings, DATA_DIR: machine });
  const code = `export const plugin = { name: 'acme/sent', boot: (hooks) =>
    hooks.add('route', { method: 'GET', path: '/', auth: 'public', handle: () => ({ text: 'sent' }) }) };`;
  const manifest = manifestOf('acme/sent', '1.0.0', { hooks: ['route'] });
  const form = new FormData();
  form.set('file', new Blob([new Uint8Array(pluginArchive('acme/sent', { code, manifest }))]), 'a.tgz');
  const installed = await fetch(`${first.baseUrl}/api/v1/plugins/install`, {
    ...{ method: 'POST', headers: { Authorization: `Bearer ${first.token}` }, body: form },
  });
  expect(installed.status, await installed.clone().text()).toBe(201);
  expect(await pluginClient(other).activate('acme/sent')).toMatchObject({ status: 'ACTIVE', error: null });
  for (const { baseUrl } of [...both, other]) {
    const read = async () => (await fetch(`${baseUrl}/plugins/acme/sent`)).text();
    await expect.poll(read, { timeout: 120_000 }).toBe('sent');
  }
  for (const folder of [dataDir, machine]) expect(existsSync(folderOf(folder, 'acme/sent'))).toBe(true);
});
