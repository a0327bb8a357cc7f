/**
 * Stands before the double of a vendor and passes whole requests on, byte for byte; at some it plays a fault instead. It speaks HTTP by itself,
 * because a web server of Node's would repair most of what is wrong here.
 */
import { once } from 'node:events';
import http from 'node:http';
import net, { type AddressInfo, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

/** An answer of the vendor as it goes over the wire. */
export interface WireAnswer {
  readonly head: string;
  readonly body: Buffer;
}

/** One request, at the moment when its head is there. */
export interface Exchange {
  readonly socket: Socket;
  readonly front: FrontState;
  /** Waits for all of the request. */
  whole(): Promise<void>;
  /** Passes the whole request on, so that the vendor takes the message; resolves with the vendor's answer. */
  deliver(): Promise<WireAnswer>;
  /** The usual: passes on, and answers. */
  usual(): Promise<void>;
}

/** What deeds may change for requests that come later. */
export interface FrontState {
  /** So many of the next connections are reset when they are opened. */
  resetsAtOpening: number;
  /** What happens to the next request of a socket instead of the usual. */
  readonly next: WeakMap<Socket, Deed>;
  /** Takes no connections for this time; `all`: what is open breaks, too. */
  away(ms: number, which: 'idle' | 'all'): void;
}

export type Deed = (exchange: Exchange) => Promise<void> | void;

export interface FaultyFront {
  readonly origin: string;
  /** Chooses for each POST, as messages are; undefined: the usual. */
  playBy(choose: (() => Deed | undefined) | undefined): void;
  openSockets(): number;
  close(): Promise<void>;
}

export async function startFaultyFront(vendorOrigin: string): Promise<FaultyFront> {
  const sockets = new Set<Socket>();
  const busy = new WeakSet<Socket>();
  let choose: (() => Deed | undefined) | undefined;
  const front: FrontState = {
    resetsAtOpening: 0,
    next: new WeakMap(),
    away(ms, which) {
      server.close();
      for (const socket of sockets) if (which === 'all' || !busy.has(socket)) socket.resetAndDestroy();
      void sleep(ms).then(() => !isOver && !server.listening && server.listen(port, '127.0.0.1'));
    },
  };
  const serve = async (socket: Socket): Promise<void> => {
    const reader = requestReader(socket);
    for (let request = await reader.next(); request; request = await reader.next()) {
      const { whole, head } = request;
      const deliver = async () => answerOf(vendorOrigin, head, await whole());
      const exchange: Exchange = {
        ...{ socket, front, deliver },
        whole: async () => void (await whole()),
        async usual() {
          const answer = await deliver();
          socket.write(Buffer.concat([Buffer.from(answer.head), answer.body]));
        },
      };
      const planned = front.next.get(socket);
      front.next.delete(socket);
      busy.add(socket);
      const deed = planned ?? (head.startsWith('POST ') ? choose?.() : undefined);
      await (deed ? deed(exchange) : exchange.usual());
      busy.delete(socket);
      // A deed that has not read the request ends the connection.
      if (!request.isRead()) return;
    }
  };
  const server = net.createServer((socket) => {
    socket.on('error', () => undefined);
    if (front.resetsAtOpening > 0) {
      front.resetsAtOpening--;
      return void socket.resetAndDestroy();
    }
    sockets.add(socket.on('close', () => sockets.delete(socket)));
    // A connection that breaks within a deed ends it.
    void serve(socket).catch(() => socket.destroy());
  });
  let isOver = false;
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    origin: `http://127.0.0.1:${port}`,
    playBy: (by) => void (choose = by),
    openSockets: () => sockets.size,
    async close() {
      isOver = true;
      for (const socket of sockets) socket.destroy();
      if (server.listening) await new Promise((resolve) => server.close(resolve));
    },
  };
}

interface ReadRequest {
  readonly head: string;
  whole(): Promise<Buffer>;
  isRead(): boolean;
}

/** Requests of a connection, one after the other; undefined: it has ended. Nothing is read before it is asked for. */
function requestReader(socket: Socket): { next(): Promise<ReadRequest | undefined> } {
  let rest = Buffer.alloc(0);
  const chunkOf = async (): Promise<Buffer<ArrayBuffer> | undefined> => {
    for (;;) {
      const chunk: unknown = socket.read();
      if (Buffer.isBuffer(chunk)) return Buffer.from(chunk);
      if (socket.destroyed || socket.readableEnded) return undefined;
      await untilChanged(socket);
    }
  };
  /** Reads until there is enough; false: the connection has ended before. */
  const read = async (isEnough: (bytes: number) => boolean): Promise<boolean> => {
    const chunks = [rest];
    let bytes = rest.length;
    while (!isEnough(bytes)) {
      const chunk = await chunkOf();
      if (!chunk) return false;
      chunks.push(chunk);
      bytes += chunk.length;
    }
    rest = Buffer.concat(chunks);
    return true;
  };
  return {
    async next() {
      while (!rest.includes('\r\n\r\n')) {
        const before = rest.length;
        if (!(await read((bytes) => bytes > before))) return undefined;
      }
      const from = rest.indexOf('\r\n\r\n') + 4;
      const head = rest.toString('latin1', 0, from - 4);
      const end = from + Number(/^content-length: (\d+)$/im.exec(head)?.[1] ?? 0);
      let body: Buffer | undefined;
      return {
        head,
        isRead: () => body !== undefined,
        async whole() {
          if (body) return body;
          if (!(await read((bytes) => bytes >= end))) throw new Error('the request was cut off');
          body = rest.subarray(from, end);
          rest = rest.subarray(end);
          return body;
        },
      };
    },
  };
}

const CHANGES = ['readable', 'end', 'close'] as const;

function untilChanged(socket: Socket): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      for (const event of CHANGES) socket.off(event, done);
      resolve();
    };
    for (const event of CHANGES) socket.on(event, done);
  });
}

/** Of the vendor, without what belongs to its connection. */
async function answerOf(vendorOrigin: string, head: string, body: Buffer): Promise<WireAnswer> {
  const [first = '', ...lines] = head.split('\r\n');
  const [method = '', path = ''] = first.split(' ');
  const headers = Object.fromEntries(
    lines.map((line) => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 1).trim()]),
  );
  const request = http.request(new URL(path, vendorOrigin), {
    method,
    agent: false,
    headers: { ...headers, Connection: 'close' },
  });
  request.end(body);
  const [answer] = (await once(request, 'response')) as [http.IncomingMessage];
  const content = Buffer.concat(await answer.toArray());
  const own = /^(?:connection|keep-alive|transfer-encoding|content-length|date)$/i;
  const kept = Object.entries(answer.headers).flatMap(([name, value]) =>
    own.test(name) ? [] : [`${name}: ${String(value)}\r\n`],
  );
  const { statusCode, statusMessage } = answer;
  return {
    head: `HTTP/1.1 ${statusCode} ${statusMessage}\r\n${kept.join('')}Content-Length: ${content.length}\r\n\r\n`,
    body: content,
  };
}
