/** Months that are not kept any more: which go, which stay, and that nobody who works waits for it. */
import { beforeEach, expect, it } from 'vitest';
import { queryRows } from '../../../scripts/support/query-rows.ts';
import { sql } from '../../../src/db/database.ts';
import { ledgerOfCampaign } from '../../../src/domain/delivery/ledger/delivery.ts';
import { countDeliveries } from '../../../src/domain/delivery/ledger/delivery-page-read-model.ts';
import { dropPartitions } from '../../../src/domain/delivery/ledger/drop-partitions.ts';
import { campaignWorld } from '../../support/campaign-world.ts';
import { createTestContext } from '../../support/test-context.ts';

const ctx = await createTestContext();
const world = await campaignWorld(ctx, { recipients: 1, smtpPort: 1 });

beforeEach(async () => {
  await queryRows(ctx.db, sql`SELECT hot.ensure_partitions('2020-01-15', '2020-03-15')`);
  await queryRows(
    ctx.db,
    sql`SELECT hot.ensure_partitions((current_date - interval '1 month')::date, current_date + 31)`,
  );
});

const left = async (parent: string) => {
  const rows = await queryRows<{ name: string }>(
    ctx.db,
    sql`SELECT c.relname AS name FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
         WHERE i.inhparent = ('hot.' || ${parent}::text)::regclass AND c.relname ~ '_2020_' ORDER BY 1`,
  );
  return rows.map(({ name }) => name);
};

it('keeps everything unless told otherwise, but of the log of webhooks only the last two months', async () => {
  const months = ['2020_01', '2020_02', '2020_03'];
  expect((await dropPartitions(ctx, { ledgerMonths: 0, eventMonths: 0 })).toSorted()).toEqual([
    ...months.map((month) => `webhook_attempt_${month}`),
    ...months.map((month) => `webhook_delivery_${month}`),
  ]);
  expect(await left('delivery')).toHaveLength(3);
});

it('keeps a month of which deliveries wait, and drops deliveries before their attempts', async () => {
  await ctx.db
    .execute(sql`INSERT INTO hot.webhook_queue (delivery_id, made_on, customer_id, webhook_id, receiver, due_at)
                           VALUES (1, '2020-02-10', 1, 1, 'https://receiver.example', now())`);
  await dropPartitions(ctx);
  expect([await left('webhook_delivery'), await left('webhook_attempt')]).toEqual([
    ['webhook_delivery_2020_02'],
    ['webhook_attempt_2020_02'],
  ]);
  await ctx.db.execute(sql`DELETE FROM hot.webhook_queue`);
  expect(await dropPartitions(ctx)).toEqual(['webhook_delivery_2020_02', 'webhook_attempt_2020_02']);
});

it('drops old months, but no ledger of a campaign that is not done; counters stay', async () => {
  await ctx.db.execute(
    sql`UPDATE campaign SET status = 'paused', snapshot_on = '2020-02-10' WHERE id = ${world.campaignId}`,
  );
  await ctx.db.execute(sql`
    INSERT INTO hot.delivery_counter (customer_id, source_kind, source_id, audience, open) SELECT customer_id, 1, id, 5, 5 FROM campaign`);
  const [campaign] = await ctx.db.query(
    { customerId: 'bigint', campaignId: 'bigint' },
    sql`SELECT customer_id AS "customerId", id AS "campaignId" FROM campaign WHERE id = ${world.campaignId}`,
  );
  if (!campaign) throw new Error('There is no campaign.');
  const key = ledgerOfCampaign({ ...campaign, snapshotOn: '2020-02-10' });
  const totalCount = () => countDeliveries(ctx.db, { key, state: null, max: 10 });
  const dropped = await dropPartitions(ctx, { ledgerMonths: 1, eventMonths: 2 });
  expect(await totalCount()).toBe(5);
  expect(dropped).toHaveLength(9 * 3 + 2);
  expect(await left('delivery')).toEqual(['delivery_2020_02']);
  expect(await left('click_event')).toEqual([]);
  expect(await queryRows(ctx.db, sql`SELECT audience FROM hot.delivery_counter`)).toEqual([{ audience: 5 }]);
  expect(await queryRows(ctx.db, sql`SELECT to_regclass('hot.delivery_2020_01') AS gone`)).toEqual([{ gone: null }]);
  // What is used now, and the month before, is not touched.
  expect(await dropPartitions(ctx, { ledgerMonths: 1, eventMonths: 1 })).toEqual([]);
  await ctx.db.execute(sql`UPDATE campaign SET status = 'done'`);
  expect(await dropPartitions(ctx, { ledgerMonths: 1, eventMonths: 0 })).toEqual(['delivery_2020_02']);
  expect(await totalCount()).toBe(0);
});

it('lets others write meanwhile, gives up on a month that somebody reads for long, and ends it the next time', async () => {
  const reader = await ctx.database.pool.connect();
  await reader.query('BEGIN');
  await reader.query(`SELECT count(*) FROM hot.open_event WHERE at < '2020-02-01'`);
  const dropping = dropPartitions(ctx, { ledgerMonths: 0, eventMonths: 1 });
  await ctx.db.execute(
    sql`INSERT INTO hot.open_event (at, customer_id, source_kind, source_id, recipient_id) VALUES (now(), 1, 1, 1, 1)`,
  );
  // The reader has read all of them by way of the parent: none of this table goes, all of the others do.
  expect((await dropping).filter((name) => name.startsWith('open_event'))).toEqual([]);
  await reader.query('COMMIT');
  reader.release();
  expect(await dropPartitions(ctx, { ledgerMonths: 0, eventMonths: 1 })).toContain('open_event_2020_01');
  expect(await left('open_event')).toEqual([]);
  expect(await queryRows(ctx.db, sql`SELECT 1 AS one FROM hot.open_event`)).toHaveLength(1);
});
