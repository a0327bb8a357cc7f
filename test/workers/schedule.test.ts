/** Scheduled starts (A16): each once, whoever looks, whatever their clocks say and whoever dies at that moment. */
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { queryRows } from '../../scripts/support/query-rows.ts';
import { openDatabase, sql } from '../../src/db/database.ts';
import { startCampaign, startScheduledCampaign } from '../../src/domain/campaigns/start-campaign.ts';
import { updateCampaign } from '../../src/domain/campaigns/update-campaign.ts';
import { silentLog } from '../../src/lib/log.ts';
import { runWorker } from '../../src/workers/run-worker.ts';
import { startScheduledCampaignTask } from '../../src/workers/tasks/plan-campaign.ts';
import { campaignWorld, type CampaignWorld } from '../support/campaign-world.ts';
import { createTestContext } from '../support/test-context.ts';

/** More by hand, one every tenth of a second: SCHEDULED=300 npx vitest run test/workers/schedule.test.ts */
const SLOTS = Number(process.env['SCHEDULED'] ?? 0);
/** How long making one may take: on a busy machine seconds. */
const MAKING_MS = 1_000;

const ctx = await createTestContext();
// Every start is written down by the database itself.
await ctx.db.execute(sql`CREATE TABLE started (campaign_id bigint, at timestamptz, due timestamptz)`);
await ctx.db.execute(sql`
  CREATE FUNCTION note_start() RETURNS trigger LANGUAGE plpgsql AS
  'BEGIN INSERT INTO started VALUES (new.id, clock_timestamp(), new.delivery_at); RETURN new; END'`);
await ctx.db.execute(sql`
  CREATE TRIGGER note_start AFTER UPDATE ON campaign FOR EACH ROW
  WHEN (old.status <> 'queued' AND new.status = 'queued') EXECUTE FUNCTION note_start()`);

async function scheduled(count: number, due: (no: number) => Date): Promise<CampaignWorld[]> {
  const worlds: CampaignWorld[] = [];
  for (let no = 0; no < count; no++) {
    const world = await campaignWorld(ctx, {
      recipients: 1,
      smtpPort: 9,
      campaign: { deliveryAt: new Date(Date.now() + 3_600_000) },
    });
    await startCampaign(world.ctx, world.campaignUid);
    await updateCampaign(world.ctx, world.campaignUid, { deliveryAt: due(no) });
    worlds.push(world);
  }
  return worlds;
}

const starts = () =>
  queryRows<{ count: number; isEarly: boolean }>(
    ctx.db,
    sql`SELECT count(*)::int AS count, bool_or(at < due) AS "isEarly" FROM started GROUP BY campaign_id`,
  );

/** In seconds, of those that were due when the schedulers worked already. */
async function lateness(ready: Date): Promise<unknown> {
  const [late] = await queryRows(
    ctx.db,
    sql`SELECT count(*)::int, percentile_cont(0.99) WITHIN GROUP (ORDER BY extract(epoch FROM at - due)) AS p99 FROM started WHERE due > ${ready}`,
  );
  return late;
}

it(
  'three schedulers with clocks that differ start each slot once and none too early, also when one of them dies',
  async () => {
    const from = Date.now() + 3_000 + SLOTS * MAKING_MS;
    const worlds = await scheduled(SLOTS || 12, (no) => new Date(from + (SLOTS > 0 ? no * 100 : 0)));
    const databases = [-3_600_000, 0, 3_600_000].map((offMs) => {
      const database = openDatabase({
        url: ctx.database.url,
        poolSize: 3,
        log: silentLog,
        applicationName: `scheduler ${offMs}`,
      });
      return { database, clock: { now: () => new Date(Date.now() + offMs) } };
    });
    const workers = await Promise.all(
      databases.map(({ database, clock }) =>
        runWorker({
          ctx: { ...ctx, db: database, database, clock },
          tasks: [startScheduledCampaignTask],
          concurrency: 2,
          crontab: [],
        }),
      ),
    );
    const ready = new Date();
    // At the moment itself the connections of one are cut, again and again.
    const cut = setInterval(() => {
      ctx.db
        .execute(
          sql`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'scheduler 0' AND datname = current_database()`,
        )
        .catch(() => undefined);
    }, 200);
    await expect
      .poll(async () => (await starts()).length, { timeout: 240_000 + SLOTS * MAKING_MS * 2, interval: 100 })
      .toBe(worlds.length);
    clearInterval(cut);
    await Promise.all(workers.map((worker) => worker.stop(2_000)));
    await Promise.all(databases.map(({ database }) => database.close()));
    for (const { count, isEarly } of await starts()) expect({ count, isEarly }).toEqual({ count: 1, isEarly: false });
    if (SLOTS > 0) console.log('Late:', await lateness(ready));
  },
  600_000 + SLOTS * MAKING_MS * 5,
);

it('fifty who find the same slot due start it once', async () => {
  await ctx.db.execute(sql`TRUNCATE started`);
  const [world] = await scheduled(1, () => new Date(Date.now() - 1_000));
  if (!world) throw new Error('There is no campaign.');
  const key = { customerId: world.ctx.viewer?.customerId ?? 0n, campaignId: world.campaignId };
  await Promise.all(Array.from({ length: 50 }, () => startScheduledCampaign(ctx, key)));
  expect(await starts()).toMatchObject([{ count: 1 }]);
});

it('a process that only keeps the clock has no tasks and works all the same', async () => {
  const worker = await runWorker({
    ...{ ctx, tasks: [], concurrency: 2 },
    crontab: [{ task: 'campaigns.revive', match: '* * * * *' }],
  });
  try {
    for (let look = 0; look < 10; look++) {
      await sleep(200);
      expect([worker.isWorking(), worker.queueProblem()]).toEqual([true, undefined]);
    }
    const known = sql`SELECT identifier FROM graphile_worker._private_known_crontabs`;
    await expect.poll(() => queryRows(ctx.db, known)).toEqual([{ identifier: 'campaigns.revive' }]);
  } finally {
    await worker.stop(2_000);
  }
});
