/**
 * A ledger names the address that a message went to. Erasing and exporting find those rows by key: also of people who were
 * deleted from their list since, or who have another address now, and without reading the ledgers of everybody.
 */
import { beforeAll, expect, test } from 'vitest';
import { queryRows } from '../../../../scripts/support/query-rows.ts';
import { sql } from '../../../../src/db/database.ts';
import { eraseDeleted } from '../../../../src/domain/accounts/erase-deleted.ts';
import { addSubscriber } from '../../../../src/domain/audience/add-subscriber.ts';
import { deleteList } from '../../../../src/domain/audience/delete-list.ts';
import { deleteSubscriber } from '../../../../src/domain/audience/delete-subscriber.ts';
import { erasePerson } from '../../../../src/domain/audience/erasing/erase-person.ts';
import { eraseTraces } from '../../../../src/domain/audience/erasing/erase-traces.ts';
import { personalData, personalTables } from '../../../../src/domain/audience/erasing/export-person.ts';
import type { MailList } from '../../../../src/domain/audience/list-fields.ts';
import { updateSubscriber } from '../../../../src/domain/audience/update-subscriber.ts';
import { inTransaction, type Context } from '../../../../src/domain/context.ts';
import { newUid } from '../../../../src/lib/ids.ts';
import { createTenant, newList } from '../../../support/tenant.ts';
import { createTestContext } from '../../../support/test-context.ts';

const base = await createTestContext();
/** So many that no planner reads all of them for one. */
const OTHERS = 20_000;

beforeAll(() => base.db.execute(sql`SELECT hot.ensure_partitions(current_date, current_date)`));

async function newCampaign(ctx: Context, list: MailList): Promise<bigint> {
  const [row] = await queryRows<{ id: bigint }>(
    ctx.db,
    sql`
    INSERT INTO campaign (customer_id, uid, list_id, name, status, snapshot_on)
    VALUES (${list.customerId}, ${newUid()}, ${list.id}, 'News', 'done', current_date) RETURNING id`,
  );
  return row?.id ?? 0n;
}

/** As the ledger has somebody who was mailed at this address. */
async function mailed(ctx: Context, list: MailList, person: { id: bigint; email: string }): Promise<bigint> {
  const campaign = await newCampaign(ctx, list);
  await ctx.db.execute(sql`
    INSERT INTO hot.delivery (snapshot_on, customer_id, source_kind, source_id, recipient_id, email, state)
    VALUES (current_date, ${list.customerId}, 1, ${campaign}, ${person.id}, ${person.email}, 'sent')`);
  return campaign;
}

async function addressesOf(ctx: Context, list: MailList): Promise<string[]> {
  const rows = await queryRows<{ email: string }>(
    ctx.db,
    sql`SELECT email FROM hot.delivery WHERE customer_id = ${list.customerId} ORDER BY source_id`,
  );
  return rows.map(({ email }) => email);
}

async function erase(ctx: Context, email: string): Promise<void> {
  const { uid } = await erasePerson(ctx, { email });
  const [row] = await queryRows<{ customerId: bigint; id: bigint }>(
    ctx.db,
    sql`SELECT customer_id AS "customerId", id FROM erasure WHERE uid = ${uid}`,
  );
  await eraseTraces(base, row ?? { customerId: 0n, id: 0n });
}

test('people of a deleted list, whose reports stay (D57), are exported and erased', async () => {
  const ctx = await createTenant(base);
  const list = await newList(ctx);
  const person = await addSubscriber(ctx, { listUid: list.uid, email: 'Report@person.example' });
  await mailed(ctx, list, person);
  await deleteList(ctx, list.uid);
  expect(await eraseDeleted(base, { isStopping: () => false })).toBe(true);
  expect(await addressesOf(ctx, list)).toEqual(['Report@person.example']);
  const tables = await personalTables(ctx, 'report@person.example');
  expect(tables.find(({ table }) => table === 'delivery')?.rows).toBe(1);
  await erase(ctx, 'report@person.example');
  expect((await addressesOf(ctx, list)).join()).not.toContain('person.example');
});

test('somebody who was deleted from the list before is exported and erased from the ledger', async () => {
  const ctx = await createTenant(base);
  const list = await newList(ctx);
  const person = await addSubscriber(ctx, { listUid: list.uid, email: 'Gone@person.example' });
  await mailed(ctx, list, person);
  await deleteSubscriber(ctx, { subscriber: 'gone@person.example', listUid: list.uid });
  const tables = await personalTables(ctx, 'gone@person.example');
  expect(tables.find(({ table }) => table === 'delivery')?.rows).toBe(1);
  await erase(ctx, 'gone@person.example');
  expect(await addressesOf(ctx, list)).toEqual(['']);
  expect((await personalData(ctx, { email: 'gone@person.example', first: 100 })).nodes).toEqual([]);
});

test('an address that somebody had before is erased where the ledger names it, and nowhere else', async () => {
  const ctx = await createTenant(base);
  const list = await newList(ctx);
  const person = await addSubscriber(ctx, { listUid: list.uid, email: 'old@person.example' });
  await mailed(ctx, list, person);
  await updateSubscriber(ctx, { subscriber: 'old@person.example', listUid: list.uid, email: 'new@person.example' });
  await mailed(ctx, list, { id: person.id, email: 'new@person.example' });
  await erase(ctx, 'old@person.example');
  expect(await addressesOf(ctx, list)).toEqual(['', 'new@person.example']);
});

test('with somebody go the rows of all addresses that the person had', async () => {
  const ctx = await createTenant(base);
  const list = await newList(ctx);
  const person = await addSubscriber(ctx, { listUid: list.uid, email: 'first@person.example' });
  await mailed(ctx, list, person);
  await updateSubscriber(ctx, { subscriber: 'first@person.example', listUid: list.uid, email: 'last@person.example' });
  await mailed(ctx, list, { id: person.id, email: 'last@person.example' });
  await erase(ctx, 'last@person.example');
  expect(await addressesOf(ctx, list)).toEqual(['', '']);
  const left = await queryRows(
    ctx.db,
    sql`SELECT 1 FROM hot.former_address WHERE customer_id = ${list.customerId} AND subscriber_id = ${person.id}`,
  );
  expect(left).toEqual([]);
});

test('the rows of others are not read', async () => {
  const ctx = await createTenant(base);
  const list = await newList(ctx);
  const person = await addSubscriber(ctx, { listUid: list.uid, email: 'one@person.example' });
  const campaign = await mailed(ctx, list, person);
  await ctx.db.execute(sql`
    INSERT INTO hot.delivery (snapshot_on, customer_id, source_kind, source_id, recipient_id, email, state)
    SELECT current_date, ${list.customerId}, 1, ${campaign}, ${person.id} + n, 'other' || n || '@person.example', 'sent' FROM generate_series(1, ${OTHERS}::int) n`);
  await ctx.db.execute(sql`ANALYZE hot.delivery`);
  const read = await inTransaction(ctx, async (inner) => {
    const tables = await personalTables(inner, 'one@person.example');
    expect(tables.find(({ table }) => table === 'delivery')?.rows).toBe(1);
    await personalData(inner, { email: 'one@person.example', first: 10 });
    const [row] = await queryRows<{ rows: number }>(
      inner.db,
      sql`
      SELECT sum(seq_tup_read + coalesce(idx_tup_fetch, 0))::int AS rows FROM pg_stat_xact_all_tables WHERE schemaname = 'hot' AND relname LIKE 'delivery\\_2%'`,
    );
    return row?.rows;
  });
  expect(read).toBeLessThan(100);
});
