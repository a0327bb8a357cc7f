/** What Mailwright does for a plugin, on the running product: GraphQL, its own tables, calls to other servers. */
import { createServer } from 'node:http';
import { once } from 'node:events';
import { expect, test } from 'vitest';
import { queryRows } from '../../scripts/support/query-rows.ts';
import { sql } from '../../src/db/database.ts';
import type { PluginServices } from '../../src/plugin-api/index.ts';
import { afterFile } from '../support/after-file.ts';
import { pluginClient } from '../support/plugin-client.ts';
import { newDataDir, writePlugin } from '../support/plugin-folder.ts';
import { startRestApp } from '../support/rest-app.ts';

const target = createServer((req, res) => {
  if (req.url === '/moved') return void res.writeHead(302, { location: 'http://127.0.0.2/' }).end();
  if (req.url === '/large') return void res.end(Buffer.alloc(6_000_000));
  if (req.url === '/slow') return;
  res
    .setHeader('x-method', `${req.method}`)
    .end(JSON.stringify({ agent: req.headers['user-agent'], note: req.headers['x-note'] }));
}).listen(0, '127.0.0.1');
await once(target, 'listening');
afterFile(() => new Promise((done) => target.close(done).closeAllConnections()));
const address = target.address();
const port = typeof address === 'object' && address !== null ? address.port : 0;

const dataDir = newDataDir();
const app = await startRestApp({ DATA_DIR: dataDir, ROLES: 'web,worker', OUTBOUND_ALLOW_HOSTS: 'localhost,127.0.0.1' });
const client = pluginClient({ baseUrl: app.baseUrl, token: app.adminToken });

const KEEPS_SERVICES = (name: string) => `
  export const plugin = { name: '${name}', boot: (_hooks, services) => void ((globalThis.servicesOf ??= {})['${name}'] = services) };`;

function servicesOf(name: string): PluginServices {
  return Reflect.get(Reflect.get(globalThis, 'servicesOf'), name);
}

/** A live plugin with these rights, and its services. */
async function live(
  name: string,
  rights: Record<string, unknown>,
  migrations: Record<string, string> = {},
): Promise<PluginServices> {
  writePlugin(dataDir, name, { code: KEEPS_SERVICES(name), rights, migrations });
  const { scopes, hosts, customers } = rights;
  const agreed = { scopes, hosts, forAllCustomers: customers === 'all' };
  expect(await client.activate(name, agreed)).toMatchObject({ status: 'ACTIVE', isLive: true });
  return servicesOf(name);
}

const NEW_LIST = {
  ...{ name: 'By a plugin', fromEmail: 'a@example.com', fromName: 'A', briefContact: true, contact: {} },
};

const AUDIT = '/audit_events';

const customerUid = async (id: bigint) =>
  (await queryRows<{ uid: string }>(app.ctx.db, sql`SELECT uid FROM customer WHERE id = ${id}`))[0]?.uid ?? '';

test('a plugin reads and changes data of a customer that has switched it on; the audit trail names it', async () => {
  const { graphql } = await live('acme/reader', { scopes: ['lists:write', 'account:read'] });
  const tenant = await app.newTenant();
  const forCustomer = { customerUid: await customerUid(tenant.customerId) };
  const read = () =>
    graphql(
      'query { lists { ... on MailListConnection { totalCount } } me { ... on Error { code } } }',
      {},
      forCustomer,
    );
  await expect(read()).rejects.toThrow('The customer has not switched on the plugin "acme/reader"');
  const on = await app.rest('/me/plugins/acme/reader/switch-on', { method: 'POST', token: tenant.token });
  expect(on).toMatchObject({ status: 200, body: { plugin: { name: 'reader', is_switched_on: true } } });
  expect(await read()).toEqual({ data: { lists: { totalCount: 0 }, me: { code: 'FORBIDDEN' } } });
  const created = await graphql(
    'mutation ($input: CreateListInput!) { createList(input: $input) { __typename ... on Error { message } } }',
    { input: NEW_LIST },
    forCustomer,
  );
  expect(created.errors).toBeUndefined();
  expect(await graphql('{ lists { ... on MailListConnection { nodes { name } } } }', {}, forCustomer)).toMatchObject({
    data: { lists: { nodes: [{ name: 'By a plugin' }] } },
  });
  const events = await app.rest(AUDIT, { token: tenant.token });
  expect(JSON.stringify(events.body)).toContain('"plugin":"acme/reader"');
  await app.rest('/me/plugins/acme/reader/switch-off', { method: 'POST', token: tenant.token });
  await expect(read()).rejects.toThrow('has not switched on');
  await client.deactivate('acme/reader');
  await expect(read()).rejects.toThrow('The plugin "acme/reader" is not active');
});

test('faults of an operation are data', async () => {
  const { graphql } = await live('acme/faults', { scopes: ['lists:read'], customers: 'all' });
  const forCustomer = { customerUid: await customerUid((await app.newTenant()).customerId) };
  expect((await graphql('{ nothing }', {}, forCustomer)).errors?.[0]?.message).toContain('Cannot query field');
  expect((await graphql('{', {}, forCustomer)).errors?.[0]?.message).toContain('Syntax Error');
  const stream = await graphql('subscription { campaignChanges { __typename } }', {}, forCustomer);
  expect(stream.errors?.[0]?.message).toContain('queries and mutations');
  await expect(graphql('{ lists { __typename } }', {}, { customerUid: 'nobody' })).rejects.toThrow(
    'no active customer',
  );
});

test('a plugin has its own tables and no others', async () => {
  const { database } = await live(
    'acme/tables',
    { tables: true },
    {
      '1_a.sql':
        'CREATE TABLE acme_t (id bigserial PRIMARY KEY, note text); CREATE VIEW acme_v AS SELECT * FROM customer;',
    },
  );
  expect(await database.query('INSERT INTO acme_t (note) VALUES ($1), ($2) RETURNING id, note', ['a', 'b'])).toEqual({
    count: 2,
    rows: [
      { id: '1', note: 'a' },
      { id: '2', note: 'b' },
    ],
  });
  await expect(
    database.transaction(async ({ query }) => {
      await query('DELETE FROM acme_t');
      throw new Error('no');
    }),
  ).rejects.toThrow('no');
  expect((await database.query('SELECT * FROM acme_t')).count).toBe(2);
  await expect(database.query(`SELECT repeat('x', 11000000)`)).rejects.toThrow('over 10 MB');
  expect((await database.query('SELECT 1 AS one')).rows).toEqual([{ one: 1 }]);

  // The login goes with the data.
  const roles = () =>
    queryRows<{ n: number }>(
      app.ctx.db,
      sql`SELECT count(*)::int AS n FROM pg_roles WHERE rolname LIKE current_database() || '_acme_tables_%'`,
    );
  expect(await roles()).toEqual([{ n: 1 }]);
  await client.deactivate('acme/tables');
  await expect(database.query('SELECT 1')).rejects.toThrow('is not active');
  await client.remove('acme/tables', { keepData: false });
  expect(await roles()).toEqual([{ n: 0 }]);
});

test('a plugin calls the hosts that it names, without redirects, and within limits', async () => {
  const { fetch } = await live('acme/calls', { hosts: [`localhost:${port}`] });
  const base = `http://localhost:${port}`;
  const answer = await fetch(base, { method: 'POST', headers: { 'X-Note': 'hello' }, body: '{}' });
  expect(answer).toMatchObject({ status: 200, headers: { 'x-method': 'POST' } });
  expect(answer.json()).toEqual({ agent: 'Mailwright', note: 'hello' });
  expect(await fetch(`${base}/moved`)).toMatchObject({ status: 302, headers: { location: 'http://127.0.0.2/' } });
  await expect(fetch(`${base}/large`)).rejects.toThrow('The call to localhost failed: The answer is larger than 5 MB.');
  await expect(fetch(`${base}/slow`, { timeoutMs: 300 })).rejects.toThrow('took too long');
  await expect(fetch(base, { headers: { Host: 'other' } })).rejects.toThrow('The option "headers.Host"');
});

test('scopes and hosts are granted only if the administrator names them; a version that wants more waits', async () => {
  const rights = { scopes: ['lists:read'], hosts: ['api.example.com'] };
  const code = (label: string) => `export const plugin = { name: 'acme/grant', boot: (hooks) =>
    hooks.modify('sidebar-menu-items', (items) => [...items, { label: '${label}', href: '/' }]) };`;
  const labels = () => app.hooks.filter('sidebar-menu-items', []).map(({ label }) => label);
  writePlugin(dataDir, 'acme/grant', { code: code('grant one'), rights });
  const refused = await client.activate('acme/grant');
  expect(refused).toMatchObject({ code: 'PLUGIN_GRANT_NEEDED' });
  expect(refused.fields?.map(({ messages }) => messages.join(' ')).join(' ')).toMatch(/lists:read.*api\.example\.com/);
  expect(await client.plugin('acme/grant')).toMatchObject({
    ...{ status: 'INACTIVE', isNewGrantNeeded: true, granted: null, wants: { scopes: ['lists:read'], tables: false } },
  });
  expect(await client.activate('acme/grant', { scopes: ['lists:read'] })).toMatchObject({
    code: 'PLUGIN_GRANT_NEEDED',
  });
  const granted = await client.activate('acme/grant', rights);
  expect(granted).toMatchObject({ status: 'ACTIVE', isNewGrantNeeded: false, granted: rights });
  expect(labels()).toContain('grant one');

  const more = { ...rights, scopes: ['lists:read', 'campaigns:read'] };
  writePlugin(dataDir, 'acme/grant', { version: '2.0.0', code: code('grant two'), rights: more });
  expect(await client.activate('acme/grant')).toMatchObject({ code: 'PLUGIN_GRANT_NEEDED' });
  expect(await client.plugin('acme/grant')).toMatchObject({
    version: '1.0.0',
    isLive: true,
    isNewGrantNeeded: true,
    granted: rights,
  });
  expect(labels()).toContain('grant one');
  expect(await client.activate('acme/grant', more)).toMatchObject({
    version: '2.0.0',
    granted: { scopes: ['campaigns:read', 'lists:read'] },
  });
  expect(labels()).toContain('grant two');
  // Less needs no agreement.
  writePlugin(dataDir, 'acme/grant', { version: '3.0.0', code: code('grant three'), rights: {} });
  expect(await client.activate('acme/grant')).toMatchObject({ version: '3.0.0', granted: { scopes: [], hosts: [] } });
});
