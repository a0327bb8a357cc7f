/** Campaigns that stand still are an alarm (HARD-CASES H13); slow ones, waiting ones and those that get on are not. */
import { beforeAll, expect, it } from 'vitest';
import { queryRows } from '../../../scripts/support/query-rows.ts';
import { sql } from '../../../src/db/database.ts';
import { stalledCampaigns } from '../../../src/domain/campaigns/campaign-progress-store.ts';
import { watchProgress } from '../../../src/domain/campaigns/watch-progress.ts';
import { createLog } from '../../../src/lib/log.ts';
import { campaignWorld, type CampaignWorld } from '../../support/campaign-world.ts';
import { createTestContext } from '../../support/test-context.ts';
import { storedReason } from '../../support/stored-reason.ts';

const logged: string[] = [];
const log = createLog({ level: 'info', format: 'json', write: (line) => void logged.push(line) });
const ctx = await createTestContext({ log });
let world: CampaignWorld;

beforeAll(async () => {
  world = await campaignWorld(ctx, { recipients: 4, smtpPort: 1 });
  await queryRows(ctx.db, sql`SELECT hot.ensure_partitions(current_date, current_date)`);
  await ctx.db.execute(
    sql`UPDATE campaign SET status = 'sending', snapshot_on = current_date, snapshot_at = now() WHERE id = ${world.campaignId}`,
  );
  await ctx.db.execute(sql`
    INSERT INTO hot.delivery (snapshot_on, customer_id, source_kind, source_id, recipient_id, email, reason, reply)
    SELECT current_date, customer_id, 1, ${world.campaignId}, id, email, 'server_unavailable', 'connection refused' FROM subscriber`);
  await ctx.db.execute(sql`
    INSERT INTO hot.delivery_counter (customer_id, source_kind, source_id, audience, open) SELECT customer_id, 1, id, 4, 4 FROM campaign`);
  await watchProgress(ctx);
});

/** As if everything had been so for this long. */
const pass = (seconds: number) =>
  ctx.db.execute(
    sql`UPDATE hot.campaign_progress SET changed_at = changed_at - make_interval(secs => ${seconds}), alarmed_at = alarmed_at - make_interval(secs => ${seconds})`,
  );
const getOn = () => ctx.db.execute(sql`UPDATE hot.delivery_counter SET open = open - 1, sent = sent + 1`);
const reason = () => storedReason(ctx.db, world.campaignId);

it('alarms once, says what is in the way, repeats it hourly, and takes it back', async () => {
  await pass(170);
  expect(await watchProgress(ctx)).toEqual([]);
  await pass(20);
  expect(await watchProgress(ctx)).toEqual([world.campaignUid]);
  expect(await reason()).toMatch(/^No progress since .* UTC: server unavailable: connection refused\.$/);
  expect(await stalledCampaigns(ctx.db)).toMatchObject([{ uid: world.campaignUid }]);
  expect(logged.filter((line) => line.includes('campaign.stalled'))).toHaveLength(1);
  expect(await watchProgress(ctx)).toEqual([]);
  await pass(3_700);
  expect(await watchProgress(ctx)).toEqual([world.campaignUid]);
  await getOn();
  await watchProgress(ctx);
  expect([await reason(), await stalledCampaigns(ctx.db)]).toEqual([null, []]);
});

it.each([
  ['no worker takes its jobs', 0, null],
  ['its server does not answer', 1, null],
  ['no worker takes its jobs: 421 closing', 0, '421 closing'],
  ['its server does not answer: 421 closing', 1, '421 closing'],
])(
  'says that %s where the ledger has no reason, %d are under way, and the reply was %s',
  async (cause, underWay, reply) => {
    await ctx.db.execute(sql`UPDATE hot.delivery SET reason = NULL, reply = ${reply}, state = 'queued'`);
    await ctx.db.execute(sql`
    UPDATE hot.delivery SET state = 'sending', owner = gen_random_uuid(), lease_expires_at = now() + interval '45 seconds'
     WHERE recipient_id IN (SELECT recipient_id FROM hot.delivery LIMIT ${underWay})`);
    await pass(100_000);
    expect(await watchProgress(ctx)).toEqual([world.campaignUid]);
    expect(await reason()).toMatch(new RegExp(`UTC: ${cause}\\.$`));
    await ctx.db.execute(sql`UPDATE hot.delivery SET state = 'queued', owner = NULL, lease_expires_at = NULL`);
    await getOn();
    await watchProgress(ctx);
  },
);

it('learns how slow a campaign is', async () => {
  for (let step = 0; step < 6; step += 1) {
    await pass(600);
    await ctx.db.execute(sql`UPDATE hot.delivery_counter SET audience = audience + 1, open = open + 1`);
    await watchProgress(ctx);
  }
  await pass(900);
  expect(await watchProgress(ctx)).toEqual([]);
  await pass(6_000);
  expect(await watchProgress(ctx)).toEqual([world.campaignUid]);
});

it.each([
  ['waits for retries', sql`UPDATE hot.delivery SET not_before = now() + interval '1 hour'`],
  ['waits for its plan', sql`UPDATE campaign SET wait_kind = 'credits', wait_until = now() + interval '1 hour'`],
  ['is paused', sql`UPDATE campaign SET status = 'paused', wait_kind = NULL, wait_until = NULL`],
])('leaves one alone that %s', async (_name, change) => {
  await ctx.db.execute(change);
  await pass(100_000);
  expect(await watchProgress(ctx)).toEqual([]);
  expect(await stalledCampaigns(ctx.db)).toEqual([]);
});
