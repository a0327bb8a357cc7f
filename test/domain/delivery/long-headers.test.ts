/** A header that a recipient's values make too long is not cut in silence: the recipient's row says so, and the others get theirs. */
import path from 'node:path';
import { expect, test } from 'vitest';
import { queryRows } from '../../../scripts/support/query-rows.ts';
import { sql } from '../../../src/db/database.ts';
import { snapshotAudience } from '../../../src/domain/campaigns/snapshot-audience.ts';
import { startCampaign } from '../../../src/domain/campaigns/start-campaign.ts';
import { createActiveCampaigns } from '../../../src/domain/delivery/campaigns/active-campaign.ts';
import { sendBatch } from '../../../src/domain/delivery/campaigns/send-batch.ts';
import { createDriverPool } from '../../../src/domain/sending/driver-pool.ts';
import { loadPlugins } from '../../../src/plugin-host/load-plugins.ts';
import { balanceOf, campaignWorld } from '../../support/campaign-world.ts';
import { scriptedSmtpServer } from '../../support/scripted-smtp-server.ts';
import { createTestContext } from '../../support/test-context.ts';

const ctx = await createTestContext();
await loadPlugins(path.resolve('plugins'), ctx.hooks);

test.each([
  ['subject', { subject: 'Hi {FIRST_NAME}' }, 998],
  ['fromName', { fromName: 'For {FIRST_NAME}' }, 250],
])('a %s that grows too long by a merge value', async (part, campaign, lengthMax) => {
  await using receiver = await scriptedSmtpServer({ extensions: ['PIPELINING'] });
  const world = await campaignWorld(ctx, { recipients: 4, smtpPort: receiver.port, campaign });
  const key = { customerId: world.ctx.viewer?.customerId ?? 0n, campaignId: world.campaignId };
  const prefix = part === 'subject' ? 'Hi ' : 'For ';
  const named = (email: string, length: number) =>
    ctx.db.execute(sql`
      UPDATE subscriber SET fields = jsonb_build_object('FIRST_NAME', repeat('x', ${length - prefix.length}::int))
       WHERE list_id = ${world.listId} AND email = ${email}`);
  await named('p1@example.org', lengthMax);
  await named('p2@example.org', lengthMax + 1);
  await startCampaign(world.ctx, world.campaignUid);
  await snapshotAudience(world.ctx, key, new AbortController().signal);
  const drivers = createDriverPool(ctx.hooks);
  const tools = { drivers, campaigns: createActiveCampaigns(), announce: () => undefined };
  const worker = { ...tools, workerId: crypto.randomUUID(), abortSignal: new AbortController().signal };
  expect(await sendBatch(ctx, { ...key, fromId: 0n, toId: 2n ** 62n }, worker)).toBe('settled');
  await drivers.close();
  expect(receiver.accepted.map(({ to }) => to).sort()).toEqual(['p1@example.org', 'p3@example.org', 'p4@example.org']);
  expect(await balanceOf(world)).toMatchObject({ sent: 3, failed: 1 });
  const failed = await queryRows(
    ctx.db,
    sql`SELECT email, reason, reply FROM hot.delivery WHERE source_id = ${world.campaignId} AND state = 'failed'`,
  );
  const reply = `The ${part === 'subject' ? part : 'from name'} has ${lengthMax + 1} characters with the recipient's values; at most ${lengthMax} are allowed.`;
  expect(failed).toEqual([{ email: 'p2@example.org', reason: 'header_too_long', reply }]);
});
