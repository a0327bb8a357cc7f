/** What a stranger can do to a server beside not reading: each keeps connections busy until it is ended. */
import { connect, type Socket } from 'node:net';
import { BENCH_TOKEN, type Product } from './product.ts';

export interface Flood {
  readonly name: string;
  /** Begins it on so many connections; answers how to end it. */
  begin(product: Product): FloodUnderWay;
}

export interface FloodUnderWay {
  /** Connections that the server has closed. */
  closed(): number;
  end(): void;
}

const TRICKLE_EVERY_MS = 1_000;
const BODY_BYTES = 5_000_000;
/** In one write: 64 KiB of chunks of one byte. */
const TINY_CHUNKS = Buffer.from('1\r\na\r\n'.repeat(10_922), 'latin1');

const head = (path: string, more: string, version = '1.1') =>
  `POST ${path} HTTP/${version}\r\nHost: localhost\r\nContent-Type: application/json\r\n${more}\r\n`;
const BEARER = `Authorization: Bearer ${BENCH_TOKEN}\r\n`;
const SIZED = `Content-Length: ${BODY_BYTES}\r\n`;
const CHUNKED = 'Transfer-Encoding: chunked\r\n';
const KEY =
  'Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n';

/** `share` of the connections asked for: what needs more work of the bench itself has fewer. */
export function strangersFloods(connections: number): readonly Flood[] {
  const some = Math.ceil(connections / 10);
  return [
    trickle('slow headers, a byte a second', connections, 'GET / HTTP/1.1\r\nHost: localhost\r\nX-Slow: '),
    trickle('slow bodies without a token', some, head('/api/v1/login', SIZED)),
    trickle('slow bodies with a token', some, head('/api/v1/subscribers', BEARER + SIZED)),
    trickle('slow bodies, Expect: 100-continue', some, head('/graphql', `${BEARER}${SIZED}Expect: 100-continue\r\n`)),
    trickle('idle connections after a request', connections, 'GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n', ''),
    trickle(
      'websockets that say nothing',
      connections,
      `GET /graphql HTTP/1.1\r\nHost: localhost\r\n${KEY}Sec-WebSocket-Protocol: graphql-transport-ws\r\n\r\n`,
      '',
    ),
    pour('bodies in chunks of one byte', some, head('/graphql', CHUNKED)),
    pour('bodies in chunks of one byte, with a token', some, head('/graphql', BEARER + CHUNKED)),
    pour('bodies said to be zipped', some, head('/graphql', `${BEARER}Content-Encoding: gzip\r\n${CHUNKED}`)),
    pour('HTTP/1.0 with a body that does not end', some, head('/api/v1/login', SIZED, '1.0')),
  ];
}

/** Sends `start`, then `drop` again and again. */
function trickle(name: string, connections: number, start: string, drop = 'x'): Flood {
  return {
    name: `${connections} connections: ${name}`,
    begin(product) {
      const sockets = openAll(product, connections, start);
      const timer = setInterval(() => {
        if (drop !== '') for (const socket of sockets) if (socket.writable) socket.write(drop);
      }, TRICKLE_EVERY_MS);
      return underWay(sockets, () => clearInterval(timer));
    },
  };
}

/** Sends `start`, then as many tiny chunks as the server takes. */
function pour(name: string, connections: number, start: string): Flood {
  return {
    name: `${connections} connections: ${name}`,
    begin(product) {
      const sockets = openAll(product, connections, start);
      let isOver = false;
      for (const socket of sockets) {
        const more = (): void => {
          if (!isOver && socket.writable && socket.write(TINY_CHUNKS)) setImmediate(more);
        };
        socket.on('drain', more).once('connect', more);
      }
      return underWay(sockets, () => (isOver = true));
    },
  };
}

function openAll({ url }: Product, connections: number, start: string): readonly Socket[] {
  const { hostname, port } = new URL(url);
  return Array.from({ length: connections }, () => {
    const socket = connect(Number(port), hostname);
    socket.on('error', () => undefined).resume();
    socket.write(start, 'latin1');
    return socket;
  });
}

function underWay(sockets: readonly Socket[], stop: () => void): FloodUnderWay {
  return {
    closed: () => sockets.filter((socket) => socket.destroyed).length,
    end() {
      stop();
      for (const socket of sockets) socket.destroy();
    },
  };
}
