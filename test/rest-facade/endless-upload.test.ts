/** A file by its address whose answer never ends (hard case C13): it is read to the limit, and no further. */
import type { ServerResponse } from 'node:http';
import { expect, test } from 'vitest';
import { localServer } from '../support/local-server.ts';
import { startRestApp } from '../support/rest-app.ts';

const LIMIT_MB = 3;
/** What may lie in the buffers of the connection besides. */
const BUFFERS_MB = 25;
const MEGABYTE = Buffer.alloc(1_048_576);

const app = await startRestApp({ OUTBOUND_ALLOW_HOSTS: 'localhost', FILE_SIZE_MAX_MB: String(LIMIT_MB) });
/** How many megabytes each answer had when its connection was closed. */
const closedAfter: number[] = [];
const host = await localServer(async (req, res) => {
  if (req.url === '/10-gigabytes') res.setHeader('Content-Length', 10 * 1_024 ** 3);
  writeOn(res);
});

function writeOn(res: ServerResponse): void {
  let megabytes = 0;
  const more = () => {
    megabytes += 1;
    res.write(MEGABYTE, (error) => {
      if (!error) more();
    });
  };
  res.on('close', () => closedAfter.push(megabytes));
  more();
}

test.each(['/endless', '/10-gigabytes'])('%s is refused and cut off', async (path) => {
  closedAfter.length = 0;
  const files = JSON.stringify([{ url: `http://${host}${path}` }]);
  const answer = await app.rest('/file/upload', { method: 'POST', body: { files } });
  expect([answer.status, answer.text]).toEqual([422, expect.stringContaining(`larger than ${LIMIT_MB} MB`)]);
  await expect.poll(() => closedAfter).toHaveLength(1);
  expect(closedAfter[0]).toBeLessThan(LIMIT_MB + BUFFERS_MB);
});
