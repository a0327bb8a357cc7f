/** What somebody lets a plugin do in the browser is in the audit trail: who, which plugin, where; and nothing of what was sent. */
import { beforeAll, expect, test } from 'vitest';
import { sessionCookieOf } from '../support/pages-plugin.ts';
import { pluginClient } from '../support/plugin-client.ts';
import { newDataDir, writePlugin } from '../support/plugin-folder.ts';
import { startRestApp } from '../support/rest-app.ts';
import { switchedOnByAll } from '../support/switched-on-by-all.ts';

const dataDir = newDataDir();
const app = await startRestApp({ DATA_DIR: dataDir });
const client = pluginClient({ baseUrl: app.baseUrl, token: app.adminToken });
const tenant = await app.newTenant();

const CODE = `
  export const plugin = { name: 'acme/does', boot(hooks) {
    const ok = () => ({ json: {} });
    for (const method of ['GET', 'POST', 'DELETE']) hooks.add('route', { method, path: '/things/:uid', handle: ok });
    hooks.add('route', { method: 'POST', path: '/open', auth: 'public', handle: ok });
    hooks.add('route', { method: 'POST', path: '/fails', handle: () => { throw new Error('no'); } });
    hooks.add('page', { name: 'thing', audience: 'customer', title: 'Thing', view: 'thing.liquid', submit: () => ({ next: 'thing' }) });
  } };`;

let cookie = '';
beforeAll(async () => {
  writePlugin(dataDir, 'acme/does', { code: CODE, files: { 'resources/views/thing.liquid': '<p>thing</p>' } });
  expect(await client.activate('acme/does')).toMatchObject({ status: 'ACTIVE', error: null });
  await switchedOnByAll(app.ctx, 'acme/does');
  cookie = await sessionCookieOf(app, tenant.token);
});

async function send(place: string, method: string, who = cookie): Promise<number> {
  const { status } = await fetch(`${app.baseUrl}/plugins/acme/does${place}?canary=CANARY`, {
    ...{ method, redirect: 'manual' },
    headers: { Cookie: who, 'Sec-Fetch-Site': 'same-origin', Origin: app.baseUrl, 'User-Agent': 'Firefox/140' },
    ...(method === 'GET' ? {} : { body: new URLSearchParams({ secret: 'CANARY' }) }),
  });
  return status;
}

interface AuditRow {
  readonly operation: string;
}

async function rows(): Promise<AuditRow[]> {
  const { body, text } = await app.rest('/audit_events', { token: tenant.token });
  expect(text).not.toContain('CANARY');
  const { audit_events: events } = body as { audit_events: AuditRow[] };
  return events.filter(({ operation }) => operation.includes('Plugin') && operation !== 'switchPluginOn').toReversed();
}

test('changes by routes and pages are recorded, also when the plugin fails; reading is not', async () => {
  expect(await send('/things/CANARY', 'GET')).toBe(200);
  expect(await send('/pages/thing', 'GET')).toBe(200);
  expect(await rows()).toEqual([]);
  expect(await send('/things/CANARY', 'POST')).toBe(200);
  expect(await send('/things/CANARY', 'DELETE')).toBe(200);
  expect(await send('/open', 'POST')).toBe(200);
  expect(await send('/fails', 'POST')).toBe(500);
  expect(await send('/pages/thing', 'POST')).toBe(303);
  // A stranger's call, and one that was refused, are no change of anybody's.
  expect(await send('/open', 'POST', '')).toBe(200);
  expect(await send('/things/CANARY', 'POST', '')).toBe(401);
  const about = { target_uid: 'acme/does', entry_point: 'page', failure: null, client: 'Firefox' };
  const route = (place: string) => ({ ...about, operation: 'callPluginRoute', fields: [place] });
  const found = await rows();
  expect(found).toEqual(
    [
      ...[route('POST /things/:uid'), route('DELETE /things/:uid'), route('POST /open'), route('POST /fails')],
      { ...about, operation: 'submitPluginPage', fields: ['thing'] },
    ].map((row) => expect.objectContaining(row)),
  );
});
