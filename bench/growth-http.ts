/**
 * How the work of the started product grows with a request that anybody may send, at a quarter, half and all of its limit, in
 * hostile shapes: at most 2.5 times for twice the request, and everybody else waits 50 ms at most (200 ms at a limit that the
 * manual names). Fails where one does not. With --smoke only one shape of each, and everybody else may wait ten times as long: the
 * machine is shared.
 *
 *   node bench/growth-http.ts [--smoke] [--only cookies]
 *
 * Work is the processor time of the whole process; the wait is that of the slowest of many /healthz, in the best of several runs.
 */
import { parseArgs } from 'node:util';
import { startScratchPostgres } from '../scripts/scratch-postgres.ts';
import { measureGrowth, type GrowthCase } from './support/growth.ts';
import { requestCases } from './support/growth-requests.ts';
import { startProduct } from './support/product.ts';

const { values } = parseArgs({ options: { smoke: { type: 'boolean' }, only: { type: 'string', default: '' } } });
const SMOKE_FACTOR = 10;
const SMOKE_SHAPES = 1;
const SMOKE_MEASURED_MS_MIN = 10;
const BOUND_MS = 50;

const database = await startScratchPostgres();
const product = await startProduct(database.url, { LOG_LEVEL: 'silent' });
try {
  const cases = requestCases(product)
    .filter(({ name }) => name.includes(values.only))
    .map((item) => (values.smoke ? forSmoke(item) : item));
  const faults = await measureGrowth(cases, { isShort: values.smoke ?? false });
  for (const fault of faults) console.error(`FAULT ${fault}`);
  if (faults.length > 0) process.exitCode = 1;
} finally {
  await product.kill();
  await database.stop();
}

function forSmoke(item: GrowthCase): GrowthCase {
  return {
    ...item,
    boundMs: (item.boundMs ?? BOUND_MS) * SMOKE_FACTOR,
    measuredMsMin: SMOKE_MEASURED_MS_MIN,
    shapes: Object.fromEntries(Object.entries(item.shapes).slice(0, SMOKE_SHAPES)),
  };
}
