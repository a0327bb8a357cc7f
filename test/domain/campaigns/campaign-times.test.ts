/** A campaign's time: moved, taken back, judged by the one clock that all processes share; and what a pause may change. */
import { describe, expect, it } from 'vitest';
import { queryRows } from '../../../scripts/support/query-rows.ts';
import { sql } from '../../../src/db/database.ts';
import { pauseCampaign } from '../../../src/domain/campaigns/pause-campaign.ts';
import { snapshotAudience } from '../../../src/domain/campaigns/snapshot-audience.ts';
import { resumeCampaign } from '../../../src/domain/campaigns/resume-campaign.ts';
import { reviveCampaigns } from '../../../src/domain/campaigns/revive-campaigns.ts';
import { startCampaign, startScheduledCampaign } from '../../../src/domain/campaigns/start-campaign.ts';
import { updateCampaign } from '../../../src/domain/campaigns/update-campaign.ts';
import type { Context } from '../../../src/domain/context.ts';
import { campaignWorld, statusOf, type CampaignWorld } from '../../support/campaign-world.ts';
import { createTestContext } from '../../support/test-context.ts';

const ctx = await createTestContext();
const HOUR_MS = 3_600_000;
const inHours = (hours: number): Date => new Date(Date.now() + hours * HOUR_MS);
const clockThatIsLate: Context['clock'] = { now: () => inHours(-1) };

const keyOf = ({ ctx: own, campaignId }: CampaignWorld) => ({ customerId: own.viewer?.customerId ?? 0n, campaignId });

async function scheduledWorld(at: Date): Promise<CampaignWorld> {
  const world = await campaignWorld(ctx, { recipients: 3, smtpPort: 9, campaign: { deliveryAt: at } });
  await startCampaign(world.ctx, world.campaignUid);
  expect(await statusOf(world)).toBe('scheduled');
  return world;
}

/** Waiting jobs of this kind for the campaign, by the time they run. */
async function jobsOf({ campaignId }: CampaignWorld, name: string): Promise<Date[]> {
  const rows = await queryRows<{ runAt: Date }>(
    ctx.db,
    sql`SELECT j.run_at AS "runAt" FROM graphile_worker._private_jobs j JOIN graphile_worker._private_tasks t ON t.id = j.task_id
         WHERE t.identifier = ${name} AND j.payload ->> 'campaignId' = ${String(campaignId)} ORDER BY j.id`,
  );
  return rows.map(({ runAt }) => runAt);
}

const suppressAll = ({ listId }: CampaignWorld) =>
  ctx.db.execute(
    sql`INSERT INTO suppression (customer_id, email_key, reason) SELECT customer_id, email_key, 'manual' FROM subscriber WHERE list_id = ${listId}`,
  );

describe('a scheduled campaign', () => {
  it('whose time is moved starts at the new one', async () => {
    const world = await scheduledWorld(inHours(24));
    const later = inHours(48);
    await updateCampaign(world.ctx, world.campaignUid, { deliveryAt: later });
    expect(await statusOf(world)).toBe('scheduled');
    expect(await jobsOf(world, 'campaigns.start-scheduled')).toEqual([later]);
  });

  it.each([
    ['whose time is taken away', { deliveryAt: null }, 'ready'],
    ['that lacks something again', { subject: '' }, 'new'],
  ])('%s is not started', async (_what, change, status) => {
    const world = await scheduledWorld(inHours(1));
    await updateCampaign(world.ctx, world.campaignUid, change);
    expect(await statusOf(world)).toBe(status);
    await startScheduledCampaign(world.ctx, keyOf(world));
    expect(await statusOf(world)).toBe(status);
  });

  it('starts when the database says it is time, whatever the clock of the process says', async () => {
    const world = await scheduledWorld(inHours(1));
    await ctx.db.execute(
      sql`UPDATE campaign SET delivery_at = now() - interval '1 second' WHERE id = ${world.campaignId}`,
    );
    await startScheduledCampaign({ ...world.ctx, clock: clockThatIsLate }, keyOf(world));
    expect(await statusOf(world)).toBe('queued');
  });
});

describe('a resumed campaign', () => {
  it('that was paused before anybody was planned is checked like a new one', async () => {
    const world = await campaignWorld(ctx, { recipients: 3, smtpPort: 9 });
    await startCampaign(world.ctx, world.campaignUid);
    await pauseCampaign(world.ctx, world.campaignUid);
    await updateCampaign(world.ctx, world.campaignUid, { subject: '' });
    await expect(resumeCampaign(world.ctx, world.campaignUid)).rejects.toMatchObject({ code: 'CAMPAIGN_NOT_READY' });
  });

  it('that is half planned is being sent at once: its batches do not wait for the rest of the plan', async () => {
    const world = await campaignWorld(ctx, { recipients: 1_500, smtpPort: 9 });
    const stop = new AbortController();
    await startCampaign(world.ctx, world.campaignUid);
    const planning = snapshotAudience(world.ctx, keyOf(world), stop.signal);
    stop.abort();
    await planning;
    await pauseCampaign(world.ctx, world.campaignUid);
    await resumeCampaign(world.ctx, world.campaignUid);
    expect(await statusOf(world)).toBe('sending');
  });

  it('with nothing left to send is closed by a job, not by the minute', async () => {
    const world = await campaignWorld(ctx, { recipients: 1, smtpPort: 9 });
    await startCampaign(world.ctx, world.campaignUid);
    await suppressAll(world);
    await snapshotAudience(world.ctx, keyOf(world), new AbortController().signal);
    await pauseCampaign(world.ctx, world.campaignUid);
    await ctx.db.execute(sql`DELETE FROM graphile_worker._private_jobs`);
    await resumeCampaign(world.ctx, world.campaignUid);
    expect(await jobsOf(world, 'campaigns.plan')).toHaveLength(1);
  });
});

describe('the safety net', () => {
  it('does not take an old appointment for a sign of life', async () => {
    const world = await scheduledWorld(inHours(24));
    await pauseCampaign(world.ctx, world.campaignUid);
    await updateCampaign(world.ctx, world.campaignUid, { deliveryAt: null });
    await startCampaign(world.ctx, world.campaignUid);
    await ctx.db.execute(sql`DELETE FROM graphile_worker._private_jobs WHERE key LIKE 'campaigns.plan%'`);
    await reviveCampaigns(ctx);
    expect(await jobsOf(world, 'campaigns.plan')).toHaveLength(1);
  });

  it('mends counters that say more is open than the ledger', async () => {
    const world = await campaignWorld(ctx, { recipients: 1, smtpPort: 9 });
    await startCampaign(world.ctx, world.campaignUid);
    await suppressAll(world);
    await snapshotAudience(world.ctx, keyOf(world), new AbortController().signal);
    await ctx.db.execute(
      sql`UPDATE hot.delivery_counter SET audience = 3, open = 2 WHERE source_id = ${world.campaignId}`,
    );
    await ctx.db.execute(sql`DELETE FROM graphile_worker._private_jobs`);
    await reviveCampaigns(ctx);
    expect(await statusOf(world)).toBe('done');
  });
});
