/**
 * Bodies above 5 MB: so few are in memory at once that a flood of them cannot fill it; others wait unread, and are not lost, and
 * one customer's do not block another's.
 */
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { afterEach, expect, test } from 'vitest';
import { startRestApp } from '../support/rest-app.ts';
import { newWorld } from '../support/rest-world.ts';

const app = await startRestApp();
const owner = await newWorld(app, { host: '127.0.0.1', port: 1, encryption: 'none' });
const other = await newWorld(app, { host: '127.0.0.1', port: 1, encryption: 'none' });
const AT_ONCE_PER_CUSTOMER = 2;
const WAITING_PER_CUSTOMER = 50;

const bodyOf = ({ listUid }: { listUid: string }) =>
  JSON.stringify({
    ...{ list_uid: listUid, name: 'Large', subject: 'Hi', from_email: 'news@sender.example', from_name: 'Sender' },
    ...{ html: '<p>Hi</p>', note: 'x'.repeat(6 * 1_048_576) },
  });
const BODY = bodyOf(owner);
const GRAPHQL_BODY = JSON.stringify({ query: '{ me { __typename } }', variables: { x: 'x'.repeat(6 * 1_048_576) } });

const open = new Set<Socket>();
afterEach(() => {
  for (const socket of open) socket.destroy();
  open.clear();
});

interface Upload {
  /** Sends the last byte. */
  end(): void;
  /** Head and the beginning of the body. */
  readonly answer: Promise<string>;
  readonly isAnswered: boolean;
}

interface Sent {
  readonly path?: string;
  readonly body?: string;
  /** All but the last byte, unless less of it is to be sent. */
  readonly sent?: string;
  readonly token?: string;
}

/** A request whose body is not whole. */
async function upload(given: Sent = {}): Promise<Upload> {
  const { path = '/api/v1/campaigns', body = BODY, token = owner.token } = given;
  const sent = given.sent ?? body.slice(0, -1);
  const { hostname, port, host } = new URL(app.baseUrl);
  const socket = connect(Number(port), hostname);
  open.add(socket);
  socket.on('error', () => undefined);
  await once(socket, 'connect');
  const head = [`POST ${path} HTTP/1.1`, `Host: ${host}`, 'Content-Type: application/json', 'Connection: close'];
  const lines = [...head, `Authorization: Bearer ${token}`, `Content-Length: ${Buffer.byteLength(body)}`];
  socket.write(`${lines.join('\r\n')}\r\n\r\n${sent}`);
  const state = { isAnswered: false };
  const answer = new Promise<string>((resolve) => {
    socket.once('data', (data: Buffer) => {
      state.isAnswered = true;
      resolve(data.toString());
    });
  });
  return {
    end: () => void socket.write(body.slice(-1)),
    answer,
    get isAnswered() {
      return state.isAnswered;
    },
  };
}

/** The server has answered something that came later. */
async function somethingElse(): Promise<void> {
  expect((await app.rest('/me', { token: owner.token })).status).toBe(200);
}

/** What waits for the server's timers has begun. */
async function somethingElseOften(): Promise<void> {
  for (let count = 0; count < 3; count++) await somethingElse();
}

const ways = [
  ['REST', '/api/v1/campaigns', BODY],
  ['GraphQL', '/graphql', GRAPHQL_BODY],
] as const;

test.each(ways)(
  'only two of one customer are read at once, and the next when one of them was read (%s)',
  async (_name, path, body) => {
    const reading = [await upload({ path, body }), await upload({ path, body })];
    await somethingElseOften();
    const waiting = await upload({ path, body });
    waiting.end();
    await somethingElseOften();
    expect(waiting.isAnswered).toBe(false);
    reading[0]?.end();
    expect(await reading[0]?.answer).toMatch(/ 20[01] /);
    expect(await waiting.answer).toMatch(/ 20[01] /);
    reading[1]?.end();
    expect(await reading[1]?.answer).toMatch(/ 20[01] /);
  },
);

test('another customer behind the same address is read meanwhile', async () => {
  for (let count = 0; count < AT_ONCE_PER_CUSTOMER + 1; count++) await upload();
  await somethingElseOften();
  const upstairs = await upload({ body: bodyOf(other), token: other.token });
  upstairs.end();
  expect(await upstairs.answer).toContain(' 201 ');
});

test('so many may wait; one more is told to come again', async () => {
  for (let count = 0; count < AT_ONCE_PER_CUSTOMER; count++) await upload();
  await somethingElseOften();
  const waiting: Upload[] = [];
  for (let count = 0; count < WAITING_PER_CUSTOMER; count++) waiting.push(await upload({ sent: '' }));
  await somethingElseOften();
  const refused = await upload();
  expect(await refused.answer).toMatch(/ 429 [^]*retry-after: 5/i);
  expect(waiting.filter(({ isAnswered }) => isAnswered)).toEqual([]);
});

test('a client that goes away gives its place back', async () => {
  await upload();
  await upload();
  await somethingElseOften();
  const waiting = await upload();
  waiting.end();
  const [first] = open;
  first?.destroy();
  expect(await waiting.answer).toContain(' 201 ');
});
