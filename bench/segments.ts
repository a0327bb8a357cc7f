/**
 * Segments of a large list: how long counting a rule takes, a page of its people, and planning a campaign's audience by
 * it, slice by slice. Five campaigns with a ledger row a person and opens of half of the people stand behind the list.
 * Opens and clicks themselves are not filled: rules read what a person did with a campaign from one row (hot.recipient_activity). Half of the
 * people have done something elsewhere (`POST /events`).
 *
 *   node bench/segments.ts [--smoke] [--people 1000000]
 */
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { queryRows } from '../scripts/support/query-rows.ts';
import { openDatabase, sql, type Database, type Queryable } from '../src/db/database.ts';
import { migrate, readMigrations } from '../src/db/migrate.ts';
import { runMigrations } from 'graphile-worker';
import {
  audienceSlice,
  countPeople,
  peopleByKey,
  type RuleOfList,
} from '../src/domain/audience/segments/segment-read-model.ts';
import { parseRule } from '../src/domain/audience/segments/parse-rule.ts';
import type { Context } from '../src/domain/context.ts';
import { systemClock } from '../src/lib/clock.ts';
import { messageOf } from '../src/lib/errors.ts';
import { silentLog } from '../src/lib/log.ts';
import { createHookBus } from '../src/plugin-host/hook-bus.ts';
import { startBenchDatabase } from './support/bench-database.ts';
import { medianMs } from './support/median.ts';

const { values } = parseArgs({ options: { smoke: { type: 'boolean', default: false }, people: { type: 'string' } } });
const PEOPLE = Number(values.people ?? (values.smoke ? 5_000 : 1_000_000));
const CAMPAIGNS = 5;
const ROUNDS = values.smoke ? 1 : 3;
const SLICE_ROWS = 10_000;
/** Of /proc. */
const MS_PER_TICK = 10;
const MIGRATIONS = path.resolve(import.meta.dirname, '../prisma/migrations');

const VIPS = { tags: { hasAny: ['vip'] } };
const IN_VIENNA = { field: { tag: 'CITY', text: { is: 'wien 70' } } };
const ADULTS = { field: { tag: 'AGE', number: { gte: 18 } } };
const BIRTHDAY = { field: { tag: 'BORN', datetime: { anniversaryWithinDays: 7 } } };
const ASLEEP = {
  all: [{ received: { campaigns: { last: 3 }, atLeast: 3 } }, { none: [{ opened: { inLastDays: 90 } }] }],
};
const RULES: Readonly<Record<string, unknown>> = {
  'address contains': { email: { contains: '99@' } },
  'text field is': IN_VIENNA,
  'number field >=': ADULTS,
  'birthday within 7 days': BIRTHDAY,
  'one of the tags': VIPS,
  'ever opened': { opened: {} },
  'opened one of the last 5, by people': { opened: { campaigns: { last: 5 }, peopleOnly: true } },
  'clicked a link that contains': { clicked: { linkContains: 'sale' } },
  'got the last 3, opened none in 90 days': ASLEEP,
  'did an event in 30 days': { did: { event: 'order_placed', inLastDays: 30 } },
  'did it 3 times, not in 30 days': {
    all: [{ did: { event: 'order_placed', atLeast: 3 } }, { didNot: { event: 'order_placed', inLastDays: 30 } }],
  },
  'was added in 30 days': { did: { kind: 'added', inLastDays: 30 } },
  'all of these together': {
    any: [{ all: [VIPS, ASLEEP, ADULTS] }, { all: [BIRTHDAY, IN_VIENNA] }, { none: [ADULTS, { clicked: {} }] }],
  },
  'a hundred conditions': {
    any: Array.from({ length: 20 }, (_, no) => ({
      all: [VIPS, IN_VIENNA, ADULTS, { opened: { atLeast: no + 1 } }, { received: { atLeast: (no % 5) + 1 } }],
    })),
  },
};

// One process of the server works: its processor time can be told, also on a machine that is busy with other things.
const server = await startBenchDatabase(values.smoke, ['max_parallel_workers_per_gather=0']);
const log = silentLog;
await migrate({
  url: server.url,
  migrations: await readMigrations(MIGRATIONS),
  log,
  afterwards: () => runMigrations({ connectionString: server.url }),
});
const database = openDatabase({ url: server.url, poolSize: 1, log });
try {
  const ctx = contextOn(database);
  const list = await fill(database);
  console.log(
    `${PEOPLE} people, ${CAMPAIGNS} campaigns; median of ${ROUNDS}, after one to warm up: count, first page of 25, plan`,
  );
  for (const [name, rule] of Object.entries(RULES)) {
    try {
      await measure(ctx, name, { ...list, rule: parseRule(rule) });
    } catch (error) {
      // Beyond the product's own time limit, on a machine that is busy.
      console.log(`${name}: ${messageOf(error)}`);
      if (values.smoke) process.exitCode = 1;
    }
  }
} finally {
  await database.close();
  await server.stop();
}

async function measure(ctx: Context, name: string, rule: RuleOfList): Promise<void> {
  const { count } = await countPeople(ctx, rule);
  const before = await processorMs(ctx.db);
  const counting = await medianMs(ROUNDS, () => countPeople(ctx, rule));
  const processor = ((await processorMs(ctx.db)) - before) / ROUNDS;
  const paging = await medianMs(ROUNDS, () => peopleByKey(ctx, rule, { limit: 25 }));
  const startedAt = performance.now();
  const slowest = await planAll(ctx, rule, count);
  const planning = performance.now() - startedAt;
  const figures = [
    `${count} people`,
    `count ${ms(counting)} (processor ${ms(processor)})`,
    `page ${ms(paging)}`,
    `plan ${ms(planning)}, slowest slice ${ms(slowest)}`,
  ];
  console.log(`${name.padEnd(40)} ${figures.join('; ')}`);
}

/** As a campaign asks, without writing the ledger; answers the slowest slice. */
async function planAll(ctx: Context, rule: RuleOfList, expected: number): Promise<number> {
  let [afterId, found, slowest] = [0n, 0, 0];
  const asOf = new Date();
  for (;;) {
    const startedAt = performance.now();
    const question = { ...rule, asOf, answers: new Map(), exceptCampaignId: 0n, afterId, rows: SLICE_ROWS };
    const slice = await ctx.database.transaction((tx) => audienceSlice(tx, question));
    slowest = Math.max(slowest, performance.now() - startedAt);
    found += slice.ids.length;
    if (slice.lastId !== null) afterId = slice.lastId;
    if (!slice.isLast) continue;
    if (found !== expected) throw new Error(`The slices found ${found} people, the count ${expected}.`);
    return slowest;
  }
}

/** What the server's process has worked so far; 0 where the system does not tell. */
async function processorMs(db: Queryable): Promise<number> {
  const [row] = await queryRows<{ pid: number }>(db, sql`SELECT pg_backend_pid() AS pid`);
  const stat = await readFile(`/proc/${row?.pid ?? 0}/stat`, 'utf8').catch(() => '');
  const [user = 0, system = 0] = (stat.split(') ')[1] ?? '').split(' ').slice(11, 13).map(Number);
  return (user + system) * MS_PER_TICK;
}

function ms(milliseconds: number): string {
  return `${Math.round(milliseconds)} ms`;
}

/** One customer with one list, everything written by a few statements. */
async function fill(db: Database): Promise<{ customerId: bigint; listId: bigint }> {
  await queryRows(db, sql`SELECT hot.ensure_partitions(current_date - 200, current_date)`);
  const [row] = await queryRows<{ customerId: bigint; listId: bigint }>(
    db,
    sql`
    WITH c AS (INSERT INTO customer (uid, name) VALUES ('c', 'Customer') RETURNING id)
    INSERT INTO mail_list (customer_id, uid, name, default_subject, from_email, from_name)
    SELECT id, 'l', 'List', 'News', 'news@shop.example', 'Shop' FROM c RETURNING customer_id AS "customerId", id AS "listId"`,
  );
  if (!row) throw new Error('There is no list.');
  const { customerId, listId } = row;
  await db.execute(sql`
    INSERT INTO subscriber (customer_id, list_id, email, email_key, status, tags, fields)
    SELECT ${customerId}, ${listId}, 'person' || n || '@example.org', 'person' || n || '@example.org', 'subscribed',
           CASE WHEN n % 10 = 0 THEN '{VIP}'::text[] ELSE '{}' END,
           jsonb_build_object('FIRST_NAME', 'Name' || n, 'CITY', 'Wien ' || n % 1000, 'AGE', (n % 90)::text,
             'BORN', (date '1950-01-01' + (n % 20000)::int)::text)
      FROM generate_series(1, ${PEOPLE}::int) n`);
  await db.execute(sql`
    INSERT INTO hot.subscriber_activity (customer_id, list_id, subscriber_id, opened_at, clicked_at)
    SELECT customer_id, list_id, id, now(), CASE WHEN id % 20 = 0 THEN now() END FROM subscriber WHERE customer_id = ${customerId} AND id % 2 = 0`);
  await db.execute(sql`
    INSERT INTO campaign (customer_id, uid, list_id, name, status, started_at, snapshot_on)
    SELECT ${customerId}, 'c' || no, ${listId}, 'Campaign', 'done', now() - make_interval(days => no * 30), (now() - make_interval(days => no * 30))::date
      FROM generate_series(1, ${CAMPAIGNS}::int) no`);
  await db.execute(sql`
    INSERT INTO hot.delivery (snapshot_on, customer_id, source_kind, source_id, recipient_id, list_id, email, state)
    SELECT c.snapshot_on, c.customer_id, 1, c.id, s.id, s.list_id, s.email, CASE WHEN s.id % 50 = 0 THEN 'failed' ELSE 'sent' END::hot.delivery_state
      FROM campaign c JOIN subscriber s ON s.list_id = c.list_id WHERE c.customer_id = ${customerId} ORDER BY c.id, s.id`);
  await db.execute(sql`
    INSERT INTO hot.recipient_activity (customer_id, source_kind, source_id, recipient_id, open_count, click_count, last_open_at, last_click_at, human_opens)
    SELECT c.customer_id, 1, c.id, s.id, 1 + s.id % 3, (s.id % 20 = 0)::int, c.started_at, CASE WHEN s.id % 20 = 0 THEN c.started_at END, s.id % 3
      FROM campaign c JOIN subscriber s ON s.list_id = c.list_id WHERE c.customer_id = ${customerId} AND (s.id + c.id) % 2 = 0 ORDER BY c.id, s.id`);
  await db.execute(sql`
    INSERT INTO hot.link_counter (customer_id, source_kind, source_id, link_no, url)
    SELECT customer_id, 1, id, no, CASE WHEN no = 2 THEN 'https://shop.example/Sale' ELSE 'https://shop.example/' || no END FROM campaign, generate_series(0, 9) no WHERE customer_id = ${customerId}`);
  await db.execute(sql`
    INSERT INTO hot.recipient_link (customer_id, source_kind, source_id, link_no, recipient_id)
    SELECT customer_id, 1, source_id, recipient_id / 20 % 10, recipient_id FROM hot.recipient_activity WHERE customer_id = ${customerId} AND click_count > 0 ORDER BY 1, 3, 4, 5`);
  // Of half of the people one to five of each name, over half a year.
  await db.execute(sql`
    INSERT INTO hot.person_event (customer_id, list_id, person_id, at, recorded_at, recorded_on, kind, name, data)
    SELECT s.customer_id, s.list_id, s.id, t.at, t.at, (t.at AT TIME ZONE 'UTC')::date, 11, n.name, jsonb_build_object('total', s.id % 100)
      FROM subscriber s CROSS JOIN unnest(ARRAY['order_placed', 'page_seen']) AS n (name) CROSS JOIN LATERAL generate_series(0, s.id % 5) AS no
     CROSS JOIN LATERAL (SELECT now() - make_interval(days => ((s.id * 7 + no * 37) % 180)::int, secs => (s.id % 86400)::int) AS at) t
     WHERE s.customer_id = ${customerId} AND s.id % 2 = 0 ORDER BY t.at`);
  await db.execute(sql`VACUUM ANALYZE`);
  return { customerId, listId };
}

function contextOn(db: Database): Context {
  return {
    ...{
      db,
      database: db,
      tx: undefined,
      hooks: createHookBus(log),
      clock: systemClock,
      log,
      viewer: null,
      ipAddress: null,
    },
    installation: {} as Context['installation'],
  };
}
