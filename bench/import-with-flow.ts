/**
 * An import into a list with a welcome flow (bar 2 of the automations): how long an import of new people over REST takes that begins the ready-made
 * welcome series for each of them, and how long the same one takes into a list without a flow, in turns; then how long until everybody is in
 * the flow and has the first mail. At most 1.4 times as long. Flow and mails work beside the import, on the same processors.
 *
 *   node bench/import-with-flow.ts [--smoke] [--people 100000] [--rounds 3]
 */
import { loadavg } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { startScratchPostgres } from '../scripts/scratch-postgres.ts';
import { median } from './support/median.ts';
import { startProduct } from './support/product.ts';
import { newList, untilImported, uploadImport } from './support/rest-import.ts';
import { startBenchSink } from './support/sink-process.ts';

const { values } = parseArgs({
  options: { smoke: { type: 'boolean', default: false }, people: { type: 'string' }, rounds: { type: 'string' } },
});
const PEOPLE = Number(values.people ?? (values.smoke ? 2_000 : 100_000));
const ROUNDS = Number(values.rounds ?? (values.smoke ? 1 : 3));
const PROMISED = 1.4;
/** As the product's own embedded server runs. */
const DURABLE = ['fsync=on', 'synchronous_commit=on', 'full_page_writes=on', 'autovacuum=on', 'shared_buffers=256MB'];
const MAILED_SECONDS_MAX = 600;

const postgres = await startScratchPostgres(DURABLE);
const sink = await startBenchSink('chunking', 0);
const product = await startProduct(postgres.url);
try {
  const settings = { host: '127.0.0.1', port: sink.port, encryption: 'none', connections: 10, window: 50 };
  await product.rest('POST', '/sending_servers', { name: 'Sink', type: 'smtp', settings });
  await compare();
} finally {
  await product.stop();
  sink.close();
  await postgres.stop();
}

async function compare(): Promise<void> {
  const [without, alone, mailed]: [number[], number[], number[]] = [[], [], []];
  for (let round = 0; round < ROUNDS; round++) {
    without.push(await importInto(await newList(product), round));
    const listUid = await newList(product);
    await activateWelcomeSeries(listUid);
    const startedAt = performance.now();
    alone.push(await importInto(listUid, round));
    await untilMailed();
    mailed.push((performance.now() - startedAt) / 1_000);
  }
  const ratio = median(alone) / median(without);
  console.log(
    `An import of ${PEOPLE}: ${median(without).toFixed(1)} s; with a welcome flow ${median(alone).toFixed(1)} s, ` +
      `${ratio.toFixed(2)} times as long (promised: ${PROMISED}); everybody had the first mail after ${median(mailed).toFixed(1)} s; load ${loadavg()[0]?.toFixed(1)}.`,
  );
  if (!values.smoke && ratio > PROMISED) process.exitCode = 1;
}

/** Seconds from the beginning of the upload to the end of the import. */
async function importInto(listUid: string, round: number): Promise<number> {
  const startedAt = performance.now();
  const importUid = await uploadImport(product, { listUid, file: lines(round), runAutomations: true });
  const { added } = await untilImported(product, listUid, importUid);
  if (added !== PEOPLE) throw new Error(`${added} of ${PEOPLE} people were added.`);
  return (performance.now() - startedAt) / 1_000;
}

function* lines(round: number): Generator<string> {
  yield 'email,first name,last name\n';
  for (let n = 0; n < PEOPLE; n++)
    yield `person${round * PEOPLE + n}@example${n % 97}.org,Name ${n},Last ${n % 1_000}\n`;
}

async function activateWelcomeSeries(listUid: string): Promise<void> {
  const made = { list_uid: listUid };
  const { automation_uid: uid } = await product.rest<{ automation_uid: string }>(
    'POST',
    '/ready_made_flows/welcome_series/copy',
    made,
  );
  await product.rest('POST', `/automations/${uid}/publish`, { draft_version: 1 });
  await product.rest('POST', `/automations/${uid}/activate`);
}

/** Until everybody of this round has one mail, and nobody two. */
async function untilMailed(): Promise<void> {
  const startedAt = performance.now();
  for (;;) {
    const { people, doubled } = await sink.report();
    if (doubled > 0) throw new Error(`${doubled} people got the first mail twice.`);
    if (people === PEOPLE) break;
    if (performance.now() - startedAt > MAILED_SECONDS_MAX * 1_000)
      throw new Error(`Only ${people} of ${PEOPLE} have their first mail after ${MAILED_SECONDS_MAX} s.`);
    await sleep(100);
  }
  await sink.report('reset');
}
