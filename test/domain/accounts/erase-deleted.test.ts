/**
 * A deleted list or campaign is gone at once for everybody who reads; what it has gathered is erased by a job in slices,
 * which goes on where it was interrupted. So it is with a deleted customer.
 */
import { beforeAll, expect, test } from 'vitest';
import { queryRows } from '../../../scripts/support/query-rows.ts';
import { raw, sql } from '../../../src/db/database.ts';
import { eraseCustomer } from '../../../src/domain/accounts/erase-customer.ts';
import { eraseAllDeleted, eraseDeleted } from '../../../src/domain/accounts/erase-deleted.ts';
import { addSubscriber } from '../../../src/domain/audience/add-subscriber.ts';
import { deleteList } from '../../../src/domain/audience/delete-list.ts';
import { findSubscriber, subscribersByAddress } from '../../../src/domain/audience/find-subscriber.ts';
import type { MailList } from '../../../src/domain/audience/list-fields.ts';
import { deleteCampaign } from '../../../src/domain/campaigns/delete-campaign.ts';
import type { Context } from '../../../src/domain/context.ts';
import { newUid } from '../../../src/lib/ids.ts';
import { createLog } from '../../../src/lib/log.ts';
import { createTenant, newList } from '../../support/tenant.ts';
import { createTestContext } from '../../support/test-context.ts';

const base = await createTestContext();
const SLICE = 5_000;
const PEOPLE = 12_000;
const GATHERED = [
  'public.subscriber',
  'public.consent_event',
  'hot.delivery',
  'hot.open_event',
  'hot.recipient_activity',
];
const never = () => false;

/** No statement may take more than a slice. */
beforeAll(async () => {
  await base.db.execute(sql`SELECT hot.ensure_partitions(current_date, current_date)`);
  await base.db.execute(
    sql`${raw(`
    CREATE FUNCTION public.only_slices() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
      IF (SELECT count(*) FROM gone) > ${SLICE} THEN RAISE EXCEPTION '% loses % rows at once', TG_TABLE_NAME, (SELECT count(*) FROM gone); END IF;
      RETURN NULL;
    END $$`)}`,
  );
  const tables = await queryRows<{ name: string }>(
    base.db,
    sql`
    SELECT c.oid::regclass::text AS name FROM pg_class c LEFT JOIN pg_inherits i ON i.inhrelid = c.oid
     WHERE c.relkind = 'r' AND coalesce(i.inhparent, c.oid) = ANY (${GATHERED}::text[]::regclass[])`,
  );
  for (const { name } of tables)
    await base.db.execute(
      sql`${raw(`
      CREATE TRIGGER only_slices AFTER DELETE ON ${name} REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION public.only_slices()`)}`,
    );
});

interface Scene {
  readonly ctx: Context;
  readonly list: MailList;
  readonly campaignUid: string;
}

/** A list with many people, and a campaign to all of them that everybody opened. */
async function newScene(): Promise<Scene> {
  const ctx = await createTenant(base);
  const list = await newList(ctx);
  const campaignUid = newUid();
  const { customerId, id } = list;
  await ctx.db.execute(sql`
    INSERT INTO subscriber (customer_id, list_id, email, email_key, status, tags)
    SELECT ${customerId}, ${id}, 'p' || n || '@person.example', 'p' || n || '@person.example', 'subscribed', '{}' FROM generate_series(1, ${PEOPLE}::int) n`);
  await ctx.db.execute(sql`
    INSERT INTO consent_event (customer_id, list_id, subscriber_id, status, source)
    SELECT customer_id, list_id, id, status, 'test' FROM subscriber WHERE customer_id = ${customerId}`);
  const key = sql`c.customer_id, 1, c.id, s.id`;
  const everybody = sql`FROM campaign c JOIN subscriber s ON s.customer_id = c.customer_id AND s.list_id = c.list_id WHERE c.customer_id = ${customerId}`;
  await ctx.db.execute(sql`
    INSERT INTO campaign (customer_id, uid, list_id, name, status, snapshot_on) VALUES (${customerId}, ${campaignUid}, ${id}, 'News', 'done', current_date)`);
  await ctx.db.execute(sql`
    INSERT INTO hot.delivery (snapshot_on, customer_id, source_kind, source_id, recipient_id, email, state) SELECT current_date, ${key}, s.email, 'sent' ${everybody}`);
  await ctx.db.execute(sql`
    INSERT INTO hot.delivery_counter (customer_id, source_kind, source_id, audience, sent) SELECT c.customer_id, 1, c.id, ${PEOPLE}, ${PEOPLE} FROM campaign c WHERE customer_id = ${customerId}`);
  // All at one time: no order by time tells them apart.
  await ctx.db.execute(
    sql`INSERT INTO hot.open_event (at, customer_id, source_kind, source_id, recipient_id) SELECT now(), ${key} ${everybody}`,
  );
  await ctx.db.execute(
    sql`INSERT INTO hot.recipient_activity (customer_id, source_kind, source_id, recipient_id, open_count) SELECT ${key}, 1 ${everybody}`,
  );
  return { ctx, list, campaignUid };
}

async function rowsOf({ list }: Scene): Promise<Record<string, number>> {
  const counted: Record<string, number> = {};
  for (const table of GATHERED) {
    const [row] = await queryRows<{ n: number }>(
      base.db,
      sql`SELECT count(*)::int AS n FROM ${raw(table)} WHERE customer_id = ${list.customerId}`,
    );
    counted[table] = row?.n ?? 0;
  }
  return counted;
}

const all = (n: number) => Object.fromEntries(GATHERED.map((table) => [table, n]));

async function deletionsOf({ list }: Scene) {
  return queryRows<{ kind: string; total: number; erased: number }>(
    base.db,
    sql`SELECT CASE WHEN is_list THEN 'list' ELSE 'campaign' END AS kind, total::int, erased::int FROM hot.deletion WHERE customer_id = ${list.customerId} ORDER BY kind`,
  );
}

test('a deleted list is gone at once, and erased in slices that go on where they were interrupted; its reports stay (D57)', async () => {
  const scene = await newScene();
  const { ctx, list, campaignUid } = scene;
  const other = await newList(ctx);
  await addSubscriber(ctx, { listUid: other.uid, email: 'p1@person.example' });
  const [somebody] = await subscribersByAddress(ctx, 'p2@person.example');
  await deleteList(ctx, list.uid);
  expect((await subscribersByAddress(ctx, 'p1@person.example')).map(({ listId }) => listId)).toEqual([other.id]);
  await expect(findSubscriber(ctx, { subscriber: String(somebody?.id) })).rejects.toMatchObject({
    code: 'SUBSCRIBER_NOT_FOUND',
  });
  await expect(addSubscriber(ctx, { listUid: list.uid, email: 'late@person.example' })).rejects.toMatchObject({
    code: 'LIST_NOT_FOUND',
  });
  const [job] = await queryRows<{ n: number }>(
    ctx.db,
    sql`SELECT count(*)::int AS n FROM graphile_worker.jobs WHERE task_identifier = 'accounts.erase-deleted'`,
  );
  expect(job?.n).toBe(1);
  expect(await deletionsOf(scene)).toEqual([{ kind: 'list', total: PEOPLE, erased: 0 }]);
  // As a process that is stopped, or killed after its last commit.
  for (const slices of [1, 2]) {
    let asked = 0;
    expect(await eraseDeleted(base, { isStopping: () => asked++ >= slices })).toBe(false);
  }
  const halfway = await deletionsOf(scene);
  expect(halfway.reduce((sum, { erased }) => sum + erased, 0)).toBeGreaterThanOrEqual(SLICE);
  expect(await eraseDeleted(base, { isStopping: never })).toBe(true);
  expect(await deletionsOf(scene)).toEqual([]);
  const elsewhere = { 'public.subscriber': 1, 'public.consent_event': await consentOf(other) };
  expect(await rowsOf(scene)).toEqual({ ...all(PEOPLE), ...elsewhere });
  await deleteCampaign(ctx, campaignUid);
  expect(await eraseDeleted(base, { isStopping: never })).toBe(true);
  expect(await rowsOf(scene)).toEqual({ ...all(0), ...elsewhere });
});

async function consentOf(list: MailList): Promise<number> {
  const [row] = await queryRows<{ n: number }>(
    base.db,
    sql`SELECT count(*)::int AS n FROM consent_event WHERE list_id = ${list.id}`,
  );
  return row?.n ?? 0;
}

test('a deleted campaign leaves its list as it is', async () => {
  const scene = await newScene();
  await deleteCampaign(scene.ctx, scene.campaignUid);
  expect(await deletionsOf(scene)).toEqual([{ kind: 'campaign', total: PEOPLE, erased: 0 }]);
  expect(await eraseDeleted(base, { isStopping: never })).toBe(true);
  expect(await rowsOf(scene)).toEqual({ ...all(0), 'public.subscriber': PEOPLE, 'public.consent_event': PEOPLE });
});

test('a deleted customer loses no more than a slice at once either', async () => {
  const scene = await newScene();
  const { customerId } = scene.list;
  await base.db.execute(sql`UPDATE customer SET status = 'deleting' WHERE id = ${customerId}`);
  expect(await eraseCustomer(base, { customerId, isStopping: never })).toBe(true);
  expect(await rowsOf(scene)).toEqual(all(0));
  expect(await deletionsOf(scene)).toEqual([]);
  expect(await queryRows(base.db, sql`SELECT 1 FROM customer WHERE id = ${customerId}`)).toEqual([]);
});

test('a deletion that fails does not hold up those behind it, and is tried again later', async () => {
  const ctx = await createTenant(base);
  const lines: string[] = [];
  const logged = { ...base, log: createLog({ level: 'info', format: 'json', write: (line) => lines.push(line) }) };
  const [failing, later] = [await newList(ctx), await newList(ctx)];
  for (const list of [failing, later]) await addSubscriber(ctx, { listUid: list.uid, email: 'p1@person.example' });
  await base.db.execute(
    sql`${raw(`
    CREATE FUNCTION public.refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'this one stays'; END $$;
    CREATE TRIGGER refuse BEFORE DELETE ON subscriber FOR EACH ROW WHEN (OLD.list_id = ${failing.id}) EXECUTE FUNCTION public.refuse()`)}`,
  );
  for (const list of [failing, later]) await deleteList(ctx, list.uid);
  const run = () => eraseAllDeleted(logged, new AbortController().signal);
  const left = () => queryRows(base.db, sql`SELECT uid FROM hot.deletion WHERE customer_id = ${failing.customerId}`);
  const failures = () => lines.filter((line) => line.includes('"deletion.failed"'));
  // However often somebody deletes something meanwhile: one line a period.
  for (let times = 0; times < 3; times++) await run();
  expect(await left()).toEqual([{ uid: failing.uid }]);
  expect(failures()).toEqual([expect.stringContaining('this one stays')]);
  const nextJobs = () =>
    queryRows(
      base.db,
      sql`
      SELECT ceil(extract(epoch FROM run_at - now()) / 60)::int AS minutes FROM graphile_worker.jobs WHERE key = 'erase-deleted.failed'`,
    );
  expect(await nextJobs()).toEqual([{ minutes: 15 }]);
  await base.db.execute(sql`SELECT count(*) FROM graphile_worker.remove_job('erase-deleted.failed')`);
  await base.db.execute(sql`DROP TRIGGER refuse ON subscriber`);
  await base.db.execute(sql`UPDATE hot.deletion SET next_try_at = now()`);
  await run();
  expect(await left()).toEqual([]);
  expect(failures()).toHaveLength(1);
  // With nothing left to erase there is nothing to try again.
  expect(await nextJobs()).toEqual([]);
});
