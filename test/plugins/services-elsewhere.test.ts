/** Services of plugins where conditions differ: in a process that serves no requests, and on a database whose user is no superuser. */
import { randomBytes } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, inject, test } from 'vitest';
import type { PluginServices } from '../../src/plugin-api/index.ts';
import { afterFile } from '../support/after-file.ts';
import { openRestApp } from '../support/open-rest-app.ts';
import { pluginClient } from '../support/plugin-client.ts';
import { newDataDir, writePlugin } from '../support/plugin-folder.ts';
import { startProgram } from '../support/program.ts';
import { createEmptyDatabase, createTestDatabase } from '../support/test-database.ts';
import { administer } from '../support/test-server.ts';

test('a worker process runs operations of plugins, and has no secrets in its environment', async () => {
  const { url } = await createTestDatabase();
  const dataDir = newDataDir();
  const settings = { DATABASE_URL: url, DATA_DIR: dataDir, DB_POOL_SIZE: '8' };
  const web = await startProgram({ ...settings, ROLES: 'web' });
  await startProgram({ ...settings, ROLES: 'worker' });
  const customers = await fetch(`${web.baseUrl}/api/v1/customers`, {
    headers: { Authorization: `Bearer ${web.token}` },
  });
  const uid = /"uid":"(\w+)"/.exec(await customers.text())?.[1] ?? '';
  const noted = path.join(dataDir, 'noted');
  writePlugin(dataDir, 'acme/works', {
    rights: { scopes: ['lists:read'], customers: 'all' },
    code: `import { renameSync, writeFileSync } from 'node:fs';
      export const plugin = {
        name: 'acme/works',
        boot(hooks, services) {
          hooks.on('activate_plugin_acme/works', async () => {
            const run = () => services.graphql('{ lists { __typename } }', {}, { customerUid: '${uid}' });
            const before = process.memoryUsage().rss;
            const startedAt = performance.now();
            const answer = await run().catch((error) => String(error));
            const cost = { ms: performance.now() - startedAt, mb: (process.memoryUsage().rss - before) / 1e6 };
            const secrets = ['APP_SECRET', 'DATABASE_URL', 'ADMIN_PASSWORD', 'ADMIN_API_TOKEN'].filter((name) => name in process.env);
            writeFileSync('${noted}.new', JSON.stringify({ answer, cost, secrets, pid: process.pid }));
            renameSync('${noted}.new', '${noted}');
          });
        },
      };`,
  });
  const agreed = { scopes: ['lists:read'], forAllCustomers: true };
  expect(await pluginClient(web).activate('acme/works', agreed)).toMatchObject({ status: 'ACTIVE' });
  while (!existsSync(noted)) await sleep(50);
  const { answer, secrets, pid, cost } = JSON.parse(readFileSync(noted, 'utf8'));
  expect(answer).toEqual({ data: { lists: { __typename: 'MailListConnection' } } });
  expect(pid).not.toBe(web.process.pid);
  expect(secrets).toEqual([]);
  // 2.4 s when it was measured.
  expect(cost.ms).toBeLessThan(200_000);
});

const KEEP = `export const plugin = { name: 'acme/own', boot: (_hooks, services) => void (globalThis.ownServices = services) };`;

/** An installation whose database user is not a superuser, in a database that is not open to all users of the server. */
async function installationOf(attributes: string) {
  const { name, url } = await createEmptyDatabase();
  const role = `mw_test_${randomBytes(6).toString('hex')}`;
  const server = inject('testServerUrl');
  await administer(server, `CREATE ROLE ${role} LOGIN ${attributes} PASSWORD 'secret'`);
  await administer(server, `ALTER DATABASE ${name} OWNER TO ${role}`);
  await administer(server, `REVOKE CONNECT ON DATABASE ${name} FROM PUBLIC`);
  const own = new URL(url);
  own.username = role;
  own.password = 'secret';
  const dataDir = newDataDir();
  const app = await openRestApp(own.href, { DATA_DIR: dataDir, ROLES: 'web,worker' });
  afterFile(() => app.stop());
  writePlugin(dataDir, 'acme/own', {
    code: KEEP,
    migrations: {
      '1_a.sql': `CREATE TABLE acme_a (id bigserial PRIMARY KEY, note text);
        CREATE FUNCTION acme_f() RETURNS int LANGUAGE sql AS 'SELECT 1'; CREATE TYPE acme_kind AS ENUM ('a');`,
    },
  });
  const client = pluginClient({ baseUrl: app.baseUrl, token: app.adminToken });
  expect(await client.activate('acme/own')).toMatchObject({ status: 'ACTIVE' });
  const { database }: PluginServices = Reflect.get(globalThis, 'ownServices');
  return { client, database, dataDir };
}

test('a database user that may make roles is enough, also for a second version and for deleting', async () => {
  const { client, database, dataDir } = await installationOf('CREATEROLE');
  expect((await database.query(`INSERT INTO acme_a (note) VALUES ('x') RETURNING id, acme_f() AS f`)).rows).toEqual([
    { id: '1', f: 1 },
  ]);
  await expect(database.query('SELECT * FROM customer')).rejects.toThrow('permission denied');
  await expect(database.query('CREATE TABLE acme_b (id int)')).rejects.toThrow('permission denied');
  writePlugin(dataDir, 'acme/own', {
    ...{ version: '2.0.0', code: KEEP },
    migrations: {
      '1_a.sql': `CREATE TABLE acme_a (id bigserial PRIMARY KEY, note text);
        CREATE FUNCTION acme_f() RETURNS int LANGUAGE sql AS 'SELECT 1'; CREATE TYPE acme_kind AS ENUM ('a');`,
      '2_b.sql': 'ALTER TABLE acme_a ADD COLUMN more text; CREATE TABLE acme_b (id int);',
    },
  });
  expect(await client.activate('acme/own')).toMatchObject({ version: '2.0.0' });
  const next: PluginServices = Reflect.get(globalThis, 'ownServices');
  expect((await next.database.query('SELECT note, more FROM acme_a LEFT JOIN acme_b ON true')).rows).toEqual([
    { note: 'x', more: null },
  ]);
  await client.deactivate('acme/own');
  expect(await client.remove('acme/own', { keepData: false })).toMatchObject({ name: 'own' });
});

test('without the right to make roles the plugin is active and its tables are refused with a sentence', async () => {
  const { database } = await installationOf('NOCREATEROLE');
  await expect(database.query('SELECT 1')).rejects.toThrow('The plugin "acme/own" has no login for the database');
});
