/** Settings of plugins: a form described as data, values checked and stored, secrets kept, changes told to the plugin in every process. */
import { beforeAll, expect, test } from 'vitest';
import { queryRows } from '../../scripts/support/query-rows.ts';
import { sql } from '../../src/db/database.ts';
import type { PluginServices } from '../../src/plugin-api/index.ts';
import { messageOf } from '../../src/lib/errors.ts';
import { eraseCustomer } from '../../src/domain/accounts/erase-customer.ts';
import { openRestApp } from '../support/open-rest-app.ts';
import { pluginClient } from '../support/plugin-client.ts';
import { newDataDir, writePlugin } from '../support/plugin-folder.ts';
import { switchedOnByAll } from '../support/switched-on-by-all.ts';
import { startRestApp, type RestTenant } from '../support/rest-app.ts';
import { afterFile } from '../support/after-file.ts';

const dataDir = newDataDir();
const app = await startRestApp({ DATA_DIR: dataDir });
const client = pluginClient({ baseUrl: app.baseUrl, token: app.adminToken });
let tenant: RestTenant;

const CODE = `
  globalThis.acmeCrm ??= [];
  export const plugin = {
    name: 'acme/crm',
    register: (hooks) => hooks.add('add_translation_file', { language: 'de', texts: { url: 'Adresse' } }),
    boot(hooks, services) {
      globalThis.acmeCrmServices = services;
      const changes = [];
      globalThis.acmeCrm.push(changes);
      hooks.on('settings_changed_acme/crm', (change) => void changes.push(change));
      hooks.add('settings_form', {
        for: 'installation',
        settings: [
          { key: 'url', type: 'text', label: { key: 'url' }, required: true, max: 20 },
          { key: 'api_key', type: 'secret', label: 'API key', help: 'From your account.', min: 8 },
          { key: 'tries', type: 'number', label: 'Tries', default: 3, min: 1, max: 9 },
          { key: 'is_strict', type: 'flag', label: 'Strict', default: false },
          { key: 'region', type: 'choice', label: 'Region', default: 'eu', choices: [{ value: 'eu', label: 'Europe' }, { value: 'us', label: 'USA' }] },
        ],
      });
      hooks.add('settings_form', { for: 'customer', settings: [{ key: 'token', type: 'secret', label: 'Token' }, { key: 'note', type: 'text', label: 'Note' }] });
    },
  };`;

beforeAll(async () => {
  writePlugin(dataDir, 'acme/crm', { code: CODE });
  writePlugin(dataDir, 'acme/points', {
    migrations: { '1_a.sql': 'CREATE TABLE acme_points_point (customer_uid text NOT NULL);' },
  });
  expect(await client.activate('acme/crm')).toMatchObject({ status: 'ACTIVE' });
  tenant = await app.newTenant();
  await switchedOnByAll(app.ctx, 'acme/crm');
});

const services = () => Reflect.get(globalThis, 'acmeCrmServices') as PluginServices;
const changesOf = (process: number): unknown[] => Reflect.get(globalThis, 'acmeCrm')[process];

async function graphql(token: string, query: string, variables: object = {}) {
  const response = await fetch(`${app.baseUrl}/graphql`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', Authorization: `Bearer ${token}` },
    body: JSON.stringify({ query, variables }),
  });
  const { data, errors } = await response.json();
  expect(errors).toBeUndefined();
  return data.it;
}

const ERRORS = '__typename ... on Error { message code } ... on ValidationError { fields { field messages } }';
const FORM = `plugin for settings(language: "de") { key type label help isRequired min max choices { value label } } values secretsSet`;
const read = (token: string, name = 'crm') =>
  graphql(
    token,
    `{ it: pluginSettings(vendor: "acme", name: "${name}") { ${ERRORS} ... on PluginSettingsSuccess { nodes { ${FORM} } } } }`,
  );
const update = (token: string, owner: string, values: object) =>
  graphql(
    token,
    `mutation ($values: JsonObject!) {
      it: updatePluginSettings(input: { vendor: "acme", name: "crm", for: ${owner}, values: $values }) {
        ${ERRORS} ... on PluginSettings { values secretsSet } } }`,
    { values },
  );

test('an administrator sees both forms, a customer its own; labels are translated', async () => {
  const { nodes } = await read(app.adminToken);
  expect(nodes.map((form: { for: string }) => form.for)).toEqual(['installation', 'customer']);
  expect(nodes[0]).toMatchObject({ values: { tries: 3, is_strict: false, region: 'eu' }, secretsSet: [] });
  expect(nodes[0].settings[0]).toEqual({
    ...{ key: 'url', type: 'text', label: 'Adresse', help: null, isRequired: true, min: null, max: 20, choices: [] },
  });
  expect((await read(tenant.token)).nodes).toMatchObject([{ for: 'customer', plugin: 'acme/crm' }]);
  expect(await update(tenant.token, 'installation', { url: 'x' })).toMatchObject({ code: 'FORBIDDEN' });
  expect(await read(tenant.token, 'none')).toMatchObject({ code: 'PLUGIN_NOT_FOUND' });
});

test('every fault is told at once, and then nothing is changed', async () => {
  const wrong = { url: 'a'.repeat(21), api_key: 'short', tries: 'ten', is_strict: 'perhaps', region: 'mars', other: 1 };
  const { fields } = await update(app.adminToken, 'installation', wrong);
  expect(
    Object.fromEntries(fields.map((it: { field: string; messages: string[] }) => [it.field, it.messages[0]])),
  ).toEqual({
    'values.url': 'The url may have at most 20 characters.',
    'values.api_key': 'The api_key must have at least 8 characters.',
    'values.tries': 'The tries must be a number.',
    'values.is_strict': 'The is_strict must be true or false.',
    'values.region': 'The region must be eu or us.',
    'values.other': 'There is no such setting. The settings are url, api_key, tries, is_strict, region.',
  });
  expect(await update(app.adminToken, 'installation', { tries: 5 })).toMatchObject({
    fields: [{ field: 'values.url', messages: ['The url is required.'] }],
  });
  expect(await queryRows(app.ctx.db, sql`SELECT 1 AS n FROM plugin_settings`)).toEqual([]);
});

test('values are stored, the secret encrypted and never answered; the plugin gets all of them', async () => {
  const given = { url: 'crm.example', api_key: 'sesame-open-9', tries: '5', is_strict: 'true' };
  const answered = await update(app.adminToken, 'installation', given);
  const values = { url: 'crm.example', tries: 5, is_strict: true, region: 'eu' };
  expect(answered).toMatchObject({ values, secretsSet: ['api_key'] });
  expect(await services().settings.get()).toEqual({ ...values, api_key: 'sesame-open-9' });
  // What is absent stays, null goes back to the default.
  expect(await update(app.adminToken, 'installation', { tries: null })).toMatchObject({
    ...{ values: { ...values, tries: 3 }, secretsSet: ['api_key'] },
  });
  expect(JSON.stringify(await read(app.adminToken))).not.toContain('sesame');
  const stored = await queryRows<{ text: string }>(
    app.ctx.db,
    sql`SELECT concat(values::text, encode(sealed_values, 'escape')) AS text FROM plugin_settings`,
  );
  expect(stored).toHaveLength(1);
  expect(stored[0]?.text).toContain('crm.example');
  expect(stored[0]?.text).not.toContain('sesame');
  const [audit] = await queryRows<{ line: string }>(
    app.ctx.db,
    sql`SELECT row_to_json(a)::text AS line FROM hot.audit_event a WHERE operation = 'updatePluginSettings' ORDER BY id DESC LIMIT 1`,
  );
  expect(audit?.line).toContain('acme/crm');
  expect(audit?.line).not.toContain('sesame');
  expect(app.logged.join('\n')).not.toContain('sesame');
});

test('a change is told to the plugin in every process', async () => {
  const url = app.ctx.database.url;
  const other = await openRestApp(url, { DATA_DIR: dataDir });
  afterFile(() => other.stop());
  await expect.poll(() => changesOf(1)).toContainEqual({ of: 'all', customerUid: null });
  await update(app.adminToken, 'installation', { region: 'us' });
  await update(tenant.token, 'customer', { token: 'my-own-token', note: 'mine' });
  const [found] = await queryRows<{ uid: string }>(
    app.ctx.db,
    sql`SELECT uid FROM customer WHERE id = ${tenant.customerId}`,
  );
  const uid = found?.uid ?? '';
  for (const process of [0, 1]) {
    await expect.poll(() => changesOf(process)).toContainEqual({ of: 'installation', customerUid: null });
    await expect.poll(() => changesOf(process)).toContainEqual({ of: 'customer', customerUid: uid });
  }
  expect(await services().settings.getForCustomer(uid)).toEqual({ token: 'my-own-token', note: 'mine' });
  await expect(services().settings.getForCustomer('nobody')).rejects.toThrow('There is no customer "nobody".');
});

test('REST does the same', async () => {
  const path = '/plugins/acme/crm/settings';
  const changed = await app.rest(path, { method: 'PATCH', token: tenant.token, body: { values: { note: 'by rest' } } });
  expect(changed.status).toBe(200);
  expect(changed.body).toMatchObject({
    settings: { for: 'customer', values: { note: 'by rest' }, secrets_set: ['token'] },
  });
  const wrong = await app.rest(path, {
    method: 'PATCH',
    token: tenant.token,
    body: { values: { note: 'a\u0001b', x: 1 } },
  });
  expect(wrong.status).toBe(422);
  expect(wrong.body).toMatchObject({ errors: { 'values.x': [expect.stringContaining('no such setting')] } });
  const forbidden = await app.rest(path, {
    method: 'PATCH',
    token: tenant.token,
    body: { for: 'installation', values: { url: 'x' } },
  });
  expect(forbidden.status).toBe(403);
  expect((await app.rest(path, { token: tenant.token })).body).toMatchObject([{ for: 'customer' }]);
});

test('a customer’s settings are erased with it, the rest with the plugin’s data', async () => {
  const rowsOf = (table: 'plugin_settings' | 'customer_plugin_settings') =>
    queryRows(
      app.ctx.db,
      table === 'plugin_settings'
        ? sql`SELECT name FROM plugin_settings`
        : sql`SELECT name FROM customer_plugin_settings`,
    );
  const second = await app.newTenant();
  await switchedOnByAll(app.ctx, 'acme/crm');
  await update(second.token, 'customer', { note: 'second' });
  expect(await rowsOf('customer_plugin_settings')).toHaveLength(2);
  // By the uid, because a plugin rarely learns the number.
  await client.activate('acme/points');
  for (const { customerId } of [second, tenant])
    await app.ctx.db.execute(
      sql`INSERT INTO acme_points_point (customer_uid) SELECT uid FROM customer WHERE id = ${customerId}`,
    );
  await app.ctx.db.execute(sql`UPDATE customer SET status = 'deleting' WHERE id = ${second.customerId}`);
  expect(await eraseCustomer(app.ctx, { customerId: second.customerId, isStopping: () => false })).toBe(true);
  expect(await rowsOf('customer_plugin_settings')).toHaveLength(1);
  expect(await queryRows(app.ctx.db, sql`SELECT customer_uid FROM acme_points_point`)).toHaveLength(1);

  await client.deactivate('acme/crm');
  expect(await read(app.adminToken)).toMatchObject({ code: 'PLUGIN_NOT_FOUND' });
  // The services are those of the other process, which learns of it a moment later.
  const refusal = () =>
    services()
      .settings.get()
      .then(
        () => 'none',
        (error: unknown) => messageOf(error),
      );
  await expect.poll(refusal).toContain('is not active');
  await client.remove('acme/crm');
  expect(await rowsOf('plugin_settings')).toHaveLength(1);
  writePlugin(dataDir, 'acme/crm', { code: CODE });
  await client.activate('acme/crm');
  const key = () =>
    services()
      .settings.get()
      .then(
        ({ api_key: text }) => text,
        () => 'none',
      );
  await expect.poll(key).toBe('sesame-open-9');
  await client.deactivate('acme/crm');
  await client.remove('acme/crm', { keepData: false });
  expect([await rowsOf('plugin_settings'), await rowsOf('customer_plugin_settings')]).toEqual([[], []]);
});

test.for([
  ['another default', `{ key: 'a', type: 'number', label: 'A', default: 'x' }`, 'has a default that is no number'],
  ['a default of a secret', `{ key: 'a', type: 'secret', label: 'A', default: 'x' }`, 'is a secret and has no default'],
  ['no choices', `{ key: 'a', type: 'choice', label: 'A' }`, 'needs "choices"'],
  ['a min above the max', `{ key: 'a', type: 'text', label: 'A', min: 5, max: 2 }`, 'has a min above its max'],
  ['an odd key', `{ key: '__proto__', type: 'text', label: 'A' }`, 'must be of small letters'],
  [
    'an equal key',
    `{ key: 'a', type: 'text', label: 'A' }, { key: 'a', type: 'text', label: 'B' }`,
    'Two settings have the same key',
  ],
] as const)('a form with %s is refused', async ([, settings, fault]) => {
  writePlugin(dataDir, 'acme/bad', {
    code: `export const plugin = { name: 'acme/bad', boot: (hooks) => hooks.add('settings_form', { for: 'customer', settings: [${settings}] }) };`,
  });
  const { fields = [] } = await client.activate('acme/bad');
  expect(fields.flatMap(({ messages }) => messages).join(' ')).toContain(fault);
});
