/** G4: a plugin uses only what its manifest names. Each call here is one that it does not name, and none succeeds. */
import { expect, test } from 'vitest';
import { queryRows } from '../../scripts/support/query-rows.ts';
import { sql } from '../../src/db/database.ts';
import type { PluginServices } from '../../src/plugin-api/index.ts';
import { pluginClient } from '../support/plugin-client.ts';
import { newDataDir, writePlugin } from '../support/plugin-folder.ts';
import { startRestApp } from '../support/rest-app.ts';

const dataDir = newDataDir();
const app = await startRestApp({ DATA_DIR: dataDir, ROLES: 'web,worker', OUTBOUND_ALLOW_HOSTS: '' });
const client = pluginClient({ baseUrl: app.baseUrl, token: app.adminToken });

const KEEP = `(globalThis.undeclared ??= {})`;
const codeOf = (name: string) =>
  `export const plugin = { name: '${name}', boot: (_hooks, services) => void (${KEEP}['${name}'] = services) };`;

/** The services of a live plugin with these rights. */
async function servicesWith(name: string, rights: object): Promise<PluginServices> {
  writePlugin(dataDir, name, { code: codeOf(name), rights: { ...rights, hooks: [] } });
  expect(
    await client.activate(name, { ...rights, customers: undefined, tables: undefined, forAllCustomers: true }),
  ).toMatchObject({ isLive: true });
  return Reflect.get(Reflect.get(globalThis, 'undeclared'), name);
}

const narrow = await servicesWith('acme/narrow', {
  scopes: ['lists:read'],
  customers: 'all',
  hosts: ['api.example.com'],
  tables: true,
});
const bare = await servicesWith('acme/bare', {});
const chosen = await servicesWith('acme/chosen', { scopes: ['lists:read'] });
const tenant = await app.newTenant();
const [customer] = await queryRows<{ uid: string }>(
  app.ctx.db,
  sql`SELECT uid FROM customer WHERE id = ${tenant.customerId}`,
);
const forCustomer = { customerUid: customer?.uid ?? '' };

const OTHER_SCOPES = [
  '{ it: campaigns { __typename } }',
  '{ it: sendingServers { __typename } }',
  '{ it: sendingDomains { __typename } }',
  '{ it: files { __typename } }',
  '{ it: invoices { __typename } }',
  '{ it: auditEvents { __typename } }',
  '{ it: apiTokens { __typename } }',
  '{ it: me { __typename } }',
  '{ it: customers { __typename } }',
  '{ it: plugins { __typename } }',
  'mutation { it: createList(input: { name: "x", fromEmail: "a@example.com", fromName: "x", briefContact: true, contact: {} }) { __typename } }',
  'mutation { it: createApiToken(input: { name: "x" }) { __typename } }',
  'mutation { it: changePassword(input: { currentPassword: "x", newPassword: "y" }) { __typename } }',
  'mutation { it: activatePlugin(input: { vendor: "acme", name: "narrow", scopes: ["admin"] }) { __typename } }',
  'mutation { it: switchPluginOn(input: { vendor: "acme", name: "chosen" }) { __typename } }',
  'mutation { it: logIn(input: { email: "a@example.com", password: "x" }) { __typename } }',
];

test.for(OTHER_SCOPES)('another scope: %s', async (document) => {
  const { data, errors } = await narrow.graphql(document, {}, forCustomer);
  const it: unknown = data?.['it'];
  // An error of the schema would prove nothing.
  expect(errors ?? []).toEqual([]);
  expect(it).toEqual({ __typename: 'ForbiddenError' });
});

const TABLES = [
  'customer',
  'app_user',
  'api_token',
  'subscriber',
  'campaign',
  'setting',
  'plugin',
  'hot.delivery',
  'hot.audit_event',
  'pg_authid',
];

test.for([
  ...TABLES.map((table) => `SELECT * FROM ${table}`),
  'UPDATE app_user SET is_admin = true',
  'DROP TABLE setting',
  'CREATE TABLE narrow_other (id int)',
  'CREATE SCHEMA narrow',
  'CREATE ROLE narrow_other',
  'SET ROLE pg_read_all_data',
  `COPY (SELECT 1) TO PROGRAM 'true'`,
  `SELECT pg_read_file('/etc/passwd')`,
])('another table or right of the database: %s', async (statement) => {
  await expect(narrow.database.query(statement)).rejects.toThrow(
    /permission denied|must be owner|not permitted|only roles with/i,
  );
});

test.for([
  'http://example.com/',
  'http://other.example.com/',
  'http://api.example.com.evil.example/',
  'https://api.example.com:8443/',
  'http://127.0.0.1/',
  'http://169.254.169.254/latest/meta-data/',
  'http://user@api.example.com:22/',
  'file:///etc/passwd',
])('another host: %s', async (url) => {
  await expect(narrow.fetch(url)).rejects.toThrow('its manifest does not name it in "hosts"');
});

test('a plugin without rights, and one that the customer has not switched on', async () => {
  await expect(bare.graphql('{ __typename }', {}, forCustomer)).rejects.toThrow('its manifest names no "scopes"');
  await expect(bare.fetch('http://api.example.com/')).rejects.toThrow('its manifest does not name it');
  await expect(bare.database.query('SELECT 1')).rejects.toThrow('its manifest does not say "tables": true');
  await expect(bare.database.transaction(async () => 1)).rejects.toThrow('its manifest does not say "tables": true');
  await expect(chosen.graphql('{ __typename }', {}, forCustomer)).rejects.toThrow('has not switched on');
});
