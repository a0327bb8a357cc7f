/**
 * The web interface of a vendor as a program of its own that costs as little as can be: it reads a request to its end, counts it, and answers
 * what that vendor answers to an accepted message. `vendor-drivers.ts` starts it.
 */
import { createServer } from 'node:http';
import { parseArgs } from 'node:util';
import { benchVendors } from './bench-vendors.ts';

const { values } = parseArgs({
  options: { type: { type: 'string', default: '' }, delay: { type: 'string', default: '20' } },
});
const DELAY_MS = Number(values.delay);
const vendor = benchVendors.find(({ type }) => type === values.type);
if (!vendor) throw new Error(`No such vendor: ${values.type}`);
const { status, headers, body } = vendor;
let count = 0;
const server = createServer((req, res) => {
  req.resume().on('end', () => {
    const id = String(++count);
    const answer = () => res.writeHead(status, headers?.(id)).end(body(id));
    if (DELAY_MS > 0) setTimeout(answer, DELAY_MS);
    else answer();
  });
});
server.keepAliveTimeout = 30_000;
server.listen(0, '127.0.0.1', () => {
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('No port');
  process.send?.({ port: address.port });
});
process.on('message', () => process.send?.({ count }));
process.on('disconnect', () => process.exit());
