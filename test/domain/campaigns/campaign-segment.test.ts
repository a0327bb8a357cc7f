/** Campaigns to a segment: who is planned, by which rule, whatever crashes or is changed meanwhile. */
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { queryRows } from '../../../scripts/support/query-rows.ts';
import { sql } from '../../../src/db/database.ts';
import { createSegment } from '../../../src/domain/audience/segments/create-segment.ts';
import { deleteSegment } from '../../../src/domain/audience/segments/delete-segment.ts';
import { updateSegment } from '../../../src/domain/audience/segments/update-segment.ts';
import { createCampaign } from '../../../src/domain/campaigns/create-campaign.ts';
import { pauseCampaign } from '../../../src/domain/campaigns/pause-campaign.ts';
import { snapshotAudience } from '../../../src/domain/campaigns/snapshot-audience.ts';
import { startCampaign } from '../../../src/domain/campaigns/start-campaign.ts';
import { updateCampaign } from '../../../src/domain/campaigns/update-campaign.ts';
import type { Context } from '../../../src/domain/context.ts';
import { recordPersonEvents } from '../../../src/events/person-event-store.ts';
import { ForeignResourceError, ValidationError } from '../../../src/lib/errors.ts';
import { balanceOf, campaignWorld, statusOf, type CampaignWorld } from '../../support/campaign-world.ts';
import { countStatements } from '../../support/count-statements.ts';
import { storedReason } from '../../support/stored-reason.ts';
import { createTenant, newList } from '../../support/tenant.ts';
import { createTestContext, testInstallation } from '../../support/test-context.ts';

/** Slices of a hundred, so that a few hundred people are several. */
const SLICE = 100;
const ctx = await createTestContext({
  installation: {
    ...testInstallation,
    limits: { ...testInstallation.limits, snapshotBatchSize: SLICE, sendBatchSize: 30 },
  },
});

/** `p<n>@example.org`; every tenth has the tag `vip`. The first slice has a thousand. */
async function worldOf(recipients: number): Promise<CampaignWorld & { listUid: string }> {
  const world = await campaignWorld(ctx, { recipients, smtpPort: 9 });
  await ctx.db.execute(sql`
    UPDATE subscriber SET tags = '{VIP}' WHERE list_id = ${world.listId} AND substr(split_part(email, '@', 1), 2)::int % 10 = 0`);
  const [list] = await queryRows<{ uid: string }>(ctx.db, sql`SELECT uid FROM mail_list WHERE id = ${world.listId}`);
  return { ...world, listUid: list?.uid ?? '' };
}

const VIPS = { tags: { hasAny: ['vip'] } };
const newSegment = async (world: { ctx: Context; listUid: string }, rule: unknown = VIPS) =>
  (await createSegment(world.ctx, { listUid: world.listUid, name: 'VIPs', rule })).uid;
const keyOf = ({ ctx: own, campaignId }: CampaignWorld) => ({ customerId: own.viewer?.customerId ?? 0n, campaignId });
const never = new AbortController().signal;

async function plannedEmails({ campaignId }: CampaignWorld): Promise<string[]> {
  const rows = await queryRows<{ email: string }>(
    ctx.db,
    sql`SELECT email FROM hot.delivery WHERE source_id = ${campaignId} ORDER BY recipient_id`,
  );
  return rows.map(({ email }) => email);
}

const everyTenth = (count: number) => Array.from({ length: count }, (_, no) => `p${(no + 1) * 10}@example.org`);

async function start(world: CampaignWorld, segmentUid: string): Promise<void> {
  await updateCampaign(world.ctx, world.campaignUid, { segmentUid: segmentUid });
  await startCampaign(world.ctx, world.campaignUid);
}

describe('planning', () => {
  test('takes whom the rule picks, each once, over many slices, and the ledger balances', async () => {
    const world = await worldOf(4_600);
    await start(world, await newSegment(world));
    expect(await snapshotAudience(world.ctx, keyOf(world), never)).toBe('planned');
    expect(await plannedEmails(world)).toEqual(everyTenth(460));
    expect(await balanceOf(world)).toMatchObject({ audience: 460, queued: 460 });
    const [counter] = await queryRows(
      ctx.db,
      sql`SELECT audience, open FROM hot.delivery_counter WHERE source_id = ${world.campaignId}`,
    );
    expect(counter).toEqual({ audience: 460, open: 460 });
  });

  test('takes who did something so often, over many slices', async () => {
    const world = await worldOf(2_300);
    const list = { customerId: keyOf(world).customerId, listId: world.listId };
    const people = await queryRows<{ id: bigint }>(
      ctx.db,
      sql`SELECT id FROM subscriber WHERE list_id = ${world.listId} AND 'VIP' = ANY (tags) ORDER BY id`,
    );
    const events = people.map(({ id: personId }) => ({ personId, kind: 'event' as const, name: 'order_placed' }));
    await recordPersonEvents(ctx.db, list, [...events, ...events.slice(0, 200)]);
    const ordered = { event: 'order_placed', inLastDays: 7 };
    await start(world, await newSegment(world, { did: { ...ordered, atLeast: 2 } }));
    await snapshotAudience(world.ctx, keyOf(world), never);
    expect(await plannedEmails(world)).toEqual(everyTenth(200));
    const rest = await worldOf(1_300);
    await start(rest, await newSegment(rest, { didNot: ordered }));
    await snapshotAudience(rest.ctx, keyOf(rest), never);
    expect(await plannedEmails(rest)).toHaveLength(1_300);
  });

  test('looks at everybody once, however few belong to it', async () => {
    const world = await worldOf(2_000);
    await start(world, await newSegment(world, { email: { is: 'p1999@example.org' } }));
    // A slice searches for a quarter of a second, which a busy machine may need for its first stretch.
    const now = vi.spyOn(performance, 'now').mockReturnValue(performance.now());
    onTestFinished(() => now.mockRestore());
    const { statements } = await countStatements(() => snapshotAudience(world.ctx, keyOf(world), never));
    // A thousand, then stretches that grow: not ten of a hundred, and one that finds nobody.
    expect(statements.filter((text) => text.includes('stretch')).length).toBeLessThan(12);
    expect(await plannedEmails(world)).toEqual(['p1999@example.org']);
  });

  test('leaves out who is not subscribed, and closes who is suppressed', async () => {
    const world = await worldOf(40);
    await ctx.db.execute(
      sql`UPDATE subscriber SET status = 'unsubscribed' WHERE list_id = ${world.listId} AND email = 'p10@example.org'`,
    );
    await ctx.db.execute(
      sql`INSERT INTO suppression (customer_id, email_key, reason) VALUES (${keyOf(world).customerId}, 'p20@example.org', 'manual')`,
    );
    await start(world, await newSegment(world));
    await snapshotAudience(world.ctx, keyOf(world), never);
    expect(await plannedEmails(world)).toEqual(['p20@example.org', 'p30@example.org', 'p40@example.org']);
    expect(await balanceOf(world)).toMatchObject({ audience: 3, suppressed: 1, queued: 2 });
  });

  test('of nobody is not started; one whose last person leaves before the snapshot ends as error, and can be run again (D56)', async () => {
    const world = await worldOf(1_300);
    await expect(start(world, await newSegment(world, { status: ['pending'] }))).rejects.toMatchObject({
      fields: { audience: [expect.stringContaining('the segment has no person')] },
    });
    await start(world, await newSegment(world));
    await ctx.db.execute(sql`UPDATE subscriber SET tags = '{}' WHERE list_id = ${world.listId}`);
    expect(await snapshotAudience(world.ctx, keyOf(world), never)).toBe('stopped');
    expect([await statusOf(world), await storedReason(ctx.db, world.campaignId)]).toEqual([
      'error',
      expect.stringContaining('the segment has no person'),
    ]);
    await ctx.db.execute(
      sql`UPDATE subscriber SET tags = '{VIP}' WHERE list_id = ${world.listId} AND email = 'p7@example.org'`,
    );
    await startCampaign(world.ctx, world.campaignUid);
    expect(await snapshotAudience(world.ctx, keyOf(world), never)).toBe('planned');
    expect(await plannedEmails(world)).toEqual(['p7@example.org']);
  });

  test('goes on after a crash at any statement, and counts nobody twice', async () => {
    const world = await worldOf(1_300);
    await start(world, await newSegment(world));
    let crashes = 0;
    for (let allowed = 0; ; allowed += 1) {
      const dying = dyingAfter(world.ctx, allowed);
      const end = await snapshotAudience(dying, keyOf(world), never).catch(() => 'crashed');
      expect(await balanceOf(world)).toMatchObject(await counters(world));
      if (end === 'planned') break;
      crashes += 1;
    }
    expect(crashes).toBeGreaterThan(5);
    expect(await plannedEmails(world)).toEqual(everyTenth(130));
  });
});

/** A world whose database breaks the transaction after so many statements. */
function dyingAfter(own: Context, allowed: number): Context {
  let left = allowed;
  const database: Context['database'] = {
    ...own.database,
    transaction: (work) =>
      own.database.transaction((tx) => {
        const dying = <Args extends unknown[], T>(run: (...args: Args) => Promise<T>) => {
          return (...args: Args): Promise<T> => {
            left -= 1;
            return left < 0 ? Promise.reject(new Error('The process died.')) : run(...args);
          };
        };
        return work({ ...tx, query: dying(tx.query.bind(tx)), execute: dying(tx.execute.bind(tx)) });
      }),
  };
  return { ...own, database };
}

async function counters({ campaignId }: CampaignWorld): Promise<{ audience: number; queued: number }> {
  const [row] = await queryRows<{ audience: number; open: number }>(
    ctx.db,
    sql`SELECT audience, open FROM hot.delivery_counter WHERE source_id = ${campaignId}`,
  );
  return { audience: row?.audience ?? 0, queued: row?.open ?? 0 };
}

describe('the rule of a campaign under way', () => {
  test('is the one it was started with, whatever becomes of the segment', async () => {
    const world = await worldOf(1_200);
    const uid = await newSegment(world);
    await start(world, uid);
    // One slice, then everything changes.
    const once = new AbortController();
    await snapshotAudience({ ...world.ctx, database: stopAfterOne(world.ctx, once) }, keyOf(world), once.signal);
    expect(await plannedEmails(world)).toHaveLength(100);
    await updateSegment(world.ctx, uid, { name: 'Nobody', rule: { status: ['pending'] } });
    expect(await snapshotAudience(world.ctx, keyOf(world), never)).toBe('planned');
    expect(await plannedEmails(world)).toEqual(everyTenth(120));
    await ctx.db.execute(sql`UPDATE campaign SET status = 'done' WHERE id = ${world.campaignId}`);
    await deleteSegment(world.ctx, uid);
    const [row] = await queryRows(
      ctx.db,
      sql`SELECT segment_id, segment_snapshot ->> 'name' AS name FROM campaign WHERE id = ${world.campaignId}`,
    );
    expect(row).toEqual({ segment_id: null, name: 'VIPs' });
  });

  test('is kept anew when it was paused before anybody was planned', async () => {
    const world = await worldOf(30);
    await start(world, await newSegment(world));
    await pauseCampaign(world.ctx, world.campaignUid);
    await updateCampaign(world.ctx, world.campaignUid, { segmentUid: await newSegment(world, { none: [VIPS] }) });
    await startCampaign(world.ctx, world.campaignUid);
    await snapshotAudience(world.ctx, keyOf(world), never);
    expect(await plannedEmails(world)).toHaveLength(27);
  });

  test('counts "the last campaigns" without the campaign itself', async () => {
    const first = await worldOf(20);
    await start(first, await newSegment(first));
    await snapshotAudience(first.ctx, keyOf(first), never);
    await ctx.db.execute(sql`UPDATE hot.delivery SET state = 'sent' WHERE source_id = ${first.campaignId}`);
    const input = {
      listUid: first.listUid,
      name: 'Second',
      subject: 'S',
      fromEmail: 'a@sender.example',
      fromName: 'A',
      html: '<p>x</p>',
    };
    const segmentUid = await newSegment(first, { received: { campaigns: { last: 1 } } });
    const { uid } = await createCampaign(first.ctx, { ...input, segmentUid });
    await startCampaign(first.ctx, uid);
    const [row] = await queryRows<{ id: bigint }>(ctx.db, sql`SELECT id FROM campaign WHERE uid = ${uid}`);
    const second = { ...first, campaignUid: uid, campaignId: row?.id ?? 0n };
    await snapshotAudience(second.ctx, keyOf(second), never);
    expect(await plannedEmails(second)).toEqual(['p10@example.org', 'p20@example.org']);
  });
});

/** Stops the planning when its first slice is committed. */
function stopAfterOne(own: Context, controller: AbortController): Context['database'] {
  return {
    ...own.database,
    async transaction(work) {
      const result = await own.database.transaction(work);
      controller.abort();
      return result;
    },
  };
}

describe('the segment of a campaign', () => {
  test('is one of its own list, and never lost by accident', async () => {
    const world = await worldOf(10);
    const other = await newList(world.ctx);
    const own = await newSegment(world);
    const elsewhere = (await createSegment(world.ctx, { listUid: other.uid, name: 'Other', rule: VIPS })).uid;
    const stranger = await createTenant(ctx);
    const theirs = (await createSegment(stranger, { listUid: (await newList(stranger)).uid, name: 'T', rule: VIPS }))
      .uid;
    const update = (change: object) => updateCampaign(world.ctx, world.campaignUid, change);
    await expect(update({ segmentUid: elsewhere })).rejects.toMatchObject({ code: 'SEGMENT_OF_OTHER_LIST' });
    await expect(update({ segmentUid: theirs })).rejects.toBeInstanceOf(ForeignResourceError);
    await update({ segmentUid: own });
    // With another list, the campaign would go to everybody on it, or to nobody.
    await expect(update({ listUid: other.uid })).rejects.toBeInstanceOf(ValidationError);
    await update({ listUid: other.uid, segmentUid: elsewhere });
    await update({ listUid: world.listUid, segmentUid: null });
    const [row] = await queryRows(ctx.db, sql`SELECT list_id, segment_id FROM campaign WHERE id = ${world.campaignId}`);
    expect(row).toEqual({ list_id: world.listId, segment_id: null });
    expect(await statusOf(world)).toBe('ready');
  });

  test('is not deleted while it is being given to a campaign', async () => {
    const world = await worldOf(5);
    for (let no = 0; no < 10; no++) {
      const uid = await newSegment(world);
      const [given, deleted] = await Promise.allSettled([
        updateCampaign(world.ctx, world.campaignUid, { segmentUid: uid }),
        deleteSegment(world.ctx, uid),
      ]);
      expect([given.status, deleted.status].toSorted()).toEqual(['fulfilled', 'rejected']);
      const [torn] = await queryRows(
        ctx.db,
        sql`
        SELECT 1 FROM campaign c WHERE id = ${world.campaignId} AND segment_id IS NOT NULL AND NOT EXISTS (SELECT 1 FROM segment s WHERE s.id = c.segment_id)`,
      );
      expect(torn).toBeUndefined();
      await updateCampaign(world.ctx, world.campaignUid, { segmentUid: null });
    }
  });
});
