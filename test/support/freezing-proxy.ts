/**
 * A TCP proxy before a server that can stop forwarding. The sockets stay open and go on confirming what they get, as those of a
 * hung server or pooler do.
 */
import net from 'node:net';
import { once } from 'node:events';
import { afterFile } from './after-file.ts';

export interface FreezingProxy {
  readonly port: number;
  /** Nothing goes through any more on those there are: `all`, also on new ones. */
  freeze(which: 'all' | 'old'): void;
  /** New connections work; those that were frozen stay so, or with `old` go on where they stood. */
  thaw(which?: 'old'): void;
}

/** Starts one before the port given on the loopback; it ends with the test file. */
export async function startFreezingProxy(target: number): Promise<FreezingProxy> {
  const pairs = new Set<net.Socket>();
  const others = new Map<net.Socket, net.Socket>();
  let isFrozen = false;
  const stop = (socket: net.Socket): void => {
    socket.unpipe();
    // The system goes on confirming packets.
    socket.pause();
  };
  const server = net.createServer({ allowHalfOpen: true }, (client) => {
    const upstream = net.connect({ port: target, host: '127.0.0.1', allowHalfOpen: true });
    for (const [socket, other] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      pairs.add(socket);
      socket.on('error', () => other.destroy());
      socket.on('close', () => pairs.delete(socket));
    }
    if (isFrozen) return void [client, upstream].forEach(stop);
    client.pipe(upstream);
    upstream.pipe(client);
    others.set(client, upstream);
    others.set(upstream, client);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  afterFile(() => {
    for (const socket of pairs) socket.destroy();
    server.close();
  });
  const address = server.address();
  return {
    port: typeof address === 'object' && address ? address.port : 0,
    freeze(which) {
      isFrozen = which === 'all';
      for (const socket of pairs) stop(socket);
    },
    thaw(which) {
      isFrozen = false;
      if (which === 'old') for (const [socket, other] of others) socket.pipe(other);
    },
  };
}
