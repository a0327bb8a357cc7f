/** GraphQL parts, REST rows and routes of plugins on two processes of an installation: no restart, and sockets stay connected. */
import { createClient } from 'graphql-ws';
import { expect, test } from 'vitest';
import { WebSocket } from 'ws';
import { pluginClient } from '../support/plugin-client.ts';
import { newDataDir, writePlugin } from '../support/plugin-folder.ts';
import { notesCode } from '../support/notes-plugin.ts';
import { startProgram, type Program } from '../support/program.ts';
import { createTestDatabase } from '../support/test-database.ts';

const COUNT = '{ acmeCount { ... on AcmeCountSuccess { data } } }';

const ROWS = `[{
  method: 'GET', path: '/notes/open', access: 'public', summary: 'For everybody.', operation: '{ acmeForAll { ... on AcmeForAllSuccess { data } } }',
  present: ({ acmeForAll }) => acmeForAll, answers: { kind: 'body', shape: { type: 'object' } },
}]`;

/** Whether it has all: the fields, the row and the route. */
async function knowsNotes({ baseUrl, token }: Program): Promise<boolean> {
  const { status } = await fetch(`${baseUrl}/api/v1/notes/open`);
  const response = await fetch(`${baseUrl}/graphql`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', Authorization: `Bearer ${token}` },
    body: JSON.stringify({ query: COUNT }),
  });
  const { data } = await response.json();
  const route = await fetch(`${baseUrl}/plugins/acme/notes/open`);
  expect([200, 404]).toEqual(expect.arrayContaining([status, route.status]));
  return data?.acmeCount?.data === 1 && status === 200 && route.status === 200;
}

function connect({ baseUrl, token }: Program) {
  const codes: unknown[] = [];
  const client = createClient({
    url: `${baseUrl.replace('http:', 'ws:')}/graphql`,
    webSocketImpl: WebSocket,
    connectionParams: { authorization: `Bearer ${token}` },
    lazy: false,
    retryAttempts: 0,
    onNonLazyError: () => undefined,
    on: { closed: (event) => codes.push(event) },
  });
  return { client, codes };
}

test('a part reaches both processes, a start finds it, and sockets of both stay connected', async () => {
  const { url } = await createTestDatabase();
  const dataDir = newDataDir();
  const settings = { ROLES: 'web,worker', DB_POOL_SIZE: '8', DATABASE_URL: url, DATA_DIR: dataDir };
  const [first, second] = [await startProgram(settings), await startProgram(settings)];
  writePlugin(dataDir, 'acme/notes', { code: notesCode({ rows: ROWS }) });
  const sockets = [connect(first), connect(second)];
  const streams = sockets.map(({ client }) =>
    client.iterate({ query: 'subscription { campaignChanges { __typename } }' }),
  );
  for (const stream of streams) expect((await stream.next()).done).toBe(false);

  for (const [one, other] of [
    [first, second],
    [second, first],
  ] as const) {
    expect(await pluginClient(one).activate('acme/notes')).toMatchObject({ isLive: true });
    await pluginClient(one).switchOn('acme/notes');
    // The one that answers has it at once.
    expect(await knowsNotes(one)).toBe(true);
    await expect.poll(() => knowsNotes(other), { timeout: 120_000 }).toBe(true);
    for (const { client } of sockets)
      expect((await client.iterate({ query: COUNT }).next()).value).toMatchObject({ data: { acmeCount: { data: 1 } } });
    await pluginClient(other).deactivate('acme/notes');
    expect(await knowsNotes(other)).toBe(false);
    await expect.poll(() => knowsNotes(one), { timeout: 120_000 }).toBe(false);
  }
  expect(sockets.flatMap(({ codes }) => codes)).toEqual([]);
  for (const stream of streams) await stream.return?.();
  for (const { client } of sockets) client.terminate();

  await pluginClient(first).activate('acme/notes');
  await Promise.all([first.stop(), second.stop()]);
  const third = await startProgram(settings);
  expect(await knowsNotes(third)).toBe(true);
  await third.stop();
});
