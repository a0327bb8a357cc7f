/** Ports for servers that are started a little later: nobody may get them by chance meanwhile. */
import { once } from 'node:events';
import { createServer } from 'node:net';
import { expect, test } from 'vitest';
import { freePort } from '../../src/db/free-port.ts';

test('they are free, differ, and are none that the system gives to others by itself', async () => {
  const ports: number[] = [];
  for (let n = 0; n < 20; n++) ports.push(await freePort());
  expect(new Set(ports).size).toBeGreaterThan(17);
  for (const port of ports) {
    expect(port).toBeGreaterThanOrEqual(20_000);
    expect(port).toBeLessThan(32_768);
    const server = createServer().listen(port, '127.0.0.1');
    await once(server, 'listening');
    server.close();
  }
});
