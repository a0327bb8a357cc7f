/** Confirmations that run out by the ten thousand: no statement takes more than 5,000 people, and nobody is left over. */
import { expect, test } from 'vitest';
import { queryRows } from '../../../scripts/support/query-rows.ts';
import { raw, sql } from '../../../src/db/database.ts';
import { expirePending } from '../../../src/domain/audience/expire-pending.ts';
import { listCounters } from '../../../src/domain/audience/list-counter-store.ts';
import { createTenant, newList } from '../../support/tenant.ts';
import { createTestContext } from '../../support/test-context.ts';

const PEOPLE = 12_000;
const base = await createTestContext();

test('many who are due at once are expired in slices', async () => {
  const ctx = await createTenant(base);
  const [list, other] = [await newList(ctx), await newList(ctx)];
  await ctx.db.execute(sql`
    INSERT INTO subscriber (customer_id, list_id, email, email_key, status, tags, pending_until)
    SELECT ${list.customerId}, CASE WHEN n % 100 = 0 THEN ${other.id}::bigint ELSE ${list.id}::bigint END, 'p' || n || '@person.example', 'p' || n || '@person.example',
           'pending', '{}', now() - interval '1 second' FROM generate_series(1, ${PEOPLE}::int) n`);
  await ctx.db.execute(
    sql`${raw(`
    CREATE FUNCTION public.only_slices() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
      IF (SELECT count(*) FROM after) > 5000 THEN RAISE EXCEPTION 'too many at once'; END IF;
      RETURN NULL;
    END $$`)}`,
  );
  await ctx.db.execute(sql`
    CREATE TRIGGER only_slices AFTER UPDATE ON subscriber REFERENCING NEW TABLE AS after FOR EACH STATEMENT EXECUTE FUNCTION public.only_slices()`);
  expect(await expirePending(ctx)).toBe(PEOPLE);
  expect(await expirePending(ctx)).toBe(0);
  const counters = await listCounters(ctx.db, list.customerId, [list.id, other.id]);
  expect(counters.map(({ pending, unconfirmed }) => [pending, unconfirmed])).toEqual([
    [0, PEOPLE * 0.99],
    [0, PEOPLE * 0.01],
  ]);
  const [events] = await queryRows(
    ctx.db,
    sql`SELECT count(*)::int AS n FROM consent_event WHERE customer_id = ${list.customerId} AND source = 'expiry'`,
  );
  expect(events).toEqual({ n: PEOPLE });
});
