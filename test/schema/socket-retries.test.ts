/** What a real `graphql-ws` client does after a socket was closed: it comes again where that helps, and gives up where not. */
import { setTimeout as sleep } from 'node:timers/promises';
import { createClient, type Client } from 'graphql-ws';
import { expect, test } from 'vitest';
import { WebSocket } from 'ws';
import { builder } from '../../src/schema/builder.ts';
import '../../src/schema/subscription-type.ts';
import { startGraphqlApp } from '../support/graphql-app.ts';

builder.subscriptionField('silence', (t) =>
  t.string({
    authScopes: { authenticated: true },
    subscribe: () => silence(),
    resolve: (text) => text,
  }),
);

async function* silence(): AsyncGenerator<string> {
  yield 'begun';
  await sleep(600_000, undefined, { ref: false });
}

const app = await startGraphqlApp();

interface Watched {
  readonly client: Client;
  readonly codes: number[];
  readonly tries: () => number;
}

/** Not lazy: it connects at once and stays, as a page with live figures does. */
function connect(token: string): Watched {
  const codes: number[] = [];
  let tries = 0;
  const client = createClient({
    url: app.url.replace('http:', 'ws:'),
    webSocketImpl: WebSocket,
    connectionParams: { authorization: `Bearer ${token}` },
    lazy: false,
    retryAttempts: 2_000,
    retryWait: async () => sleep(50),
    onNonLazyError: () => undefined,
    on: { connecting: () => tries++, closed: (event) => codes.push((event as { code: number }).code) },
  });
  return { client, codes, tries: () => tries };
}

const connected = ({ client }: Watched) => new Promise<void>((resolve) => void client.on('connected', () => resolve()));

const works = async ({ client }: Watched) => (await client.iterate({ query: 'subscription { silence }' }).next()).value;

test('without a valid token it is told so once', async () => {
  const stranger = connect('nonsense');
  await expect.poll(() => stranger.codes).toEqual([4401]);
  await sleep(300);
  expect([stranger.tries(), stranger.codes]).toEqual([1, [4401]]);
});

test('one socket more than a user may have ends the oldest idle one, which does not come back', async () => {
  const { token } = await app.newCustomer();
  const busy = connect(token);
  expect(await works(busy)).toEqual({ data: { silence: 'begun' } });
  const idle: Watched[] = [];
  for (let n = 0; n < 9; n++) {
    const next = connect(token);
    await connected(next);
    idle.push(next);
  }
  const newest = connect(token);
  await connected(newest);
  await expect.poll(() => idle[0]?.codes).toEqual([4429]);
  await sleep(300);
  expect(idle[0]?.tries()).toBe(1);
  expect([busy, newest, ...idle.slice(1)].flatMap(({ codes }) => codes)).toEqual([]);
  for (const { client } of [busy, newest, ...idle]) client.terminate();
});

test('while something runs on all of them, the newest one waits and comes again', async () => {
  const { token } = await app.newCustomer();
  const busy = Array.from({ length: 10 }, () => connect(token));
  for (const one of busy) await works(one);
  const waiting = connect(token);
  await expect.poll(() => waiting.codes.length).toBeGreaterThan(1);
  expect(new Set(waiting.codes)).toEqual(new Set([1013]));
  const isIn = connected(waiting);
  await busy[0]?.client.dispose();
  await isIn;
  for (const { client } of [...busy, waiting]) client.terminate();
});
