/**
 * A free TCP port on the loopback. It is below those that systems assign themselves (from 32,768 on Linux, from 49,152
 * elsewhere), so no other program gets it by chance before it is used, or while its server is down.
 */
import { randomInt } from 'node:crypto';
import net from 'node:net';

const PORT_MIN = 20_000;
const PORT_MAX = 32_767;
/** Even if half of the ports are taken, not all tries fail. */
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
