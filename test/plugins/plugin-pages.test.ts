/** Pages of plugins over HTTP: who sees them, what they may load, and that nothing of a plugin or a customer becomes code. */
import { beforeAll, expect, test } from 'vitest';
import { queryRows } from '../../scripts/support/query-rows.ts';
import { sql } from '../../src/db/database.ts';
import { pluginClient } from '../support/plugin-client.ts';
import { newDataDir, writePlugin } from '../support/plugin-folder.ts';
import { rawRequest } from '../support/raw-request.ts';
import { switchedOnByAll } from '../support/switched-on-by-all.ts';
import { startRestApp, type RestTenant } from '../support/rest-app.ts';
import { pagesPlugin, sessionCookieOf } from '../support/pages-plugin.ts';

const dataDir = newDataDir();
const app = await startRestApp({ DATA_DIR: dataDir });
const client = pluginClient({ baseUrl: app.baseUrl, token: app.adminToken });
const BASE = `${app.baseUrl}/plugins/acme/notes/pages`;
let tenant: RestTenant;
let cookie: string;
let adminCookie: string;

beforeAll(async () => {
  writePlugin(dataDir, 'acme/notes', pagesPlugin);
  expect(await client.activate('acme/notes')).toMatchObject({ status: 'ACTIVE' });
  tenant = await app.newTenant();
  await switchedOnByAll(app.ctx, 'acme/notes');
  cookie = await sessionCookieOf(app, tenant.token);
  adminCookie = await sessionCookieOf(app, app.adminToken);
});

const OWN = { 'Sec-Fetch-Site': 'same-origin' };

async function open(path: string, who: string | undefined = cookie, more: RequestInit = {}) {
  const headers = { ...OWN, ...(who ? { Cookie: who } : {}), ...Object.fromEntries(new Headers(more.headers)) };
  const response = await fetch(`${BASE}/${path}`, { redirect: 'manual', ...more, headers });
  return { status: response.status, text: await response.text(), headers: response.headers };
}

const post = (path: string, form: Record<string, string>, who = cookie, headers: Record<string, string> = {}) =>
  open(path, who, { method: 'POST', body: new URLSearchParams(form), headers });

test('a page has the data of the plugin, escaped, with title, language and a strict policy', async () => {
  const { status, text, headers } = await open('notes?mark=%3Cscript%3Ealert(1)%3C/script%3E');
  expect(status).toBe(200);
  expect(text).toContain('<h1>Notes of &lt;b&gt;Acme&lt;/b&gt;</h1>');
  expect(text).toContain('<html lang="en" dir="ltr">');
  const [{ uid } = { uid: '' }] = await queryRows<{ uid: string }>(
    app.ctx.db,
    sql`SELECT uid FROM customer WHERE id = ${tenant.customerId}`,
  );
  expect(text).toContain(`customer ${uid}`);
  expect(text).toContain('&lt;script&gt;alert(1)&lt;/script&gt;');
  expect(text).toContain('2 notes');
  expect(text).not.toContain('<script>alert');
  expect(text).not.toContain('<img src=x');
  const policy = headers.get('content-security-policy') ?? '';
  expect(policy).toContain("default-src 'none'");
  expect(policy).toContain(`script-src ${app.baseUrl}/plugins/acme/notes/files/app.js;`);
  expect(policy).not.toContain('unsafe');
  expect(text).toContain('<script defer src="/plugins/acme/notes/files/app.js"></script>');
  // That of administrators is not loaded for others.
  expect(policy).not.toContain('admin.js');
  expect((await open('notes', adminCookie)).headers.get('content-security-policy')).toContain('files/admin.js');
});

test('it is in the language of the customer', async () => {
  await app.ctx.db.execute(sql`UPDATE customer SET language_id = 2 WHERE id = ${tenant.customerId}`);
  const { text } = await open('notes');
  expect(text).toContain('<html lang="de"');
  expect(text).toContain('2 Notizen');
  await app.ctx.db.execute(sql`UPDATE customer SET language_id = NULL WHERE id = ${tenant.customerId}`);
});

test('without a session it says how to log in; with a token there is no session', async () => {
  const { status, text } = await open('notes', '');
  expect(status).toBe(401);
  expect(text).toContain('/api/v1/login-token');
  expect((await open('notes', '', { headers: { Authorization: `Bearer ${tenant.token}` } })).status).toBe(401);
  // A page that another site shows in itself has no session either.
  expect(
    (await open('notes', cookie, { headers: { 'Sec-Fetch-Site': 'cross-site', 'Sec-Fetch-Dest': 'iframe' } })).status,
  ).toBe(401);
});

test('a page for administrators is refused for a customer', async () => {
  expect((await open('admin')).status).toBe(403);
  expect((await open('admin', adminCookie)).text).toContain('administrator: true');
});

test('a form of our own page arrives, one of another site does not', async () => {
  const saved = await post('notes', { text: 'mine' });
  expect([saved.status, saved.headers.get('location')]).toEqual([303, `${BASE}/notes?saved=1`]);
  expect((await open('notes')).text).toContain('<li>mine</li>');
  const again = await post('notes', { text: '' });
  expect(again.status).toBe(422);
  expect(again.text).toContain('A text is needed &lt;b&gt;');
  for (const headers of [
    { 'Sec-Fetch-Site': 'cross-site' },
    { 'Sec-Fetch-Site': 'same-site', Origin: 'https://evil.example' },
  ])
    expect((await post('notes', { text: 'evil' }, cookie, headers)).status).toBe(403);
  // As a browser sends it that attaches the cookie to a form of another site, or of a sibling of our host.
  for (const site of ['cross-site', 'same-site'])
    for (const origin of ['https://evil.example', 'null']) {
      const forged = await rawRequest(app.baseUrl, {
        line: 'POST /plugins/acme/notes/pages/notes',
        headers: [
          ...[`Cookie: ${cookie}`, `Origin: ${origin}`, 'Content-Type: application/x-www-form-urlencoded'],
          ...[`Sec-Fetch-Site: ${site}`, 'Sec-Fetch-Mode: navigate', 'Sec-Fetch-Dest: document'],
        ],
        body: 'text=evil',
      });
      expect(forged.status).toBe(403);
    }
  expect((await post('notes', { text: 'nobody' }, '')).status).toBe(401);
  expect((await open('notes')).text).not.toMatch(/evil|nobody/);
  expect((await post('admin', { a: '1' }, adminCookie)).status).toBe(405);
  expect((await post('notes', { text: 'x'.repeat(70_000) })).status).toBe(413);
});

test.each(['throws', 'rejects', 'late', 'no-object', 'circle'])('a page whose data %s answers a page', async (name) => {
  const { status, text } = await open(`faults/${name}`);
  expect(status).toBe(500);
  expect(text).toContain('The plugin acme/notes failed');
  expect(text).not.toContain('secret reason');
});

test('an endless view is ended', async () => {
  expect((await open('faults/endless')).status).toBe(500);
});

test('the settings page is made from the form; faults and values are escaped, secrets never shown', async () => {
  const { text, status } = await open('settings');
  expect(status).toBe(200);
  expect(text).toContain('For your account');
  expect(text).not.toContain('For the installation');
  expect(text).toContain('Name &lt;script&gt;');
  const hostile = '"><script>alert(1)</script>';
  const wrong = await post('settings', { for: 'customer', 'value.name': hostile.repeat(2), 'value.token': 'secret-7' });
  expect(wrong.status).toBe(422);
  expect(wrong.text).toContain('The name may have at most 40 characters.');
  expect(wrong.text).not.toContain('<script>alert');
  expect(wrong.text).not.toContain('secret-7');
  const saved = await post('settings', {
    for: 'customer',
    'value.name': hostile,
    'value.token': 'secret-7',
    'value.is_on': '1',
  });
  expect(saved.headers.get('location')).toBe(`${BASE}/settings?saved=1`);
  const after = await open('settings?saved=1');
  expect(after.text).toContain('The settings were saved.');
  expect(after.text).toContain('value="&quot;&gt;&lt;script&gt;');
  expect(after.text).toMatch(/<input type="checkbox"[^>]* checked>/);
  expect(after.text).not.toContain('secret-7');
  // An empty secret stays, a box that is not ticked is off.
  await post('settings', { for: 'customer', 'value.name': 'Ada', 'value.token': '' });
  const last = (await open('settings')).text;
  expect(last).toContain('A value is stored.');
  expect(last).not.toMatch(/<input type="checkbox"[^>]* checked>/);
  expect((await post('settings', { for: 'installation', 'value.url': 'x' })).status).toBe(422);
  expect((await open('settings', adminCookie)).text).toContain('For the installation');
  const [audit] = await queryRows<{ n: number }>(
    app.ctx.db,
    sql`SELECT count(*)::int AS n FROM hot.audit_event WHERE operation = 'updatePluginSettings' AND target_uid = 'acme/notes'`,
  );
  expect(audit?.n).toBe(2);
});

test.for([
  [
    'a view that is not there',
    `{ name: 'a', audience: 'customer', title: 'A', view: 'no.liquid' }`,
    'resources/views/no.liquid is not there',
  ],
  ['a view elsewhere', `{ name: 'a', audience: 'customer', title: 'A', view: '../../index.ts' }`, 'is not there'],
  [
    'a mistake in its view',
    `{ name: 'a', audience: 'customer', title: 'A', view: 'bad.liquid' }`,
    'The view bad.liquid has a mistake',
  ],
  [
    'a view that switches escaping off',
    `{ name: 'a', audience: 'customer', title: 'A', view: 'raw.liquid' }`,
    'undefined filter: raw',
  ],
  ['a name of ours', `{ name: 'settings', audience: 'customer', title: 'A', view: 'ok.liquid' }`, 'is taken'],
  ['no audience', `{ name: 'a', title: 'A', view: 'ok.liquid' }`, 'must be "customer" or "admin"'],
  [
    'data that is no function',
    `{ name: 'a', audience: 'customer', title: 'A', view: 'ok.liquid', data: {} }`,
    'must be a function',
  ],
] as const)('a page with %s is refused', async ([, page, fault]) => {
  writePlugin(dataDir, 'acme/bad', {
    code: `export const plugin = { name: 'acme/bad', boot: (hooks) => hooks.add('page', ${page}) };`,
    files: {
      'resources/views/ok.liquid': 'ok',
      'resources/views/bad.liquid': '{% if x %}',
      'resources/views/raw.liquid': '{{ x | raw }}',
    },
  });
  const { fields = [] } = await client.activate('acme/bad');
  expect(fields.flatMap(({ messages }) => messages).join(' ')).toContain(fault);
});

test('an unknown page, and any page of an inactive plugin, is a page that says so', async () => {
  expect((await open('none')).status).toBe(404);
  await client.deactivate('acme/notes');
  const { status, text } = await open('notes');
  expect(status).toBe(404);
  expect(text).toContain('or it is not active');
});
