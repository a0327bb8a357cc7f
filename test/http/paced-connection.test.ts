/** A connection has one request at work: what its client sends beyond that waits unread, and one that does not read is closed. */
import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { connect, type Socket } from 'node:net';
import { text as whole } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { startHttpServer, type Mount } from '../../src/http/http-server.ts';
import type { AnswerPace } from '../../src/http/paced-connection.ts';
import { silentLog } from '../../src/lib/log.ts';
import { afterFile } from '../support/after-file.ts';

const LARGE = Buffer.alloc(1_000_000, 'x');
const SOCKETS = 20;
const REQUESTS = 1_100;

/** Counts the requests it serves at the same time on each connection, and all of them. */
function counting() {
  const atWork = new Map<unknown, number>();
  const seen = { most: 0, served: 0 };
  const begin = (socket: unknown, res: ServerResponse) => {
    const count = (atWork.get(socket) ?? 0) + 1;
    atWork.set(socket, count);
    seen.most = Math.max(seen.most, count);
    seen.served += 1;
    // Before the server itself hears of it, and reads on.
    res.prependOnceListener('close', () => atWork.set(socket, (atWork.get(socket) ?? 1) - 1));
  };
  const large: Mount = {
    prefix: '/large',
    handle(req, res) {
      begin(req.socket, res);
      res.end(LARGE);
    },
  };
  const late: Mount = {
    prefix: '/late',
    async handle(req, res) {
      begin(req.socket, res);
      await sleep(1);
      const body = (await req.toArray()).join('');
      res.end(`${req.method} ${req.url} ${body};`);
    },
  };
  return { seen, mounts: [large, late] };
}

async function start(mounts: readonly Mount[], answerPace?: AnswerPace): Promise<number> {
  const options = { host: '127.0.0.1', port: 0, mounts, log: silentLog, ...(answerPace ? { answerPace } : {}) };
  const server = await startHttpServer(options);
  afterFile(() => server.close(0));
  return server.port;
}

async function open(port: number): Promise<Socket> {
  const socket = connect({ port, host: '127.0.0.1', noDelay: true });
  socket.on('error', () => undefined);
  await once(socket, 'connect');
  return socket;
}

const get = (path: string, more = '') => `GET ${path} HTTP/1.1\r\nHost: a\r\n${more}\r\n`;
const close = (path: string) => get(path, 'Connection: close\r\n');
const answered = (answers: string) => [...answers.matchAll(/(GET|POST) (\S+) ([^;]*);/g)].map(([one]) => one);

test('of 22,000 requests whose answers nobody reads one a connection is at work, and the others are not read', async () => {
  const { seen, mounts } = counting();
  const port = await start(mounts);
  const sockets = await Promise.all(Array.from({ length: SOCKETS }, () => open(port)));
  for (const socket of sockets) {
    socket.pause();
    socket.write(get('/large').repeat(REQUESTS));
  }
  // Until the buffers of the system are full, and nothing moves any more.
  let before = -1;
  while (seen.served < SOCKETS || seen.served !== before) {
    before = seen.served;
    await sleep(300);
  }
  expect(seen.served).toBeGreaterThanOrEqual(SOCKETS);
  expect(seen.most).toBe(1);
  // What the system takes of a connection is some megabytes.
  expect(seen.served).toBeLessThan(SOCKETS * 20);
  for (const socket of sockets) socket.destroy();
});

test('who reads gets all answers, in their order', async () => {
  const { seen, mounts } = counting();
  const socket = await open(await start(mounts));
  const paths = Array.from({ length: 300 }, (_, n) => `/late/${n}`);
  socket.write(paths.map((path) => get(path)).join('') + close('/late/last'));
  const answers = answered(await whole(socket));
  expect(answers).toEqual([...paths, '/late/last'].map((path) => `GET ${path} ;`));
  expect(seen.most).toBe(1);
});

test('a client that takes nothing of its answer is closed when its window is over; one that reads is not', async () => {
  const { mounts } = counting();
  const port = await start(mounts, { windowMs: 1_500, bytesMin: 1_000 });
  const [idle, unread, reading] = await Promise.all([open(port), open(port), open(port)]);
  unread.pause();
  unread.write(get('/large').repeat(100));
  reading.write(get('/large').repeat(2));
  let bytes = 0;
  reading.on('data', (chunk) => (bytes += chunk.length));
  // A paused socket learns of its end when it writes.
  const probe = setInterval(() => unread.write('\r\n'), 100);
  await new Promise((resolve) => unread.once('close', resolve));
  clearInterval(probe);
  expect(bytes).toBeGreaterThan(2 * LARGE.length);
  idle.write(close('/late'));
  expect(answered(await whole(idle))).toEqual(['GET /late ;']);
  reading.destroy();
});

test('bodies that look like heads, in any pieces, belong to their requests', async () => {
  const { seen, mounts } = counting();
  const port = await start(mounts);
  const inside = `a\r\n\r\n${get('/late/smuggled')}`;
  const sized = `POST /late/1 HTTP/1.1\r\nHost: a\r\nContent-Length: ${inside.length}\r\n\r\n${inside}`;
  const chunked = `POST /late/2 HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n4\r\n\r\n\r\n\r\n0\r\n\r\n`;
  const all = sized + chunked + get('/late/3') + sized + chunked + close('/late/4');
  const expected = answered((await talk(port, [all])).join(''));
  expect(expected.map((answer) => answer.split(' ', 2).join(' '))).toEqual([
    ...['POST /late/1', 'POST /late/2', 'GET /late/3', 'POST /late/1', 'POST /late/2', 'GET /late/4'],
  ]);
  expect(expected[0]).toContain('GET /late/smuggled');
  for (const size of [1, 2, 3, 7, 64]) {
    const pieces = Array.from({ length: Math.ceil(all.length / size) }, (_, n) => all.slice(n * size, (n + 1) * size));
    expect(answered((await talk(port, pieces)).join('')), `${size} bytes at a time`).toEqual(expected);
  }
  // Where the end of a body and the next head come in one piece, the two overlap.
  expect(seen.most).toBeLessThanOrEqual(2);
});

async function talk(port: number, pieces: readonly string[]): Promise<string[]> {
  const socket = await open(port);
  const answers = whole(socket);
  for (const piece of pieces) if (!socket.write(piece)) await once(socket, 'drain');
  return [await answers];
}

test('what Node would answer by itself waits for its turn as well', async () => {
  const { seen, mounts } = counting();
  const port = await start(mounts);
  const answers = await talk(port, [get('/late/1') + get('/', 'Expect: miracles\r\n') + get('/late/2') + hostless]);
  expect(answers.join('').match(/HTTP\/1\.1 \d+/g)).toEqual([
    'HTTP/1.1 200',
    'HTTP/1.1 417',
    'HTTP/1.1 200',
    'HTTP/1.1 400',
  ]);
  expect(seen.served).toBe(2);
});

const hostless = 'GET /late/3 HTTP/1.1\r\n\r\n'.repeat(2);

test('an unreadable request is answered after those before it, and ends the connection', async () => {
  const { mounts } = counting();
  const answers = (await talk(await start(mounts), [`${get('/late/1')}nonsense\r\n\r\n${get('/late/2')}`])).join('');
  expect(answers.match(/HTTP\/1\.1 \d+/g)).toEqual(['HTTP/1.1 200', 'HTTP/1.1 422']);
});

test('bytes behind an upgrade belong to its protocol', async () => {
  const { mounts } = counting();
  const echo: Mount = {
    prefix: '/echo',
    handle: (_req, res) => void res.end(),
    upgrade(_req, socket, head) {
      socket.write('HTTP/1.1 101 Switching Protocols\r\n\r\n');
      if (head.length > 0) socket.unshift(head);
      socket.on('data', (bytes: Buffer) => {
        socket.write(`echo ${bytes.toString()}`);
        if (bytes.includes('end')) socket.end();
      });
    },
  };
  const upgrade = get('/echo', 'Connection: Upgrade\r\nUpgrade: websocket\r\n');
  const answers = (await talk(await start([...mounts, echo]), [`${get('/late/1')}${upgrade}frame\n\r\nend`])).join('');
  expect(answers).toContain('GET /late/1 ;');
  expect(answers).toMatch(/101 Switching Protocols\r\n\r\necho frame/);
  expect(answers).toMatch(/end$/);
});

test('answers that need nothing from outside let others have their turn between them', async () => {
  let since = 0;
  let most = 0;
  const quick: Mount = {
    prefix: '/quick',
    handle(_req, res) {
      most = Math.max(most, ++since);
      res.end('.');
    },
  };
  const socket = await open(await start([quick]));
  let isOver = false;
  const turn = (): void => {
    since = 0;
    if (!isOver) setImmediate(turn);
  };
  turn();
  socket.write(get('/quick').repeat(500) + close('/quick'));
  await whole(socket);
  isOver = true;
  expect(most).toBeLessThanOrEqual(2);
});

test.each([8_190, 8_191, 8_192, 8_193, 8_194, 16_384])(
  'a head of %i bytes ends where it ends: what follows its body waits',
  async (length) => {
    const { seen, mounts } = counting();
    const port = await start(mounts);
    const body = 'b'.repeat(8_000);
    const start_ = `POST /late HTTP/1.1\r\nHost: x\r\nContent-Length: ${body.length}\r\nX-Pad: `;
    const head = `${start_}${'p'.repeat(length - start_.length - 4)}\r\n\r\n`;
    const next = 'GET /late HTTP/1.1\r\nHost: x\r\n\r\n'.repeat(200);
    // All in one piece, and cut within the end of the head.
    for (const cut of [0, length - 3, length - 2, length - 1]) {
      const before = seen.served;
      const socket = await open(port);
      socket.resume().write(`${head}${body}${next}`.slice(0, cut || undefined));
      if (cut > 0) {
        await sleep(20);
        socket.write(`${head}${body}${next}`.slice(cut));
      }
      await expect.poll(() => seen.served - before).toBe(201);
      socket.destroy();
    }
    expect(seen.most).toBe(1);
  },
);
