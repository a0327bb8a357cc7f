/** What changing a list does to a campaign that is under way: the batches that begin afterwards carry its new name and contact. */
import path from 'node:path';
import { expect, test } from 'vitest';
import { sql } from '../../../src/db/database.ts';
import { updateList } from '../../../src/domain/audience/update-list.ts';
import { planCampaign } from '../../../src/domain/campaigns/plan-campaign.ts';
import { startCampaign } from '../../../src/domain/campaigns/start-campaign.ts';
import { createDispatchCache } from '../../../src/domain/delivery/dispatch.ts';
import { sendBatch } from '../../../src/domain/delivery/send-batch.ts';
import { createDriverPool } from '../../../src/domain/sending/driver-pool.ts';
import { loadPlugins } from '../../../src/plugin-host/load-plugins.ts';
import { campaignWorld } from '../../support/campaign-world.ts';
import { scriptedSmtpServer } from '../../support/scripted-smtp-server.ts';
import { createTestContext } from '../../support/test-context.ts';

const ctx = await createTestContext();
await loadPlugins(path.resolve('plugins'), ctx.hooks);

test('the next batch has the name and the contact of the list as they are then', async () => {
  await using receiver = await scriptedSmtpServer({ extensions: ['PIPELINING'] });
  const campaign = { html: '<p>{LIST_NAME} by {CONTACT_COMPANY}</p>' };
  const world = await campaignWorld(ctx, { recipients: 2, smtpPort: receiver.port, campaign });
  const key = { customerId: world.ctx.viewer?.customerId ?? 0n, campaignId: world.campaignId };
  const [list] = await ctx.db.query<{ uid: string; name: string }>(
    sql`SELECT uid, name FROM mail_list WHERE id = ${world.listId}`,
  );
  await startCampaign(world.ctx, world.campaignUid);
  await planCampaign(world.ctx, key, new AbortController().signal);
  const people = await ctx.db.query<{ id: bigint }>(
    sql`SELECT id FROM subscriber WHERE list_id = ${world.listId} ORDER BY id`,
  );
  const drivers = createDriverPool(ctx.hooks);
  const tools = { drivers, dispatches: createDispatchCache(), announce: () => undefined };
  const worker = { ...tools, workerId: crypto.randomUUID(), abortSignal: new AbortController().signal };
  const [first = 0n, second = 0n] = people.map(({ id }) => id);
  await sendBatch(ctx, { ...key, fromId: first, toId: first }, worker);
  await updateList(world.ctx, list?.uid ?? '', { name: 'Renamed', contact: { company: 'Other Ltd' } });
  await sendBatch(ctx, { ...key, fromId: second, toId: second }, worker);
  await drivers.close();
  const [before, after] = receiver.accepted.map(({ content }) => content);
  expect(before).toContain(`<p>${list?.name ?? '-'} by `);
  expect(before).not.toContain('Renamed');
  expect(after).toContain('<p>Renamed by Other Ltd</p>');
});
