/**
 * What a very large import costs the process that takes it: resident memory while a CSV of 1 GB is uploaded over REST
 * and imported, beside the same process before; and how long both took. The file is made as it is sent.
 *
 * With --rows: that many new people in random order with three fields, beside the least a database can do with the same
 * file (a bare COPY, then one INSERT .. SELECT .. ON CONFLICT into the same table with its triggers), and the same file
 * again, which must change nobody. Rounds are interleaved, on durable settings; medians.
 *
 *   node bench/big-import.ts [--smoke] [--megabytes 1000] [--line 500]
 *   node bench/big-import.ts --rows 1000000 [--rounds 3]
 */
import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { startScratchPostgres } from '../scripts/scratch-postgres.ts';
import { compareRows } from './support/compare-import.ts';
import { newList, untilImported, uploadImport } from './support/rest-import.ts';
import { startProduct, type Product } from './support/product.ts';

const { values } = parseArgs({
  options: {
    smoke: { type: 'boolean', default: false },
    megabytes: { type: 'string', default: '1000' },
    line: { type: 'string', default: '500' },
    rows: { type: 'string' },
    rounds: { type: 'string', default: '3' },
  },
});
const megabytes = values.smoke ? 5 : Number(values.megabytes);
const lineBytes = Number(values.line);
/** Lines made at once. */
const LINES = 1_000;

/** As the product's own embedded server runs. */
const DURABLE = ['fsync=on', 'synchronous_commit=on', 'full_page_writes=on', 'autovacuum=on', 'shared_buffers=256MB'];

const postgres = await startScratchPostgres(values.rows ? DURABLE : []);
const product = await startProduct(postgres.url, { IMPORT_SIZE_MAX_MB: String(megabytes + 10) });
let highest = 0;
try {
  if (values.rows)
    await compareRows({
      ...{ product, url: postgres.url, resident: () => residentMegabytes(product) },
      ...{ rows: Number(values.rows), rounds: Number(values.rounds) },
    });
  else await measureMemory();
} finally {
  await product.stop();
  await postgres.stop();
}

async function measureMemory(): Promise<void> {
  const listUid = await newList(product);
  await sleep(values.smoke ? 500 : 5_000);
  const idle = residentMegabytes(product);
  const watching = setInterval(() => (highest = Math.max(highest, residentMegabytes(product))), 50);
  const startedAt = performance.now();
  const importUid = await uploadImport(product, { listUid, file: fileOfLongLines() });
  const uploaded = highest;
  const uploadedAt = performance.now();
  const { processed: done } = await untilImported(product, listUid, importUid);
  clearInterval(watching);
  const seconds = (from: number, to: number) => ((to - from) / 1_000).toFixed(0);
  console.log(`a file of ${megabytes} MB, ${done} lines`);
  console.log(`  upload ${seconds(startedAt, uploadedAt)} s, import ${seconds(uploadedAt, performance.now())} s`);
  console.log(
    `  resident: idle ${idle.toFixed(0)} MB, highest in the upload +${(uploaded - idle).toFixed(0)} MB, in all +${(highest - idle).toFixed(0)} MB`,
  );
}

function* fileOfLongLines(): Generator<string> {
  yield 'email,first name,last name\n';
  const filler = 'x'.repeat(Math.max(1, lineBytes - 60));
  const lines = Math.ceil((megabytes * 1_000_000) / lineBytes);
  for (let from = 0; from < lines; from += LINES) {
    let text = '';
    for (let n = from; n < Math.min(from + LINES, lines); n++) text += lineOf(n, filler);
    yield text;
  }
}

/** An address, a name, and cells to fill it up to its length; a cell may have a thousand characters or so. */
function lineOf(n: number, filler: string): string {
  return `p${n.toString(36).padStart(8, '0')}@example${n % 97}.com,Name ${n},${filler}\n`;
}

function residentMegabytes({ pid }: Product): number {
  return Number(/VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1_024;
}
