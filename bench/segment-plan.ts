/**
 * Planning a campaign to some thousands of people whom a segment picks out of a long list, played over REST: from the
 * answer to `run` until everybody is in the ledger, while the first messages leave. Beside it a campaign to as many
 * people with no segment, to a list of theirs alone.
 *
 *   node bench/segment-plan.ts [--smoke] [--picks 21000] [--rounds 3]
 */
import { parseArgs } from 'node:util';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { openDatabase } from '../src/db/database.ts';
import { refreshCounts } from '../src/domain/audience/segments/refresh-counts.ts';
import { silentLog as log } from '../src/lib/log.ts';
import { startBenchDatabase } from './support/bench-database.ts';
import { livedInLists } from './support/lived-in.ts';
import { startProduct } from './support/product.ts';
import { startBenchSink } from './support/sink-process.ts';

const { values } = parseArgs({
  options: { smoke: { type: 'boolean', default: false }, picks: { type: 'string' }, rounds: { type: 'string' } },
});
const PICKS = Number(values.picks ?? (values.smoke ? 100 : 21_000));
const ROUNDS = Number(values.rounds ?? (values.smoke ? 1 : 3));
const POLL_MS = 5;
const SENDER = { from_email: 'news@shop.example', from_name: 'Shop' };
const HTML = '<p>Hello {FIRST_NAME}, <a href="https://shop.example/offer">our offer</a></p>';

const SUBSCRIBED = `FROM subscriber s JOIN mail_list l ON l.customer_id = s.customer_id AND l.id = s.list_id WHERE l.uid = $1 AND s.status = 'subscribed'`;

const server = await startBenchDatabase(values.smoke);
const sink = await startBenchSink('chunking', 0);
const product = await startProduct(server.url);
const client = new pg.Client(server.url);
await client.connect();
try {
  const { large } = await livedInLists(server.url);
  const database = openDatabase({ url: server.url, poolSize: 1, log });
  while ((await refreshCounts({ database, log })) > 0);
  await database.close();
  const settings = { host: '127.0.0.1', port: sink.port, encryption: 'none', connections: 5, window: 10 };
  await product.rest('POST', '/sending_servers', { name: 'Sink', type: 'smtp', settings });
  console.log(`a list of ${large.people} people, about ${PICKS} of them picked; ms from \`run\` to the whole plan`);
  const own = await findOwnedList();
  for (let round = 0; round < ROUNDS; round++) {
    await measure('a list of theirs alone', own);
    await measure('by a field', large.uid, { field: { tag: 'SCORE', number: { lt: await scoreOf(large.uid) } } });
    await measure('by how often they opened', large.uid, { opened: { atLeast: await opensOf(large.uid) } });
  }
} finally {
  await client.end();
  await product.stop();
  sink.close();
  await server.stop();
}

async function measure(name: string, listUid: string, rule?: unknown): Promise<void> {
  const segment =
    rule === undefined
      ? {}
      : await product.rest<{ segment_uid: string }>('POST', `/lists/${listUid}/segments`, { name, rule });
  const { campaign_uid: uid } = await product.rest<{ campaign_uid: string }>('POST', '/campaigns', {
    ...{ list_uid: listUid, name, subject: 'News', ...SENDER, html: HTML },
    ...segment,
  });
  await product.rest('POST', `/campaigns/${uid}/run`);
  const startedAt = performance.now();
  while (!(await isTrue(`SELECT snapshot_at IS NOT NULL AS ok FROM campaign WHERE uid = $1`, uid)))
    await sleep(POLL_MS);
  const planned = performance.now() - startedAt;
  while (!(await isTrue(`SELECT status = 'done' AS ok FROM campaign WHERE uid = $1`, uid))) await sleep(POLL_MS);
  const { rows } = await client.query<{ audience: number; open: number }>(
    `SELECT n.audience, n.open FROM hot.delivery_counter n JOIN campaign c ON c.customer_id = n.customer_id AND c.id = n.source_id WHERE c.uid = $1`,
    [uid],
  );
  const { people, doubled } = await sink.report('reset');
  if (doubled > 0 || rows[0]?.open !== 0) throw new Error(`${name}: ${doubled} got two, ${rows[0]?.open} got none.`);
  console.log(`${name.padEnd(30)} ${planned.toFixed(0)} ms, ${rows[0].audience} planned, ${people} got it`);
}

async function isTrue(question: string, uid: string): Promise<boolean> {
  return (await client.query<{ ok: boolean }>(question, [uid])).rows[0]?.ok ?? false;
}

/** A list of as many people. */
async function findOwnedList(): Promise<string> {
  const contact = {
    ...{ company: 'Shop', address_1: '1 High Street', city: 'Springfield', state: 'CA', zip: '12345', phone: '1' },
    ...{ country_id: 1, email: 'shop@shop.example' },
  };
  const list = { name: 'Few', default_subject: 'News', ...SENDER, contact };
  const { list_uid } = await product.rest<{ list_uid: string }>('POST', '/lists', list);
  await client.query(
    `INSERT INTO subscriber (customer_id, list_id, email, email_key, status, fields)
     SELECT l.customer_id, l.id, 'person' || n || '@few.example', 'person' || n || '@few.example', 'subscribed', jsonb_build_object('FIRST_NAME', 'Name' || n)
       FROM mail_list l, generate_series(1, $1::int) n WHERE l.uid = $2`,
    [PICKS, list_uid],
  );
  await client.query('ANALYZE subscriber');
  return list_uid;
}

/** Below it about so many have their score. */
async function scoreOf(listUid: string): Promise<number> {
  const { rows } = await client.query<{ score: string }>(
    `SELECT max(score) AS score FROM (SELECT (s.fields ->> 'SCORE')::integer AS score ${SUBSCRIBED} ORDER BY 1 LIMIT $2) x`,
    [listUid, PICKS],
  );
  return Number(rows[0]?.score);
}

/** So often about so many have opened. */
async function opensOf(listUid: string): Promise<number> {
  const { rows } = await client.query<{ opens: string }>(
    `SELECT min(opens) AS opens FROM (
       SELECT sum(a.open_count) AS opens FROM hot.recipient_activity a JOIN campaign c ON c.customer_id = a.customer_id AND c.id = a.source_id
         JOIN mail_list l ON l.customer_id = c.customer_id AND l.id = c.list_id WHERE l.uid = $1 GROUP BY a.recipient_id ORDER BY 1 DESC LIMIT $2) x`,
    [listUid, PICKS],
  );
  return Math.max(2, Number(rows[0]?.opens));
}
