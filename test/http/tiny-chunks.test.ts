/** Bodies in chunks of a few bytes are refused in words after the first 800; bodies in lines are not. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { connect } from 'node:net';
import { expect, test } from 'vitest';
import { startHttpServer } from '../../src/http/http-server.ts';
import { createLog } from '../../src/lib/log.ts';
import { afterFile } from '../support/after-file.ts';

/** Chunks that came to the handlers. */
let chunks = 0;

async function count(req: IncomingMessage, res: ServerResponse): Promise<void> {
  let bytes = 0;
  try {
    for await (const chunk of req) {
      chunks += 1;
      bytes += Buffer.isBuffer(chunk) ? chunk.length : 0;
    }
    res.end(`counted ${bytes}`);
  } catch {
    res.destroy();
  }
}

const log = createLog({ level: 'silent', format: 'json' });
const mounts = [
  { prefix: '/count', handle: count },
  // Answers before the body is there.
  { prefix: '/no', handle: (_req: IncomingMessage, res: ServerResponse) => void res.writeHead(404).end('no') },
];
const server = await startHttpServer({ host: '127.0.0.1', port: 0, mounts, log });
afterFile(() => server.close(0));

/** Sends a body of so many chunks of this text; answers all that came until the server closed or the answer was whole. */
async function send(path: string, text: string, times: number): Promise<string> {
  const socket = connect(server.port, '127.0.0.1');
  let answer = '';
  socket
    .on('error', () => undefined)
    .on('data', (data) => {
      answer += data.toString();
      if (answer.includes('counted')) socket.destroy();
    });
  socket.write(`POST ${path} HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n`);
  socket.write(`${text.length.toString(16)}\r\n${text}\r\n`.repeat(times));
  if (path === '/count') socket.write('0\r\n\r\n');
  await new Promise((resolve) => socket.once('close', resolve));
  return answer;
}

test('a body of 100,000 chunks of one byte is refused in words, and what follows is not read', async () => {
  chunks = 0;
  const answer = await send('/count', 'a', 100_000);
  expect(answer).toMatch(/^HTTP\/1\.1 422 /);
  expect(answer).toContain('send larger ones');
  expect(chunks).toBeLessThanOrEqual(2_500);
});

test('so is one that nobody reads, although it was answered', async () => {
  expect(await send('/no', 'a', 100_000)).toMatch(/^HTTP\/1\.1 404 /);
});

test.each([
  ['lines', 'a@b.example,Ann\r\n', 20_000],
  ['few chunks of one byte', 'a', 500],
  ['chunks of 16 bytes', 'a'.repeat(16), 20_000],
  ['large chunks of blank lines', '\r\n'.repeat(10_000), 10],
])('%s are taken', async (_what, text, times) => {
  expect(await send('/count', text, times)).toContain(`counted ${text.length * times}`);
});

test('the long head of a next request is no part of the body before it', async () => {
  const socket = connect(server.port, '127.0.0.1');
  afterFile(() => socket.destroy());
  let answers = '';
  socket.on('data', (data) => (answers += data.toString()));
  socket.write('POST /count HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nabcde\r\n0\r\n\r\n');
  await expect.poll(() => answers).toContain('counted 5');
  socket.write(`GET /count?${'q'.repeat(60_000)} HTTP/1.1\r\nHost: x\r\n\r\n`);
  await expect.poll(() => answers).toMatch(/counted 0|422/);
  expect(answers).not.toContain('422');
});
