/** `/webhook/{type}/{uid}` with a driver of a plugin, through the real queue. */
import { createHmac, timingSafeEqual } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, expect, test } from 'vitest';
import { queryRows } from '../../scripts/support/query-rows.ts';
import { sql } from '../../src/db/database.ts';
import { sealSecrets } from '../../src/domain/sending/server-secrets.ts';
import { runtimeMessageKey } from '../../src/domain/tracking/runtime-message.ts';
import { newUid } from '../../src/lib/ids.ts';
import { WebhookBusyError, type SendingDriverRegistration, type WebhookEvent } from '../../src/plugin-api/index.ts';
import { runWorker } from '../../src/workers/run-worker.ts';
import { bounceTasks } from '../../src/workers/tasks/bounces.ts';
import { reportedWorld, standingOf, untouched, type ReportedWorld } from '../support/reported-world.ts';
import { startInboundServer } from './inbound-server.ts';
import { withDriver } from '../support/with-hooks.ts';

const SIGNING_KEY = 'canary-webhook-key';
const { ctx, origin } = await startInboundServer();
const worker = await runWorker({ ctx, tasks: bounceTasks, concurrency: 2, crontab: [] });
afterAll(() => worker.stop(1_000));

const digest = (body: Uint8Array | string, key: string) => createHmac('sha256', key).update(body).digest();

/** What a plugin of a vendor looks like. */
const driver: SendingDriverRegistration = {
  type: 'pigeon-api',
  name: 'Pigeon',
  description: 'Sends by pigeon.',
  configKeys: ['region', 'signing_key'],
  secretKeys: ['signing_key'],
  validate: () => ({ ok: true, settings: {} }),
  connect: () => {
    throw new Error('not in this test');
  },
  webhook: {
    async verify({ headers, body, query }, settings) {
      if (query['slow'] !== undefined) throw new Error('the vendor’s key server is away');
      if (query['busy'] === 'verify') throw new WebhookBusyError('the vendor’s key server is away');
      const given = Buffer.from(headers['x-signature'] ?? '', 'hex');
      const right = digest(body, String(settings['signing_key']));
      return given.length === right.length && timingSafeEqual(given, right) && settings['region'] === 'eu';
    },
    parse({ body, query }) {
      if (query['busy'] === 'parse') throw new WebhookBusyError('the vendor cannot be asked');
      return JSON.parse(Buffer.from(body).toString()) as WebhookEvent[];
    },
  },
};
withDriver(ctx.hooks, driver);
withDriver(ctx.hooks, { ...driver, type: 'mute-api', webhook: undefined as never });

async function serverOf(customerId: bigint, options: { isSystem?: boolean; type?: string } = {}): Promise<string> {
  const uid = newUid();
  const { isSystem = false, type = 'pigeon-api' } = options;
  await ctx.db.execute(sql`
    INSERT INTO sending_server (customer_id, uid, name, type, settings, sealed_settings, is_system, status)
    VALUES (${customerId}, ${uid}, 'Pigeon', ${type}, '{"region": "eu"}', ${sealSecrets(ctx.installation.secret, uid, { signing_key: SIGNING_KEY })}, ${isSystem}, 'inactive')`);
  return uid;
}

async function post(
  uid: string,
  body: unknown,
  options: { key?: string; type?: string; query?: string; method?: string } = {},
) {
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  const { key = SIGNING_KEY, type = 'pigeon-api', query = '', method = 'POST' } = options;
  const response = await fetch(`${origin}/webhook/${type}/${uid}${query}`, {
    method,
    headers: { 'X-Signature': digest(text, key).toString('hex') },
    ...(method === 'POST' ? { body: text } : {}),
  });
  return { status: response.status, text: await response.text() };
}

async function untilIdle(): Promise<void> {
  await expect.poll(() => queryRows(ctx.db, sql`SELECT 1 FROM graphile_worker._private_jobs`)).toEqual([]);
}

const bounce = (messageId: string, id = newUid()): WebhookEvent => ({
  kind: 'bounced',
  id,
  messageId,
  bounceType: 'hard',
  statusCode: '5.1.1',
  description: '550 5.1.1\nnobody',
});

test('a genuine event is recorded by the id that the vendor gave the message, once', async () => {
  const at = await reportedWorld(ctx, { runtimeMessageId: `pigeon-${newUid()}` });
  const vendorId = await runtimeIdOf(at);
  const uid = await serverOf(at.customerId);
  const events = [
    bounce(vendorId, 'e-1'),
    { kind: 'ignored', name: 'molted' },
    { kind: 'delivered', id: 'e-\u00004', messageId: `\u0000${vendorId}-of-nobody` },
    { kind: 'complained', id: 'e-2', messageId: vendorId, feedbackType: 'abuse' },
    { kind: 'delivered', id: 'e-3', messageId: vendorId },
  ];
  expect(await post(uid, events)).toMatchObject({ status: 200, text: expect.stringContaining('"status":1') });
  expect((await Promise.all([1, 2, 3].map(() => post(uid, events)))).map(({ status }) => status)).toEqual([
    200, 200, 200,
  ]);
  await untilIdle();
  expect(await standingOf(at)).toEqual({
    bounces: 1,
    complaints: 1,
    status: 'unsubscribed',
    consents: 1,
    counted: [1, 0, 1, 1],
    suppressed: true,
  });
  const [event] = await queryRows(
    ctx.db,
    sql`SELECT type, status_code, message FROM hot.bounce_event WHERE source_id = ${at.campaignId}`,
  );
  expect(event).toMatchObject({ type: 'hard', status_code: '5.1.1', message: '550 5.1.1 nobody' });
  const kept = await queryRows(ctx.db, sql`SELECT 1 FROM hot.webhook_event WHERE customer_id = ${at.customerId}`);
  expect(kept).toHaveLength(4);
});

async function runtimeIdOf({ campaignId }: ReportedWorld): Promise<string> {
  const [row] = await queryRows<{ id: string }>(
    ctx.db,
    sql`SELECT runtime_message_id AS id FROM hot.delivery WHERE source_id = ${campaignId}`,
  );
  return row?.id ?? '';
}

test('an event that comes before its message was recorded finds it within seconds; nobody waits for it', async () => {
  const at = await reportedWorld(ctx);
  const uid = await serverOf(at.customerId);
  const messageId = `late-${newUid()}`;
  // An answer that waited for the look-up would come when nobody looks for the message any more.
  expect(await post(uid, [bounce(messageId)])).toMatchObject({ status: 200 });
  await sleep(700);
  expect(await standingOf(at)).toEqual(untouched);
  await ctx.db.execute(sql`
    INSERT INTO hot.runtime_message (customer_id, source_kind, source_id, recipient_id, message_key)
    VALUES (${at.customerId}, 1, ${at.campaignId}, ${at.subscriberId}, ${runtimeMessageKey(messageId)})`);
  await untilIdle();
  expect(await standingOf(at)).toMatchObject({ bounces: 1, suppressed: true });
});

test("a customer's server speaks about its own messages, the house's about everybody's", async () => {
  const [mine, theirs] = [await reportedWorld(ctx), await reportedWorld(ctx)];
  await post(await serverOf(mine.customerId), [bounce(theirs.messageId)]);
  const house = await serverOf(mine.customerId, { isSystem: true });
  await sleep(700);
  expect(await standingOf(theirs)).toEqual(untouched);
  await post(house, [bounce(theirs.messageId)]);
  await expect.poll(() => standingOf(theirs)).toMatchObject({ bounces: 1, suppressed: true });
});

test('the look-up ends after five seconds', async () => {
  const at = await reportedWorld(ctx);
  const uid = await serverOf(at.customerId);
  await post(uid, [bounce('nobody-knows-this')]);
  await untilIdle();
  const [row] = await queryRows<{ seconds: number }>(
    ctx.db,
    sql`SELECT extract(epoch FROM now() - at)::float8 AS seconds FROM hot.webhook_event WHERE customer_id = ${at.customerId}`,
  );
  expect(row?.seconds).toBeGreaterThan(5);
  expect(await standingOf(at)).toEqual(untouched);
});

test('a driver that cannot say anything at present has the vendor come again, and nothing is recorded', async () => {
  const at = await reportedWorld(ctx);
  const uid = await serverOf(at.customerId);
  for (const when of ['verify', 'parse'])
    expect(await post(uid, [bounce(at.messageId)], { query: `?busy=${when}` })).toMatchObject({ status: 503 });
  expect(await post(uid, [bounce(at.messageId)], { query: '?busy=parse', key: 'wrong' })).toMatchObject({
    status: 401,
  });
  await untilIdle();
  expect(await standingOf(at)).toEqual(untouched);
});

test('what is not genuine, not ours or not readable changes nothing', async () => {
  const at = await reportedWorld(ctx);
  const uid = await serverOf(at.customerId);
  const mute = await serverOf(at.customerId, { type: 'mute-api' });
  const event = bounce(at.messageId);
  const answers = [
    await post(uid, [event], { key: 'wrong' }),
    await post(uid, [event], { query: '?slow' }),
    await post(newUid(), [event]),
    await post(uid, [event], { type: 'smtp' }),
    await post(mute, [event], { type: 'mute-api' }),
    await post('..%2f..', [event]),
    await post(`${uid}/more`, [event]),
    await post(uid, 'no json'),
    await post(uid, [{ ...event, bounceType: 'deadly' }]),
    await post(uid, [{ kind: 'bounced' }]),
    await post(
      uid,
      Array.from({ length: 5_001 }, () => 1),
    ),
    await post(uid, 'x'.repeat(1_100_000)),
    await post(uid, '', { method: 'GET' }),
  ];
  expect(answers.map(({ status }) => status)).toEqual([
    401, 401, 404, 404, 404, 404, 404, 422, 422, 422, 422, 413, 405,
  ]);
  expect(answers.map(({ text }) => text).join()).not.toContain(SIGNING_KEY);
  await untilIdle();
  expect(await standingOf(at)).toEqual(untouched);
});

test('an event is found by our own id when the id of the vendor was lost, also where a vendor knows no dots', async () => {
  const at = await reportedWorld(ctx);
  const uid = await serverOf(at.customerId);
  const key = at.messageId.slice(1, at.messageId.indexOf('@'));
  const events = [
    { ...bounce('an-id-that-was-lost'), ownId: key.replace('.', '-') },
    { ...bounce('an-id-of-nobody'), ownId: 'not a key of ours' },
  ];
  expect(await post(uid, events)).toMatchObject({ status: 200 });
  await expect.poll(async () => (await standingOf(at)).bounces).toBe(1);
});

test('where the vendor says only that it failed, status and words decide', async () => {
  const [gone, refused] = [await reportedWorld(ctx), await reportedWorld(ctx)];
  const unclear = (world: ReportedWorld, statusCode: string, description: string): WebhookEvent => ({
    ...{ kind: 'bounced', id: newUid(), messageId: world.messageId },
    ...{ bounceType: 'unclear', statusCode, description },
  });
  await post(await serverOf(gone.customerId), [unclear(gone, '5.1.1', '550 5.1.1 The user does not exist')]);
  await post(await serverOf(refused.customerId), [unclear(refused, '5.7.1', '550 5.7.1 Message looks like spam')]);
  await expect.poll(async () => (await standingOf(gone)).suppressed).toBe(true);
  await expect.poll(async () => (await standingOf(refused)).bounces).toBe(1);
  expect(await standingOf(refused)).toMatchObject({ suppressed: false, status: 'subscribed' });
});

test('a vendor may report by GET, from a secret address', async () => {
  const at = await reportedWorld(ctx, { runtimeMessageId: `pigeon-${newUid()}` });
  const events = [bounce(await runtimeIdOf(at))];
  withDriver(ctx.hooks, {
    ...driver,
    type: 'old-api',
    webhook: {
      ...{ methods: ['GET'], isUnsigned: true },
      address: (url) => `${url}?key=known`,
      verify: ({ method, query }) => method === 'GET' && query['key'] === 'known',
      parse: () => events,
    },
  });
  const uid = await serverOf(at.customerId, { type: 'old-api' });
  const get = (query: string) => post(uid, '', { type: 'old-api', method: 'GET', query });
  expect(await post(uid, events, { type: 'old-api' })).toMatchObject({ status: 405 });
  expect(await get('?key=other')).toMatchObject({ status: 401 });
  expect(await get('?key=known')).toMatchObject({ status: 200 });
  await expect.poll(async () => (await standingOf(at)).bounces).toBe(1);
});

/** Our own id of the message, as drivers attach it. */
const keyOf = ({ messageId }: ReportedWorld) => messageId.slice(1, messageId.indexOf('@'));

test('messages that have arrived are recorded together: soft bounces are forgotten, an unknown outcome is resolved', async () => {
  const worlds = [await reportedWorld(ctx), await reportedWorld(ctx, { state: 'unknown' }), await reportedWorld(ctx)];
  for (const { customerId, emailKey } of worlds)
    await ctx.db.execute(sql`
      INSERT INTO hot.soft_bounce (customer_id, email_key, times) VALUES (${customerId}, ${emailKey}, ARRAY[now()])`);
  const softBounces = async ({ customerId }: ReportedWorld) =>
    (await queryRows(ctx.db, sql`SELECT 1 FROM hot.soft_bounce WHERE customer_id = ${customerId}`)).length;
  const arrived = (world: ReportedWorld): WebhookEvent => ({
    ...{ kind: 'delivered', id: newUid(), messageId: 'lost', ownId: keyOf(world) },
  });
  const [sent, unclear, foreign] = worlds;
  if (!sent || !unclear || !foreign) throw new Error('There are three.');
  const system = await serverOf(sent.customerId, { isSystem: true });
  await post(system, [arrived(sent), arrived(unclear)]);
  await expect.poll(() => Promise.all([softBounces(sent), softBounces(unclear)])).toEqual([0, 0]);
  const [row] = await queryRows<{ state: string }>(
    ctx.db,
    sql`SELECT state::text AS state FROM hot.delivery WHERE customer_id = ${unclear.customerId}`,
  );
  expect(row?.state).toBe('sent');
  // A customer's server does not speak of another's messages.
  await post(await serverOf(sent.customerId), [arrived(foreign)]);
  await untilIdle();
  expect(await softBounces(foreign)).toBe(1);
});

test('a hundred requests at once, of two servers and with repeats, are each answered and each event is taken once', async () => {
  const worlds = [await reportedWorld(ctx), await reportedWorld(ctx)];
  const servers = await Promise.all(worlds.map(({ customerId }) => serverOf(customerId)));
  const answers = await Promise.all(
    Array.from({ length: 100 }, (_, n) => {
      const [world, server] = [worlds[n % 2], servers[n % 2]];
      if (!world || !server) throw new Error('There are two.');
      return post(server, [{ ...bounce('lost', `e-${n % 20}`), ownId: keyOf(world) }]);
    }),
  );
  expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200));
  await untilIdle();
  for (const world of worlds) expect(await standingOf(world)).toMatchObject({ bounces: 1, suppressed: true });
  const events = await queryRows(
    ctx.db,
    sql`SELECT 1 FROM hot.webhook_event WHERE customer_id = ANY (${worlds.map(({ customerId }) => customerId)}::bigint[])`,
  );
  expect(events).toHaveLength(20);
});
