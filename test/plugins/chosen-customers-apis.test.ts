/** A plugin with `customers: chosen` shows itself only to customers that have switched it on: routes, pages, slots, settings, GraphQL, REST, events. */
import { beforeAll, expect, test } from 'vitest';
import { queryRows } from '../../scripts/support/query-rows.ts';
import { sql } from '../../src/db/database.ts';
import { recordEvents } from '../../src/events/event-store.ts';
import { newUid } from '../../src/lib/ids.ts';
import { LIST_BODY } from '../support/list-body.ts';
import { sessionCookieOf } from '../support/pages-plugin.ts';
import { pluginClient } from '../support/plugin-client.ts';
import { newDataDir, writePlugin } from '../support/plugin-folder.ts';
import { startRestApp, type RestTenant } from '../support/rest-app.ts';

const dataDir = newDataDir();
const app = await startRestApp({ DATA_DIR: dataDir, ROLES: 'web,worker' });
const admin = pluginClient({ baseUrl: app.baseUrl, token: app.adminToken });
const [chooser, other] = [await app.newTenant(), await app.newTenant()];
const clientOf = ({ token }: RestTenant) => pluginClient({ baseUrl: app.baseUrl, token });

const calls: string[] = [];
Object.assign(globalThis, { chosenCalls: calls });

const CODE = `
  const call = (what) => void globalThis.chosenCalls.push(what);
  const rest = (access) => ({
    method: 'POST', path: '/shows/' + access, access, summary: 'A row.', parameters: { size: { kind: 'integer', isRequired: true } },
    operation: 'mutation { acmeTouch { ... on AcmeTouchSuccess { data } } }', variables: () => ({}),
    present: ({ acmeTouch }) => acmeTouch, answers: { kind: 'body', shape: { type: 'object' } },
  });
  export const plugin = { name: 'acme/shows', boot(hooks, { settings }) {
    for (const auth of ['session', 'admin', 'public'])
      hooks.add('route', { method: 'GET', path: '/' + auth, auth, handle: ({ viewer }) => { call('route'); return { json: { viewer: viewer?.customerUid ?? null } }; } });
    for (const audience of ['customer', 'admin'])
      hooks.add('page', { name: audience, audience, title: 'Page', view: 'page.liquid', data: () => { call('page'); return {}; } });
    hooks.add('page.lists.show.top', { title: 'Top', href: '/' });
    hooks.add('layout.head.assets', { kind: 'stylesheet', href: '/plugins/acme/shows/files/a.css' });
    hooks.modify('sidebar-menu-items', (items) => [...items, { label: 'Shows', href: '/' }]);
    hooks.add('settings_form', { for: 'customer', settings: [{ key: 'size', type: 'text', label: 'Size', default: 's' }] });
    hooks.add('graphql_part', {
      schema: 'extend type Query { acmeSeen: Int! acmeForAll: Int! acmeForAdmins: Int! } extend type Mutation { acmeTouch: Int! } extend type MailList { acmeScore: Int }',
      access: { acmeSeen: 'authenticated', acmeForAll: 'public', acmeForAdmins: 'admin', acmeTouch: 'authenticated' },
      resolvers: {
        Query: { acmeSeen: () => { call('field'); return 1; }, acmeForAll: () => 2, acmeForAdmins: () => 3 },
        Mutation: { acmeTouch: () => { call('mutation'); return 4; } },
        MailList: { acmeScore: () => { call('score'); return 5; } },
      },
    });
    for (const access of ['token', 'admin']) hooks.add('rest_row', rest(access));
    hooks.add('event_follower', { name: 'all', kinds: ['list_changed'], handle: (events) => events.forEach(({ uid }) => call('event ' + uid)) });
    globalThis.chosenSettings = settings;
  } };`;

beforeAll(async () => {
  writePlugin(dataDir, 'acme/shows', { code: CODE, files: { 'resources/views/page.liquid': '<p>shown</p>' } });
  expect(await admin.activate('acme/shows')).toMatchObject({ status: 'ACTIVE', error: null });
  await clientOf(chooser).switchOn('acme/shows');
});

async function uidOf({ customerId }: RestTenant): Promise<string> {
  const [found] = await queryRows<{ uid: string }>(app.ctx.db, sql`SELECT uid FROM customer WHERE id = ${customerId}`);
  return found?.uid ?? '';
}

const visit = async (place: string, token: string) =>
  fetch(`${app.baseUrl}/plugins/acme/shows${place}`, {
    redirect: 'manual',
    headers: { Cookie: await sessionCookieOf(app, token), 'Accept-Language': 'en' },
  });

/** What this act has called of the plugin. */
async function calledBy<T>(act: () => Promise<T>): Promise<[T, string[]]> {
  calls.length = 0;
  return [await act(), [...calls]];
}

test('routes', async () => {
  const [answer, called] = await calledBy(() => visit('/session', other.token));
  expect([answer.status, called]).toEqual([404, []]);
  expect(await answer.json()).toEqual({ message: 'Your account has not switched on acme/shows.' });
  expect(await (await visit('/session', chooser.token)).json()).toEqual({ viewer: await uidOf(chooser) });
  // A public route is for everybody, but it does not learn who has not switched the plugin on.
  expect(await (await visit('/public', other.token)).json()).toEqual({ viewer: null });
  expect(await (await visit('/public', chooser.token)).json()).toEqual({ viewer: await uidOf(chooser) });
  // An administrator's own customer has not switched it on: what is for administrators is there.
  expect((await visit('/session', app.adminToken)).status).toBe(404);
  expect((await visit('/admin', app.adminToken)).status).toBe(200);
});

test('pages, also that of the settings', async () => {
  for (const page of ['customer', 'settings']) {
    const [answer, called] = await calledBy(() => visit(`/pages/${page}`, other.token));
    expect([answer.status, called]).toEqual([404, []]);
    expect(await answer.text()).toContain('Your account has not switched on the plugin acme/shows.');
    expect((await visit(`/pages/${page}`, chooser.token)).status).toBe(200);
  }
  expect((await visit('/pages/customer', app.adminToken)).status).toBe(404);
  expect((await visit('/pages/admin', app.adminToken)).status).toBe(200);
});

test('entries of menus and pages: an administrator sees them, too', async () => {
  const seen = async (token: string) => {
    const read = async (page: string) => {
      const { body } = await app.rest(`/extension_slots?page=${page}`, { token });
      return (body as { plugin: string }[]).filter(({ plugin }) => plugin === 'acme/shows').length;
    };
    return Promise.all(['sidebar', 'lists.show', 'layout'].map(read));
  };
  expect(await seen(other.token)).toEqual([0, 0, 0]);
  expect(await seen(chooser.token)).toEqual([1, 1, 1]);
  expect(await seen(app.adminToken)).toEqual([1, 1, 1]);
});

test('settings of the customer', async () => {
  const { getForCustomer } = Reflect.get(globalThis, 'chosenSettings');
  await expect(getForCustomer(await uidOf(other))).rejects.toThrow(
    'The customer has not switched on the plugin "acme/shows".',
  );
  expect(await getForCustomer(await uidOf(chooser))).toEqual({ size: 's' });
  const change = (token: string) =>
    app.rest('/plugins/acme/shows/settings', {
      ...{ method: 'PATCH', token, body: { for: 'customer', values: { size: 'l' } } },
    });
  expect((await change(other.token)).status).toBe(403);
  expect((await change(chooser.token)).status).toBe(200);
  expect((await app.rest('/plugins/acme/shows/settings', { token: other.token })).body).toEqual([]);
});

async function graphql(token: string | null, query: string) {
  const response = await fetch(`${app.baseUrl}/graphql`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', ...(token === null ? {} : { Authorization: `Bearer ${token}` }) },
    body: JSON.stringify({ query }),
  });
  return response.json();
}

test('GraphQL fields', async () => {
  const OFF = { __typename: 'ForbiddenError', code: 'PLUGIN_SWITCHED_OFF' };
  const ask = (token: string | null, field: string) =>
    graphql(token, `{ it: ${field} { __typename ... on Error { code } } }`);
  const [seen, called] = await calledBy(() => ask(other.token, 'acmeSeen'));
  expect([seen.data.it, called]).toEqual([OFF, []]);
  const touch = 'mutation { it: acmeTouch { __typename ... on Error { code message } } }';
  const [touched, touching] = await calledBy(() => graphql(other.token, touch));
  expect([touched.data.it, touching]).toEqual([
    { ...OFF, message: 'The customer has not switched on the plugin "acme/shows".' },
    [],
  ]);
  expect((await graphql(chooser.token, touch)).data.it).toEqual({ __typename: 'AcmeTouchSuccess' });
  expect((await ask(chooser.token, 'acmeSeen')).data.it).toEqual({ __typename: 'AcmeSeenSuccess' });
  // Strangers have no customer; what is for administrators asks for no customer.
  expect((await ask(null, 'acmeForAll')).data.it).toEqual({ __typename: 'AcmeForAllSuccess' });
  expect((await ask(other.token, 'acmeForAll')).data.it).toEqual(OFF);
  expect((await ask(app.adminToken, 'acmeForAdmins')).data.it).toEqual({ __typename: 'AcmeForAdminsSuccess' });

  // A field of a type of the product is null, and the error says why; the rest is answered.
  const lists = '{ lists { ... on MailListConnection { edges { node { name acmeScore } } } } }';
  for (const { token } of [chooser, other]) await app.rest('/lists', { method: 'POST', token, body: LIST_BODY });
  const [answer, scored] = await calledBy(() => graphql(other.token, lists));
  expect([answer.data.lists.edges, scored]).toEqual([[{ node: { name: 'Friends', acmeScore: null } }], []]);
  expect(answer.errors).toMatchObject([{ extensions: { code: 'PLUGIN_SWITCHED_OFF' } }]);
  const own = await graphql(chooser.token, lists);
  expect(own.data.lists.edges).toEqual([{ node: { name: 'Friends', acmeScore: 5 } }]);
});

test('REST rows: 404 whatever was sent, before anything is done', async () => {
  const ask = async (path: string, token: string, body: object) => {
    const response = await fetch(`${app.baseUrl}/api/v1/shows/${path}`, {
      ...{ method: 'POST', body: JSON.stringify(body) },
      headers: { 'Content-Type': 'application/json', Authorization: `Bearer ${token}` },
    });
    return [response.status, await response.json()];
  };
  const off = [404, { message: 'Your account has not switched on acme/shows.' }];
  for (const body of [{ size: 1 }, {}, { size: 'x' }])
    expect(await calledBy(() => ask('token', other.token, body))).toEqual([off, []]);
  expect(await calledBy(() => ask('token', chooser.token, { size: 1 }))).toEqual([[200, { data: 4 }], ['mutation']]);
  expect((await ask('token', chooser.token, {}))[0]).toBe(422);
  // The row is for administrators, its operation for customers.
  expect((await ask('admin', other.token, { size: 1 }))[0]).toBe(403);
});

test('events: those of other customers are passed over, and none waits for them', async () => {
  calls.length = 0;
  const record = async (tenant: RestTenant | undefined) => {
    const objectUid = newUid();
    const customerId = tenant?.customerId ?? null;
    await recordEvents(app.ctx.db, [{ kind: 'list_changed', customerId, objectUid, data: {} }]);
    return objectUid;
  };
  const heard = () => calls.filter((call) => call.startsWith('event ')).map((call) => call.slice('event '.length));
  const [passed, own, nobodys] = [await record(other), await record(chooser), await record(undefined)];
  await expect.poll(heard, { timeout: 120_000 }).toEqual([own, nobodys]);
  // One that is recorded right after the switch is not missed, also in a process that has not heard of it.
  await app.ctx.db.execute(
    sql`INSERT INTO plugin_customer (customer_id, vendor, plugin) VALUES (${other.customerId}, 'acme', 'shows')`,
  );
  const later = await record(other);
  await expect.poll(heard, { timeout: 120_000 }).toEqual([own, nobodys, later]);
  expect(heard()).not.toContain(passed);
  // Its position moves after it has heard.
  const behind = () =>
    queryRows(
      app.ctx.db,
      sql`SELECT 1 FROM hot.event_follower f WHERE f.name = 'acme/shows:all' AND f.position < (SELECT max(id) FROM hot.event)`,
    );
  await expect.poll(behind, { timeout: 120_000 }).toEqual([]);
});

test('switched off, all of it is gone again', async () => {
  await clientOf(chooser).switchOff('acme/shows');
  expect((await visit('/session', chooser.token)).status).toBe(404);
  expect((await visit('/pages/customer', chooser.token)).status).toBe(404);
});
