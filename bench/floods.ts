/**
 * Floods that a stranger can send, one after the other: headers and bodies that come a byte a second, idle connections, websockets
 * that say nothing, bodies in chunks of one byte. How much the process grows over what it has when idle, how long `/readyz` takes
 * meanwhile, and how many connections the server has closed in that time. No limit of requests is set, as by default.
 *
 *   node bench/floods.ts [--smoke] [--connections 5000] [--seconds 25] [--only headers]
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { startScratchPostgres } from '../scripts/scratch-postgres.ts';
import { attackFaults, failFor, measureAttack, residentMb } from './support/attack-cost.ts';
import { strangersFloods, type Flood } from './support/floods.ts';
import { startProduct } from './support/product.ts';

const { values } = parseArgs({
  options: {
    smoke: { type: 'boolean', default: false },
    connections: { type: 'string' },
    seconds: { type: 'string' },
    only: { type: 'string', default: '' },
  },
});
const connections = Number(values.connections ?? (values.smoke ? 200 : 5_000));
/** Beyond the 20 seconds in which headers have to come. */
const seconds = Number(values.seconds ?? (values.smoke ? 1 : 25));
/** A smoke run shares the machine with others. */
const LIMITS = { growthMbMax: 100, readyMsMax: values.smoke ? 5_000 : 1_000 };
/** Until what was made at the start is collected, and until a flood's connections are gone. */
const REST_MS = 3_000;

const faults: string[] = [];
const database = await startScratchPostgres();
const product = await startProduct(database.url, { LOG_LEVEL: 'silent' });
try {
  await sleep(REST_MS);
  const idleMb = residentMb(product);
  console.log(`${seconds} s each; idle ${idleMb.toFixed(0)} MB`);
  console.log('over idle, MB   slowest /readyz, ms   closed   flood');
  const floods = strangersFloods(connections).filter(({ name }) => name.includes(values.only));
  for (const flood of floods) await play(flood, idleMb);
} finally {
  await product.kill();
  await database.stop();
}
failFor(faults);

async function play(flood: Flood, idleMb: number): Promise<void> {
  product.resetPeakMemory();
  const underWay = flood.begin(product);
  const cost = await measureAttack(product, { seconds, idleMb });
  const figures = [
    cost.growthMb.toFixed(0).padStart(13),
    cost.readyMs.toFixed(0).padStart(19),
    String(underWay.closed()).padStart(6),
  ];
  console.log(`${figures.join('   ')}   ${flood.name}`);
  faults.push(...attackFaults(flood.name, cost, LIMITS));
  underWay.end();
  await sleep(REST_MS);
}
