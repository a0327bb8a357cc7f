/** Connections that carry requests of the fast path: pipelined, in pieces, mixed with others, malformed, abandoned, closed. */
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { text as whole } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, describe, expect, test } from 'vitest';
import { startHttpServer, type HttpServer, type Mount } from '../../src/http/http-server.ts';
import { silentLog } from '../../src/lib/log.ts';

/** Answers when told; `usual` says that the request was not taken. */
const waiting: (() => void)[] = [];
const mount: Mount = {
  prefix: '/x',
  handle: async (req, res) => void res.end(`usual ${req.method} ${req.url} ${(await req.toArray()).join('').length}`),
  fast(req, ipAddress, answer) {
    const body = `fast ${req.url} ${ipAddress} ${req.headers['user-agent'] ?? ''}`;
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
/** Longer than a piece takes to arrive by itself and to be answered, also on a busy machine. */
const PIECES_APART_MS = 2_000;

async function open({ port }: HttpServer = server): Promise<Socket> {
  const socket = connect({ port, host: '127.0.0.1', noDelay: true });
  await once(socket, 'connect');
  return socket;
}

/** Sends the pieces, each by itself: when the one before was answered, or will not be. Answers all that came back. */
async function talk(...pieces: string[]): Promise<string> {
  const socket = await open();
  const answers = whole(socket.setEncoding('latin1'));
  for (const piece of pieces) {
    const answered = once(socket, 'data').catch(() => undefined);
    socket.write(piece, 'latin1');
    await Promise.race([answered, sleep(PIECES_APART_MS)]);
  }
  socket.end();
  return answers;
}

const bodies = (answers: string) =>
  [...answers.matchAll(/(?:fast|usual) [^\r\n]*?(?=HTTP\/1|\r|$)/g)].map(([body]) => body.trim());

test('an answer has what every answer has, and the connection stays open', async () => {
  const answers = await talk(get('/x/1', 'User-Agent:  Caf\xe9/1 \r\n'), get('/x/2'));
  expect(bodies(answers)).toEqual(['fast /x/1 127.0.0.1 Caf\xe9/1', 'fast /x/2 127.0.0.1']);
  const [head = ''] = answers.split('\r\n\r\n');
  expect(head.split('\r\n')).toEqual([
    'HTTP/1.1 200 OK',
    'X-Content-Type-Options: nosniff',
    'Referrer-Policy: no-referrer',
    expect.stringMatching(/^Content-Security-Policy: /),
    'X-Frame-Options: DENY',
    'X-Own: yes',
    'Content-Length: 26',
    expect.stringMatching(/^Date: \w{3}, \d\d \w{3} \d{4} \d\d:\d\d:\d\d GMT$/),
    'Connection: keep-alive',
    'Keep-Alive: timeout=65',
  ]);
});

describe('on one connection', () => {
  test.each([
    ['a head in pieces', [get('/x/1').slice(0, 9), get('/x/1').slice(9)], ['fast /x/1 127.0.0.1']],
    // The second is read when the first was answered.
    ['two at once', [get('/x/1') + get('/x/2'), ''], ['fast /x/1 127.0.0.1', 'fast /x/2 127.0.0.1']],
    [
      'a POST between two',
      [get('/x/1'), 'POST /x/p HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc', get('/x/2')],
      ['fast /x/1 127.0.0.1', 'usual POST /x/p 3', 'fast /x/2 127.0.0.1'],
    ],
    ['HEAD', ['HEAD /x/1 HTTP/1.1\r\nHost: a\r\n\r\n', get('/x/2')], ['fast /x/2 127.0.0.1']],
    [
      'a GET with a body that looks like a request',
      [get('/x/1', 'Content-Length: 40\r\n') + get('/x/smuggled').padEnd(40, 'x'), get('/x/2')],
      ['usual GET /x/1 40', 'fast /x/2 127.0.0.1'],
    ],
    [
      'a GET with such a body in chunks',
      [
        get('/x/1', 'Transfer-Encoding: chunked\r\n') + `28\r\n${get('/x/smuggled').padEnd(40, 'x')}\r\n0\r\n\r\n`,
        get('/x/2'),
      ],
      ['usual GET /x/1 40', 'fast /x/2 127.0.0.1'],
    ],
  ])('%s', async (_name, pieces, expected) => {
    expect(bodies(await talk(...pieces))).toEqual(expected);
  });

  test.each([
    ['no host', 'GET /x/1 HTTP/1.1\r\n\r\n', /^HTTP\/1.1 400 /],
    ['no HTTP', 'GARBAGE\r\n\r\n', /^HTTP\/1.1 422 /],
    ['a name with a space', get('/x/1', 'Content-Length : 5\r\n'), /^HTTP\/1.1 422 /],
    ['a bare carriage return', get('/x/1', 'X-A: b\rContent-Length: 5\r\n'), /^HTTP\/1.1 422 /],
    ['a NUL', get('/x/1', 'X-A: \0\r\n'), /^HTTP\/1.1 422 /],
    ['two lengths', get('/x/1', 'Content-Length: 0\r\nContent-Length: 5\r\n'), /^HTTP\/1.1 422 /],
  ])('%s is refused', async (_name, request, expected) => {
    expect(await talk(request)).toMatch(expected);
  });
});

test('who asks again before the answer gets both, in order', async () => {
  const socket = await open();
  let answers = '';
  socket.setEncoding('latin1').on('data', (piece: string) => void (answers += piece));
  for (const request of [get('/x/late'), get('/x/2'), 'POST /x/p HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n'])
    socket.write(request);
  await expect.poll(() => waiting.length).toBe(1);
  waiting.pop()?.();
  const expected = ['fast /x/late 127.0.0.1', 'fast /x/2 127.0.0.1', 'usual POST /x/p 0'];
  await expect.poll(() => bodies(answers)).toEqual(expected);
  socket.destroy();
});

test('who is gone before the answer breaks nothing', async () => {
  const socket = await open();
  socket.write(get('/x/late'));
  await expect.poll(() => waiting.length).toBe(1);
  socket.resetAndDestroy();
  await once(socket, 'close');
  waiting.pop()?.();
  expect(bodies(await talk(get('/x/2')))).toEqual(['fast /x/2 127.0.0.1']);
});

test('closing ends idle connections at once, and the others with their answers', async () => {
  const other = await start();
  const [unused, idle, busy] = [await open(other), await open(other), await open(other)];
  const used = once(idle, 'data');
  idle.write(get('/x/1'));
  await used;
  const answers = [whole(unused), whole(idle), whole(busy)];
  busy.write(get('/x/late'));
  await expect.poll(() => waiting.length).toBe(1);
  const closed = other.close(5_000);
  expect([await answers[0], await answers[1]]).toEqual(['', '']);
  waiting.pop()?.();
  const last = (await answers[2]) ?? '';
  expect(bodies(last)).toEqual(['fast /x/late 127.0.0.1']);
  expect(last).toContain('Connection: close');
  expect(last).not.toContain('keep-alive');
  await closed;
});
