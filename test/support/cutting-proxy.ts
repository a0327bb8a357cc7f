/** A TCP proxy before PostgreSQL that cuts all its connections after so many messages: what the death of a process is to the database. */
import net from 'node:net';
import { once } from 'node:events';
import { afterFile } from './after-file.ts';

export interface CuttingProxy {
  /** Of the same database, by way of the proxy. */
  readonly url: string;
  /** Lets connections through again, and cuts all after so many pieces from the client: a statement is one or two. */
  cutAfter(pieces: number): void;
}

/** It ends with the test file. */
export async function startCuttingProxy(databaseUrl: string): Promise<CuttingProxy> {
  const target = new URL(databaseUrl);
  const sockets = new Set<net.Socket>();
  let left = 0;
  const end = () => sockets.forEach((socket) => socket.destroy());
  const server = net.createServer((client) => {
    const upstream = net.connect({ port: Number(target.port), host: target.hostname });
    for (const [socket, other] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      sockets.add(socket);
      socket.on('error', () => other.destroy());
      socket.on('close', () => {
        sockets.delete(socket);
        other.destroy();
      });
    }
    upstream.pipe(client);
    client.on('data', (piece) => {
      left -= 1;
      if (left < 0) end();
      else upstream.write(piece);
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  afterFile(() => {
    end();
    server.close();
  });
  const address = server.address();
  const url = new URL(databaseUrl);
  url.hostname = '127.0.0.1';
  url.port = String(typeof address === 'object' && address ? address.port : 0);
  return { url: url.href, cutAfter: (pieces) => void (left = pieces) };
}
