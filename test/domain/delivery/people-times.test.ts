/** When people are written to: by clocks that change, by their own time of day, outside of quiet hours; and with how many jobs. */
import { afterEach, describe, expect, it } from 'vitest';
import path from 'node:path';
import { queryRows } from '../../../scripts/support/query-rows.ts';
import { sql } from '../../../src/db/database.ts';
import { loadPlugins } from '../../../src/plugin-host/load-plugins.ts';
import { pauseCampaign } from '../../../src/domain/campaigns/pause-campaign.ts';
import { snapshotAudience } from '../../../src/domain/campaigns/snapshot-audience.ts';
import { resumeCampaign } from '../../../src/domain/campaigns/resume-campaign.ts';
import { reviveCampaigns } from '../../../src/domain/campaigns/revive-campaigns.ts';
import { sendAtTime, waitForSendTime } from '../../../src/domain/campaigns/campaign-send-times.ts';
import { startCampaign } from '../../../src/domain/campaigns/start-campaign.ts';
import { waitForPlan, wakeCampaigns } from '../../../src/domain/campaigns/wait-for-plan.ts';
import { updateList } from '../../../src/domain/audience/update-list.ts';
import { createActiveCampaigns } from '../../../src/domain/delivery/campaigns/active-campaign.ts';
import { openWorkIn } from '../../../src/domain/delivery/ledger/ledger-read-model.ts';
import { sendBatch } from '../../../src/domain/delivery/campaigns/send-batch.ts';
import { createDriverPool } from '../../../src/domain/sending/driver-pool.ts';
import { balanceOf, campaignWorld, statusOf, type CampaignWorld } from '../../support/campaign-world.ts';
import { createTestContext } from '../../support/test-context.ts';
import { ledgerOfCampaign } from '../../../src/domain/delivery/ledger/delivery.ts';
import { storedReason } from '../../support/stored-reason.ts';

const ctx = await createTestContext();
await loadPlugins(path.resolve('plugins'), ctx.hooks);
afterEach(() => ctx.db.execute(sql`DELETE FROM graphile_worker._private_jobs`));

describe('somebody is written to', () => {
  it.each([
    // Zone, earliest, local time, quiet from, to, by the clocks of: when.
    ['Europe/Berlin', '2026-03-01T08:00Z', '09:00', null, null, null, '2026-03-01T08:00:00Z'],
    ['Europe/Berlin', '2026-03-01T08:01Z', '09:00', null, null, null, '2026-03-02T08:00:00Z'],
    // The day on which clocks go forward, and the one on which they go back (2026: 29 March and 25 October in Europe).
    ['Europe/Berlin', '2026-03-28T12:00Z', '09:00', null, null, null, '2026-03-29T07:00:00Z'],
    ['Europe/Berlin', '2026-10-24T12:00Z', '09:00', null, null, null, '2026-10-25T08:00:00Z'],
    ['America/New_York', '2026-03-07T23:00Z', '09:00', null, null, null, '2026-03-08T13:00:00Z'],
    ['America/New_York', '2026-10-31T23:00Z', '09:00', null, null, null, '2026-11-01T14:00:00Z'],
    // 02:30 does not exist on that day, and exists twice on this one.
    ['Europe/Berlin', '2026-03-28T12:00Z', '02:30', null, null, null, '2026-03-29T01:30:00Z'],
    ['Europe/Berlin', '2026-10-24T12:00Z', '02:30', null, null, null, '2026-10-25T01:30:00Z'],
    ['Asia/Kolkata', '2026-06-01T00:00Z', '09:00', null, null, null, '2026-06-01T03:30:00Z'],
    ['Pacific/Kiritimati', '2026-06-01T00:00Z', '09:00', null, null, null, '2026-06-01T19:00:00Z'],
    // Quiet hours over midnight, within a day, by a clock of their own, and over the change of clocks.
    ['Europe/Berlin', '2026-06-01T18:59Z', null, '21:00', '08:00', null, '2026-06-01T18:59:00Z'],
    ['Europe/Berlin', '2026-06-01T19:00Z', null, '21:00', '08:00', null, '2026-06-02T06:00:00Z'],
    ['Europe/Berlin', '2026-06-02T05:59Z', null, '21:00', '08:00', null, '2026-06-02T06:00:00Z'],
    ['Europe/Berlin', '2026-06-02T06:00Z', null, '21:00', '08:00', null, '2026-06-02T06:00:00Z'],
    ['Europe/Berlin', '2026-06-01T10:30Z', null, '12:00', '14:00', null, '2026-06-01T12:00:00Z'],
    ['Asia/Tokyo', '2026-06-01T19:00Z', null, '21:00', '08:00', 'Europe/Berlin', '2026-06-02T06:00:00Z'],
    ['Europe/Berlin', '2026-10-24T22:00Z', null, '21:00', '08:00', null, '2026-10-25T07:00:00Z'],
    ['Europe/Berlin', '2026-06-01T10:00Z', '23:30', '21:00', '08:00', null, '2026-06-02T06:00:00Z'],
  ])('in %s from %s at %s, quiet %s to %s (%s): %s', async (zone, base, local, from, to, by, at) => {
    const [row] = await queryRows<{ at: Date }>(
      ctx.db,
      sql`SELECT hot.send_time(${zone}, ${base}::timestamptz, ${local}::time, ${from}::time, ${to}::time, ${by}::text) AS at`,
    );
    expect(row?.at.toISOString()).toBe(at.replace('Z', '.000Z'));
  });
});

const ZONES = [
  'Pacific/Kiritimati',
  'Asia/Tokyo',
  'asia/kolkata ',
  'Europe/Berlin',
  'America/New_York',
  'Nowhere/Land',
  '',
  "'; DROP",
];

/** Everybody has one of the zones above in the field TZ; nobody is to be written to now. */
async function zonedWorld(recipients: number, campaign: Record<string, unknown> = {}): Promise<CampaignWorld> {
  const world = await campaignWorld(ctx, { recipients, smtpPort: 9 });
  const [uidRow] = await queryRows<{ uid: string }>(ctx.db, sql`SELECT uid FROM mail_list WHERE id = ${world.listId}`);
  await updateList(world.ctx, uidRow?.uid ?? '', { timezone: 'America/Sao_Paulo', timezoneTag: 'tz' });
  await ctx.db.execute(
    sql`UPDATE subscriber SET fields = fields || jsonb_build_object('TZ', (${ZONES}::text[])[1 + id % 8]) WHERE list_id = ${world.listId}`,
  );
  // Half an hour before any zone's full or half hour: nobody's time is now.
  await ctx.db.execute(sql`
    UPDATE campaign SET deliver_in_subscriber_timezone = ${campaign['isOwnTime'] ?? true},
           local_time = to_char(now() + interval '15 minutes', 'HH24:MI'), quiet_hours = ${JSON.stringify(campaign['quiet'] ?? null)}::jsonb
     WHERE id = ${world.campaignId}`);
  return world;
}

const keyOf = ({ ctx: own, campaignId }: CampaignWorld) => ({ customerId: own.viewer?.customerId ?? 0n, campaignId });

async function plan(world: CampaignWorld): Promise<void> {
  await startCampaign(world.ctx, world.campaignUid);
  await snapshotAudience(world.ctx, keyOf(world), new AbortController().signal);
  await waitForSendTime(world.ctx, keyOf(world));
}

async function jobs(): Promise<Record<string, number>> {
  const rows = await queryRows<{ name: string; count: number }>(
    ctx.db,
    sql`SELECT t.identifier AS name, count(*)::int AS count FROM graphile_worker._private_jobs j JOIN graphile_worker._private_tasks t ON t.id = j.task_id GROUP BY 1`,
  );
  return Object.fromEntries(rows.map(({ name, count }) => [name, count]));
}

async function sendTimes({ campaignId }: CampaignWorld): Promise<number[]> {
  const rows = await queryRows<{ people: number }>(
    ctx.db,
    sql`SELECT people FROM hot.campaign_send_time WHERE campaign_id = ${campaignId} ORDER BY at`,
  );
  return rows.map(({ people }) => people);
}

describe('a campaign by the clocks of its people', () => {
  it('has one job for each moment however many people there are, and says until when it waits', async () => {
    const world = await zonedWorld(4_000);
    await plan(world);
    // Five known zones, and one for those whose field says nothing that is known.
    const moments = await sendTimes(world);
    expect(moments).toHaveLength(6);
    expect(moments.toSorted((a, b) => a - b)).toEqual([500, 500, 500, 500, 500, 1_500]);
    expect(await jobs()).toMatchObject({ 'campaigns.send-time': 6 });
    expect((await jobs())['delivery.send-batch']).toBeUndefined();
    const [row] = await queryRows<{ waits: boolean }>(
      ctx.db,
      sql`SELECT wait_until = (SELECT min(at) FROM hot.campaign_send_time WHERE campaign_id = c.id) AS waits FROM campaign c WHERE id = ${world.campaignId}`,
    );
    expect(row?.waits).toBe(true);
    expect(await storedReason(ctx.db, world.campaignId)).toContain('at their local time');
    expect(await statusOf(world)).toBe('sending');
    expect(await balanceOf(world)).toMatchObject({ audience: 4_000, queued: 4_000 });
  });

  it('is left alone by whoever looks for campaigns that stand still', async () => {
    const world = await zonedWorld(80);
    await plan(world);
    const before = await jobs();
    expect(await wakeCampaigns(ctx)).toBe(0);
    expect(await reviveCampaigns(ctx)).toBe(0);
    expect(await jobs()).toEqual(before);
  });

  it('gives batches to those whose moment has come, and to nobody else', async () => {
    const world = await zonedWorld(4_000);
    await plan(world);
    await ctx.db.execute(sql`DELETE FROM graphile_worker._private_jobs`);
    await ctx.db.execute(sql`
      WITH first AS (SELECT min(at) AS at FROM hot.campaign_send_time WHERE campaign_id = ${world.campaignId}),
           moved AS (UPDATE hot.campaign_send_time SET at = now() - interval '1 second' WHERE campaign_id = ${world.campaignId} AND at = (SELECT at FROM first)),
           rows AS (UPDATE hot.delivery SET not_before = now() - interval '1 second' WHERE source_id = ${world.campaignId} AND not_before = (SELECT at FROM first))
      UPDATE campaign SET wait_until = now() - interval '1 second' WHERE id = ${world.campaignId}`);
    await sendAtTime(world.ctx, keyOf(world));
    expect(await jobs()).toEqual({ 'campaigns.send-time': 5, 'delivery.send-batch': expect.any(Number) });
    expect((await jobs())['delivery.send-batch']).toBeLessThanOrEqual(3);
    const [plannedOnRow] = await queryRows<{ snapshotOn: string }>(
      ctx.db,
      sql`SELECT snapshot_on::text AS "snapshotOn" FROM campaign WHERE id = ${world.campaignId}`,
    );
    const { open } = await openWorkIn(ctx.db, {
      ...ledgerOfCampaign({ ...keyOf(world), snapshotOn: plannedOnRow?.snapshotOn ?? '' }),
      fromId: 0n,
      toId: 2n ** 62n,
    });
    expect([500, 1_500]).toContain(open);
  });

  it('keeps its moments over a pause', async () => {
    const world = await zonedWorld(80);
    await plan(world);
    await pauseCampaign(world.ctx, world.campaignUid);
    await ctx.db.execute(sql`DELETE FROM graphile_worker._private_jobs`);
    await sendAtTime(world.ctx, keyOf(world));
    expect(await jobs()).toEqual({});
    await resumeCampaign(world.ctx, world.campaignUid);
    expect(await jobs()).toEqual({ 'campaigns.send-time': 6, 'campaigns.plan': 1 });
  });
});

describe('quiet hours', () => {
  const around = async (beforeMinutes: number, afterMinutes: number) => {
    const [row] = await queryRows<{ from: string; to: string }>(
      ctx.db,
      sql`SELECT to_char(now() - make_interval(mins => ${beforeMinutes}::int), 'HH24:MI') AS from, to_char(now() + make_interval(mins => ${afterMinutes}::int), 'HH24:MI') AS to`,
    );
    return row ?? { from: '', to: '' };
  };

  function send(world: CampaignWorld) {
    const drivers = createDriverPool(ctx.hooks);
    const tools = { drivers, campaigns: createActiveCampaigns(), announce: () => undefined };
    return sendBatch(
      ctx,
      { ...keyOf(world), fromId: 0n, toId: 2n ** 62n },
      { ...tools, workerId: crypto.randomUUID(), abortSignal: new AbortController().signal },
    );
  }

  it('that begin while a campaign is being sent hold all of it until they end, whatever the plan allows', async () => {
    const world = await campaignWorld(ctx, { recipients: 5, smtpPort: 9 });
    await plan(world);
    const quiet = { ...(await around(60, 120)), timezone: 'UTC' };
    await ctx.db.execute(
      sql`UPDATE campaign SET quiet_hours = ${JSON.stringify(quiet)}::jsonb, updated_at = now() WHERE id = ${world.campaignId}`,
    );
    const end = await send(world);
    expect(end).toMatchObject({ limit: 'hours' });
    if (typeof end !== 'object' || !('limit' in end)) throw new Error('The batch was not stopped.');
    await waitForPlan(world.ctx, keyOf(world), end);
    const [row] = await queryRows<{ minutes: number }>(
      ctx.db,
      sql`SELECT extract(epoch FROM wait_until - now())::int / 60 AS minutes FROM campaign WHERE id = ${world.campaignId}`,
    );
    expect(await storedReason(ctx.db, world.campaignId)).toMatch(
      /^These are quiet hours: sending continues at .* UTC\.$/,
    );
    expect(row?.minutes).toBeGreaterThan(117);
    expect(await wakeCampaigns(ctx)).toBe(0);
    expect(await send(world)).toBe('not sending');
  });

  it('in which a campaign starts are what it says it waits for', async () => {
    const world = await campaignWorld(ctx, { recipients: 5, smtpPort: 9 });
    const quiet = { ...(await around(60, 120)), timezone: 'UTC' };
    await ctx.db.execute(
      sql`UPDATE campaign SET quiet_hours = ${JSON.stringify(quiet)}::jsonb WHERE id = ${world.campaignId}`,
    );
    await plan(world);
    expect(await storedReason(ctx.db, world.campaignId)).toMatch(
      /^All remaining recipients have quiet hours: sending continues at .* UTC\.$/,
    );
  });

  it('by the clocks of people hold those for whom it is quiet, and no others', async () => {
    const world = await zonedWorld(80, { isOwnTime: false });
    await plan(world);
    expect(await sendTimes(world)).toEqual([]);
    const [row] = await queryRows<{ from: string; to: string }>(
      ctx.db,
      sql`SELECT to_char((now() AT TIME ZONE 'Asia/Tokyo') - interval '10 minutes', 'HH24:MI') AS from, to_char((now() AT TIME ZONE 'Asia/Tokyo') + interval '10 minutes', 'HH24:MI') AS to`,
    );
    await ctx.db.execute(
      sql`UPDATE campaign SET quiet_hours = ${JSON.stringify(row)}::jsonb, updated_at = now() WHERE id = ${world.campaignId}`,
    );
    // Nobody listens there: who may go is put back because of the server, who may not because of the hour.
    await send(world);
    const held = await queryRows<{ zone: string; minutes: number }>(
      ctx.db,
      sql`SELECT s.fields ->> 'TZ' AS zone, extract(epoch FROM d.not_before - now())::int / 60 AS minutes
            FROM hot.delivery d JOIN subscriber s ON s.id = d.recipient_id WHERE d.source_id = ${world.campaignId} AND d.reason = 'quiet_hours'`,
    );
    expect(new Set(held.map(({ zone }) => zone))).toEqual(new Set(['Asia/Tokyo']));
    expect(held).toHaveLength(10);
    for (const { minutes } of held) expect(minutes).toBeLessThanOrEqual(10);
  });
});
