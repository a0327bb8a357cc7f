/**
 * Makes the lived-in database that benches work on: a million people, one list of 600,000, 50,000 suppressed addresses,
 * 2,000 customers, 60 campaigns, ten million rows of the ledger, three million opens and clicks; then checks that every
 * counter equals its rows. It is kept for the benches, or copied where `--data` says, as a DATA_DIR for the product
 * (APP_SECRET and the token are those of bench/support/product.ts).
 *
 *   node bench/lived-in.ts [--smoke] [--scale 1] [--data DIR]
 */
import { existsSync } from 'node:fs';
import { spawnSync } from 'node:child_process';
import { parseArgs } from 'node:util';
import { faultsOfCounters } from './support/counter-faults.ts';
import { keptLivedIn, livedInLists, SMOKE_SCALE, startLivedIn } from './support/lived-in.ts';

const { values } = parseArgs({
  options: { smoke: { type: 'boolean', default: false }, scale: { type: 'string' }, data: { type: 'string' } },
});
const SCALE = Number(values.scale ?? (values.smoke ? SMOKE_SCALE : 1));
if (!(SCALE > 0 && SCALE <= 1)) throw new Error('--scale is a number above 0, at most 1.');

const startedAt = performance.now();
const kept = await keptLivedIn(SCALE, console.log);
console.log(`lived-in database at scale ${SCALE}: ${kept}, after ${seconds()} s`);
await check();
if (values.data !== undefined) copyTo(values.data);

async function check(): Promise<void> {
  const server = await startLivedIn(SCALE);
  try {
    for (const { uid, people, campaigns } of Object.values(await livedInLists(server.url)))
      console.log(`list ${uid}: ${people} people, ${campaigns.length} campaigns, the newest is ${campaigns[0]}`);
    report(await faultsOfCounters(server.url));
  } finally {
    await server.stop();
  }
}

function report(faults: readonly string[]): void {
  for (const fault of faults.slice(0, 20)) console.log(fault);
  console.log(faults.length === 0 ? 'Every counter equals its rows.' : `${faults.length} counters are wrong.`);
  if (faults.length > 0) process.exitCode = 1;
}

function copyTo(folder: string): void {
  if (existsSync(folder)) throw new Error(`${folder} is there already: name a new folder.`);
  // With its owners: PostgreSQL opens no files of others.
  const { status, stderr } = spawnSync('cp', ['-a', kept, folder], { encoding: 'utf8' });
  if (status !== 0) throw new Error(stderr);
  console.log(`copied to ${folder} after ${seconds()} s`);
}

function seconds(): string {
  return ((performance.now() - startedAt) / 1_000).toFixed(0);
}
