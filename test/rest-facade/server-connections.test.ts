/** The connections of a sending server over REST and GraphQL: the largest number, the present one, and who sees them. */
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { queryRows } from '../../scripts/support/query-rows.ts';
import { raw, sql } from '../../src/db/database.ts';
import { newUid } from '../../src/lib/ids.ts';
import { startRestApp } from '../support/rest-app.ts';
import { startSmtpReceiver } from '../support/smtp-receiver.ts';
import { withDriver } from '../support/with-hooks.ts';

const app = await startRestApp();
withDriver(app.hooks, {
  ...{ type: 'fixed', name: 'Fixed', description: '', configKeys: ['connections', 'region'], secretKeys: [] },
  validate: ({ connections, region }) => ({
    ok: true,
    settings: { ...(connections ? { connections: Number(connections) } : {}), region: String(region) },
  }),
  connect: () => ({
    capacity: 1,
    send: () => Promise.reject(new Error('not here')),
    test: async () => ({ ok: true }),
    close: async () => undefined,
  }),
});
const { db } = app.ctx;
const receiver = await startSmtpReceiver();
afterAll(() => receiver.close());

interface Shown {
  readonly sending_server: { readonly connections: unknown; readonly settings: Record<string, unknown> };
}

const create = async (settings: object) => {
  const body = { name: 'Post', type: 'smtp', settings: { ...receiver.settings, ...settings } };
  return app.rest('/sending_servers', { method: 'POST', body });
};
const newServer = async (settings: object = {}): Promise<string> =>
  ((await create(settings)).body as { sending_server_uid: string }).sending_server_uid;
const shown = async (uid: string) => ((await app.rest(`/sending_servers/${uid}`)).body as Shown).sending_server;

async function change(uid: string, settings: object) {
  const answer = await app.rest(`/sending_servers/${uid}`, { method: 'PATCH', body: { settings } });
  expect(answer.status).toBe(200);
  return shown(uid);
}

test('the largest number is 20 unless it is set, and can be set back', async () => {
  const uid = await newServer();
  expect((await shown(uid)).connections).toEqual({ now: 2, max: 20 });
  expect((await change(uid, { max_connections: 8 })).connections).toEqual({ now: 2, max: 8 });
  const byFormerName = await change(uid, { connections: 1 });
  expect(byFormerName.connections).toEqual({ now: 1, max: 1 });
  expect(byFormerName.settings).toMatchObject({ max_connections: 1 });
  expect(byFormerName.settings).not.toHaveProperty('connections');
  const cleared = await change(uid, { max_connections: null });
  expect(cleared.connections).toEqual({ now: 2, max: 20 });
  expect(cleared.settings).not.toHaveProperty('max_connections');
});

test('a wrong number is refused by the name that was given', async () => {
  for (const name of ['max_connections', 'connections']) {
    const { status, text } = await create({ [name]: 0 });
    expect([status, text]).toEqual([422, expect.stringContaining(`settings.${name}`)]);
  }
});

test('the number under both names is refused, whatever they say', async () => {
  const uid = await newServer({ max_connections: 7 });
  const both = { connections: 3, max_connections: 3 };
  const message = 'connections is the former name of max_connections: give only max_connections.';
  for (const { status, text } of [
    await create(both),
    await app.rest(`/sending_servers/${uid}`, { method: 'PATCH', body: { settings: both } }),
  ])
    expect([status, text]).toEqual([422, expect.stringContaining(message)]);
  expect((await shown(uid)).connections).toEqual({ now: 2, max: 7 });
});

test('a driver whose number does not grow has its own setting of it, or 5, and uses all', async () => {
  const uids: string[] = [];
  for (const settings of [{ region: 'eu' }, { region: 'eu', connections: 9 }]) {
    const body = { name: 'Api', type: 'fixed', settings, quota_value: -1 };
    const { body: made } = await app.rest('/sending_servers', { method: 'POST', body });
    uids.push((made as { sending_server_uid: string }).sending_server_uid);
  }
  const shownNumbers = await Promise.all(uids.map(async (uid) => (await shown(uid)).connections));
  expect(shownNumbers).toEqual([
    { now: 5, max: 5 },
    { now: 9, max: 9 },
  ]);
  expect((await change(uids[0] ?? '', { connections: 4 })).connections).toEqual({ now: 4, max: 4 });
});

test('the present number is what the processes share, and is deleted with the server', async () => {
  const uid = await newServer({ max_connections: 12 });
  await db.execute(
    sql`INSERT INTO hot.sending_connections (server_id, connections, hold_ms) SELECT id, 9, 2000 FROM sending_server WHERE uid = ${uid}`,
  );
  expect((await shown(uid)).connections).toEqual({ now: 9, max: 12 });
  const answer = await fetch(`${app.baseUrl}/graphql`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', Authorization: `Bearer ${app.adminToken}` },
    body: JSON.stringify({
      query: `{ sendingServer(uid: "${uid}") { ... on SendingServer { connectionsNow connectionsMax } } }`,
    }),
  });
  expect(await answer.json()).toEqual({ data: { sendingServer: { connectionsNow: 9, connectionsMax: 12 } } });
  // After an hour without mail it begins anew.
  await db.execute(sql`UPDATE hot.sending_connections SET decider_until = now() - interval '61 minutes'`);
  expect((await shown(uid)).connections).toEqual({ now: 2, max: 12 });
  await app.rest(`/sending_servers/${uid}`, { method: 'DELETE' });
  expect(await queryRows(db, sql`SELECT 1 FROM hot.sending_connections`)).toEqual([]);
});

test('the upgrade keeps numbers that somebody may have wanted', async () => {
  const uids = [newUid(), newUid(), newUid(), newUid()];
  const insert = (uid: string | undefined, settings: object, max: number, type = 'smtp') =>
    db.execute(
      sql`INSERT INTO sending_server (customer_id, uid, name, type, settings, connections_max)
          SELECT min(id), ${uid}, 'Old', ${type}, ${JSON.stringify(settings)}::jsonb, ${max} FROM customer`,
    );
  await insert(uids[0], { host: 'a.example', connections: 5 }, 5);
  await insert(uids[1], { host: 'a.example', connections: 30 }, 30);
  await insert(uids[2], { host: 'a.example' }, 5);
  await insert(uids[3], { region: 'eu' }, 5, 'fixed');
  const folder = path.resolve('prisma/migrations');
  const script = await readFile(path.join(folder, '20261123232400_growing_connections/migration.sql'), 'utf8');
  await db.execute(raw(script.slice(script.indexOf('UPDATE public.sending_server SET'), script.lastIndexOf('UPDATE'))));
  await db.execute(raw(script.slice(script.lastIndexOf('UPDATE'))));
  const servers = await Promise.all(uids.map((uid) => shown(uid)));
  expect(servers.map(({ connections, settings }) => [connections, settings])).toEqual([
    [
      { now: 2, max: 5 },
      { host: 'a.example', max_connections: 5 },
    ],
    [
      { now: 2, max: 30 },
      { host: 'a.example', max_connections: 30 },
    ],
    [{ now: 2, max: 20 }, { host: 'a.example' }],
    [{ now: 5, max: 5 }, { region: 'eu' }],
  ]);
});
