/** Everybody takes locks on people in one order (0352): whoever does so, too, never meets a deadlock. */
import { expect, it } from 'vitest';
import { queryRows } from '../../../scripts/support/query-rows.ts';
import { sql, type Transaction } from '../../../src/db/database.ts';
import { addSubscriber } from '../../../src/domain/audience/add-subscriber.ts';
import { expirePending } from '../../../src/domain/audience/expire-pending.ts';
import { lockChanged } from '../../../src/domain/audience/imports/import-slice-store.ts';
import { updateSubscriber } from '../../../src/domain/audience/update-subscriber.ts';
import type { Context } from '../../../src/domain/context.ts';
import { subscriberUid } from '../../../src/lib/ids.ts';
import { createLog } from '../../../src/lib/log.ts';
import { openDatabase } from '../../../src/db/database.ts';
import { afterFile } from '../../support/after-file.ts';
import { importFile } from '../../support/import-file.ts';
import { createTenant, newList } from '../../support/tenant.ts';
import { createTestContext } from '../../support/test-context.ts';

const base = await createTestContext();
const lines: string[] = [];
const log = createLog({ level: 'info', format: 'json', write: (line) => lines.push(line) });
const database = openDatabase({ url: base.database.url, poolSize: 5, log });
afterFile(() => database.close());
const ctx = await createTenant({ ...base, db: database, database });
const list = await newList(ctx);

async function waiters({ db }: Context): Promise<number> {
  const rows = await queryRows(
    db,
    sql`SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`,
  );
  return rows.length;
}

/** Two people, the one with the lower id first. */
async function twoPeople(name: string) {
  const [low, high] = [`${name}-low@example.test`, `${name}-high@example.test`];
  const first = await addSubscriber(ctx, { listUid: list.uid, email: low });
  const second = await addSubscriber(ctx, { listUid: list.uid, email: high });
  return [first, second] as const;
}

/** Changes the one with the lower id, then, when `act` waits for it, the other. */
async function upwards(
  [low, high]: readonly [{ id: bigint }, { id: bigint }],
  act: () => Promise<unknown>,
): Promise<unknown> {
  const touch = (tx: Transaction, { id }: { id: bigint }) =>
    tx.execute(
      sql`UPDATE subscriber SET updated_at = now() WHERE customer_id > 0 AND list_id = ${list.id} AND id = ${id}`,
    );
  let acting: Promise<unknown> = Promise.resolve();
  await base.database.transaction(async (tx) => {
    await touch(tx, low);
    acting = act().catch((error: unknown) => error);
    await expect.poll(() => waiters(ctx), { interval: 20 }).toBe(1);
    await touch(tx, high);
  });
  return acting;
}

it('who gets the address of somebody with a lower id', async () => {
  const people = await twoPeople('taken');
  const [low, high] = people;
  const outcome = await upwards(people, () =>
    updateSubscriber(ctx, { subscriber: subscriberUid(high.id), email: low.email }),
  );
  expect(outcome).toMatchObject({ fields: { EMAIL: [expect.any(String)] } });
  expect(lines.filter((line) => line.includes('database.repeated'))).toEqual([]);
});

/** People are read as they lie in the table, and not in the order of an index. */
function unsortedContext(): Context {
  const url = `${base.database.url}?options=${encodeURIComponent('-c enable_indexscan=off -c enable_bitmapscan=off')}`;
  const unsorted = openDatabase({ url, poolSize: 3, log });
  afterFile(() => unsorted.close());
  return { ...ctx, db: unsorted, database: unsorted };
}

it('an import that changes people, whatever their order in the file and the table', async () => {
  const people = await twoPeople('import');
  const [low, high] = people;
  for (const { id } of people.toReversed())
    await ctx.db.execute(sql`UPDATE subscriber SET updated_at = now() WHERE list_id = ${list.id} AND id = ${id}`);
  const file = `email,first name\n${high.email},B\n${low.email},A\n`;
  const outcome = await upwards(people, () => importFile(unsortedContext(), list, file));
  expect(outcome).toMatchObject({ status: 'done', updated: 2 });
  expect(lines.filter((line) => line.includes('database.repeated'))).toEqual([]);
});

it('confirmations that ran out, in whatever order the table has them', async () => {
  const people = await twoPeople('late');
  for (const { id } of people.toReversed())
    await ctx.db.execute(
      sql`UPDATE subscriber SET status = 'pending', pending_until = now() WHERE list_id = ${list.id} AND id = ${id}`,
    );
  expect(await upwards(people, () => expirePending(unsortedContext()))).toBe(2);
  expect(lines.filter((line) => line.includes('database.repeated'))).toEqual([]);
});

it('an import locks everybody whom it is about to change, also who gets no tags', async () => {
  const people = await twoPeople('lock');
  const [low, high] = people;
  const locked = async () =>
    people.length -
    (await queryRows(base.db, sql`SELECT 1 FROM subscriber WHERE id IN (${low.id}, ${high.id}) FOR UPDATE SKIP LOCKED`))
      .length;
  await ctx.database.transaction(async (tx) => {
    await tx.execute(
      sql`CREATE TEMP TABLE import_match (row int, id bigint, is_changed boolean, tags text[]) ON COMMIT DROP`,
    );
    await tx.execute(sql`INSERT INTO import_match VALUES (0, ${high.id}, true, '{}'), (1, ${low.id}, true, '{a}')`);
    expect(await lockChanged(tx, { customerId: list.customerId, listId: list.id })).toEqual([]);
    expect(await locked()).toBe(2);
  });
});
