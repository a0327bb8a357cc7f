/** Kept-open connections: whether a request was received is known right, also when it waited for a connection, and nothing waits for ever. */
import { createServer, type Socket } from 'node:net';
import { once } from 'node:events';
import { expect, test } from 'vitest';
import { NoAnswerError, openOutboundPool } from '../../src/lib/outbound-pool.ts';
import { addressGuard } from '../../src/lib/public-address.ts';
import { afterFile } from '../support/after-file.ts';

const OK = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok';

/** A server of bytes: `answer` gets each whole request (by its last line) and its number. */
async function serverThat(answer: (socket: Socket, request: number) => void): Promise<string> {
  let requests = 0;
  const server = createServer((socket) => {
    let seen = '';
    socket
      .on('error', () => undefined)
      .on('data', (bytes) => {
        seen += bytes.toString('latin1');
        if (!seen.endsWith('END')) return;
        seen = '';
        answer(socket, ++requests);
      });
  });
  afterFile(() => void server.close());
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  return `http://127.0.0.1:${typeof address === 'object' ? address?.port : 0}`;
}

const post = { method: 'POST', path: '/', body: 'a message END' } as const;

/** Where nothing is silent. */
const LONG_MS = 60_000;
/** Where something is: a busy machine connects and writes in this time. */
const SILENCE_MS = 3_000;

/** The status of the answer, or whether the request was sent. */
async function endOf(pool: ReturnType<typeof openOutboundPool>): Promise<number | 'sent' | 'not sent'> {
  try {
    return (await pool.request(post)).status;
  } catch (error) {
    if (!(error instanceof NoAnswerError)) throw error;
    return error.wasSent ? 'sent' : 'not sent';
  }
}

test('a request that waited for a connection and was cut after it was read is one that was sent', async () => {
  const origin = await serverThat((socket, request) => (request % 10 === 0 ? socket.destroy() : socket.write(OK)));
  const pool = openOutboundPool(origin, { connections: 3, timeoutMs: LONG_MS });
  const ends = await Promise.all(Array.from({ length: 60 }, () => endOf(pool)));
  pool.close();
  expect(ends.filter((end) => end === 'sent')).toHaveLength(6);
  expect(ends.filter((end) => end === 200)).toHaveLength(54);
});

test('a server that answers with another protocol ends the request', async () => {
  const origin = await serverThat((socket) =>
    socket.write('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n'),
  );
  const pool = openOutboundPool(origin, { connections: 1, timeoutMs: LONG_MS });
  expect(await endOf(pool)).toBe('sent');
  pool.close();
});

test.each([
  ['reset', 429, LONG_MS],
  ['silent', 400, SILENCE_MS],
])('the status counts when the rest of the answer is %s', async (how, status, timeoutMs) => {
  const origin = await serverThat((socket) => {
    socket.write(`HTTP/1.1 ${status} No\r\nContent-Length: 100\r\n\r\nhalf`);
    // A reset takes away what the other side has not read by then.
    if (how === 'reset') setTimeout(() => socket.resetAndDestroy(), 1_000);
  });
  const pool = openOutboundPool(origin, { connections: 1, timeoutMs });
  expect(await pool.request(post)).toMatchObject({ status, isComplete: false });
  pool.close();
});

test('nobody is there, or nobody answers', async () => {
  const nobody = openOutboundPool('http://127.0.0.1:1', { connections: 1, timeoutMs: LONG_MS });
  expect(await endOf(nobody)).toBe('not sent');
  const silent = openOutboundPool(await serverThat(() => undefined), { connections: 1, timeoutMs: SILENCE_MS });
  expect(await endOf(silent)).toBe('sent');
});

test('with a guard neither private addresses nor other ports than those of the web are reached', async () => {
  const guard = addressGuard();
  let asked = 0;
  const origin = await serverThat((socket) => {
    asked++;
    socket.write(OK);
  });
  const options = { connections: 1, timeoutMs: LONG_MS, guard };
  for (const address of [origin, 'http://localhost:80', 'http://93.184.215.14:25', 'http://[::1]'])
    expect(await endOf(openOutboundPool(address, options))).toBe('not sent');
  expect(asked).toBe(0);
  const allowed = ['127.0.0.1'];
  const open = openOutboundPool(origin, { ...options, guard: addressGuard(allowed), allowed });
  expect(await endOf(open)).toBe(200);
  open.close();
});

test('a server that answers before it has read the request, and reads no more, takes no connection for ever', async () => {
  let connections = 0;
  const server = createServer((socket) => {
    socket.on('error', () => undefined);
    afterFile(() => void socket.destroy());
    const isFirst = ++connections === 1;
    socket.on('data', () => {
      socket.write(OK);
      if (isFirst) socket.pause();
    });
  });
  afterFile(() => void server.close());
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  const pool = openOutboundPool(`http://127.0.0.1:${typeof address === 'object' ? address?.port : 0}`, {
    ...{ connections: 1, timeoutMs: LONG_MS },
  });
  const large = { ...post, body: Buffer.alloc(30_000_000, 'x') };
  expect((await pool.request(large)).status).toBe(200);
  expect(await endOf(pool)).toBe(200);
  expect(connections).toBe(2);
  pool.close();
});
