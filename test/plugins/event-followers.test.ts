/** Events for plugins on the running product: hooks of all kinds, and followers with positions of their own. */
import { expect, test } from 'vitest';
import { queryRows } from '../../scripts/support/query-rows.ts';
import { sql } from '../../src/db/database.ts';
import { recordEvents } from '../../src/events/event-store.ts';
import { newUid } from '../../src/lib/ids.ts';
import { PLUGIN_EVENT_KINDS } from '../../src/plugin-api/index.ts';
import { pluginClient } from '../support/plugin-client.ts';
import { newDataDir, writePlugin } from '../support/plugin-folder.ts';
import { startRestApp } from '../support/rest-app.ts';

const dataDir = newDataDir();
const app = await startRestApp({ DATA_DIR: dataDir, ROLES: 'web,worker' });
const client = pluginClient({ baseUrl: app.baseUrl, token: app.adminToken });

interface Seen {
  readonly plugin: string;
  readonly what: string;
  readonly uid?: string;
}
const seen: Seen[] = [];
/** What a plugin asks before it handles events; it throws while there is something. */
const faults = new Map<string, string>();
Object.assign(globalThis, { seenEvents: seen, faultsOfEvents: faults });
const seenOf = (plugin: string, uid?: string) =>
  seen.filter((each) => each.plugin === plugin && (uid === undefined || each.uid === uid)).map(({ what }) => what);

async function activateWith(plugin: string, boot: string, version = '1.0.0'): Promise<void> {
  const code = `
    const see = (what, uid) => void globalThis.seenEvents.push({ plugin: '${plugin}', what, uid });
    const fault = () => { const text = globalThis.faultsOfEvents.get('${plugin}'); if (text) throw new Error(text); };
    export const plugin = { name: '${plugin}', boot(hooks) { ${boot} } };`;
  writePlugin(dataDir, plugin, { code, version });
  expect(await client.activate(plugin)).toMatchObject({ status: 'ACTIVE', error: null });
}

const listChanged = (uid: string) =>
  recordEvents(app.ctx.db, [{ kind: 'list_changed', customerId: null, objectUid: uid, data: {} }]);

async function follower(name: string) {
  const [row] = await queryRows<{ position: bigint; failures: number; error: string | null }>(
    app.ctx.db,
    sql`SELECT position, failures, last_error AS error FROM hot.event_follower WHERE name = ${name}`,
  );
  return row;
}

test('a hook is fired for each kind of the event record', async () => {
  const kinds = PLUGIN_EVENT_KINDS.filter((kind) => kind !== 'customer_added' && kind !== 'plan_changed');
  const listeners = [...kinds, 'plan_edited'].map(
    (hook) =>
      `hooks.on('${hook}', ({ kind, uid, customerUid, data }) => see(kind + ' ' + customerUid + ' ' + JSON.stringify(Object.entries(data).sort()), uid));`,
  );
  await activateWith('acme/hooks', listeners.join('\n'));
  const tenant = await app.newTenant();
  const [customer] = await queryRows<{ id: bigint; uid: string }>(
    app.ctx.db,
    sql`SELECT id, uid FROM customer WHERE NOT is_operator ORDER BY id DESC LIMIT 1`,
  );
  expect(tenant).toBeDefined();
  const uid = newUid();
  const about = { customerId: customer?.id ?? null, objectUid: uid };
  const subscription = { customerUid: customer?.uid ?? '', planUid: 'plan' };
  const status = { from: 'queued', to: 'sending' };
  await recordEvents(app.ctx.db, [
    { kind: 'campaign_status_changed', data: { ...status, reason: null }, ...about },
    { kind: 'plan_changed', data: {}, ...about, customerId: null },
    { kind: 'subscription_started', data: subscription, ...about },
    { kind: 'list_created', data: {}, ...about },
    { kind: 'plugin_deactivated', data: { version: '1.0.0' }, ...about, customerId: null },
  ]);
  await expect
    .poll(() => seenOf('acme/hooks', uid), { timeout: 120_000 })
    .toEqual([
      `campaign_status_changed ${customer?.uid} [["from","queued"],["reason",null],["to","sending"]]`,
      'plan_changed null []',
      `subscription_started ${customer?.uid} ${JSON.stringify(Object.entries(subscription))}`,
      `list_created ${customer?.uid} []`,
      'plugin_deactivated null [["version","1.0.0"]]',
    ]);
});

test('a follower gets its kinds in order; a fault makes the same events come again, and none is left out', async () => {
  await activateWith(
    'acme/follows',
    `hooks.add('event_follower', { name: 'lists', kinds: ['list_changed'], handle(events) {
       fault();
       for (const { kind, uid } of events) see(kind, uid);
     } });`,
  );
  const uids = [newUid(), newUid(), newUid()];
  faults.set('acme/follows', 'The other side is away.');
  await recordEvents(app.ctx.db, [{ kind: 'list_created', customerId: null, objectUid: uids[0] ?? '', data: {} }]);
  for (const uid of uids) await listChanged(uid);
  await expect
    .poll(() => follower('acme/follows:lists'), { timeout: 120_000 })
    .toMatchObject({
      failures: expect.any(Number),
      error: expect.stringContaining('The other side is away.'),
    });
  expect(seenOf('acme/follows')).toEqual([]);
  // Those of one try may have been taken, to be stored; it is tried again.
  await expect
    .poll(() => app.hooks.faults.take())
    .toContainEqual(expect.objectContaining({ plugin: 'acme/follows', hook: 'event_follower' }));
  faults.delete('acme/follows');
  await expect
    .poll(() => seen.filter(({ plugin }) => plugin === 'acme/follows'), { timeout: 120_000 })
    .toEqual(uids.map((uid) => ({ plugin: 'acme/follows', what: 'list_changed', uid })));
  await expect.poll(() => follower('acme/follows:lists')).toMatchObject({ failures: 0, error: null });
});

test('an inactive plugin keeps its position, a new version goes on from there, and a deleted one has none', async () => {
  const handle = (text: string) =>
    `hooks.add('event_follower', { name: 'all', handle: (events) => events.forEach(({ uid }) => see('${text}', uid)) });`;
  const before = newUid();
  await listChanged(before);
  await activateWith('acme/pauses', handle('old'));
  const [first, second, third] = [newUid(), newUid(), newUid()];
  await listChanged(first);
  await expect.poll(() => seenOf('acme/pauses', first), { timeout: 120_000 }).toEqual(['old']);
  await client.deactivate('acme/pauses');
  await listChanged(second);
  await activateWith('acme/watches', handle('watched'));
  await listChanged(third);
  await expect.poll(() => seenOf('acme/watches', third), { timeout: 120_000 }).toEqual(['watched']);
  expect(seenOf('acme/pauses', second)).toEqual([]);
  await activateWith('acme/pauses', handle('new'), '2.0.0');
  await expect.poll(() => seenOf('acme/pauses', third), { timeout: 120_000 }).toEqual(['new']);
  expect(seenOf('acme/pauses', second)).toEqual(['new']);
  expect(seenOf('acme/pauses', before)).toEqual([]);

  await app.ctx.db.execute(sql`UPDATE hot.event_follower SET cut_off_at = now() WHERE owner = 'acme/pauses'`);
  await client.deactivate('acme/pauses');
  await client.activate('acme/pauses');
  const fourth = newUid();
  await listChanged(fourth);
  await expect.poll(() => seenOf('acme/pauses', fourth), { timeout: 120_000 }).toEqual(['new']);
  await client.deactivate('acme/pauses');
  await client.remove('acme/pauses');
  expect(await follower('acme/pauses:all')).toBeUndefined();
});

test('an entry that cannot be used is refused', async () => {
  const code = `export const plugin = { name: 'acme/wrong', boot(hooks) {
    hooks.add('event_follower', { name: 'a', kinds: ['list_chnged'], batch: 501, handle() {} });
  } };`;
  writePlugin(dataDir, 'acme/wrong', { code });
  const { fields = [] } = await client.activate('acme/wrong');
  const reason = fields.flatMap(({ messages }) => messages).join(' ');
  expect(reason).toContain('"kinds.0": is no kind of event.');
  expect(reason).toContain('"batch": must be a whole number from 1 to 500.');
});
