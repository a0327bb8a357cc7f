/** An HTTP server on this machine, for doubles of vendors; it is closed after the file of tests. */
import { once } from 'node:events';
import { createServer } from 'node:http';
import { afterFile } from './after-file.ts';
import { untilCutOff, type Serve } from './until-cut-off.ts';

/** Answers its host, `localhost:<port>`. */
export async function localServer(serve: Serve): Promise<string> {
  const server = createServer(untilCutOff(serve)).listen(0, '127.0.0.1');
  await once(server, 'listening');
  afterFile(() => new Promise((done) => server.close(done).closeAllConnections()));
  const address = server.address();
  return `localhost:${typeof address === 'object' && address ? address.port : 0}`;
}
