/** Dry runs as their jobs work them off: by segments, through stops and repetitions, one at a time. */
import { expect, test } from 'vitest';
import { queryRows } from '../../../scripts/support/query-rows.ts';
import { sql } from '../../../src/db/database.ts';
import { createCampaign } from '../../../src/domain/campaigns/create-campaign.ts';
import { cancelDryRun, startDryRun, workDryRun } from '../../../src/domain/campaigns/dry-run.ts';
import { latestDryRun, type DryRun } from '../../../src/domain/campaigns/dry-run-store.ts';
import { updateCampaign } from '../../../src/domain/campaigns/update-campaign.ts';
import { type Context, viewerOf } from '../../../src/domain/context.ts';
import { newUid } from '../../../src/lib/ids.ts';
import { createTenant, newList } from '../../support/tenant.ts';
import { createTestContext } from '../../support/test-context.ts';

const base = await createTestContext();
const PEOPLE = 1_300;

async function campaignWithPeople(rule?: object) {
  const ctx = await createTenant(base);
  const list = await newList(ctx);
  const { customerId } = viewerOf(ctx);
  await ctx.db.execute(sql`
    INSERT INTO subscriber (customer_id, list_id, email, email_key, status, tags, fields)
    SELECT ${customerId}, ${list.id}, 'p' || n || '@example.org', 'p' || n || '@example.org', 'subscribed', '{}', jsonb_build_object('FIRST_NAME', 'N' || n)
      FROM generate_series(1, ${PEOPLE}::int) n`);
  const segmentUid = newUid();
  if (rule)
    await ctx.db.execute(
      sql`INSERT INTO segment (customer_id, uid, list_id, name, rule) VALUES (${customerId}, ${segmentUid}, ${list.id}, 'S', ${JSON.stringify(rule)}::jsonb)`,
    );
  const { uid } = await createCampaign(ctx, {
    ...{ listUid: list.uid, name: 'x', subject: 'Hi {FIRST_NAME}', fromEmail: 'news@sender.example', fromName: 'x' },
    ...{ html: '<p>{{ subscriber.first_name }}</p>', ...(rule ? { segmentUid: segmentUid } : {}) },
  });
  return { ctx, uid, customerId };
}

const job = { abortSignal: new AbortController().signal, isLastTry: false };

async function shown(ctx: Context, run: DryRun): Promise<DryRun> {
  const found = await latestDryRun(ctx.db, run);
  if (!found) throw new Error('The dry run is gone.');
  return found;
}

test('looks at everybody once, through stops, repetitions and two workers at once', async () => {
  const { ctx, uid } = await campaignWithPeople();
  const run = await startDryRun(ctx, uid);
  const stopping = new AbortController();
  const stopped = workDryRun(ctx, run, { ...job, abortSignal: stopping.signal });
  stopping.abort();
  expect(await stopped).toBe('stopped');
  await Promise.all([workDryRun(ctx, run, job), workDryRun(ctx, run, job), workDryRun(ctx, run, job)]);
  expect(await workDryRun(ctx, run, job)).toBe('over');
  const over = await shown(ctx, run);
  expect(over).toMatchObject({
    status: 'done',
    total: PEOPLE,
    checked: PEOPLE,
    composed: PEOPLE,
    faulty: 0,
    skipped: {},
  });
  expect(Number(over.totalBytes)).toBeGreaterThan(PEOPLE * 1_000);
  expect(over.largestBytes).toBeLessThan(5_000);
});

test('says of those whom the segment does not pick that they get none', async () => {
  const { ctx, uid } = await campaignWithPeople({ email: { contains: 'p1' } });
  const run = await startDryRun(ctx, uid);
  await workDryRun(ctx, run, job);
  const [row] = await queryRows<{ count: number }>(
    ctx.db,
    sql`SELECT count(*)::int AS count FROM subscriber WHERE customer_id = ${run.customerId} AND email LIKE '%p1%'`,
  );
  const { status, composed, skipped } = await shown(ctx, run);
  expect({ status, composed, skipped }).toEqual({
    ...{ status: 'done', composed: row?.count },
    skipped: { 'not in the segment': PEOPLE - (row?.count ?? 0) },
  });
});

test('cancelled or overtaken by a change, it composes nothing more', async () => {
  const { ctx, uid } = await campaignWithPeople();
  const first = await startDryRun(ctx, uid);
  expect((await cancelDryRun(ctx, uid)).status).toBe('cancelled');
  await expect(cancelDryRun(ctx, uid)).rejects.toMatchObject({ code: 'DRY_RUN_NOT_RUNNING' });
  expect(await workDryRun(ctx, first, job)).toBe('over');
  expect(await shown(ctx, first)).toMatchObject({ status: 'cancelled', checked: 0 });
  const second = await startDryRun(ctx, uid);
  const stopping = new AbortController();
  const stopped = workDryRun(ctx, second, { ...job, abortSignal: stopping.signal });
  setTimeout(() => stopping.abort(), 1);
  await stopped;
  await updateCampaign(ctx, uid, { subject: 'Other' });
  await ctx.db.execute(sql`UPDATE dry_run SET status = 'running', finished_at = NULL WHERE id = ${second.id}`);
  await workDryRun(ctx, second, job);
  expect(await shown(ctx, second)).toMatchObject({
    status: 'failed',
    reason: { code: 'dry_run_changed' },
  });
});

test('of 50 that ask at once, one starts it', async () => {
  const { ctx, uid } = await campaignWithPeople();
  const outcomes = await Promise.allSettled(Array.from({ length: 50 }, () => startDryRun(ctx, uid)));
  expect(outcomes.filter(({ status }) => status === 'fulfilled').length).toBe(1);
  for (const outcome of outcomes)
    if (outcome.status === 'rejected') expect(outcome.reason).toMatchObject({ code: 'DRY_RUN_RUNNING' });
});
