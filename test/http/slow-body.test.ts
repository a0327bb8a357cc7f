/** F14: bodies that trickle are let go, do not hold up others, and are told from a server that reads slowly. */
import { EventEmitter } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, expect, test, vi } from 'vitest';
import { startHttpServer, type HttpServer, type Mount } from '../../src/http/http-server.ts';
import { BODY_PACE, watchBody } from '../../src/http/slow-body.ts';
import { createLog } from '../../src/lib/log.ts';

const servers: HttpServer[] = [];
afterAll(() => Promise.all(servers.map((server) => server.close(0))));

let broken = 0;

/** Answers with the number of bytes that came. */
async function count(req: IncomingMessage, res: ServerResponse): Promise<void> {
  let bytes = 0;
  try {
    for await (const chunk of req) bytes += Buffer.isBuffer(chunk) ? chunk.length : 0;
    res.end(String(bytes));
  } catch {
    broken += 1;
    res.destroy();
  }
}

const counting: Mount = { prefix: '/count', handle: count };

/** Reads nothing for three windows. */
const sleepy: Mount = {
  prefix: '/sleepy',
  handle: async (req, res) => {
    await sleep(3_000);
    await count(req, res);
  },
};

async function start() {
  const log = createLog({ level: 'silent', format: 'json' });
  // A window is longer than a busy machine leaves the process alone: that would look like a sender's silence.
  const bodyPace = { windowMs: 1_000, bytesMin: 10_000 };
  const server = await startHttpServer({ host: '127.0.0.1', port: 0, mounts: [counting, sleepy], log, bodyPace });
  servers.push(server);
  return server.port;
}

test('the pace is one that a slow line keeps, and 1 kB a second does not', () => {
  const perSecond = BODY_PACE.bytesMin / (BODY_PACE.windowMs / 1_000);
  expect(perSecond).toBeGreaterThan(1_024);
  expect(perSecond).toBeLessThanOrEqual(4_096);
});

test('20 trickles are cut, while others are served', async () => {
  const port = await start();
  const trickles = Array.from({ length: 20 }, () => trickle(port));
  const url = `http://127.0.0.1:${port}/count`;
  for (let n = 0; n < 20; n++) {
    const answer = await fetch(url, { method: 'POST', body: 'x'.repeat(500_000) });
    expect(await answer.text()).toBe('500000');
  }
  const ends = await Promise.all(trickles);
  // None was answered, all were closed by the server.
  expect(ends).toEqual(Array.from({ length: 20 }, () => ''));
  // The server hears of an end a little after its sender did.
  await expect.poll(() => broken).toBe(20);
});

test('a server that reads late does not blame the sender', async () => {
  const port = await start();
  const answer = await fetch(`http://127.0.0.1:${port}/sleepy`, { method: 'POST', body: 'x'.repeat(300_000) });
  expect(await answer.text()).toBe('300000');
});

test('a window in which reading began late counts for the sender, the next one against it', () => {
  vi.useFakeTimers();
  const destroy = vi.fn();
  const socket = Object.assign(new EventEmitter(), { bytesRead: 0, readableLength: 0, destroy });
  const stream = { readableLength: 10, complete: false, destroyed: false, headers: { 'content-length': '99' } };
  const req = Object.assign(new EventEmitter(), { ...stream, socket });
  watchBody(req as unknown as IncomingMessage, { windowMs: 1_000, bytesMin: 50 });
  vi.advanceTimersByTime(1_000);
  req.readableLength = 0;
  vi.advanceTimersByTime(1_000);
  expect(destroy).not.toHaveBeenCalled();
  vi.advanceTimersByTime(1_000);
  expect(destroy).toHaveBeenCalledOnce();
  vi.useRealTimers();
});

/** Sends 100 bytes every 100 ms until it is cut off; resolves with what was answered. */
async function trickle(port: number): Promise<string> {
  const socket: Socket = connect(port, '127.0.0.1');
  let answer = '';
  socket.on('data', (data) => (answer += data.toString()));
  socket.on('error', () => undefined);
  socket.write('POST /count HTTP/1.1\r\nHost: x\r\nContent-Length: 500000000\r\n\r\n');
  const sending = setInterval(() => socket.write('y'.repeat(100)), 100);
  await new Promise((resolve) => socket.once('close', resolve));
  clearInterval(sending);
  return answer;
}
