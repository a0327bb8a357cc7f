/** The settings in the database: changed by an administrator, without a restart, heard of by every process, audited. */
import { once } from 'node:events';
import { setImmediate } from 'node:timers/promises';
import { expect, test, vi } from 'vitest';
import { WebSocket } from 'ws';
import { openLiveSettings } from '../../src/app/live-settings.ts';
import { sql } from '../../src/db/database.ts';
import { openNotifications, type Listener } from '../../src/db/listen.ts';
import { movedToDatabase } from '../../src/config/settings.ts';
import { SETTINGS_DEFAULT, settingsTable } from '../../src/domain/installation/settings.ts';
import { newUid } from '../../src/lib/ids.ts';
import { silentLog } from '../../src/lib/log.ts';
import { afterFile } from '../support/after-file.ts';
import { openRestApp } from '../support/open-rest-app.ts';
import { startRestApp } from '../support/rest-app.ts';

const app = await startRestApp();
const other = await openRestApp(app.ctx.database.url);
afterFile(() => other.stop());
const tenant = await app.newTenant();

const change = (body: object) => app.rest('/settings', { method: 'PATCH', body });
const settingsIn = ({ body }: { body: unknown }) => (body as { settings: Record<string, unknown> }).settings;

interface SocketMessage {
  readonly id?: string;
  readonly type: string;
  readonly payload?: { readonly errors?: readonly { readonly extensions: { readonly code: string } }[] };
}

/** A socket of this token; `codeOf` runs a query on it and answers the code of its first error. */
async function openSocket(token: string) {
  const socket = new WebSocket(`${app.baseUrl.replace('http:', 'ws:')}/graphql`, 'graphql-transport-ws');
  const closed = new Promise<number>((resolve) => socket.once('close', resolve));
  const ask = (message: object, type: string) =>
    new Promise<SocketMessage>((resolve) => {
      socket.on('message', function take(data: Buffer) {
        const answer = JSON.parse(data.toString()) as SocketMessage;
        if (answer.type !== type) return;
        socket.off('message', take);
        resolve(answer);
      });
      socket.send(JSON.stringify(message));
    });
  await once(socket, 'open');
  await ask({ type: 'connection_init', payload: { apiToken: token } }, 'connection_ack');
  const codeOf = async (query: string) => {
    const { payload } = await ask({ type: 'subscribe', id: newUid(), payload: { query } }, 'next');
    return payload?.errors?.[0]?.extensions.code;
  };
  return { socket, closed, codeOf };
}

test('begin with the defaults, each variable that moved under its own name', async () => {
  const shown = settingsIn(await app.rest('/settings'));
  const named = Object.entries(SETTINGS_DEFAULT).map(([name, value]) => [
    name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`),
    value,
  ]);
  expect(shown).toEqual(Object.fromEntries(named));
  expect(Object.keys(shown)).toEqual(expect.arrayContaining(movedToDatabase.map((name) => name.toLowerCase())));
});

test('are for administrators only', async () => {
  expect((await app.rest('/settings', { token: tenant.token })).status).toBe(403);
  expect((await app.rest('/settings', { method: 'PATCH', token: tenant.token, body: { maintenance: 1 } })).status).toBe(
    403,
  );
  expect(settingsIn(await app.rest('/settings'))['maintenance']).toBe(false);
});

test('hold in this process and in the others without a restart, and back again', async () => {
  const statusesOf = async () => [
    (await app.rest('/lists', { token: tenant.token })).status,
    (await other.rest('/lists', { token: tenant.token })).status,
  ];
  expect(await statusesOf()).toEqual([200, 200]);
  expect(settingsIn(await change({ maintenance: true }))).toMatchObject({ maintenance: true });
  await vi.waitFor(async () => expect(await statusesOf()).toEqual([503, 503]), { timeout: 120_000 });
  expect((await other.rest('/lists')).status).toBe(200);
  await change({ maintenance: '' });
  await vi.waitFor(async () => expect(await statusesOf()).toEqual([200, 200]), { timeout: 120_000 });
});

test('maintenance that begins or ends reaches what is connected, but for administrators', async () => {
  const mine = await openSocket(tenant.token);
  const administrator = await openSocket(app.adminToken);
  expect(await mine.codeOf('{ me { ... on User { email } } }')).toBeUndefined();
  await change({ maintenance: true });
  expect(await mine.closed).toBe(1012);
  const meanwhile = await openSocket(tenant.token);
  expect(await meanwhile.codeOf('{ me { ... on User { email } } }')).toBe('SERVICE_UNAVAILABLE');
  await change({ maintenance: '' });
  expect(await meanwhile.closed).toBe(1012);
  const again = await openSocket(tenant.token);
  expect(await again.codeOf('{ me { ... on User { email } } }')).toBeUndefined();
  expect(await administrator.codeOf('{ me { ... on User { email } } }')).toBeUndefined();
  for (const { socket } of [again, administrator]) socket.terminate();
});

test('a process whose listening connection was cut hears what it missed', async () => {
  await other.ctx.db.execute(
    sql`SELECT pg_terminate_backend(pid) FROM pg_stat_activity
         WHERE datname = current_database() AND application_name = 'mailwright-listen'`,
  );
  await change({ billing_grace_days: 3 });
  const daysOf = ({ ctx }: typeof other) => ctx.installation.limits.billingGraceDays;
  await vi.waitFor(() => expect([daysOf(other), app.ctx.installation.limits.billingGraceDays]).toEqual([3, 3]), {
    timeout: 120_000,
  });
});

test('a process that has just started hears of what was changed before it was listening', async () => {
  const { database } = app.ctx;
  let letConnect = (): void => undefined;
  const mayConnect = new Promise<void>((resolve) => (letConnect = resolve));
  const connect = async (name: string) => {
    await mayConnect;
    return database.connect(name);
  };
  const notifications = openNotifications({ connect }, silentLog);
  afterFile(() => notifications.close());
  const live = await openLiveSettings(database, { notifications, log: silentLog });
  afterFile(() => live.close());
  await change({ keep_events_months: 11 });
  letConnect();
  await vi.waitFor(() => expect(live.current().keepEventsMonths).toBe(11), { timeout: 120_000 });
});

test('a process that hears of a change before its first reading has ended keeps what it read last', async () => {
  const { database } = app.ctx;
  // Its own: others of this process may warn meanwhile.
  const log = { ...silentLog, warn: vi.fn() };
  const again = vi.spyOn(database, 'query');
  // What is begun here by the notification is over when the first reading goes on.
  const listen = (_channel: string, listener: Listener) => {
    listener(null);
    const begun = again.mock.results[0]?.value;
    again.mockImplementationOnce(async () => {
      await begun;
      await setImmediate();
      return [];
    });
    return () => undefined;
  };
  const notifications = { listen, isListening: () => true, close: async () => undefined };
  const live = await openLiveSettings(database, { notifications, log });
  afterFile(() => live.close());
  expect(live.current().keepEventsMonths).toBe(11);
  expect(log.warn).not.toHaveBeenCalled();
  vi.restoreAllMocks();
});

test('every one of them arrives where it is used', async () => {
  await change({
    ...{ soft_bounce_limit: 2, soft_bounce_days: 9, bounce_pause_percent: 50, bounce_pause_recipients: 40 },
    ...{ from_addresses: 'verified', mail_from: 'ops@mail.test', offline_payment_instructions: 'Pay in cash.' },
    ...{ session_idle_days: 4, session_days_max: 8, keep_ledger_months: 6, keep_events_months: 7 },
  });
  await vi.waitFor(
    () =>
      expect(other.ctx.installation).toMatchObject({
        softBounces: { limit: 2, days: 9 },
        fromAddresses: 'verified',
        mailFrom: 'ops@mail.test',
        paymentInstructions: 'Pay in cash.',
        retention: { ledgerMonths: 6, eventMonths: 7 },
        limits: { bouncePause: { percent: 50, recipients: 40 }, sessionDays: { idle: 4, inAll: 8 } },
      }),
    { timeout: 120_000 },
  );
});

test('wrong ones are refused, all or nothing, under their own names', async () => {
  const before = settingsIn(await app.rest('/settings'));
  const { status, body } = await change({
    ...{ bounce_pause_percent: 101, from_addresses: 'some', mail_from: 'nobody', billing_grace_days: 5 },
  });
  expect(status).toBe(422);
  expect(Object.keys((body as { errors: object }).errors).toSorted()).toEqual([
    'bounce_pause_percent',
    'from_addresses',
    'mail_from',
  ]);
  expect(settingsIn(await app.rest('/settings'))).toEqual(before);
});

test('are changed over GraphQL as over REST, null goes back to the default, and the trail says who did it', async () => {
  const run = async (query: string) => {
    const answer = await fetch(`${app.baseUrl}/graphql`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${app.adminToken}` },
      body: JSON.stringify({ query }),
    });
    return ((await answer.json()) as { data: Record<string, unknown> }).data;
  };
  expect(
    await run(
      `mutation { updateInstallationSettings(input: { softBounceLimit: 7, softBounceDays: null }) {
         ... on InstallationSettings { softBounceLimit softBounceDays } } }`,
    ),
  ).toEqual({ updateInstallationSettings: { softBounceLimit: 7, softBounceDays: 30 } });
  expect(settingsIn(await app.rest('/settings'))).toMatchObject({ soft_bounce_limit: 7, soft_bounce_days: 30 });
  const { auditEvents } = await run(
    '{ auditEvents(everybody: true, first: 1) { ... on AuditEventConnection { nodes { operation fields userEmail } } } }',
  );
  expect(auditEvents).toEqual({
    nodes: [
      {
        operation: 'updateInstallationSettings',
        fields: expect.arrayContaining(['softBounceLimit', 'softBounceDays']),
        userEmail: 'admin@example.com',
      },
    ],
  });
});

test('a value that this version does not allow counts as not set', async () => {
  await app.ctx.db.execute(sql`UPDATE setting SET value = '900' WHERE key = 'settings.softBounceLimit'`);
  expect(settingsIn(await app.rest('/settings'))['soft_bounce_limit']).toBe(settingsTable.softBounceLimit.default);
});
