/**
 * Ports for servers that a test starts a little later. Each process of a run has a part of its own: of all ports at
 * random, as the product draws them, two processes now and then got the same one, because what they start on a busy
 * machine listens only seconds later.
 */
import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:net';

/** Above the last that browsers and fetch refuse (10,080), below those that the product draws from. */
const PORT_MIN = 10_100;
const PARTS = 5;
const PORTS_OF_PART = 1_980;

/** Vitest numbers the processes that run at once; without it this is 0. */
const part = Number(process.env['VITEST_POOL_ID'] ?? 0) % PARTS;
/** Another run at the same time begins elsewhere. */
let given = randomInt(PORTS_OF_PART);

/** None is given again before all others were. */
export async function freePort(): Promise<number> {
  for (let tries = 0; tries < PORTS_OF_PART; tries++) {
    const port = PORT_MIN + part * PORTS_OF_PART + (given++ % PORTS_OF_PART);
    if (await isFree(port)) return port;
  }
  throw new Error('No port of this process is free.');
}

async function isFree(port: number): Promise<boolean> {
  const probe = createServer();
  try {
    probe.listen(port, '127.0.0.1');
    await once(probe, 'listening');
    return true;
  } catch {
    return false;
  } finally {
    probe.close();
  }
}
