/**
 * What a very large import costs the process that takes it: resident memory while a CSV of 1 GB is uploaded over REST
 * and imported, beside the same process before; and how long both took. The file is made as it is sent.
 *
 *   node bench/big-import.ts [--smoke] [--megabytes 1000] [--line 500]
 */
import { readFileSync } from 'node:fs';
import http from 'node:http';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { startScratchPostgres } from '../scripts/scratch-postgres.ts';
import { BENCH_TOKEN, startProduct, type Product } from './support/product.ts';

const { values } = parseArgs({
  options: {
    smoke: { type: 'boolean', default: false },
    megabytes: { type: 'string', default: '1000' },
    line: { type: 'string', default: '500' },
  },
});
const megabytes = values.smoke ? 5 : Number(values.megabytes);
const lineBytes = Number(values.line);
const BOUNDARY = 'bench-boundary';
/** Lines made at once. */
const LINES = 1_000;

const postgres = await startScratchPostgres();
const product = await startProduct(postgres.url, { IMPORT_SIZE_MAX_MB: String(megabytes + 10) });
let highest = 0;
try {
  const where = { address_1: 'B', city: 'C', zip: '1', state: 'D', country_id: '82', phone: '1' };
  const contact = { company: 'A', email: 'a@example.com', ...where };
  const list = { name: 'Big', default_subject: 'S', from_email: 'a@example.com', from_name: 'A', contact };
  const { list_uid: listUid } = await product.rest<{ list_uid: string }>('POST', '/lists', list);
  await sleep(values.smoke ? 500 : 5_000);
  const idle = residentMegabytes(product);
  const watching = setInterval(() => (highest = Math.max(highest, residentMegabytes(product))), 50);
  const startedAt = performance.now();
  const importUid = await upload(product, listUid);
  const uploaded = highest;
  const uploadedAt = performance.now();
  const done = await untilDone(product, `/lists/${listUid}/imports/${importUid}`);
  clearInterval(watching);
  const seconds = (from: number, to: number) => ((to - from) / 1_000).toFixed(0);
  console.log(`a file of ${megabytes} MB, ${done} lines`);
  console.log(`  upload ${seconds(startedAt, uploadedAt)} s, import ${seconds(uploadedAt, performance.now())} s`);
  console.log(
    `  resident: idle ${idle.toFixed(0)} MB, highest in the upload +${(uploaded - idle).toFixed(0)} MB, in all +${(highest - idle).toFixed(0)} MB`,
  );
} finally {
  await product.stop();
  await postgres.stop();
}

async function upload({ url }: Product, listUid: string): Promise<string> {
  const req = http.request(`${url}/api/v1/lists/${listUid}/import`, {
    method: 'POST',
    headers: { authorization: `Bearer ${BENCH_TOKEN}`, 'content-type': `multipart/form-data; boundary=${BOUNDARY}` },
  });
  const answered = new Promise<string>((resolve, reject) => {
    req.on('error', reject);
    req.on('response', (answer) => {
      let text = '';
      answer.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
      answer.on('end', () => resolve(text));
    });
  });
  await pipeline(Readable.from(body()), req);
  const answer: unknown = JSON.parse(await answered);
  const uid = typeof answer === 'object' && answer !== null && 'import_uid' in answer ? answer.import_uid : undefined;
  if (typeof uid !== 'string') throw new Error(`The upload was answered with ${JSON.stringify(answer)}.`);
  return uid;
}

function* body(): Generator<string> {
  yield `--${BOUNDARY}\r\nContent-Disposition: form-data; name="file"; filename="big.csv"\r\nContent-Type: text/csv\r\n\r\nemail,first name,last name\n`;
  const filler = 'x'.repeat(Math.max(1, lineBytes - 60));
  const lines = Math.ceil((megabytes * 1_000_000) / lineBytes);
  for (let from = 0; from < lines; from += LINES) {
    let text = '';
    for (let n = from; n < Math.min(from + LINES, lines); n++) text += lineOf(n, filler);
    yield text;
  }
  yield `\r\n--${BOUNDARY}--\r\n`;
}

/** An address, a name, and cells to fill it up to its length; a cell may have a thousand characters or so. */
function lineOf(n: number, filler: string): string {
  return `p${n.toString(36).padStart(8, '0')}@example${n % 97}.com,Name ${n},${filler}\n`;
}

async function untilDone(from: Product, route: string): Promise<number> {
  for (;;) {
    const answer = await from.rest<{ import: { status: string; processed: number; error: string | null } }>(
      'GET',
      route,
    );
    const { status, processed, error } = answer.import;
    if (status === 'done') return processed;
    if (error !== null || status === 'failed') throw new Error(`The import ended as ${status}: ${error}`);
    await sleep(500);
  }
}

function residentMegabytes({ pid }: Product): number {
  return Number(/VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1_024;
}
