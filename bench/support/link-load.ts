/**
 * Readers who follow links: connections that ask, wait for the answer, and ask again. Readers and server share the
 * processors of a bench, so a reader does as little as it can: its requests are made before, and an answer is read into
 * a buffer of the connection and looked at no further than to see that it is one and whole.
 */
import { connect } from 'node:net';
import { connect as connectTls } from 'node:tls';

export interface LinkLoad {
  readonly port: number;
  /** By TLS, whoever answers. */
  readonly isTls?: boolean | undefined;
  readonly paths: readonly string[];
  readonly connections: number;
  /** By `performance.now()`. */
  readonly until: number;
  /** Gets the milliseconds of each answer. */
  readonly latencies: number[];
}

interface Lane extends LinkLoad {
  readonly lane: number;
  readonly requests: readonly string[];
}

const ANSWER_BYTES_MAX = 4_096;
const REDIRECT = 'HTTP/1.1 302 ';
const IMAGE = 'HTTP/1.1 200 ';
const HEAD_END = '\r\n\r\n';
const PIXEL_BYTES = 42;

/** Resolves when all connections have ended: at the time given, or because the server is gone. */
export async function requestLinks(load: LinkLoad): Promise<void> {
  const requests = load.paths.map(
    (path) => `GET ${path} HTTP/1.1\r\nHost: bench\r\nUser-Agent: Mozilla/5.0 (X11; Linux x86_64) Bench/1\r\n\r\n`,
  );
  await Promise.all(Array.from({ length: load.connections }, (_, lane) => ask({ ...load, requests, lane })));
}

function ask({ port, isTls = false, requests, connections, lane, until, latencies }: Lane): Promise<void> {
  return new Promise((resolve, reject) => {
    let at = Math.floor((lane * requests.length) / connections);
    let sentAt = 0;
    let received = '';
    const callback = (length: number, bytes: Uint8Array): boolean => {
      received += Buffer.from(bytes.buffer, bytes.byteOffset, length).toString('latin1');
      const end = received.indexOf(HEAD_END);
      if (end === -1) return true;
      const isImage = received.startsWith(IMAGE);
      if (!isImage && !received.startsWith(REDIRECT)) reject(new Error(received));
      if (isImage && received.length < end + HEAD_END.length + PIXEL_BYTES) return true;
      received = '';
      latencies.push(performance.now() - sentAt);
      next();
      return true;
    };
    const buffer = Buffer.allocUnsafeSlow(ANSWER_BYTES_MAX);
    const at127 = { port, host: '127.0.0.1', noDelay: true };
    const socket = isTls
      ? connectTls({ ...at127, rejectUnauthorized: false }).on('data', (bytes) => callback(bytes.length, bytes))
      : connect({ ...at127, onread: { buffer, callback } });
    const next = () => {
      sentAt = performance.now();
      if (sentAt >= until) return void socket.end();
      at = (at + 1) % requests.length;
      socket.write(requests[at] ?? '', 'latin1');
    };
    socket.once(isTls ? 'secureConnect' : 'connect', next);
    socket.on('close', () => resolve());
    // A server that was killed: what it has answered counts.
    socket.on('error', () => resolve());
  });
}
