/** A template that runs away for one of many while its campaign is sent (F2): paused with the line, nobody lost or doubled. */
import path from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { sql } from '../../src/db/database.ts';
import { resumeCampaign } from '../../src/domain/campaigns/resume-campaign.ts';
import { startCampaign } from '../../src/domain/campaigns/start-campaign.ts';
import { createActiveCampaigns } from '../../src/domain/delivery/campaigns/active-campaign.ts';
import { makePartitions } from '../../src/domain/delivery/ledger/make-partitions.ts';
import { createDriverPool } from '../../src/domain/sending/driver-pool.ts';
import { loadPlugins } from '../../src/plugin-host/load-plugins.ts';
import { runWorker } from '../../src/workers/run-worker.ts';
import { snapshotTask } from '../../src/workers/tasks/plan-campaign.ts';
import { sendBatchTask } from '../../src/workers/tasks/send-batch.ts';
import { balanceOf, campaignWorld, copiesByRecipient, untilStatus } from '../support/campaign-world.ts';
import { scriptedSmtpServer } from '../support/scripted-smtp-server.ts';
import { createTestContext, testInstallation } from '../support/test-context.ts';
import { storedReason } from '../support/stored-reason.ts';

const limits = { ...testInstallation.limits, sendBatchSize: 30, snapshotBatchSize: 100 };
const ctx = await createTestContext({ installation: { ...testInstallation, limits } });
await loadPlugins(path.resolve('plugins'), ctx.hooks);
await makePartitions(ctx);
const drivers = createDriverPool(ctx.hooks);
const tools = { drivers, campaigns: createActiveCampaigns(), announce: () => undefined };
const worker = await runWorker({ ctx, tasks: [snapshotTask, sendBatchTask(tools)], concurrency: 2, crontab: [] });
afterAll(async () => {
  await worker.stop(5_000);
  await drivers.close();
});

const WORDS = Array.from({ length: 20_000 }, (_, index) => index.toString(36)).join(',');
/** One is stopped by the library's count, the other can only be killed. */
const RUNAWAYS = {
  'memory alloc limit exceeded': '{% for i in (1..99999999) %}{% endfor %}',
  'it takes too long': `{% assign a = "${WORDS}" | split: "," %}${'{% assign b = a | where_exp: "i", "i contains i" %}'.repeat(100)}`,
};

it.each(Object.entries(RUNAWAYS))(
  'pauses when %s for one recipient, and goes on when the value is mended',
  async (what, runaway) => {
    await using server = await scriptedSmtpServer({ extensions: ['PIPELINING', '8BITMIME'] });
    const html = `<p>Hello {{ subscriber.first_name }}</p>\n\n{% if subscriber.first_name == "Name70" %}${runaway}{% endif %}`;
    const world = await campaignWorld(ctx, { recipients: 120, smtpPort: server.port, campaign: { html } });
    await startCampaign(world.ctx, world.campaignUid);
    await untilStatus(world, 'paused');
    expect(await storedReason(ctx.db, world.campaignId)).toMatch(new RegExp(`Line 3: ${what}\\. Sending is paused`));
    await untilSettled(async () => {
      const { sending, leased } = await balanceOf(world);
      return sending + leased === 0;
    });
    expect(await balanceOf(world)).toMatchObject({ audience: 120, failed: 0 });
    await ctx.db.execute(
      sql`UPDATE subscriber SET fields = '{"FIRST_NAME": "Mended"}' WHERE list_id = ${world.listId} AND email_key = 'p70@example.org'`,
    );
    await resumeCampaign(world.ctx, world.campaignUid);
    await untilStatus(world, 'done');
    const copies = copiesByRecipient(server.accepted);
    expect(copies.size).toBe(120);
    expect(Math.max(...copies.values())).toBe(1);
    expect(await balanceOf(world)).toMatchObject({ audience: 120, sent: 120, failed: 0, queued: 0 });
  },
  600_000,
);

async function untilSettled(isSettled: () => Promise<boolean>): Promise<void> {
  while (!(await isSettled())) await new Promise((resolve) => setTimeout(resolve, 20));
}
