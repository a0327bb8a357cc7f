/** Websockets and event streams (hard cases D6 to D10): bounded, tied to their token, and no reader can harm another. */
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { createClient, type Client } from 'graphql-ws';
import { describe, expect, test } from 'vitest';
import { WebSocket } from 'ws';
import { sql } from '../../src/db/database.ts';
import { builder } from '../../src/schema/builder.ts';
import '../../src/schema/subscription-type.ts';
import { onBusyMachine } from '../support/busy-machine.ts';
import { heldBytes } from '../support/held-bytes.ts';
import { startGraphqlApp } from '../support/graphql-app.ts';

const finished: string[] = [];

builder.subscriptionField('ticks', (t) =>
  t.string({
    authScopes: { authenticated: true },
    args: {
      name: t.arg.string({ required: true }),
      everyMs: t.arg.int({ required: true }),
      bytes: t.arg.int({ defaultValue: 1 }),
    },
    subscribe: (_root, { name, everyMs, bytes }) => ticks({ name, everyMs, bytes: bytes ?? 1 }),
    resolve: (text) => text,
  }),
);

async function* ticks({
  name,
  everyMs,
  bytes,
}: {
  name: string;
  everyMs: number;
  bytes: number;
}): AsyncGenerator<string> {
  try {
    for (;;) {
      yield 'x'.repeat(bytes);
      await sleep(everyMs);
    }
  } finally {
    finished.push(name);
  }
}

const app = await startGraphqlApp();
const socketUrl = app.url.replace('http:', 'ws:');
const PROTOCOL = 'graphql-transport-ws';
const TICKS =
  'subscription ($name: String!, $everyMs: Int!, $bytes: Int) { ticks(name: $name, everyMs: $everyMs, bytes: $bytes) }';

function connect(token: string): Client {
  return createClient({
    url: socketUrl,
    webSocketImpl: WebSocket,
    connectionParams: { authorization: `Bearer ${token}` },
    retryAttempts: 0,
  });
}

/** A socket spoken to by hand; `closed` resolves to its close code. */
async function open(
  options: { origin?: string } = {},
): Promise<{ socket: WebSocket; closed: Promise<number>; say: (message: object) => void }> {
  const socket = new WebSocket(socketUrl, PROTOCOL, options);
  const closed = new Promise<number>((resolve) => socket.once('close', resolve));
  socket.on('error', () => undefined);
  await Promise.race([once(socket, 'open'), closed]);
  return { socket, closed, say: (message) => socket.send(JSON.stringify(message)) };
}

async function openAs(token: string) {
  const opened = await open();
  const acknowledged = once(opened.socket, 'message');
  opened.say({ type: 'connection_init', payload: { apiToken: token } });
  await Promise.race([acknowledged, opened.closed]);
  return opened;
}

async function newToken(): Promise<string> {
  return (await app.newCustomer()).token;
}

test('a subscription gives events until it is ended', async () => {
  const client = connect(app.admin.token);
  const events = client.iterate({ query: TICKS, variables: { name: 'plain', everyMs: 1 } });
  for (let n = 0; n < 5; n++) expect((await events.next()).value).toMatchObject({ data: { ticks: 'x' } });
  await events.return?.();
  await expect.poll(() => finished).toContain('plain');
  await client.dispose();
});

test('queries run over the socket, with errors masked and checked', async () => {
  const client = connect(app.admin.token);
  const events = client.iterate({ query: '{ me { ... on User { email } } }' });
  expect((await events.next()).value).toMatchObject({ data: { me: { email: app.admin.email } } });
  const refused = client.iterate({
    query: '{ apiTokens(first: 1000) { ... on ApiTokenConnection { nodes { uid } } } }',
  });
  await expect(refused.next()).rejects.toMatchObject([{ extensions: { code: 'DOCUMENT_TOO_EXPENSIVE' } }]);
  await client.dispose();
});

test.each([
  '{ me { ',
  '{ me { ... on User { pasword } } }',
  '{ apiTokens(first: 101) { ... on ApiTokenConnection { nodes { uid } } } }',
  `{ ${'me { ... on User { customer '.repeat(50)} } { uid } ${'} }'.repeat(50)}`,
])('a mistake such as %s has the code that it has over HTTP', async (query) => {
  const overHttp = (await app.run(query)).errors[0]?.extensions['code'];
  expect(overHttp).toMatch(/^[A-Z_]+$/);
  const client = connect(app.admin.token);
  await expect(client.iterate({ query }).next()).rejects.toMatchObject([{ extensions: { code: overHttp } }]);
  await client.dispose();
});

describe('a socket is closed', () => {
  test('without a valid token', async () => {
    const { closed, say } = await open();
    say({ type: 'connection_init', payload: { authorization: 'Bearer nonsense' } });
    expect(await closed).toBe(4401);
  });

  test('when it does not introduce itself', async () => {
    const startedAt = performance.now();
    const { closed } = await open();
    expect(await closed).toBe(4408);
    expect(performance.now() - startedAt).toBeLessThan(onBusyMachine(4_000));
  });

  test('when a message is too long', async () => {
    const { closed, say } = await openAs(await newToken());
    say({ type: 'ping', payload: { x: 'x'.repeat(70_000) } });
    expect(await closed).toBe(1009);
  });

  test('when it speaks no JSON', async () => {
    const { closed, socket } = await openAs(await newToken());
    socket.send('nonsense');
    expect(await closed).toBe(4400);
  });

  test('within two seconds when its token is revoked', async () => {
    const { token, userId } = await app.newCustomer();
    const { closed, say } = await openAs(token);
    say({ type: 'subscribe', id: '1', payload: { query: TICKS, variables: { name: 'revoked', everyMs: 10 } } });
    const startedAt = performance.now();
    await app.ctx.db.execute(sql`UPDATE api_token SET revoked_at = now() WHERE user_id = ${userId}`);
    expect(await closed).toBe(4401);
    expect(performance.now() - startedAt).toBeLessThan(onBusyMachine(2_000));
    await expect.poll(() => finished).toContain('revoked');
  });

  test('within two seconds when its customer is disabled', async () => {
    const { token, customerId } = await app.newCustomer();
    const { closed } = await openAs(token);
    await app.ctx.db.execute(sql`UPDATE customer SET status = 'disabled' WHERE id = ${customerId}`);
    expect(await closed).toBe(4401);
  });

  test('within two seconds when its user is an administrator no more', async () => {
    const { token, userId } = await app.newCustomer();
    await app.ctx.db.execute(sql`UPDATE app_user SET is_admin = true WHERE id = ${userId}`);
    const { closed } = await openAs(token);
    await app.ctx.db.execute(sql`UPDATE app_user SET is_admin = false WHERE id = ${userId}`);
    expect(await closed).toBe(4401);
  });

  test('when it comes from another site', async () => {
    const { closed, socket } = await open({ origin: 'https://evil.test' });
    expect(await closed).toBe(1006);
    expect(socket.readyState).toBe(WebSocket.CLOSED);
  });
});

test('at most twenty operations run on one socket', async () => {
  const { socket, say } = await openAs(await newToken());
  const refusals: string[] = [];
  socket.on('message', (data: Buffer) => {
    const message = JSON.parse(data.toString()) as { type: string; id: string };
    if (message.type === 'error') refusals.push(message.id);
  });
  for (let n = 1; n <= 25; n++)
    say({ type: 'subscribe', id: `${n}`, payload: { query: TICKS, variables: { name: `many-${n}`, everyMs: 20 } } });
  await expect.poll(() => refusals.length).toBe(5);
  socket.terminate();
  await expect.poll(() => finished.filter((name) => name.startsWith('many-')).length).toBe(20);
});

test('a reader that stops is closed within ten seconds, costs little, and the others notice nothing', async () => {
  const slow = await openAs(await newToken());
  slow.say({
    type: 'subscribe',
    id: '1',
    payload: { query: TICKS, variables: { name: 'slow', everyMs: 0, bytes: 50_000 } },
  });
  slow.socket.pause();
  const client = connect(await newToken());
  const others = client.iterate({ query: TICKS, variables: { name: 'quick', everyMs: 5 } });
  const before = heldBytes();
  const startedAt = performance.now();
  let gapMax = 0;
  while (!finished.includes('slow') && performance.now() - startedAt < onBusyMachine(10_000)) {
    const requestedAt = performance.now();
    expect((await others.next()).done).toBe(false);
    gapMax = Math.max(gapMax, performance.now() - requestedAt);
  }
  expect(finished).toContain('slow');
  expect(heldBytes() - before).toBeLessThan(32 * 1024 * 1024);
  expect(gapMax).toBeLessThan(onBusyMachine(1_000));
  slow.socket.terminate();
  await client.dispose();
});

describe('event streams', () => {
  async function stream(token: string, name: string, signal: AbortSignal | null = null): Promise<Response> {
    return fetch(app.url, {
      method: 'POST',
      headers: { 'content-type': 'application/json', accept: 'text/event-stream', authorization: `Bearer ${token}` },
      body: JSON.stringify({ query: TICKS, variables: { name, everyMs: 5 } }),
      signal,
    });
  }

  test('give events, and end what they watch when the reader goes', async () => {
    const answer = await stream(app.admin.token, 'stream');
    expect(answer.headers.get('content-type')).toContain('text/event-stream');
    expect([answer.headers.get('x-accel-buffering'), answer.headers.get('cache-control')]).toEqual(['no', 'no-store']);
    const reader = answer.body?.getReader();
    const text = new TextDecoder();
    let seen = '';
    while (!seen.includes('"ticks":"x"')) seen += text.decode((await reader?.read())?.value);
    await reader?.cancel();
    await expect.poll(() => finished).toContain('stream');
  });

  test('are limited with the websockets of the user: an idle socket makes place, a busy one does not', async () => {
    const token = await newToken();
    const idle = await openAs(token);
    const reading = await Promise.all(Array.from({ length: 10 }, (_, no) => stream(token, `limited-${no}`)));
    expect(reading.map(({ status }) => status)).toEqual(Array.from({ length: 10 }, () => 200));
    expect(await idle.closed).toBe(4429);
    const refused = await stream(token, 'one-too-many');
    expect(refused.status).toBe(429);
    expect(await refused.text()).toContain('TOO_MANY_CONNECTIONS');
    for (const { body } of reading) await body?.cancel();
    await expect.poll(() => finished.filter((name) => name.startsWith('limited-')).length).toBe(10);
    const next = await stream(token, 'after-others');
    expect(next.status).toBe(200);
    await next.body?.cancel();
  });

  test('that are refused end no idle socket', async () => {
    const token = await newToken();
    const idle = await openAs(token);
    const reading = await Promise.all(Array.from({ length: 9 }, (_, no) => stream(token, `full-${no}`)));
    const refused = await fetch(app.url, {
      method: 'POST',
      headers: { 'content-type': 'application/json', accept: 'text/event-stream', authorization: `Bearer ${token}` },
      body: JSON.stringify({ query: 'subscription { campaignStatistics(uid: "0000000000000") { sentCount } }' }),
    });
    expect(await refused.text()).toContain('errors');
    const answered = once(idle.socket, 'message');
    idle.say({ type: 'ping' });
    const [pong] = (await Promise.race([answered, idle.closed.then((code) => [code])])) as unknown[];
    expect(String(pong)).toBe('{"type":"pong"}');
    const next = await stream(token, 'full-9');
    expect(next.status).toBe(200);
    // Only the valid one has ended it.
    expect(await idle.closed).toBe(4429);
    for (const { body } of [...reading, next]) await body?.cancel();
  });

  test('of readers who left before the stream began take no place', async () => {
    const token = await newToken();
    const asked = Array.from({ length: 240 }, (_, no) => stream(token, `gone-${no}`, AbortSignal.timeout(no % 60)));
    for (const answer of await Promise.allSettled(asked))
      if (answer.status === 'fulfilled') await answer.value.body?.cancel().catch(() => undefined);
    await expect
      .poll(
        async () => {
          const next = await stream(token, 'after-the-gone');
          await next.body?.cancel();
          return next.status;
        },
        { timeout: 120_000, interval: 500 },
      )
      .toBe(200);
  });

  test('end with their token', async () => {
    const { token, userId } = await app.newCustomer();
    const answer = await stream(token, 'revoked-stream');
    const drained = answer.text().catch(() => 'ended');
    await app.ctx.db.execute(sql`UPDATE api_token SET revoked_at = now() WHERE user_id = ${userId}`);
    await drained;
    await expect.poll(() => finished).toContain('revoked-stream');
  });

  test('end when maintenance begins', async () => {
    const { token } = await app.newCustomer();
    const answer = await stream(token, 'closed-stream');
    const drained = answer.text().catch(() => 'ended');
    Object.assign(app.ctx.installation, { isInMaintenance: true });
    await drained;
    Object.assign(app.ctx.installation, { isInMaintenance: false });
    await expect.poll(() => finished).toContain('closed-stream');
  });
});

test('shutting down ends every socket', async () => {
  const { closed } = await openAs(await newToken());
  await app.server.close();
  expect(await closed).toBe(1001);
});
