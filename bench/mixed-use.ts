/**
 * A day's mixed use in some minutes, against the started product through its own entry points: REST in both dialects,
 * GraphQL, links and pages, SMTP in and out, imports, exports, segments, erasing, deleting, the clock's jobs. Then what
 * each statement took by pg_stat_statements: those over 20 ms on the lived-in database, beside a database of 3,000 people.
 *
 *   node bench/mixed-use.ts [--smoke] [--rounds 6] [--over 20] [--length 110]
 */
import { parseArgs } from 'node:util';
import { openDatabase } from '../src/db/database.ts';
import { freePort } from '../src/db/free-port.ts';
import { refreshReceived } from '../src/domain/delivery/campaigns/refresh-received.ts';
import { silentLog } from '../src/lib/log.ts';
import { startBenchDatabase, type BenchDatabase } from './support/bench-database.ts';
import {
  addServer,
  clockRound,
  deleteThings,
  importPeople,
  sendCampaigns,
  untilIdle,
} from './support/day-background.ts';
import * as office from './support/day-office.ts';
import { readersRound, reportsRound } from './support/day-readers.ts';
import { BOUNCE_DOMAIN, openDayWorld, type DayWorld } from './support/day-world.ts';
import { SMOKE_SCALE, startLivedIn } from './support/lived-in.ts';
import { startProduct } from './support/product.ts';
import { startBenchSink } from './support/sink-process.ts';
import {
  connectUncounted,
  resetStatements,
  ownerFinder,
  readStatements,
  STATEMENT_SETTINGS,
  type StatementFigures,
} from './support/statement-figures.ts';

const { values } = parseArgs({
  options: {
    smoke: { type: 'boolean', default: false },
    rounds: { type: 'string' },
    over: { type: 'string', default: '20' },
    /** Of a statement, in the table. */
    length: { type: 'string', default: '110' },
  },
});
const ROUNDS = Number(values.rounds ?? (values.smoke ? 2 : 6));
const OVER_MS = Number(values.over);
const TEXT_LENGTH = Number(values.length);

type Figures = ReadonlyMap<string, StatementFigures>;

const small = await playDay(
  '3,000 people',
  await startLivedIn(SMOKE_SCALE, ['shared_buffers=256MB', ...STATEMENT_SETTINGS]),
);
const large = values.smoke ? small : await playDay('lived-in', await startBenchDatabase(false, STATEMENT_SETTINGS));
printTable(small, large);

async function playDay(name: string, server: BenchDatabase): Promise<Figures> {
  const bouncePort = await freePort();
  const bounces = { BOUNCE_DOMAIN, BOUNCE_SMTP_PORT: String(bouncePort), BOUNCE_SMTP_HOST: '127.0.0.1' };
  const product = await startProduct(server.url, bounces).catch(async (error: unknown) => {
    await server.stop();
    throw error;
  });
  const sink = await startBenchSink('pipelining', 0);
  const client = await connectUncounted(server.url);
  try {
    const world = await openDayWorld({ product, url: server.url, client, rounds: ROUNDS });
    await addServer(world, sink.port);
    await prepare(world);
    await resetStatements(client);
    const startedAt = performance.now();
    await allActs(world, bouncePort);
    const seconds = Math.round((performance.now() - startedAt) / 1_000);
    const figures = await readStatements(client);
    const { messages } = await sink.report();
    console.log(`${name}: ${figures.size} statements, a day of ${seconds} s, ${messages} messages`);
    return figures;
  } finally {
    await client.end();
    sink.close();
    await product.stop();
    await server.stop();
  }
}

/** What is done once, after an update or at the beginning, and is no part of a day. */
async function prepare(world: DayWorld): Promise<void> {
  await world.product.rest('PATCH', `/lists/${world.lists.large.uid}`, { public_signup: 1 });
  const database = openDatabase({ url: world.url, poolSize: 1, log: silentLog });
  while ((await refreshReceived({ database, log: silentLog })) > 0);
  await database.close();
  await untilIdle(world);
  await world.client.query('CHECKPOINT');
}

/** Three at a time: readers, customers and what goes on in the background; deletions at the end. */
async function allActs(world: DayWorld, bouncePort: number): Promise<void> {
  await Promise.all([readers(world, bouncePort), customers(world), background(world)]);
  await office.downloads(world);
  await deleteThings(world);
}

async function readers(world: DayWorld, bouncePort: number): Promise<void> {
  for (let round = 0; round < world.rounds; round++) {
    await readersRound(world, round);
    await reportsRound(world, bouncePort);
  }
}

async function customers(world: DayWorld): Promise<void> {
  for (let round = 0; round < world.rounds; round++) {
    await office.pagesRound(world);
    await office.graphqlRound(world);
    await office.peopleRound(world, round);
    await office.segmentsRound(world, round);
    await office.customersRound(world, round);
    await office.rightsRound(world);
  }
}

async function background(world: DayWorld): Promise<void> {
  await importPeople(world);
  await clockRound(world);
  await sendCampaigns(world);
  await clockRound(world);
  await untilIdle(world);
}

function printTable(before: Figures, after: Figures): void {
  const ownerOf = ownerFinder();
  const slow = [...after.values()]
    .filter(({ meanMs, maxMs }) => meanMs > OVER_MS || maxMs > OVER_MS)
    .toSorted((a, b) => b.maxMs - a.maxMs);
  console.log(
    '| statement | owner | 3,000 people: calls, mean, max ms | lived-in: calls, mean, max ms |\n|---|---|---|---|',
  );
  for (const one of slow)
    console.log(
      `| \`${shortened(one.text)}\` | ${ownerOf(one.text)} | ${shown(before.get(one.text))} | ${shown(one)} |`,
    );
}

function shown(figures: StatementFigures | undefined): string {
  if (!figures) return '';
  return `${figures.calls}, ${figures.meanMs.toFixed(1)}, ${figures.maxMs.toFixed(0)}`;
}

function shortened(text: string): string {
  return text.length > TEXT_LENGTH ? `${text.slice(0, TEXT_LENGTH - 3)}...` : text;
}
