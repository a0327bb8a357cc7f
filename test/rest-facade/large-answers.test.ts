/**
 * Answers with much html: those that clients do not read take a bounded part of the memory, for a bounded time. Others get 429 then,
 * small answers and other customers theirs.
 */
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { afterEach, beforeAll, expect, test } from 'vitest';
import { createClient } from 'graphql-ws';
import { WebSocket } from 'ws';
import { sql } from '../../src/db/database.ts';
import { startRestApp } from '../support/rest-app.ts';
import { newWorld, type World } from '../support/rest-world.ts';

const app = await startRestApp();
const owner = await newWorld(app, { host: '127.0.0.1', port: 1, encryption: 'none' });
const other = await newWorld(app, { host: '127.0.0.1', port: 1, encryption: 'none' });

const HTML_BYTES = 1_048_576;
const CAMPAIGNS = 40;
/** Nearly all that a customer may have; some campaigns of the world have only a few bytes. */
const UNREAD_PAGE = 31;
/** With the one above it is more than a customer may have. */
const OTHER_PAGE = 10;
const CODE = 'TOO_MANY_LARGE_ANSWERS';

beforeAll(async () => {
  for (const [no, { listUid }] of [owner, other].entries())
    await app.ctx.db.execute(sql`
      INSERT INTO campaign (customer_id, list_id, uid, name, html)
      SELECT customer_id, id, lpad(to_hex(n + ${no * 1_000}::int), 13, '0'), 'Huge', repeat('x', ${HTML_BYTES})
        FROM mail_list, generate_series(1, ${CAMPAIGNS}) n WHERE uid = ${listUid}`);
  // The contract of answers is made with the first one, which takes seconds: not while a page waits, for five at most.
  await app.rest('/me', { token: owner.token });
});

const open = new Set<Socket>();
afterEach(async () => {
  for (const socket of open) socket.destroy();
  open.clear();
  // The server has noticed.
  await expect.poll(async () => (await page()).status).toBe(200);
});

/** Read to its end; not held against the contract, which takes seconds for so much. */
async function ask(path: string, world: World = owner) {
  const answer = await fetch(`${app.baseUrl}/api/v1${path}`, { headers: { Authorization: `Bearer ${world.token}` } });
  await answer.arrayBuffer();
  return { status: answer.status, retryAfter: answer.headers.get('retry-after') };
}

const page = (world?: World) => ask(`/campaigns?per_page=${OTHER_PAGE}`, world);
const REFUSED = { status: 429, retryAfter: '5' };

/** Asks and reads nothing of the answer, which has begun to come. */
async function unread(path: string, world: World = owner): Promise<Socket> {
  const { hostname, port, host } = new URL(app.baseUrl);
  const socket = connect(Number(port), hostname);
  open.add(socket);
  socket.on('error', () => undefined);
  socket.write(`GET ${path} HTTP/1.1\r\nHost: ${host}\r\nAuthorization: Bearer ${world.token}\r\n\r\n`);
  await once(socket, 'readable');
  return socket;
}

const unreadPage = (world?: World) => unread(`/api/v1/campaigns?per_page=${UNREAD_PAGE}`, world);

async function graphql(query: string, variables: object = {}): Promise<Record<string, unknown>> {
  const answer = await fetch(`${app.baseUrl}/graphql`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', Authorization: `Bearer ${owner.token}` },
    body: JSON.stringify({ query, variables }),
  });
  return Object(await answer.json());
}

const pageOf = (size: number) => `{ campaigns(first: ${size}) { ... on CampaignConnection { nodes { html } } } }`;
const PAGE = pageOf(OTHER_PAGE);
const refusal = { errors: [{ extensions: { code: CODE, retryAfterSeconds: 5 } }] };

test('a page that nobody reads makes another large one of this customer wait, and then refuses it', async () => {
  await unreadPage();
  expect((await ask(`/campaigns/${owner.campaignUid}`)).status).toBe(200);
  expect((await page(other)).status).toBe(200);
  const [rest, twin] = await Promise.all([page(), graphql(PAGE)]);
  expect(rest).toEqual(REFUSED);
  expect(twin).toMatchObject(refusal);
});

test('a page that waits comes when the one before has left', async () => {
  const socket = await unreadPage();
  const waiting = page();
  for (let count = 0; count < 3; count++) await app.rest('/me', { token: owner.token });
  socket.resume();
  expect((await waiting).status).toBe(200);
});

test('an answer over GraphQL counts, too', async () => {
  await unread(`/graphql?query=${encodeURIComponent(pageOf(UNREAD_PAGE))}`);
  expect((await page()).status).toBe(429);
});

test('two customers whose answers nobody reads leave a little to a third one, and no more', async () => {
  for (const world of [owner, other]) await unreadPage(world);
  const third = await newWorld(app, { host: '127.0.0.1', port: 1, encryption: 'none' });
  await app.ctx.db.execute(sql`
    UPDATE campaign SET html = repeat('x', ${HTML_BYTES}) WHERE uid = ${third.campaignUid}`);
  expect(await ask(`/campaigns/${third.campaignUid}`, third)).toEqual({ status: 200, retryAfter: null });
  await app.ctx.db.execute(sql`
    UPDATE campaign SET html = repeat('x', ${10 * HTML_BYTES}) WHERE uid = ${third.campaignUid}`);
  expect(await ask(`/campaigns/${third.campaignUid}`, third)).toEqual(REFUSED);
});

test('previews, their pages and web views need the same memory', async () => {
  const write = (length: number) =>
    app.ctx.db.execute(sql`
      UPDATE campaign SET html = '<style>/*' || repeat('x', ${length}) || '*/</style><p><a href="{WEB_VIEW_URL}">View</a></p>'
       WHERE uid = ${owner.campaignUid}`);
  await write(10);
  const path = `/campaigns/${owner.campaignUid}/preview`;
  const first = Object(Object((await app.rest(path, { token: owner.token })).body).preview);
  const [view = ''] = /\/view\/[^"]+/.exec(String(first.html)) ?? [];
  const shown = [String(first.url), `${app.baseUrl}${view.replace('/view/', '/view/frame/')}`];
  const statuses = () => Promise.all(shown.map(async (url) => (await fetch(url)).status));
  expect(await statuses()).toEqual([200, 200]);
  await unreadPage();
  await write(4 * HTML_BYTES - 1_000);
  const PREVIEW = '{ campaignPreview(uid: "UID") { __typename ... on Error { code } } }'.replace(
    'UID',
    owner.campaignUid,
  );
  const [rest, twin, pages] = await Promise.all([ask(path), graphql(PREVIEW), statuses()]);
  expect(rest).toEqual(REFUSED);
  expect(twin).toMatchObject({ data: { campaignPreview: { __typename: 'RateLimitedError', code: CODE } } });
  expect(pages).toEqual([429, 503]);
  await write(10);
});

test('a websocket gives its memory back after each answer', async () => {
  const client = createClient({
    url: `${app.baseUrl.replace('http', 'ws')}/graphql`,
    webSocketImpl: WebSocket,
    connectionParams: { authorization: `Bearer ${owner.token}` },
  });
  const answers: unknown[] = [];
  for (let count = 0; count < 2; count++)
    for await (const { data, errors } of client.iterate({ query: pageOf(UNREAD_PAGE) }))
      answers.push(errors ?? typeof data);
  expect(answers).toEqual(['object', 'object']);
  await unreadPage();
  for await (const { errors } of client.iterate({ query: PAGE })) expect(errors).toMatchObject(refusal.errors);
  await client.dispose();
});
