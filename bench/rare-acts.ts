/**
 * Acts that are rare and cost what has gathered: a person's data, erasing a person, deleting a campaign and a list, expiring
 * confirmations that nobody clicked. Each asked for over HTTP on a lived-in database; for what is a job, also the time
 * until it is done, and how long the slowest of other requests took meanwhile.
 *
 *   node bench/rare-acts.ts [--smoke]        LIVED_IN_SCALE=0.005 beside it: nearly empty
 */
import { parseArgs } from 'node:util';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { enqueue } from '../src/jobs/define-job.ts';
import { expirePendingJob } from '../src/jobs/audience-jobs.ts';
import { openDatabase } from '../src/db/database.ts';
import { silentLog } from '../src/lib/log.ts';
import { startBenchDatabase } from './support/bench-database.ts';
import { faultsOfCounters } from './support/counter-faults.ts';
import { livedInLists } from './support/lived-in.ts';
import { median } from './support/median.ts';
import { startProduct } from './support/product.ts';

const { values } = parseArgs({ options: { smoke: { type: 'boolean', default: false } } });
const PEOPLE = values.smoke ? 2 : 7;
const POLL_MS = 10;

const server = await startBenchDatabase(values.smoke);
const product = await startProduct(server.url);
const client = new pg.Client(server.url);
await client.connect();
try {
  const { large, second } = await livedInLists(server.url);
  await measurePeople();
  await measureExpiry(large.uid);
  await measureJob('delete a campaign', `/campaigns/${large.campaigns.at(-1)}`);
  await measureJob('delete the second list', `/lists/${second.uid}`);
  await measureJob('delete the large list', `/lists/${large.uid}`);
  const faults = await faultsOfCounters(server.url);
  console.log(faults.length === 0 ? 'Every counter equals its rows.' : faults.slice(0, 10).join('\n'));
  if (faults.length > 0) process.exitCode = 1;
} finally {
  await client.end();
  await product.stop();
  await server.stop();
}

async function measurePeople(): Promise<void> {
  const { rows } = await client.query<{ email: string }>(
    `SELECT email FROM subscriber s JOIN mail_list l ON l.customer_id = s.customer_id AND l.id = s.list_id
      WHERE l.name = 'Everybody' AND s.status = 'subscribed' ORDER BY hashint8(s.id) LIMIT ${PEOPLE}`,
  );
  const [pages, asked, done]: [number[], number[], number[]] = [[], [], []];
  for (const { email } of rows) {
    pages.push(await timed(() => product.rest('GET', `/subscribers/export?email=${encodeURIComponent(email)}`)));
    const startedAt = performance.now();
    const made = await product.rest<{ erasure_uid: string }>('POST', '/subscribers/erase', { email });
    asked.push(performance.now() - startedAt);
    for (let status = ''; status !== 'done'; await sleep(POLL_MS))
      ({ status } = (
        await product.rest<{ erasure: { status: string } }>('GET', `/erasures/${made.erasure_uid}`)
      ).erasure);
    done.push(performance.now() - startedAt);
  }
  console.log(`a person's data: ${ms(median(pages))}`);
  console.log(`erase a person: answered after ${ms(median(asked))}, erased after ${ms(median(done))}`);
}

/** All of the list who have not clicked yet are due at once. */
async function measureExpiry(listUid: string): Promise<void> {
  const { rowCount } = await client.query(
    `UPDATE subscriber s SET pending_until = now() FROM mail_list l
      WHERE l.uid = $1 AND s.customer_id = l.customer_id AND s.list_id = l.id AND s.status = 'pending'`,
    [listUid],
  );
  const database = openDatabase({ url: server.url, poolSize: 1, log: silentLog });
  const watch = watchOthers();
  const startedAt = performance.now();
  await enqueue(database, expirePendingJob, {});
  while (await isThere('SELECT 1 FROM subscriber WHERE pending_until <= now() LIMIT 1')) await sleep(POLL_MS);
  console.log(
    `expire ${rowCount} confirmations: ${ms(performance.now() - startedAt)}; slowest other request ${ms(await watch())}`,
  );
  await database.close();
}

async function measureJob(name: string, route: string): Promise<void> {
  const watch = watchOthers();
  const startedAt = performance.now();
  await product.rest('DELETE', route);
  const answered = performance.now() - startedAt;
  while (await isThere('SELECT 1 FROM hot.deletion LIMIT 1')) await sleep(POLL_MS);
  console.log(
    `${name}: answered after ${ms(answered)}, erased after ${ms(performance.now() - startedAt)}; slowest other request ${ms(await watch())}`,
  );
}

/** Asks for the lists all the time; answers, when it is called, how long the slowest took. */
function watchOthers(): () => Promise<number> {
  let isOver = false;
  const watching = (async () => {
    let slowest = 0;
    for (; !isOver; await sleep(POLL_MS)) slowest = Math.max(slowest, await timed(() => product.rest('GET', '/lists')));
    return slowest;
  })();
  return () => {
    isOver = true;
    return watching;
  };
}

async function isThere(question: string): Promise<boolean> {
  return (await client.query(question)).rowCount !== 0;
}

async function timed(act: () => Promise<unknown>): Promise<number> {
  const startedAt = performance.now();
  await act();
  return performance.now() - startedAt;
}

function ms(milliseconds: number): string {
  return `${milliseconds.toFixed(milliseconds < 100 ? 1 : 0)} ms`;
}
