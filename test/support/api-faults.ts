/**
 * What vendors with a web interface, and the networks before them, do when they are ill or hostile (hard case A19), one row each. Each is played at
 * some requests; before and after it the vendor is well, so that whoever drives it can show that nobody was lost. Left out is the vendor that answers
 * once more when the next request is under way: no client can tell that from an answer to it.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import type { Deed, Exchange, WireAnswer } from './faulty-front.ts';

export interface ApiFault {
  readonly name: string;
  readonly deed: Deed;
  /** Only with a message that no buffer between the two takes as a whole. */
  readonly isForLarge?: true;
  /** Its end is the driver's time-out. */
  readonly isSlow?: true;
}

const AWAY_MS = 300;
const HTML = '<!doctype html><html><body><h1>Service unavailable</h1><p>nginx</p></body></html>';

/** An answer of somebody who has passed nothing on. */
function instead(
  status: string,
  { headers = {}, body = '' }: { headers?: Record<string, string>; body?: string } = {},
): Deed {
  return async (exchange) => {
    await exchange.whole();
    const lines = Object.entries({ 'Content-Type': 'application/json', ...headers }).map(
      ([name, value]) => `${name}: ${value}\r\n`,
    );
    exchange.socket.write(
      `HTTP/1.1 ${status}\r\n${lines.join('')}Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
    );
  };
}

/** The vendor has the message, and its answer is lost or changed on the way. */
function taken(play: (exchange: Exchange, answer: WireAnswer) => Promise<void> | void): Deed {
  return async (exchange) => play(exchange, await exchange.deliver());
}

/** Another body, with the vendor's own status and headers. */
function withBody(change: (body: Buffer) => Buffer | string, more = ''): Deed {
  return taken(({ socket }, { head, body }) => {
    const changed = Buffer.from(change(body));
    // The id of a vendor that answers in a header would still be there.
    const kept = head
      .replace(/x-message-id: .*\r\n/i, '')
      .replace(/Content-Length: \d+/, `Content-Length: ${changed.length}`);
    socket.write(Buffer.concat([Buffer.from(kept.replace(/\r\n\r\n$/, `\r\n${more}\r\n`)), changed]));
  });
}

/** One byte a second, until the other side has had enough. */
async function drip({ socket }: Exchange, bytes: Buffer): Promise<void> {
  for (const byte of bytes) {
    if (socket.destroyed) return;
    socket.write(Buffer.from([byte]));
    await sleep(1_000);
  }
}

const reset = ({ socket }: Exchange): void => void socket.resetAndDestroy();
const half = (bytes: Buffer): Buffer => bytes.subarray(0, Math.ceil(bytes.length / 2));
const bytesOf = ({ head, body }: WireAnswer): Buffer => Buffer.concat([Buffer.from(head), body]);
/** The bytes have left before the connection breaks. */
const writeAndReset = (exchange: Exchange, bytes: Buffer): void =>
  void exchange.socket.write(bytes, () => setTimeout(() => reset(exchange), 20));

export const API_FAULTS: readonly ApiFault[] = [
  {
    name: 'refuses connections for a moment',
    async deed(exchange) {
      await exchange.usual();
      await sleep(5);
      exchange.front.away(AWAY_MS, 'idle');
      exchange.socket.end();
    },
  },
  {
    name: 'resets a connection before the request',
    async deed(exchange) {
      exchange.front.resetsAtOpening = 2;
      await exchange.usual();
      exchange.socket.end();
    },
  },
  { name: 'resets in the middle of the body', deed: reset, isForLarge: true },
  { name: 'resets when the head is there', deed: reset },
  { name: 'resets after the request', deed: async (exchange) => exchange.whole().then(() => reset(exchange)) },
  { name: 'resets after it has taken the message', deed: taken(reset) },
  {
    name: 'resets within the head of its answer',
    deed: taken((exchange, { head }) => writeAndReset(exchange, half(Buffer.from(head)))),
  },
  {
    name: 'resets within the body of its answer',
    deed: taken((exchange, { head, body }) => writeAndReset(exchange, Buffer.concat([Buffer.from(head), half(body)]))),
  },
  {
    name: 'answers one byte a second',
    deed: taken((exchange, answer) => drip(exchange, bytesOf(answer))),
    isSlow: true,
  },
  {
    name: 'answers the body one byte a second',
    deed: taken(async (exchange, { head, body }) => {
      exchange.socket.write(head);
      await drip(exchange, body);
    }),
    isSlow: true,
  },
  { name: 'does not answer', deed: taken(() => undefined), isSlow: true },
  {
    name: 'answers with a huge head',
    deed: taken(({ socket }, { head, body }) => {
      const long = `X-Long: ${'x'.repeat(100_000)}\r\n`;
      socket.write(Buffer.concat([Buffer.from(head.replace(/\r\n\r\n$/, `\r\n${long}\r\n`)), body]));
    }),
  },
  {
    name: 'answers with a huge body',
    deed: withBody((body) => Buffer.concat([half(body), Buffer.alloc(3_000_000, ' ')])),
  },
  {
    name: 'answers 429 with seconds to wait',
    deed: instead('429 Too Many Requests', { headers: { 'Retry-After': '1' } }),
  },
  {
    name: 'answers 429 with a date to wait for',
    deed: (exchange) =>
      instead('429 Too Many Requests', { headers: { 'Retry-After': new Date(Date.now() + 1_000).toUTCString() } })(
        exchange,
      ),
  },
  {
    name: 'answers 503 with HTML',
    deed: instead('503 Service Unavailable', { headers: { 'Content-Type': 'text/html' }, body: HTML }),
  },
  {
    name: 'has taken the message and answers with broken JSON',
    deed: withBody((body) => `${half(body).toString()}\\`),
  },
  { name: 'has taken the message and answers with an empty body', deed: withBody(() => '') },
  {
    name: 'has taken the message and answers with another shape',
    deed: withBody((body) => `[${body.toString() || 'null'}]`),
  },
  { name: 'has taken the message and answers without an id', deed: withBody(() => '{"message": "Queued."}') },
  {
    name: 'switches to another protocol',
    deed: instead('101 Switching Protocols', { headers: { Upgrade: 'h2c', Connection: 'Upgrade' } }),
  },
  { name: 'redirects', deed: instead('307 Temporary Redirect', { headers: { Location: 'http://127.0.0.1:9/' } }) },
  {
    name: 'cuts a chunked answer',
    deed: taken(({ socket }, { head, body }) => {
      const chunked = head.replace(/Content-Length: \d+/, 'Transfer-Encoding: chunked');
      socket.end(Buffer.concat([Buffer.from(`${chunked}${body.length.toString(16)}\r\n`), half(body)]));
    }),
  },
  { name: 'compresses its answer unasked', deed: withBody((body) => gzipSync(body), 'Content-Encoding: gzip\r\n') },
  {
    name: 'resets a kept connection just as it is used again',
    async deed(exchange) {
      exchange.front.next.set(exchange.socket, reset);
      await exchange.usual();
    },
  },
  {
    name: 'ends a kept connection without a word',
    async deed(exchange) {
      await exchange.usual();
      exchange.socket.end();
    },
  },
  {
    name: 'refuses before it has read the body, and resets',
    isForLarge: true,
    deed: ({ socket }) => {
      socket.write('HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\nConnection: close\r\n\r\n');
      setTimeout(() => socket.resetAndDestroy(), 50);
    },
  },
  {
    name: 'answers 429 before it has read the body, and ends the connection',
    isForLarge: true,
    deed: ({ socket }) => {
      socket.end('HTTP/1.1 429 Too Many Requests\r\nContent-Length: 0\r\nConnection: close\r\n\r\n');
      // What was not read would keep it open.
      setTimeout(() => socket.destroy(), 100);
    },
  },
  {
    name: 'answers twice at once',
    deed: taken(({ socket }, answer) => void socket.write(Buffer.concat([bytesOf(answer), bytesOf(answer)]))),
  },
  {
    name: 'dies, and comes back',
    deed: taken(({ front }) => front.away(AWAY_MS, 'all')),
  },
];

/** The connection is idle when a second answer comes, and the vendor refuses the next request on it. */
export const LATE_SECOND_ANSWER: Deed = taken(async ({ socket, front }, answer) => {
  front.next.set(socket, instead('503 Service Unavailable'));
  socket.write(bytesOf(answer));
  await sleep(30);
  socket.write(bytesOf(answer));
});
