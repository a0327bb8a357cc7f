/** Requests read from the connection itself: the plainest only; everything else is node:http's, on the same connection. */
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { text as whole } from 'node:stream/consumers';
import { afterAll, describe, expect, test } from 'vitest';
import { readPlainGet } from '../../src/http/express-door.ts';
import { startHttpServer, type HttpServer, type Mount } from '../../src/http/http-server.ts';
import { silentLog } from '../../src/lib/log.ts';

/** Answers when told; `usual` says that node:http has read the request. */
const waiting: (() => void)[] = [];
const mount: Mount = {
  prefix: '/x',
  handle: (req, res) => void res.end(`usual ${req.method} ${req.url}`),
  express(req, ipAddress, answer) {
    if (req.url?.startsWith('/x/not') === true) return false;
    const body = `express ${req.url} ${ipAddress} ${req.headers['user-agent'] ?? ''}`;
    const give = () => answer({ status: 200, headers: ['X-Own', 'yes'], body });
    if (req.url === '/x/late') waiting.push(give);
    else setImmediate(give);
    return true;
  },
};
const start = () => startHttpServer({ host: '127.0.0.1', port: 0, mounts: [mount], log: silentLog });
const server = await start();
afterAll(() => server.close(0));

const get = (path: string, more = '') => `GET ${path} HTTP/1.1\r\nHost: a\r\n${more}\r\n`;
const pause = (ms = 20) => new Promise((resume) => setTimeout(resume, ms));

async function open({ port }: HttpServer = server): Promise<Socket> {
  const socket = connect({ port, host: '127.0.0.1', noDelay: true });
  await new Promise((resume) => socket.once('connect', resume));
  return socket;
}

/** Sends the pieces, each by itself: when the one before was answered, or will not be. Answers all that came back. */
async function talk(...pieces: string[]): Promise<string> {
  const socket = await open();
  const answers = whole(socket.setEncoding('latin1'));
  for (const piece of pieces) {
    const answered = once(socket, 'data').catch(() => undefined);
    socket.write(piece, 'latin1');
    await Promise.race([answered, pause(200)]);
  }
  socket.end();
  return answers;
}

const bodies = (answers: string) =>
  [...answers.matchAll(/(?:express|usual) [^\r\n]*?(?=HTTP\/1|$)/g)].map(([body]) => body.trim());

test('an answer has what every answer has, and stays on the connection', async () => {
  const answers = await talk(get('/x/1', 'User-Agent:  Caf\xe9/1 \r\n'), get('/x/2'));
  expect(bodies(answers)).toEqual(['express /x/1 127.0.0.1 Caf\xe9/1', 'express /x/2 127.0.0.1']);
  const [head = ''] = answers.split('\r\n\r\n');
  expect(head.split('\r\n')).toEqual([
    'HTTP/1.1 200 OK',
    'X-Content-Type-Options: nosniff',
    'Referrer-Policy: no-referrer',
    expect.stringMatching(/^Content-Security-Policy: /),
    'X-Frame-Options: DENY',
    'X-Own: yes',
    expect.stringMatching(/^Date: \w{3}, \d\d \w{3} \d{4} \d\d:\d\d:\d\d GMT$/),
    'Connection: keep-alive',
    'Keep-Alive: timeout=65',
    'Content-Length: 29',
  ]);
});

describe('what is not plain is read by node:http, with every byte of it', () => {
  test.each([
    ['a head in pieces', [get('/x/1').slice(0, 9), get('/x/1').slice(9)], ['express /x/1 127.0.0.1']],
    // The second is read when the first was answered.
    ['two at once', [get('/x/1') + get('/x/2'), ''], ['express /x/1 127.0.0.1', 'express /x/2 127.0.0.1']],
    ['one that is not taken', [get('/x/not'), get('/x/1')], ['usual GET /x/not', 'express /x/1 127.0.0.1']],
    [
      'a POST between two',
      [get('/x/1'), 'POST /x/p HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc', get('/x/2')],
      ['express /x/1 127.0.0.1', 'usual POST /x/p', 'express /x/2 127.0.0.1'],
    ],
    ['HEAD', ['HEAD /x/1 HTTP/1.1\r\nHost: a\r\n\r\n', get('/x/2')], ['express /x/2 127.0.0.1']],
    [
      'a GET with a body that looks like a request',
      [get('/x/1', 'Content-Length: 35\r\n') + get('/x/smuggled').padEnd(35, 'x'), get('/x/2')],
      ['usual GET /x/1', 'express /x/2 127.0.0.1'],
    ],
  ])('%s', async (_name, pieces, expected) => {
    expect(bodies(await talk(...pieces))).toEqual(expected);
  });

  test('no host, and no HTTP', async () => {
    expect(await talk('GET /x/1 HTTP/1.1\r\n\r\n')).toMatch(/^HTTP\/1.1 400 /);
    expect(await talk('GARBAGE\r\n\r\n')).toMatch(/^HTTP\/1.1 422 /);
  });
});

test.each([
  ['a body', 'Content-Length: 0'],
  ['a body in chunks', 'transfer-encoding: chunked'],
  ['another protocol', 'Connection: Upgrade\r\nUpgrade: websocket'],
  ['an end', 'Connection: close'],
  ['a proxy of old', 'Proxy-Connection: close'],
  ['an expectation', 'Expect: 100-continue'],
  ['a name with a space', 'Content-Length : 5'],
  ['a line that goes on', 'X-A: b\r\n c: d'],
  ['a bare line feed', 'X-A: b\nContent-Length: 5'],
  ['a bare carriage return', 'X-A: b\rContent-Length: 5'],
  ['a NUL', 'X-A: \0'],
  ['a second host', 'Host: b'],
  ['a second address', 'X-Forwarded-For: 1.1.1.1\r\nX-Forwarded-For: 2.2.2.2'],
])('%s is not plain', (_name, lines) => {
  expect(readPlainGet(get('/x/1', 'Accept: */*\r\n'), {})).toMatchObject({ url: '/x/1', headers: { host: 'a' } });
  expect(readPlainGet(get('/x/1', `${lines}\r\n`), {})).toBeUndefined();
});

test.each([
  'GET http://a/x/1 HTTP/1.1',
  'GET /x/1 HTTP/1.0',
  'get /x/1 HTTP/1.1',
  'GET /x /1 HTTP/1.1',
  'GET /\xe9 HTTP/1.1',
])('%s is not plain', (line) => {
  expect(readPlainGet(`${line}\r\nHost: a\r\n\r\n`, {})).toBeUndefined();
});

test('who asks again before the answer gets both, in order', async () => {
  const socket = await open();
  let answers = '';
  socket.setEncoding('latin1').on('data', (piece: string) => void (answers += piece));
  for (const request of [get('/x/late'), get('/x/2'), 'POST /x/p HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n']) {
    socket.write(request);
    await pause();
  }
  await expect.poll(() => waiting.length).toBe(1);
  waiting.pop()?.();
  const expected = ['express /x/late 127.0.0.1', 'express /x/2 127.0.0.1', 'usual POST /x/p'];
  await expect.poll(() => bodies(answers)).toEqual(expected);
  socket.destroy();
});

test('who is gone before the answer breaks nothing', async () => {
  const socket = await open();
  socket.write(get('/x/late'));
  await expect.poll(() => waiting.length).toBe(1);
  socket.resetAndDestroy();
  await pause();
  waiting.pop()?.();
  expect(bodies(await talk(get('/x/2')))).toEqual(['express /x/2 127.0.0.1']);
});

test('closing ends idle connections at once, and the others with their answers', async () => {
  const other = await start();
  const [idle, busy] = [await open(other), await open(other)];
  const answers = [whole(idle), whole(busy)];
  busy.write(get('/x/late'));
  await expect.poll(() => waiting.length).toBe(1);
  const closed = other.close(5_000);
  expect(await answers[0]).toBe('');
  waiting.pop()?.();
  expect(await answers[1]).toContain('Connection: close');
  await closed;
});
