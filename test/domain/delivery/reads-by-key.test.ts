/**
 * One customer with nearly all rows, among many small ones: statistics tell the planner of averages there, and what it
 * chose by them read whole lists and campaigns. Counted by what the database says it read.
 */
import { expect, test } from 'vitest';
import { queryRows } from '../../../scripts/support/query-rows.ts';
import { raw, sql, type Transaction } from '../../../src/db/database.ts';
import { deliveryPage } from '../../../src/domain/delivery/ledger/delivery-page-read-model.ts';
import { dueInRange, renewLeases, settle } from '../../../src/domain/delivery/ledger/ledger-store.ts';
import { readTopOpeners } from '../../../src/domain/statistics/campaign-toplists-read-model.ts';
import { recordRefusals } from '../../../src/domain/bounces/record-refusals.ts';
import { findReportedDelivery } from '../../../src/domain/tracking/delivery-report-store.ts';
import { readCampaignLog } from '../../../src/domain/tracking/campaign-log-read-model.ts';
import { trackingLogPage } from '../../../src/domain/tracking/tracking-log-read-model.ts';
import { newUid } from '../../../src/lib/ids.ts';
import { seedCampaign } from '../../support/audience-rows.ts';
import { readCounter } from '../../support/read-counter.ts';
import { ledgerOfCampaign } from '../../../src/domain/delivery/ledger/delivery.ts';
import { createTestContext } from '../../support/test-context.ts';

const PEOPLE = 20_000;
/** A campaign that the statistics know nothing of, and the people of one range of it. */
const FRESH = 5_000;
const RANGE = 500;
const SMALL_LISTS = 4_000;
const ctx = await createTestContext();
const { db, database } = ctx;
const large = await seedCampaign(db, { subscribers: PEOPLE });
const snapshotOn = new Date().toISOString().slice(0, 10);
const key = ledgerOfCampaign({ snapshotOn, customerId: large.customerId, campaignId: large.campaignId });
const owner = crypto.randomUUID();
const SUPPRESSED = 20_000;
const addresses = new Map(large.subscriberIds.map((id, index) => [id, `p${index + 1}@example.org`]));

await db.execute(sql`SELECT hot.ensure_partitions(current_date - 60, current_date + 60)`);
await db.execute(sql`
  INSERT INTO subscriber (customer_id, list_id, email, email_key, status, tags)
  SELECT 1000000 + n, 1000000 + n, 'a@b.example', 'a@b.example', 'subscribed', '{}' FROM generate_series(1, ${SMALL_LISTS}::int) n`);
await db.execute(sql`
  INSERT INTO hot.delivery (snapshot_on, customer_id, source_kind, source_id, recipient_id, list_id, email, state, epoch, owner)
  SELECT ${snapshotOn}::date, customer_id, 1, CASE WHEN customer_id = ${key.customerId} THEN ${key.sourceId}::bigint ELSE list_id END, id, list_id, email, 'leased', 1, ${owner}::uuid
    FROM subscriber`);
await db.execute(sql`
  INSERT INTO hot.open_event (at, customer_id, source_kind, source_id, recipient_id)
  SELECT now(), ${key.customerId}, 1, ${key.sourceId}, id FROM subscriber WHERE customer_id = ${key.customerId}`);
await db.execute(
  sql`INSERT INTO hot.delivery_counter (customer_id, source_kind, source_id, audience, open) VALUES (${key.customerId}, 1, ${key.sourceId}, ${PEOPLE}, ${PEOPLE})`,
);
const [campaign] = await queryRows<{ version: number }>(
  db,
  sql`UPDATE campaign SET status = 'sending' WHERE id = ${key.sourceId} RETURNING content_version AS version`,
);
await db.execute(sql`
  INSERT INTO suppression (customer_id, email_key, reason)
  SELECT n % 2 * ${key.customerId}::bigint, 'gone' || n || '@example.org', 'bounce' FROM generate_series(1, ${SUPPRESSED}::int) n`);
await db.execute(sql`
  INSERT INTO hot.recipient_activity (customer_id, source_kind, source_id, recipient_id, open_count)
  SELECT ${key.customerId}, 1, ${key.sourceId}, id, 1 + id % 3 FROM subscriber WHERE customer_id = ${key.customerId}`);
await db.execute(sql`ANALYZE`);

const TABLES = ['subscriber', 'delivery_2', 'open_event_2', 'suppression'] as const;
const counted = readCounter(database, TABLES);

const HOT_WRITE = `hot.record_and_mark(date, bigint, smallint, bigint, uuid, bigint, interval, bigint[], bigint[], integer[], hot.delivery_state[],
  boolean[], text[], text[], text[], double precision[], boolean[], bigint[], bigint[], integer[], text[], integer)`;

// The second is what a database before version 17 is told.
test.each([
  ['by all their keys at once', [50, 100], ''],
  [
    'one by one',
    [100, 150],
    `ALTER FUNCTION ${HOT_WRITE} SET enable_nestloop = on; ALTER FUNCTION ${HOT_WRITE} SET enable_hashjoin = off`,
  ],
] as const)('recording outcomes looks recipients up %s, however large the list is', async (_way, [from, to], how) => {
  const [done, next] = [large.subscriberIds.slice(from - 50, from), large.subscriberIds.slice(from, to)];
  await counted(async (tx, read) => {
    for (const statement of how.split(';').filter(Boolean)) await tx.execute(raw(statement));
    const settled = await settle(tx, {
      key,
      ...{ serverId: 1n, holder: { owner, leaseSeconds: 45 } },
      outcomes: done.map((recipientId) => ({
        ...{ recipientId, occurrence: 0n, epoch: 1, state: 'sent' as const, isTry: true },
        ...{ reply: '250 ok', reason: null, runtimeMessageId: null, delaySeconds: 0 },
      })),
      next: next.map((recipientId) => ({
        ...{ recipientId, occurrence: 0n, epoch: 1 },
        email: addresses.get(recipientId) ?? '',
      })),
      contentVersion: campaign?.version ?? null,
    });
    expect([settled.recorded, settled.notMarked.size, settled.goesOn]).toEqual([50, 0, true]);
    expect(await read('subscriber')).toBeLessThanOrEqual(100);
    expect(await read('delivery_2')).toBeLessThanOrEqual(250);
    expect(await read('suppression')).toBe(0);
  });
});

test('finding who is due looks people and suppressions up by their keys', async () => {
  const ids = large.subscriberIds.slice(200, 300);
  await counted(async (tx, read) => {
    await tx.execute(
      sql`UPDATE hot.delivery SET state = 'queued' WHERE customer_id = ${key.customerId} AND source_id = ${key.sourceId} AND recipient_id = ANY (${ids}::bigint[])`,
    );
    const before = await read('subscriber');
    const range = { ...key, fromId: ids[0] ?? 0n, toId: ids.at(-1) ?? 0n };
    expect(await dueInRange(tx, range)).toHaveLength(ids.length);
    expect((await read('subscriber')) - before).toBe(ids.length);
    expect(await read('suppression')).toBe(0);
  });
});

test('a page of the tracking log reads a page, also the tenth', async () => {
  const campaign = {
    ...key,
    id: key.sourceId,
    uid: large.campaignUid,
    listId: large.listId,
    fromEmail: 'a@b.example',
  };
  const { installation } = ctx;
  let afterId = 0n;
  await counted(async (tx, read) => {
    for (let page = 0; page < 10; page++) {
      const rows = await trackingLogPage({ db: tx, installation }, campaign, { afterId, limit: 100 });
      expect(rows).toHaveLength(100);
      afterId = rows.at(-1)?.subscriberId ?? 0n;
    }
    expect(await read('delivery_2')).toBeLessThanOrEqual(1_100);
  });
});

test('a page of the open log reads a page, also the tenth', async () => {
  const campaign = {
    ...key,
    id: key.sourceId,
    uid: large.campaignUid,
    listId: large.listId,
    fromEmail: 'a@b.example',
  };
  const { installation } = ctx;
  let after: string | null = null;
  await counted(async (tx, read) => {
    for (let no = 0; no < 10; no++) {
      const page = await readCampaignLog({ db: tx, installation }, campaign, { log: 'open', after, limit: 100 });
      expect(page.rows).toHaveLength(100);
      after = page.cursor;
    }
    expect(await read('open_event_2')).toBeLessThanOrEqual(1_100);
  });
});

test('the most frequent openers are ten look-ups, however large the list is', async () => {
  await counted(async (tx, read) => {
    const [openers] = await readTopOpeners({ db: tx }, [large]);
    expect(openers).toHaveLength(10);
    expect(await read('subscriber')).toBeLessThanOrEqual(10);
  });
});

test('deleting an empty campaign reads nothing of the others', async () => {
  await counted(async (tx, read) => {
    await tx.execute(
      sql`INSERT INTO campaign (customer_id, uid, list_id, name) VALUES (${key.customerId}, ${newUid()}, ${large.listId}, 'Empty')`,
    );
    const before = (await read('delivery_2')) + (await read('open_event_2'));
    await tx.execute(sql`DELETE FROM campaign WHERE customer_id = ${key.customerId} AND name = 'Empty'`);
    expect((await read('delivery_2')) + (await read('open_event_2')) - before).toBe(0);
  });
});

test('that nobody is in a state is known without reading the ledger', async () => {
  await counted(async (tx, read) => {
    const before = await read('delivery_2');
    expect(await deliveryPage(tx, { key, afterId: 0n, limit: 51, state: 'unknown' })).toEqual([]);
    expect((await read('delivery_2')) - before).toBe(0);
    expect(await deliveryPage(tx, { key, afterId: 0n, limit: 51, state: 'leased' })).toHaveLength(51);
  });
});

test('who is in a rare state is looked for in the ledger of the campaign only', async () => {
  const failing = [10, 19_990].map((index) => large.subscriberIds[index] ?? 0n);
  const ofCampaign = sql`customer_id = ${key.customerId} AND source_id = ${key.sourceId}`;
  await counted(async (tx, read) => {
    await tx.execute(
      sql`UPDATE hot.delivery SET state = 'failed' WHERE ${ofCampaign} AND snapshot_on = ${snapshotOn}::date AND recipient_id = ANY (${failing}::bigint[])`,
    );
    await tx.execute(sql`UPDATE hot.delivery_counter SET open = open - 2, failed = failed + 2 WHERE ${ofCampaign}`);
    const before = await read('delivery_2');
    const found = await deliveryPage(tx, { key, afterId: 0n, limit: 51, state: 'failed' });
    expect(found.map(({ recipientId }) => recipientId)).toEqual(failing);
    expect((await read('delivery_2')) - before).toBeLessThanOrEqual(PEOPLE);
  });
});

test('renewing leases reads the range, also of a campaign that is newer than the statistics', async () => {
  const fresh = await seedCampaign(db, { subscribers: FRESH, customerId: large.customerId });
  const freshKey = ledgerOfCampaign({ snapshotOn, customerId: fresh.customerId, campaignId: fresh.campaignId });
  await db.execute(sql`
    INSERT INTO hot.delivery (snapshot_on, customer_id, source_kind, source_id, recipient_id, list_id, email, state, epoch, owner, lease_expires_at)
    SELECT ${snapshotOn}::date, customer_id, 1, ${fresh.campaignId}, id, list_id, email, 'sending', 1, ${owner}::uuid, now()
      FROM subscriber WHERE list_id = ${fresh.listId}`);
  const [fromId = 0n, toId = 0n] = [fresh.subscriberIds[FRESH - RANGE], fresh.subscriberIds.at(-1)];
  for (const mode of ['force_custom_plan', 'force_generic_plan'])
    await counted(async (tx, read) => {
      await tx.execute(sql`SELECT set_config('plan_cache_mode', ${mode}, true)`);
      await renewLeases(tx, { ...freshKey, fromId, toId }, { owner, leaseSeconds: 45 });
      expect(await read('delivery_2')).toBeLessThanOrEqual(3 * RANGE);
    });
  const [renewed] = await queryRows<{ n: number }>(
    db,
    sql`SELECT count(*)::int AS n FROM hot.delivery WHERE source_id = ${fresh.campaignId} AND lease_expires_at > now()`,
  );
  expect(renewed).toEqual({ n: RANGE });
});

/** How often the transaction looked into a month of the ledger. */
async function scans(tx: Transaction): Promise<number> {
  const [row] = await queryRows<{ n: number }>(
    tx,
    sql`SELECT sum(seq_scan + coalesce(idx_scan, 0))::int AS n FROM pg_stat_xact_user_tables WHERE relname LIKE 'delivery_2%'`,
  );
  return row?.n ?? 0;
}

test('reports about a campaign’s messages look in its one month, and people up by their keys', async () => {
  const failed = large.subscriberIds.slice(500, 1_000);
  await counted(async (tx, read) => {
    await tx.execute(sql`UPDATE campaign SET snapshot_on = ${snapshotOn}::date WHERE id = ${key.sourceId}`);
    await tx.execute(sql`SELECT set_config('plan_cache_mode', 'force_custom_plan', true)`);
    const scansBefore = await scans(tx);
    expect(await findReportedDelivery(tx, { ...key, recipientId: failed[0] ?? 0n, occurrence: 0n })).toBeDefined();
    expect((await scans(tx)) - scansBefore).toBe(1);
    await tx.execute(
      sql`UPDATE hot.delivery SET state = 'failed', reply = '554 5.7.1 blocked' WHERE customer_id = ${key.customerId} AND source_id = ${key.sourceId} AND recipient_id = ANY (${failed}::bigint[])`,
    );
    const before = await read('subscriber');
    await recordRefusals(
      { ...ctx, db: tx },
      { ...key, messages: failed.map((recipientId) => ({ recipientId, occurrence: 0n })) },
    );
    expect((await read('subscriber')) - before).toBe(failed.length);
  });
});
