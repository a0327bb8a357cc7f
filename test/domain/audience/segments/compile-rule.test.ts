/**
 * The compiler of rules against a naive evaluator (hard case I4): a thousand generated rules over generated people, all
 * operators, missing values, odd letters, times at their very limits. What the database answers must be what the plain
 * reading of the rule says, for everybody, and nobody else's rows may count.
 */
import { queryRows } from '../../../../scripts/support/query-rows.ts';
import { fc } from '../../../support/property.ts';
import { expect, test } from 'vitest';
import { sql } from '../../../../src/db/database.ts';
import { countOf, peopleOf, wordsOf } from '../../../../src/domain/audience/segments/rule-read-model.ts';
import { parseRule } from '../../../../src/domain/audience/segments/parse-rule.ts';
import { refreshCounts } from '../../../../src/domain/audience/segments/refresh-counts.ts';
import type { RuleScope, SegmentRule } from '../../../../src/domain/audience/segments/segment.ts';
import { refreshReceived } from '../../../../src/domain/delivery/campaigns/refresh-received.ts';
import { PERSON_EVENT_KINDS, type PersonEventKind } from '../../../../src/events/person-event.ts';
import { newUid } from '../../../../src/lib/ids.ts';
import { createTestContext } from '../../../support/test-context.ts';
import { matches, type Person, type World } from './evaluate-rule.ts';
import { people, rules } from './generate-rules.ts';

const WORLDS = 50;
const RULES_PER_WORLD = 20;
const DAY = 86_400_000;
/** A leap day's eve in a year without one, a leap day, an ordinary noon. */
const MOMENTS = ['2027-02-28T12:00:00.000Z', '2028-02-29T00:00:00.000Z', '2026-03-01T12:00:00.000Z'].map(Date.parse);

const iso = (at: number | null) => (at === null ? null : new Date(at).toISOString());

const ctx = await createTestContext();
const { db } = ctx;
await queryRows(db, sql`SELECT hot.ensure_partitions('2026-03-01', '2026-03-01')`);
for (const asOf of MOMENTS)
  await queryRows(
    db,
    sql`SELECT hot.ensure_partitions(${iso(asOf - 31 * DAY)}::timestamptz::date, ${iso(asOf + 31 * DAY)}::timestamptz::date)`,
  );

const CAMPAIGNS = [newUid(), newUid(), newUid(), newUid()];

async function idOf(rows: Promise<{ id: bigint }[]>): Promise<bigint> {
  const id = (await rows)[0]?.id;
  if (id === undefined) throw new Error('No id came back.');
  return id;
}

interface Stored {
  readonly customerId: bigint;
  readonly listId: bigint;
  readonly ids: readonly bigint[];
  readonly world: World;
}

async function store(everybody: readonly Person[], asOf: number): Promise<Stored> {
  await db.execute(sql`TRUNCATE customer, subscriber, consent_event, hot.recipient_activity, hot.recipient_link,
    hot.subscriber_activity, hot.delivery, hot.link_counter, hot.list_counter, hot.subscriber_block, hot.delivery_counter,
    hot.tracking_counter, hot.list_activity_block, hot.campaign_activity_block, hot.received_block, hot.received_campaign,
    hot.campaign_count_block, hot.campaign_link_block, hot.counted_campaign, hot.person_event CASCADE`);
  const customerId = await idOf(
    queryRows(db, sql`INSERT INTO customer (uid, name) VALUES (${newUid()}, 'Customer') RETURNING id`),
  );
  const listId = await idOf(
    queryRows(
      db,
      sql`INSERT INTO mail_list (customer_id, uid, name, default_subject, from_email, from_name)
      VALUES (${customerId}, ${newUid()}, 'List', 'S', 'a@sender.example', 'Sender') RETURNING id`,
    ),
  );
  const starts = [asOf - 40 * DAY, asOf - 7 * DAY, asOf - 7 * DAY + 1, null];
  const campaigns = new Map<string, { id: bigint; startedAt: number | null }>();
  for (const [no, uid] of CAMPAIGNS.entries()) {
    const startedAt = starts[no] ?? null;
    const id = await idOf(
      queryRows(
        db,
        sql`INSERT INTO campaign (customer_id, uid, list_id, name, started_at, snapshot_on)
        VALUES (${customerId}, ${uid}, ${listId}, 'Campaign', ${iso(startedAt)}, '2026-03-01') RETURNING id`,
      ),
    );
    campaigns.set(uid, { id, startedAt });
  }
  const ids: bigint[] = [];
  for (const [no, person] of everybody.entries()) {
    const key = person.emailKey;
    // Neighbours of one block, and people of others.
    if (no % 3 === 2)
      await queryRows(db, sql`SELECT setval('subscriber_id_seq', nextval('subscriber_id_seq') + ${no * 200}::int)`);
    ids.push(
      await idOf(
        queryRows(
          db,
          sql`INSERT INTO subscriber (customer_id, list_id, email, email_key, status, source, fields, tags, created_at, updated_at, verification, verified_at)
          VALUES (${customerId}, ${listId}, ${key}, ${key}, ${person.status}, ${person.source}, ${JSON.stringify(person.fields)}::jsonb,
                  ${[...person.tags]}::text[], ${iso(person.createdAt)}, ${iso(person.updatedAt)},
                  ${person.verification}, ${person.verifiedAt === null ? null : iso(person.verifiedAt)}) RETURNING id`,
        ),
      ),
    );
  }
  const stored = {
    customerId,
    listId,
    ids,
    world: { asOf, campaigns: new Map([...campaigns].map(([uid, { startedAt }]) => [uid, startedAt])) },
  };
  await storeEvents(everybody, stored);
  await storeActivity(everybody, stored, (uid) => campaigns.get(uid)?.id ?? 0n);
  const [first = 0n, second = 0n, third = 0n] = [...campaigns.values()].map(({ id }) => id);
  await keepSome([first, second, third]);
  await keepCounts(asOf, first, third);
  return stored;
}

/** In the month in which they happened, and what is older in that of the moment; the same of a stranger and of another list. */
async function storeEvents(everybody: readonly Person[], { customerId, listId, ids, world: { asOf } }: Stored) {
  // What the triggers wrote of the people who were added.
  await db.execute(sql`TRUNCATE hot.person_event`);
  const others = 1_000_000n;
  for (const [no, person] of everybody.entries())
    for (const { kind, name = null, tags, fields, at } of person.events) {
      if (!isPersonEventKind(kind)) throw new Error(`${kind} is no kind.`);
      const data = JSON.stringify({ tags, fields });
      const recordedOn = iso(at < asOf - 31 * DAY ? asOf : at);
      await db.execute(sql`
        INSERT INTO hot.person_event (customer_id, list_id, person_id, at, recorded_on, kind, name, data)
        SELECT o.customer, o.list, ${ids[no] ?? 0n}, ${iso(at)}, (${recordedOn}::timestamptz AT TIME ZONE 'UTC')::date, ${PERSON_EVENT_KINDS[kind]}, ${name}, nullif(${data}::jsonb, '{}')
          FROM (VALUES (${customerId}::bigint, ${listId}::bigint), (${customerId + others}, ${listId}), (${customerId}, ${listId + others})) o (customer, list)
         CROSS JOIN generate_series(1, CASE WHEN o.customer = ${customerId} AND o.list = ${listId} THEN 1 ELSE 3 END)`);
    }
}

function isPersonEventKind(kind: string): kind is PersonEventKind {
  return Object.hasOwn(PERSON_EVENT_KINDS, kind);
}

/**
 * Of the first two campaigns it is kept who received them; of the second that is out of date, one person more has it. Of
 * the first and third it is known when anything was done for the last time.
 */
async function keepSome([first = 0n, second = 0n, third = 0n]: readonly bigint[]): Promise<void> {
  const count = sql`INSERT INTO hot.delivery_counter (customer_id, source_kind, source_id, audience, sent)
    SELECT c.customer_id, 1, c.id, n.sent, n.sent FROM campaign c, LATERAL (SELECT count(*) AS sent FROM hot.delivery d
      WHERE d.customer_id = c.customer_id AND d.source_id = c.id AND d.state = 'sent') n WHERE c.id = ANY (${[first, second]}::bigint[])
    ON CONFLICT (customer_id, source_kind, source_id) DO UPDATE SET audience = excluded.audience, sent = excluded.sent`;
  const late = sql`source_id = ${second} AND state = 'sent' AND recipient_id % 2 = 0`;
  await db.execute(sql`UPDATE hot.delivery SET state = 'unknown', reason = 'late' WHERE ${late}`);
  await db.execute(count);
  await refreshReceived(ctx, { peopleMin: 0 });
  await db.execute(sql`UPDATE hot.delivery SET state = 'sent' WHERE reason = 'late'`);
  await db.execute(count);
  await db.execute(sql`
    INSERT INTO hot.tracking_counter (customer_id, source_kind, source_id, last_open_at, last_click_at)
    SELECT customer_id, 1, source_id, max(last_open_at), max(last_click_at) FROM hot.recipient_activity
     WHERE source_id = ANY (${[first, third]}::bigint[]) GROUP BY 1, 3`);
}

/** Blocks of people whose counts are believed, and not believed, of all worlds. */
const blocks = { believed: 0, others: 0 };

/** Of these two campaigns it is kept how often people acted; of blocks that were active since then it is wrong. */
async function keepCounts(asOf: number, first: bigint, third: bigint): Promise<void> {
  // The job looks at campaigns of the past, and these may be of the future.
  const move = (days: number) =>
    db.execute(sql`UPDATE campaign SET started_at = started_at + make_interval(days => ${days})`);
  await move(-2_000);
  await refreshCounts(ctx, { peopleMin: 0 });
  await move(2_000);
  await db.execute(sql`UPDATE hot.counted_campaign
    SET counted_on = (CASE campaign_id WHEN ${first} THEN ${iso(asOf - 20 * DAY)} WHEN ${third} THEN ${iso(asOf - 3 * DAY)} END::timestamptz AT TIME ZONE 'UTC')::date`);
  const isOld = sql`EXISTS (SELECT 1 FROM hot.campaign_activity_block b JOIN hot.counted_campaign k USING (customer_id, campaign_id)
    WHERE b.customer_id = c.customer_id AND b.campaign_id = c.campaign_id AND b.block >> 2 = c.block AND b.last_on >= k.counted_on)`;
  const wrong = await queryRows(
    db,
    sql`UPDATE hot.campaign_count_block c SET members = ~members WHERE ${isOld} RETURNING 1 AS one`,
  );
  await db.execute(sql`UPDATE hot.campaign_link_block c SET members = ~members WHERE ${isOld}`);
  const all = await queryRows(db, sql`SELECT 1 AS one FROM hot.campaign_count_block`);
  blocks.others += wrong.length;
  blocks.believed += all.length - wrong.length;
}

async function storeActivity(
  everybody: readonly Person[],
  { customerId, listId, ids }: Stored,
  idOfCampaign: (uid: string) => bigint,
) {
  // Somebody else's rows about the very same people and campaigns: they must not count.
  const stranger = customerId + 1_000_000n;
  for (const [no, person] of everybody.entries()) {
    const id = ids[no] ?? 0n;
    await db.execute(sql`INSERT INTO hot.subscriber_activity (customer_id, list_id, subscriber_id, opened_at, clicked_at)
      VALUES (${stranger}, ${listId}, ${id}, now(), now()), (${customerId}, ${listId + 1_000_000n}, ${id}, now(), now()),
             (${customerId}, ${listId}, ${id}, ${person.everOpened ? 'now' : null}::timestamptz, ${person.everClicked ? 'now' : null}::timestamptz)`);
    if (person.confirmedAt !== null)
      await db.execute(sql`INSERT INTO consent_event (customer_id, list_id, subscriber_id, status, source, at)
        VALUES (${customerId}, ${listId}, ${id}, 'subscribed', 'confirmation', ${iso(person.confirmedAt)}),
               (${customerId}, ${listId}, ${id}, 'subscribed', 'confirmation', ${iso(person.confirmedAt - DAY)}),
               (${customerId}, ${listId}, ${id}, 'subscribed', 'api', '2040-01-01'), (${customerId}, ${listId}, ${id}, 'unsubscribed', 'confirmation', '2040-01-01')`);
    for (const one of person.activity) {
      const campaignId = idOfCampaign(one.campaign);
      for (const owner of [customerId, stranger]) {
        const counts = owner === stranger ? [9, 9, 9, 9] : [one.opens, one.clicks, one.humanOpens, one.humanClicks];
        // As if it had been something else before.
        const [opens, clicks, humanOpens, humanClicks] = counts;
        const before = no % 2 === 0 ? 0 : 1;
        await db.execute(sql`INSERT INTO hot.recipient_activity (customer_id, source_kind, source_id, recipient_id, open_count, click_count, human_opens, human_clicks)
          VALUES (${owner}, 1, ${campaignId}, ${id}, ${before}, ${before}, ${before}, ${before})`);
        await db.execute(sql`UPDATE hot.recipient_activity SET open_count = ${opens}, click_count = ${clicks}, human_opens = ${humanOpens},
            human_clicks = ${humanClicks}, last_open_at = ${iso(one.lastOpenAt)}, last_click_at = ${iso(one.lastClickAt)}
          WHERE customer_id = ${owner} AND source_id = ${campaignId} AND recipient_id = ${id}`);
        await db.execute(sql`INSERT INTO hot.delivery (snapshot_on, customer_id, source_kind, source_id, recipient_id, email, state)
          VALUES ('2026-03-01', ${owner}, 1, ${campaignId}, ${id}, 'x@example.org', ${owner === stranger ? 'sent' : one.state}::hot.delivery_state)`);
      }
      for (const [linkNo, url] of one.links.entries()) {
        const no_ = linkNo + 10 * (one.links.length + 1);
        await db.execute(
          sql`INSERT INTO hot.link_counter (customer_id, source_kind, source_id, link_no, url) VALUES (${customerId}, 1, ${campaignId}, ${linkNumber(url)}, ${url}) ON CONFLICT DO NOTHING`,
        );
        await db.execute(sql`INSERT INTO hot.recipient_link (customer_id, source_kind, source_id, link_no, recipient_id)
          VALUES (${customerId}, 1, ${campaignId}, ${linkNumber(url)}, ${id}), (${stranger}, 1, ${campaignId}, ${no_}, ${id}) ON CONFLICT DO NOTHING`);
      }
    }
  }
}

function linkNumber(url: string): number {
  return url.length;
}

async function found(
  rule: SegmentRule,
  { customerId, listId, world }: Stored,
  ids?: RuleScope['ids'],
): Promise<bigint[]> {
  const scope = { customerId, listId, asOf: new Date(world.asOf), ids };
  const rows = await queryRows<{ id: bigint }>(db, sql`SELECT s.id ${peopleOf(rule, scope)} ORDER BY s.id`);
  // The same in words of 64, and as a number.
  const words = await queryRows<{ id: bigint }>(
    db,
    sql`
    SELECT (no << 6) + p AS id FROM (${wordsOf(rule, scope)}) w, generate_series(0, 63) p WHERE bits >> (63 - p) & 1 = 1 ORDER BY 1`,
  );
  const sum = await queryRows<{ sum: number }>(
    db,
    sql`SELECT coalesce(sum(people), 0)::int AS sum FROM (${wordsOf(rule, scope)}) w`,
  );
  expect(words, JSON.stringify(rule)).toEqual(rows);
  expect([sum, await queryRows(db, countOf(rule, scope))]).toEqual([[{ sum: rows.length }], [{ count: rows.length }]]);
  return rows.map(({ id }) => id);
}

test(`${WORLDS * RULES_PER_WORLD} rules pick whom the plain reading picks`, { timeout: 1_800_000 }, async () => {
  const worlds = fc.constantFrom(...MOMENTS).chain((asOf) =>
    fc.record({
      asOf: fc.constant(asOf),
      everybody: people(asOf, CAMPAIGNS),
      asked: fc.array(rules(asOf, CAMPAIGNS), { minLength: RULES_PER_WORLD, maxLength: RULES_PER_WORLD }),
    }),
  );
  let picked = 0;
  let passed = 0;
  await fc.assert(
    fc.asyncProperty(worlds, async ({ asOf, everybody, asked }) => {
      // An address is on a list once: the first one keeps it.
      const isTaken = (no: number) =>
        everybody.slice(0, no).some(({ emailKey }) => emailKey === everybody[no]?.emailKey);
      const distinct = everybody.map((person, no) =>
        isTaken(no) ? { ...person, emailKey: person.emailKey.replace('@', `${no}@`) } : person,
      );
      const stored = await store(distinct, asOf);
      for (const given of asked) {
        // What is stored and read again is the same rule.
        const rule = parseRule(JSON.parse(JSON.stringify(parseRule(given))));
        const expected = stored.ids.filter((_id, no) => {
          const person = distinct[no];
          return person !== undefined && matches(rule, person, stored.world);
        });
        picked += expected.length;
        passed += stored.ids.length - expected.length;
        expect(await found(rule, stored), JSON.stringify(rule)).toEqual(expected);
        const [from, to] = [stored.ids[1] ?? 0n, stored.ids.at(-2) ?? 0n];
        const between = expected.filter((id) => id >= from && id <= to);
        expect(await found(rule, stored, { from, to }), JSON.stringify(rule)).toEqual(between);
      }
    }),
    { numRuns: WORLDS },
  );
  // What is kept was read, and what is out of date was not.
  expect(Math.min(blocks.believed, blocks.others)).toBeGreaterThan(WORLDS);
  // The rules tell people apart: neither nearly everybody nor nearly nobody is picked.
  expect(picked / (picked + passed)).toBeGreaterThan(0.1);
  expect(picked / (picked + passed)).toBeLessThan(0.9);
});
