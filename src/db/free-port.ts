/**
 * A TCP port on the loopback that nobody listens on at this moment. It lies below those that systems give away by
 * themselves (from 32,768 on Linux, from 49,152 elsewhere): nobody gets it by chance before it is used, or while its
 * server is down for a moment.
 */
import { randomInt } from 'node:crypto';
import net from 'node:net';

const PORT_MIN = 20_000;
const PORT_MAX = 32_767;
/** Even with half of them taken, this many are never all. */
const TRIES = 50;

export async function freePort(): Promise<number> {
  for (let tries = 0; tries < TRIES; tries++) {
    const port = randomInt(PORT_MIN, PORT_MAX + 1);
    if (await isFree(port)) return port;
  }
  throw new Error('No free port on the loopback address.');
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const probe = net.createServer();
    probe.on('error', () => resolve(false));
    probe.listen(port, '127.0.0.1', () => probe.close(() => resolve(true)));
  });
}
