/** Automations that ask a plugin which is deactivated meanwhile, on the running product: REST shows where people wait and why, and they go on. */
import { beforeAll, expect, test } from 'vitest';
import { sql } from '../../src/db/database.ts';
import { field, mailWorld, until } from '../support/mail-world.ts';
import { pluginClient } from '../support/plugin-client.ts';
import { newDataDir, writePlugin } from '../support/plugin-folder.ts';
import { startRestApp } from '../support/rest-app.ts';
import { answer, SHOP_CODE } from '../support/shop-plugin.ts';

const dataDir = newDataDir();
const app = await startRestApp({ ROLES: 'web,worker', DATA_DIR: dataDir });
const client = pluginClient({ baseUrl: app.baseUrl, token: app.adminToken });
const tenant = await app.newTenant();
const { call, add, newList } = mailWorld(app, tenant);

const activate = async () =>
  expect(await client.activate('acme/shop', { forAllCustomers: true })).toMatchObject({ isLive: true });
beforeAll(async () => {
  writePlugin(dataDir, 'acme/shop', { code: SHOP_CODE, rights: { customers: 'all' } });
  await activate();
});

const bought = { pluginCondition: { plugin: 'acme/shop', name: 'acme_bought', values: { days: 30 } } };
const flow = {
  triggers: [{ type: 'execute' }],
  nodes: [
    { id: 'ask', type: 'condition', if: { person: bought } },
    { id: 'mark', type: 'add_tag', tag: 'buyer' },
  ],
  edges: [
    { from: 'start', to: 'ask' },
    { from: 'ask', port: 'yes', to: 'mark' },
  ],
};
const create = async (listUid: string, more: object = {}) =>
  String(
    field(await call('POST', '/automations', { list_uid: listUid, name: 'Buyers', flow, ...more }), 'automation_uid'),
  );
const publish = (uid: string) => call('POST', `/automations/${uid}/publish`, { draft_version: 1 });

test('people wait at the node of a plugin that is away, with the reason, and go on by themselves', async () => {
  const list = await newList();
  const uid = await create(list.uid);
  expect((await publish(uid)).status).toBe(200);
  expect((await call('POST', `/automations/${uid}/activate`)).status).toBe(200);
  const segment = await call('POST', `/lists/${list.uid}/segments`, { name: 'Buyers', rule: bought });
  const begun = await create(list.uid, {
    name: 'Comers',
    flow: {
      triggers: [{ type: 'segment_entered', segmentUid: field(segment, 'segment_uid') }],
      nodes: [{ id: 'come', type: 'end' }],
      edges: [{ from: 'start', to: 'come' }],
    },
  });
  expect((await publish(begun)).status).toBe(200);
  expect((await call('POST', `/automations/${begun}/activate`)).status).toBe(200);
  const ann = await add(list, 'ann@buyers.example');
  answer([ann]);
  const deactivated = await call('POST', '/plugins/acme/shop/deactivate', {}, app.adminToken);
  expect(field(deactivated, 'used_by_automations')).toEqual([
    'automation “Buyers” (ask)',
    'automation “Comers” (trigger 1)',
  ]);
  expect((await call('POST', `/automations/${uid}/execute`, { subscriber: ann })).status).toBeLessThan(300);
  const node = async () => field(await call('GET', `/automations/${uid}/counts`), 'versions', '0', 'nodes', '0');
  const waiting = await until(async () => {
    const found = await node();
    return Reflect.get(Object(found), 'postponed_at') === null ? undefined : found;
  });
  expect(waiting).toMatchObject({
    ...{ node: 'ask', entered: 1, waiting: 1, parked: 0, postponed_at: expect.any(String) },
    postponed_reason: expect.stringContaining(
      'The plugin acme/shop has not said for whom its condition acme_bought holds',
    ),
  });
  const runs = await call('GET', `/automations/${uid}/runs`);
  expect(field(runs, 'runs')).toMatchObject([{ state: 'waiting', node: 'ask', reason: 'condition_unavailable' }]);

  await activate();
  // Not after half a minute.
  await app.ctx.db.execute(sql`UPDATE hot.flow_node SET next_wake_at = now() WHERE postponed_at IS NOT NULL`);
  await until(async () =>
    field(await call('GET', `/automations/${uid}/runs`), 'runs', '0', 'state') === 'passed' ? true : undefined,
  );
  expect(await node()).toMatchObject({ passed: 1, postponed_at: null, postponed_reason: null });
});

test('a flow that names a condition or an event of a plugin that is away cannot be published', async () => {
  await client.deactivate('acme/shop');
  const list = await newList();
  const refused = await publish(await create(list.uid));
  expect(refused.status).toBe(422);
  expect(field(refused, 'faults')).toMatchObject([
    { node: 'ask', field: 'if.person.pluginCondition.name', code: 'unknown_reference' },
  ]);
  const event = { type: 'plugin_event', plugin: 'acme/shop', name: 'paid' };
  const byEvent = await create(list.uid, {
    flow: {
      triggers: [event],
      nodes: [{ id: 'wait', type: 'wait_for_event', event, for: { days: 1 } }],
      edges: [{ from: 'start', to: 'wait' }],
      goals: [{ id: 'pays', event }],
    },
  });
  const unknown = await publish(byEvent);
  expect(unknown.status).toBe(422);
  const code = 'unknown_plugin';
  expect(field(unknown, 'faults')).toMatchObject([
    { node: null, field: 'triggers.0.plugin', code },
    { node: 'wait', field: 'event.plugin', code },
    { node: 'pays', field: 'event.plugin', code },
  ]);
  await activate();
  expect((await publish(byEvent)).status).toBe(200);
});
