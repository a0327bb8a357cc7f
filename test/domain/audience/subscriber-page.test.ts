import { expect, test } from 'vitest';
import { queryRows } from '../../../scripts/support/query-rows.ts';
import { sql } from '../../../src/db/database.ts';
import {
  countSubscribers,
  subscriberPage,
  subscribersByKey,
  type SubscriberFilter,
} from '../../../src/domain/audience/subscriber-page-read-model.ts';
import { createTenant, newList } from '../../support/tenant.ts';
import { createTestContext } from '../../support/test-context.ts';

const house = await createTestContext();
const ctx = await createTenant(house);
const customerId = ctx.viewer?.customerId ?? 0n;
const [big, small] = [await newList(ctx), await newList(ctx)];

// Two lists whose ids are mixed, in more than one block of ids, with gaps.
await ctx.db.execute(sql`
  INSERT INTO subscriber (customer_id, list_id, email, email_key, status, tags)
  SELECT ${customerId}, CASE WHEN n % 7 = 0 THEN ${small.id}::bigint ELSE ${big.id}::bigint END, n || '@x.co', n || '@x.co',
         CASE WHEN n % 3 = 0 THEN 'unsubscribed' ELSE 'subscribed' END, '{}' FROM generate_series(1, 7000) n`);
await ctx.db.execute(sql`DELETE FROM subscriber WHERE id % 11 = 0 OR id BETWEEN 2100 AND 4500`);
await ctx.db.execute(sql`
  WITH added AS (
    INSERT INTO hot.subscriber_activity (customer_id, list_id, subscriber_id, opened_at, clicked_at)
    SELECT customer_id, list_id, id, CASE WHEN id % 2 = 0 THEN now() END, CASE WHEN id % 5 = 0 THEN now() END
      FROM subscriber WHERE id % 2 = 0 OR id % 5 = 0 RETURNING *)
  UPDATE hot.list_counter c SET openers = n.openers, clickers = n.clickers
    FROM (SELECT list_id, count(opened_at) AS openers, count(clicked_at) AS clickers FROM added GROUP BY list_id) n
   WHERE c.list_id = n.list_id`);

const everybody = await queryRows<{ id: bigint; list_id: bigint }>(
  ctx.db,
  sql`SELECT id, list_id FROM subscriber ORDER BY list_id, id`,
);

/** What a filter means, said once more and slowly. */
function expected({ list, opened, clicked }: SubscriberFilter): bigint[] {
  return everybody
    .filter((row) => !list || row.list_id === list.id)
    .filter(({ id }) => opened === undefined || (id % 2n === 0n) === opened)
    .filter(({ id }) => clicked === undefined || (id % 5n === 0n) === clicked)
    .map(({ id }) => id);
}

const lists = [undefined, big, small];
const choices = [undefined, true, false];
const filters = lists.flatMap((list) =>
  choices.flatMap((opened) => choices.map((clicked): SubscriberFilter => ({ customerId, list, opened, clicked }))),
);

test.each(filters.map((filter, no) => [no, filter] as const))(
  'filter %i: the total and pages from everywhere',
  async (_no, filter) => {
    const ids = expected(filter);
    const total = await countSubscribers(ctx, filter);
    expect(total).toBe(ids.length);
    for (const offset of [
      0,
      25,
      Math.floor(total / 2) - 10,
      Math.floor(total / 2) + 10,
      total - 25,
      total - 7,
      total,
      total + 100,
    ]) {
      if (offset < 0) continue;
      const page = await subscriberPage(ctx, filter, { offset, limit: 25, total });
      expect(page.map(({ id }) => id)).toEqual(ids.slice(offset, offset + 25));
    }
  },
);

test('all pages of a list together are the list', async () => {
  const filter = { customerId, list: big };
  const total = await countSubscribers(ctx, filter);
  const seen: bigint[] = [];
  for (let offset = 0; offset < total; offset += 250) {
    seen.push(...(await subscriberPage(ctx, filter, { offset, limit: 250, total })).map(({ id }) => id));
  }
  expect(seen).toEqual(expected(filter));
});

test('by key, in both directions, over the border of two lists', async () => {
  const filter = { customerId };
  const ids = expected(filter);
  const walk = async (backward: boolean) => {
    const seen: bigint[] = [];
    for (;;) {
      const last = seen.at(-1);
      const row = everybody.find(({ id }) => id === last);
      const position = row && { listId: row.list_id, id: row.id };
      const page = await subscribersByKey(
        ctx,
        filter,
        backward ? { limit: 700, before: position, backward } : { limit: 700, after: position },
      );
      if (page.length === 0) return seen;
      seen.push(...page.map(({ id }) => id));
    }
  };
  expect(await walk(false)).toEqual(ids);
  expect(await walk(true)).toEqual(ids.toReversed());
});

test('the block counters equal the rows', async () => {
  const [row] = await queryRows<{ differences: number }>(
    ctx.db,
    sql`
    SELECT count(*)::int AS differences
      FROM (SELECT list_id, id >> 11 AS block, count(*) AS n FROM subscriber GROUP BY 1, 2) r
      FULL JOIN (SELECT * FROM hot.subscriber_block WHERE members <> 0) b USING (list_id, block) WHERE r.n IS DISTINCT FROM b.members`,
  );
  expect(row?.differences).toBe(0);
});
