/** Requests of vendors are kept as they came, without credentials, and can be read once more: in the running program. */
import { expect, test } from 'vitest';
import { queryRows } from '../../scripts/support/query-rows.ts';
import { sql } from '../../src/db/database.ts';
import { sealSecrets } from '../../src/domain/sending/server-secrets.ts';
import { newUid } from '../../src/lib/ids.ts';
import {
  knowsWebhookAddress,
  newWebhookKey,
  WebhookBusyError,
  type SendingDriverRegistration,
  type WebhookEvent,
} from '../../src/plugin-api/index.ts';
import { reportedWorld, standingOf, untouched } from '../support/reported-world.ts';
import { startRestApp } from '../support/rest-app.ts';
import { withDriver } from '../support/with-hooks.ts';

const app = await startRestApp({ ROLES: 'web,worker' });
const { ctx } = app;

/** How its driver reads requests at present. */
let parse: (text: string) => readonly WebhookEvent[] = (text) => JSON.parse(text);
const driver: SendingDriverRegistration = {
  ...{ type: 'pigeon-api', name: 'Pigeon', description: 'Sends by pigeon.' },
  ...{ configKeys: ['webhook_key', 'webhook_password'], secretKeys: ['webhook_key', 'webhook_password'] },
  validate: () => ({ ok: true, settings: {} }),
  connect: () => {
    throw new Error('not in this test');
  },
  webhook: { verify: knowsWebhookAddress, parse: ({ body }) => parse(Buffer.from(body).toString('utf8')) },
};
withDriver(app.hooks, driver);

interface Server {
  readonly uid: string;
  readonly key: string;
}

async function newServer(customerId: bigint): Promise<Server> {
  const [uid, key] = [newUid(), newWebhookKey()];
  const sealed = sealSecrets(ctx.installation.secret, uid, { webhook_key: key, webhook_password: 'canary-word' });
  await ctx.db.execute(sql`
    INSERT INTO sending_server (customer_id, uid, name, type, settings, sealed_settings, status)
    VALUES (${customerId}, ${uid}, 'Pigeon', 'pigeon-api', '{}', ${sealed}, 'active')`);
  return { uid, key };
}

async function post(
  { uid, key }: Server,
  body: string | Uint8Array<ArrayBuffer>,
  headers: Record<string, string> = {},
): Promise<number> {
  const response = await fetch(`${app.baseUrl}/webhook/pigeon-api/${uid}?key=${key}&for=shop`, {
    ...{ method: 'POST', body },
    headers: {
      Authorization: `Basic ${Buffer.from(':canary-word').toString('base64')}`,
      'X-Pigeon': 'grey',
      ...headers,
    },
  });
  await response.text();
  return response.status;
}

interface Listed {
  readonly uid: string;
  readonly state: string;
  readonly fault: string | null;
}

async function listOf({ uid }: Server, more = ''): Promise<readonly Listed[]> {
  const { body } = await app.rest(`/vendor_requests?sending_server_uid=${uid}${more}`, { token: app.adminToken });
  return (body as { data: Listed[] }).data;
}

const show = async (uid: string) => app.rest(`/vendor_requests/${uid}`, { token: app.adminToken });
const replay = async (uid: string) =>
  app.rest(`/vendor_requests/${uid}/replay`, { method: 'POST', token: app.adminToken });

test('a genuine request is kept with its bytes and the headers that matter, and no credential; another one is not', async () => {
  const at = await reportedWorld(ctx);
  const server = await newServer(at.customerId);
  const text = JSON.stringify([{ kind: 'ignored', name: `molted äöü, by ${server.key}` }]);
  expect(await post(server, text, { 'Content-Type': 'application/json' })).toBe(200);
  expect(await post({ ...server, key: newWebhookKey() }, text)).toBe(401);
  const kept = await listOf(server);
  expect(kept).toMatchObject([
    { sending_server_uid: server.uid, type: 'pigeon-api', method: 'POST', state: 'read', fault: null, event_count: 0 },
  ]);
  const shown = await show(kept[0]?.uid ?? '');
  expect(shown.body).toMatchObject({
    vendor_request: kept[0],
    query: { key: '(hidden)', for: 'shop' },
    headers: { authorization: '(hidden)', 'content-type': 'application/json', 'x-pigeon': 'grey' },
    body: text.replace(server.key, '(hidden)'),
    is_base64: false,
  });
  expect((shown.body as { headers: object }).headers).not.toHaveProperty('host');
  const stored = await queryRows<{ payload: Buffer; rest: string }>(
    ctx.db,
    sql`SELECT payload, query::text || headers::text AS rest FROM hot.vendor_request WHERE server_uid = ${server.uid}`,
  );
  expect(stored[0]?.payload.toString('utf8')).toBe(text);
  expect(stored[0]?.rest).not.toContain(server.key);
  expect(stored[0]?.rest).not.toContain(Buffer.from(':canary-word').toString('base64'));
  // A person's data of every customer: for administrators only.
  const { token } = await app.newTenant();
  for (const path of ['', `/${kept[0]?.uid ?? ''}`])
    expect((await app.rest(`/vendor_requests${path}`, { token })).status).toBe(403);
});

test('what cannot be read is kept with the reason, and takes effect once when it is read later', async () => {
  const at = await reportedWorld(ctx);
  const server = await newServer(at.customerId);
  parse = () => {
    throw new Error('The vendor has a new format.');
  };
  const event: WebhookEvent = { kind: 'complained', id: newUid(), messageId: at.messageId };
  expect(await post(server, JSON.stringify([event]))).toBe(422);
  expect(await post(server, new Uint8Array([0xff, 0x00, 0xfe]))).toBe(422);
  const [binary, kept] = await listOf(server, '&state=unreadable');
  expect(kept).toMatchObject({ state: 'unreadable', fault: 'The vendor has a new format.' });
  expect((await show(binary?.uid ?? '')).body).toMatchObject({ body: '/wD+', is_base64: true });
  expect(await replay(kept?.uid ?? '')).toMatchObject({
    status: 200,
    body: { message: 'The request still cannot be read', taken: 0, vendor_request: { replay_count: 1 } },
  });
  parse = (text) => JSON.parse(text);
  expect(await standingOf(at)).toEqual(untouched);
  expect((await replay(kept?.uid ?? '')).body).toMatchObject({
    ...{ taken: 1, repeated: 0 },
    vendor_request: { state: 'read', fault: null, event_count: 1, replay_count: 2 },
  });
  await expect.poll(() => standingOf(at)).toMatchObject({ complaints: 1 });
  expect((await replay(kept?.uid ?? '')).body).toMatchObject({ taken: 0, repeated: 1 });
  expect(await post(server, JSON.stringify([event]))).toBe(200);
  await expect
    .poll(() =>
      queryRows(
        ctx.db,
        sql`SELECT 1 FROM graphile_worker._private_jobs WHERE task_id IN (SELECT id FROM graphile_worker._private_tasks WHERE identifier = 'bounces.take-webhook-events')`,
      ),
    )
    .toEqual([]);
  expect(await standingOf(at)).toMatchObject({ complaints: 1 });
});

test('a replay says why it is not possible', async () => {
  const at = await reportedWorld(ctx);
  const server = await newServer(at.customerId);
  expect(await post(server, '[]')).toBe(200);
  const [kept] = await listOf(server);
  parse = () => {
    throw new WebhookBusyError('the vendor cannot be asked');
  };
  expect(await replay(kept?.uid ?? '')).toMatchObject({
    status: 422,
    body: { errors: { status: [expect.stringContaining('Try again')] } },
  });
  // The vendor is asked to come again with it.
  expect(await post(server, '[]')).toBe(503);
  expect(await listOf(server)).toHaveLength(1);
  parse = (text) => JSON.parse(text);
  await ctx.db.execute(sql`DELETE FROM sending_server WHERE uid = ${server.uid}`);
  expect((await show(kept?.uid ?? '')).status).toBe(200);
  expect(await replay(kept?.uid ?? '')).toMatchObject({
    status: 422,
    body: { errors: { status: [expect.stringContaining('was deleted')] } },
  });
  expect((await replay(newUid())).status).toBe(404);
});

test('whatever stands before an @ is kept, also a NUL and half of a character', async () => {
  const at = await reportedWorld(ctx);
  const server = await newServer(at.customerId);
  parse = () => [];
  // The longest name before an @ begins in the middle of a character.
  for (const text of ['\0a@shop.example', `x${'\u{1F389}'.repeat(40)}@shop.example`])
    expect(await post(server, text)).toBe(200);
  expect(await listOf(server)).toHaveLength(2);
});

test('what a driver says about a request that it cannot read is kept without secrets and NUL, also by a replay', async () => {
  const at = await reportedWorld(ctx);
  const server = await newServer(at.customerId);
  parse = (text) => {
    throw new Error(`\0 what is ${text}?`);
  };
  expect(await post(server, Buffer.from(`:${server.key}`).toString('base64'))).toBe(422);
  const [kept] = await listOf(server);
  expect(kept?.fault).toMatch(/what is .{0,4}\(hidden\)/);
  expect(await replay(kept?.uid ?? '')).toMatchObject({
    status: 200,
    body: { vendor_request: { fault: kept?.fault } },
  });
});
