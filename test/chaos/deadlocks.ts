/**
 * Eight writers of one list's people for minutes: how many requests met a fault of the server, and whether the counters are
 * right afterwards.
 *
 *   npm run chaos:deadlocks -- [--minutes 4] [--people 5000] [--seed 1]
 *
 * The exit code is 1 when there was a fault or a counter is wrong.
 */
import { parseArgs } from 'node:util';
import { startProduct } from '../../bench/support/product.ts';
import { newList } from '../../bench/support/rest-import.ts';
import { startScratchPostgres } from '../../scripts/scratch-postgres.ts';
import { seededRandom } from './random.ts';
import { usageOf } from './usage.ts';
import { countersAndRows, faultsIn, playWriters } from './writers.ts';

const { values } = parseArgs({
  options: {
    minutes: { type: 'string', default: '4' },
    people: { type: 'string', default: '5000' },
    seed: { type: 'string', default: '1' },
    help: { type: 'boolean', default: false },
  },
});
if (values.help) {
  console.log(usageOf(import.meta.filename));
  process.exit(0);
}

const postgres = await startScratchPostgres();
const product = await startProduct(postgres.url, { LOG_LEVEL: 'info' });
try {
  const endsAt = performance.now() + Number(values.minutes) * 60_000;
  const answers = await playWriters({
    product,
    listUid: await newList(product),
    people: Number(values.people),
    random: seededRandom(Number(values.seed)),
    isOver: () => performance.now() > endsAt,
  });
  for (const [name, count] of [...answers].toSorted(([a], [b]) => a.localeCompare(b)))
    console.log(`${String(count).padStart(8)}  ${name}`);
  const [counters, rows] = await countersAndRows(postgres.url);
  const faults = faultsIn(answers).reduce((sum, [, count]) => sum + count, 0);
  const areEqual = JSON.stringify(counters) === JSON.stringify(rows);
  console.log(
    `\nfaults ${faults}, counters ${areEqual ? 'equal the rows' : `differ: ${JSON.stringify([counters, rows])}`}`,
  );
  process.exitCode = faults === 0 && areEqual ? 0 : 1;
} finally {
  await product.stop();
  await postgres.stop();
}
