/**
 * Imports while the database believes that there is nobody: it takes a table that it cleaned up after a large list was
 * deleted for empty, whatever is written to it, until it looks again. Counted by what it says it read.
 */
import { expect, test } from 'vitest';
import { queryRows } from '../../../../scripts/support/query-rows.ts';
import { sql } from '../../../../src/db/database.ts';
import type { Context } from '../../../../src/domain/context.ts';
import { eraseDeleted } from '../../../../src/domain/accounts/erase-deleted.ts';
import { updateSubscriber } from '../../../../src/domain/audience/update-subscriber.ts';
import { seedCampaign } from '../../../support/audience-rows.ts';
import { importFile } from '../../../support/import-file.ts';
import { countingReads } from '../../../support/read-counter.ts';
import { createTenant, newList } from '../../../support/tenant.ts';
import { createTestContext } from '../../../support/test-context.ts';

const PEOPLE = 1_000;
const BATCH = 20;
const FEW = 100;

const root = await createTestContext();
const tenant = await createTenant(root);
const { database, rowsRead } = countingReads(root.database, 'subscriber');
const ctx: Context = {
  ...{ ...tenant, database },
  installation: { ...tenant.installation, limits: { ...tenant.installation.limits, importBatchSize: BATCH } },
};

/** So long, and alike for so long, that the index of addresses is higher than the other, as it is with more people. */
const address = (n: number) => `${'p'.repeat(60)}@${'a'.repeat(60)}.${'b'.repeat(60)}.d${n}.example`;
const file = (status: string, people = PEOPLE) =>
  `email,status\n${Array.from({ length: people }, (_, n) => `${address(n)},${status}`).join('\n')}`;

/** As between a vacuum and the analyze that follows it, with somebody at the table so that it keeps its length. */
async function cleanUpAfterDeletion(): Promise<void> {
  const list = await newList(ctx);
  await importFile(ctx, list, file('subscribed'));
  await ctx.db.execute(sql`ANALYZE subscriber`);
  await ctx.db.execute(sql`DELETE FROM mail_list WHERE id = ${list.id}`);
  await eraseDeleted(root, { isStopping: () => false });
  await ctx.db.execute(sql`VACUUM (TRUNCATE OFF) subscriber`);
  const [size] = await queryRows(
    ctx.db,
    sql`SELECT reltuples, relpages > 0 AS "isLong" FROM pg_class WHERE oid = 'subscriber'::regclass`,
  );
  expect(size).toEqual({ reltuples: 0, isLong: true });
}

test('looks everybody up by the address alone, in a table that is taken for empty', async () => {
  await cleanUpAfterDeletion();
  const list = await newList(ctx);
  const before = rowsRead();
  // Whoever comes unconfirmed is found once more, for the history.
  expect(await importFile(ctx, list, file('unconfirmed'))).toMatchObject({ added: PEOPLE });
  const again = await importFile(ctx, list, file('unconfirmed'), { updateExisting: false });
  expect(again).toMatchObject({ added: 0, unchanged: PEOPLE });
  expect(rowsRead() - before).toBeLessThanOrEqual(2.5 * PEOPLE);
});

test('looks people up by id, whose customer the database has never seen', async () => {
  await seedCampaign(root.db, { subscribers: 5 * PEOPLE });
  await ctx.db.execute(sql`ANALYZE subscriber`);
  const newcomer = { ...ctx, viewer: (await createTenant(root)).viewer };
  const list = await newList(newcomer);
  await importFile(newcomer, list, file('subscribed'));
  const beforeTags = rowsRead();
  expect(await importFile(newcomer, list, file('subscribed', FEW), { tag: 'vip' })).toMatchObject({ updated: FEW });
  expect(rowsRead() - beforeTags).toBeLessThanOrEqual(3.5 * FEW);
  const beforeOne = rowsRead();
  await updateSubscriber(newcomer, { listUid: list.uid, subscriber: address(7), tags: ['other'] });
  expect(rowsRead() - beforeOne).toBeLessThanOrEqual(10);
});

test('changes people by id, whose list came by another way and the database has never seen', async () => {
  await ctx.db.execute(sql`ANALYZE subscriber`);
  const newcomer = { ...ctx, viewer: (await createTenant(root)).viewer };
  const list = await newList(newcomer);
  await ctx.db.execute(sql`
    INSERT INTO subscriber (customer_id, list_id, email, email_key, status, tags)
    SELECT ${list.customerId}, ${list.id}, 'p' || n || '@example.org', 'p' || n || '@example.org', 'subscribed', '{}'
      FROM generate_series(1, ${PEOPLE}::int) n`);
  const people = Array.from({ length: FEW }, (_, n) => `p${n + 1}@example.org`).join('\n');
  const before = rowsRead();
  expect(await importFile(newcomer, list, `email\n${people}`, { tag: 'vip' })).toMatchObject({ updated: FEW });
  expect(rowsRead() - before).toBeLessThanOrEqual(3.5 * FEW);
});
