/** Campaigns over real connections when a provider asks to wait, when one of several servers is down, and by weight. */
import { afterAll, expect, it } from 'vitest';
import path from 'node:path';
import { queryRows } from '../../scripts/support/query-rows.ts';
import { sql } from '../../src/db/database.ts';
import { startCampaign } from '../../src/domain/campaigns/start-campaign.ts';
import { createActiveCampaigns } from '../../src/domain/delivery/campaigns/active-campaign.ts';
import { makePartitions } from '../../src/domain/delivery/ledger/make-partitions.ts';
import { createDriverPool } from '../../src/domain/sending/driver-pool.ts';
import { newUid } from '../../src/lib/ids.ts';
import { loadPlugins } from '../../src/plugin-host/load-plugins.ts';
import { runWorker } from '../../src/workers/run-worker.ts';
import { snapshotTask } from '../../src/workers/tasks/plan-campaign.ts';
import { sendBatchTask } from '../../src/workers/tasks/send-batch.ts';
import {
  balanceOf,
  campaignWorld,
  copiesByRecipient,
  untilStatus,
  type CampaignWorld,
} from '../support/campaign-world.ts';
import { scriptedSmtpServer } from '../support/scripted-smtp-server.ts';
import { createTestContext, testInstallation } from '../support/test-context.ts';

const limits = { ...testInstallation.limits, sendBatchSize: 50 };
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

async function addServer({ ctx: own }: CampaignWorld, port: number): Promise<string> {
  const uid = newUid();
  const settings = { host: '127.0.0.1', port, encryption: 'none', connections: 2, window: 2 };
  await ctx.db.execute(
    sql`INSERT INTO sending_server (customer_id, uid, name, type, settings, connections_max)
        VALUES (${own.viewer?.customerId}, ${uid}, 'Another', 'smtp', ${JSON.stringify(settings)}::jsonb, 2)`,
  );
  return uid;
}

it('a provider that says 421 4.7.28 gets nothing more, everybody else everything, and its people wait in the ledger', async () => {
  let asked = 0;
  await using server = await scriptedSmtpServer({
    answer: ({ verb, line }) => {
      if (verb !== 'RCPT' || !/@(gmail|googlemail)\.com/i.test(line)) return undefined;
      asked += 1;
      return '421 4.7.28 Gmail has detected an unusual rate of mail';
    },
  });
  const world = await campaignWorld(ctx, { recipients: 400, smtpPort: server.port });
  await ctx.db.execute(
    sql`UPDATE subscriber SET email = 'p' || id || CASE WHEN id % 4 = 0 THEN '@gmail.com' ELSE '@googlemail.com' END,
               email_key = 'p' || id || CASE WHEN id % 4 = 0 THEN '@gmail.com' ELSE '@googlemail.com' END
         WHERE list_id = ${world.listId} AND id % 2 = 0`,
  );
  await startCampaign(world.ctx, world.campaignUid);
  await expect.poll(async () => (await balanceOf(world)).sent).toBe(200);
  await expect
    .poll(async () => {
      const [row] = await queryRows<{ held: number }>(
        ctx.db,
        sql`SELECT count(*)::int AS held FROM hot.delivery WHERE source_id = ${world.campaignId} AND state = 'queued' AND not_before > now() + interval '500 seconds'`,
      );
      return row?.held;
    })
    .toBe(200);
  // What was on its way with the first one, by all connections of the process.
  expect(asked).toBeLessThanOrEqual(16);
  expect(server.accepted.every(({ to }) => to.endsWith('@example.org'))).toBe(true);
  const [row] = await queryRows<{ tries: number }>(
    ctx.db,
    sql`SELECT max(attempts)::int AS tries FROM hot.delivery WHERE source_id = ${world.campaignId} AND state = 'queued'`,
  );
  expect(row?.tries).toBe(0);
});

it('of two servers by weight each carries some, and one alone everything when the other is down', async () => {
  let isDown = false;
  await using first = await scriptedSmtpServer({
    answer: ({ verb }) => (isDown && verb === 'CONNECT' ? '421 4.3.2 closing' : undefined),
  });
  await using second = await scriptedSmtpServer();
  const both = await campaignWorld(ctx, { recipients: 800, smtpPort: first.port });
  const uid = await addServer(both, second.port);
  await ctx.db.execute(sql`
    UPDATE customer SET sending_servers = (SELECT jsonb_agg(jsonb_build_object('uid', s.uid, 'weight', 1)) FROM sending_server s WHERE s.customer_id = customer.id)
     WHERE id = ${both.ctx.viewer?.customerId}`);
  await startCampaign(both.ctx, both.campaignUid);
  await untilStatus(both, 'done');
  expect(first.accepted.length).toBeGreaterThan(0);
  expect(second.accepted.length).toBeGreaterThan(0);
  expect(new Set(copiesByRecipient([...first.accepted, ...second.accepted]).values())).toEqual(new Set([1]));

  isDown = true;
  for (const session of first.sessions) session.socket.destroy();
  const [taken, before] = [first.accepted.length, second.accepted.length];
  const alone = await campaignWorld(ctx, { recipients: 150, smtpPort: first.port });
  await addServer(alone, second.port);
  await startCampaign(alone.ctx, alone.campaignUid);
  await untilStatus(alone, 'done');
  expect(first.accepted).toHaveLength(taken);
  expect(second.accepted).toHaveLength(before + 150);
  expect(uid).toHaveLength(13);
});

it('what one of two servers had begun with when it had to rest for long goes on through the other at once', async () => {
  await using first = await scriptedSmtpServer({
    answer: ({ verb }) => (verb === 'RCPT' ? '421 4.7.0 Daily user sending limit exceeded. gsmtp' : undefined),
  });
  await using second = await scriptedSmtpServer();
  const world = await campaignWorld(ctx, { recipients: 200, smtpPort: first.port });
  await addServer(world, second.port);
  await startCampaign(world.ctx, world.campaignUid);
  await untilStatus(world, 'done');
  const [row] = await queryRows<{ rest: number }>(
    ctx.db,
    sql`SELECT max(extract(epoch FROM open_until - now()))::int AS rest FROM hot.sending_health`,
  );
  expect(row?.rest).toBeGreaterThan(60);
  expect(second.accepted).toHaveLength(200);
});
