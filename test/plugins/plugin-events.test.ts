/** Events that a plugin records of people: they have its name, and begin and end automations on the running product. */
import { expect, test, vi } from 'vitest';
import { queryRows } from '../../scripts/support/query-rows.ts';
import { sql } from '../../src/db/database.ts';
import type { PluginServices } from '../../src/plugin-api/index.ts';
import { field } from '../support/mail-world.ts';
import { pluginClient } from '../support/plugin-client.ts';
import { newDataDir, writePlugin } from '../support/plugin-folder.ts';
import { startRestApp } from '../support/rest-app.ts';
import { newWorld } from '../support/rest-world.ts';

const dataDir = newDataDir();
const app = await startRestApp({ DATA_DIR: dataDir, ROLES: 'web,worker' });
const own = await newWorld(app, { host: '127.0.0.1', port: 9, encryption: 'none' });
const admin = pluginClient({ baseUrl: app.baseUrl, token: app.adminToken });
const [{ uid: customerUid } = { uid: '' }] = await queryRows<{ uid: string }>(
  app.ctx.db,
  sql`SELECT c.uid FROM mail_list l JOIN customer c ON c.id = l.customer_id WHERE l.uid = ${own.listUid}`,
);

const KEEPS_SERVICES = (name: string) => `
  export const plugin = { name: '${name}', boot: (_hooks, services) => void ((globalThis.servicesOf ??= {})['${name}'] = services) };`;

async function live(name: string): Promise<PluginServices> {
  writePlugin(dataDir, name, { code: KEEPS_SERVICES(name), rights: { scopes: ['events:write'], customers: 'all' } });
  const agreed = { scopes: ['events:write'], forAllCustomers: true };
  expect(await admin.activate(name, agreed)).toMatchObject({ status: 'ACTIVE', isLive: true });
  return Reflect.get(Reflect.get(globalThis, 'servicesOf'), name);
}

const ask = async (path: string, body?: object) => {
  const answer = await app.rest(path, { method: 'POST', token: own.token, ...(body ? { body } : {}) });
  expect(answer.status, answer.text).toBeLessThan(300);
  return answer;
};

const RECORD = `mutation ($input: RecordEventsInput!) {
  recordEvents(input: $input) { ... on RecordedEvents { answers { isRecorded message } } ... on Error { message } } }`;

test('begin and end automations under the plugin’s name, and under no other', async () => {
  const [shop, other] = [await live('acme/shop'), await live('acme/other')];
  const event = (name: string, more: object = {}) => ({ type: 'plugin_event', plugin: 'acme/shop', name, ...more });
  const flow = {
    triggers: [event('cart_left', { where: [{ path: 'total', number: { gt: 10 } }] })],
    nodes: [{ id: 'wait', type: 'wait_for_event', event: event('paid'), for: { days: 1 } }],
    edges: [{ from: 'start', to: 'wait' }],
  };
  const uid = String(field(await ask('/automations', { list_uid: own.listUid, name: 'Cart', flow }), 'automation_uid'));
  await ask(`/automations/${uid}/publish`, { draft_version: 1 });
  await ask(`/automations/${uid}/activate`);
  const emails = ['ann@example.org', 'ben@example.org', 'cat@example.org'];
  for (const EMAIL of emails) await ask('/subscribers', { list_uid: own.listUid, EMAIL });
  const [ann = '', ben = '', cat = ''] = emails;
  const record = ({ graphql }: PluginServices, subscriber: string, name: string, total = 11) =>
    graphql(RECORD, { input: { events: [{ name, subscriber, payload: { total } }] } }, { customerUid });
  await ask('/events', { name: 'cart_left', subscriber: ben, payload: { total: 11 } });
  await record(other, ben, 'cart_left');
  await record(shop, cat, 'cart_left', 9);
  expect(await record(shop, ann, 'cart_left')).toEqual({
    data: { recordEvents: { answers: [{ isRecorded: true, message: null }] } },
  });
  const steps = () =>
    queryRows(
      app.ctx.db,
      sql`SELECT s.email, t.node, t.what, t.reason FROM hot.flow_step t JOIN automation a ON a.id = t.automation_id
            JOIN subscriber s ON s.customer_id = t.customer_id AND s.id = t.person_id WHERE a.uid = ${uid} ORDER BY t.at`,
    );
  const entered = { email: ann, node: 'wait', what: 'entered', reason: 'plugin_event' };
  await vi.waitFor(async () => expect(await steps()).toEqual([entered]), { timeout: 120_000, interval: 200 });
  await record(shop, ann, 'paid');
  const passed = { email: ann, node: 'wait', what: 'passed', reason: 'plugin_event' };
  await vi.waitFor(async () => expect(await steps()).toEqual([entered, passed]), { timeout: 120_000, interval: 200 });
});
