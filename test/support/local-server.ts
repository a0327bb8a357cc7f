/** An HTTP server on this machine, for doubles of vendors; it is closed after the file of tests. */
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { afterFile } from './after-file.ts';

/** Answers its host, `localhost:<port>`. */
export async function localServer(
  serve: (req: IncomingMessage, res: ServerResponse) => Promise<void>,
): Promise<string> {
  const server = createServer((req, res) => void serve(req, res)).listen(0, '127.0.0.1');
  await once(server, 'listening');
  afterFile(() => new Promise((done) => server.close(done).closeAllConnections()));
  const address = server.address();
  return `localhost:${typeof address === 'object' && address ? address.port : 0}`;
}
