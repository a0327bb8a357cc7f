/** A deleted customer is erased in slices: what triggers would take along in one piece goes before. */
import { expect, test } from 'vitest';
import { raw, sql } from '../../../src/db/database.ts';
import { eraseCustomer } from '../../../src/domain/accounts/erase-customer.ts';
import { addSubscriber } from '../../../src/domain/audience/add-subscriber.ts';
import { viewerOf } from '../../../src/domain/context.ts';
import { newUid } from '../../../src/lib/ids.ts';
import { createTenant, newList } from '../../support/tenant.ts';
import { createTestContext } from '../../support/test-context.ts';

const base = await createTestContext();

/** From now on `table` loses no row while `large` has rows of its customer. */
async function forbid(table: string, large: string): Promise<void> {
  const name = large.replace('.', '_');
  await base.db.execute(
    sql`${raw(`
    CREATE FUNCTION ${name}_first() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      IF EXISTS (SELECT 1 FROM ${large} l WHERE l.customer_id = OLD.customer_id) THEN RAISE EXCEPTION '${large} goes with ${table}'; END IF;
      RETURN OLD;
    END $$`)}`,
  );
  await base.db.execute(
    sql`${raw(`CREATE TRIGGER ${name}_first BEFORE DELETE ON ${table} FOR EACH ROW EXECUTE FUNCTION ${name}_first()`)}`,
  );
}

test('people before their list, ledger and events before their campaign', async () => {
  const ctx = await createTenant(base);
  const { customerId } = viewerOf(ctx);
  await base.db.query(sql`SELECT hot.ensure_partitions(current_date, current_date)`);
  const list = await newList(ctx);
  const { id } = await addSubscriber(ctx, { listUid: list.uid, email: 'ann@person.example' });
  const [campaign] = await base.db.query<{ id: bigint }>(sql`
    INSERT INTO campaign (customer_id, uid, list_id, name, status, planned_on)
    VALUES (${customerId}, ${newUid()}, ${list.id}, 'News', 'done', current_date) RETURNING id`);
  const key = sql`${customerId}, ${campaign?.id}, ${id}`;
  await base.db.execute(
    sql`INSERT INTO hot.delivery (planned_on, customer_id, campaign_id, subscriber_id, email) VALUES (current_date, ${key}, 'x')`,
  );
  await base.db.execute(
    sql`INSERT INTO hot.open_event (at, customer_id, campaign_id, subscriber_id) VALUES (now(), ${key})`,
  );
  await forbid('mail_list', 'public.subscriber');
  await forbid('mail_list', 'public.consent_event');
  await forbid('campaign', 'hot.delivery');
  await forbid('campaign', 'hot.open_event');
  await base.db.execute(sql`UPDATE customer SET status = 'deleting' WHERE id = ${customerId}`);
  expect(await eraseCustomer(base, { customerId, isStopping: () => false })).toBe(true);
  expect(await base.db.query(sql`SELECT 1 FROM customer WHERE id = ${customerId}`)).toHaveLength(0);
});
