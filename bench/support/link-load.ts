/** Readers who follow links: connections that ask, wait for the answer, and ask again. */
import { connect } from 'node:net';

export interface LinkLoad {
  readonly port: number;
  readonly paths: readonly string[];
  readonly connections: number;
  /** By `performance.now()`. */
  readonly until: number;
  /** Gets the milliseconds of each answer. */
  readonly latencies: number[];
}

interface Lane extends LinkLoad {
  readonly lane: number;
}

const PIXEL_BYTES = 42;

/** Resolves when all connections have ended: at the time given, or because the server is gone. */
export async function askLinks(load: LinkLoad): Promise<void> {
  await Promise.all(Array.from({ length: load.connections }, (_, lane) => ask({ ...load, lane })));
}

function ask({ port, paths, connections, lane, until, latencies }: Lane): Promise<void> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1');
    let at = Math.floor((lane * paths.length) / connections);
    let sentAt = 0;
    let received = '';
    const next = () => {
      sentAt = performance.now();
      if (sentAt >= until) return void socket.end();
      at = (at + 1) % paths.length;
      socket.write(
        `GET ${paths[at]} HTTP/1.1\r\nHost: bench\r\nUser-Agent: Mozilla/5.0 (X11; Linux x86_64) Bench/1\r\n\r\n`,
      );
    };
    socket.setNoDelay();
    socket.on('connect', next);
    socket.on('close', () => resolve());
    // A server that was killed: what it has answered counts.
    socket.on('error', () => resolve());
    socket.on('data', (data) => {
      received += data.toString('latin1');
      const end = received.indexOf('\r\n\r\n');
      if (end === -1 || received.length < end + 4 + (received.includes('image/gif') ? PIXEL_BYTES : 0)) return;
      if (!/^HTTP\/1.1 (302|200)/.test(received)) return reject(new Error(received));
      received = '';
      latencies.push(performance.now() - sentAt);
      next();
    });
  });
}
