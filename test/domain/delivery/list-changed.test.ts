/**
 * What changing a list does to a campaign that is under way: the batches that begin afterwards carry its new name and contact,
 * and what was counted of it stays.
 */
import path from 'node:path';
import { expect, test } from 'vitest';
import { queryRows } from '../../../scripts/support/query-rows.ts';
import { sql } from '../../../src/db/database.ts';
import { updateList } from '../../../src/domain/audience/update-list.ts';
import { pauseCampaign } from '../../../src/domain/campaigns/pause-campaign.ts';
import { resumeCampaign } from '../../../src/domain/campaigns/resume-campaign.ts';
import { snapshotAudience } from '../../../src/domain/campaigns/snapshot-audience.ts';
import { startCampaign } from '../../../src/domain/campaigns/start-campaign.ts';
import { createActiveCampaigns } from '../../../src/domain/delivery/campaigns/active-campaign.ts';
import { sendBatch } from '../../../src/domain/delivery/campaigns/send-batch.ts';
import { createDriverPool } from '../../../src/domain/sending/driver-pool.ts';
import { loadPlugins } from '../../../src/plugin-host/load-plugins.ts';
import { afterFile } from '../../support/after-file.ts';
import { campaignWorld } from '../../support/campaign-world.ts';
import { scriptedSmtpServer } from '../../support/scripted-smtp-server.ts';
import { createTestContext } from '../../support/test-context.ts';

const ctx = await createTestContext();
await loadPlugins(path.resolve('plugins'), ctx.hooks);

/** A campaign that is planned, its people, and what sends to one of them. */
async function planned(...options: Parameters<typeof campaignWorld>) {
  const world = await campaignWorld(...options);
  const key = { customerId: world.ctx.viewer?.customerId ?? 0n, campaignId: world.campaignId };
  await startCampaign(world.ctx, world.campaignUid);
  await snapshotAudience(world.ctx, key, new AbortController().signal);
  const people = await queryRows<{ id: bigint }>(
    ctx.db,
    sql`SELECT id FROM subscriber WHERE list_id = ${world.listId} ORDER BY id`,
  );
  const [list] = await queryRows<{ uid: string; name: string }>(
    ctx.db,
    sql`SELECT uid, name FROM mail_list WHERE id = ${world.listId}`,
  );
  const drivers = createDriverPool(ctx.hooks);
  afterFile(() => drivers.close());
  const tools = { drivers, campaigns: createActiveCampaigns(), announce: () => undefined };
  const worker = { ...tools, workerId: crypto.randomUUID(), abortSignal: new AbortController().signal };
  const sendTo = (id: bigint) => sendBatch(ctx, { ...key, fromId: id, toId: id }, worker);
  const change = (values: Parameters<typeof updateList>[2]) => updateList(world.ctx, list?.uid ?? '', values);
  return { ...world, key, tools, ids: people.map(({ id }) => id), list, sendTo, change };
}

test('the next batch has the name and the contact of the list as they are then', async () => {
  await using receiver = await scriptedSmtpServer({ extensions: ['PIPELINING'] });
  const campaign = { html: '<p>{LIST_NAME} by {CONTACT_COMPANY}</p>' };
  const { ids, list, sendTo, change } = await planned(ctx, { recipients: 2, smtpPort: receiver.port, campaign });
  const [first = 0n, second = 0n] = ids;
  await sendTo(first);
  await change({ name: 'Renamed', contact: { company: 'Other Ltd' } });
  await sendTo(second);
  const [before, after] = receiver.accepted.map(({ content }) => content);
  expect(before).toContain(`<p>${list?.name ?? '-'} by `);
  expect(before).not.toContain('Renamed');
  expect(after).toContain('<p>Renamed by Other Ltd</p>');
});

test('the next batch goes by the time zone that the customer has then', async () => {
  await using receiver = await scriptedSmtpServer();
  const { ids, key, sendTo, change } = await planned(ctx, { recipients: 1, smtpPort: receiver.port });
  const [person = 0n] = ids;
  const hourIn = (hours: number) => `${String((new Date().getUTCHours() + 24 + hours) % 24).padStart(2, '0')}:00`;
  // It is quiet for hours yet, whatever the time is.
  await change({ quietHours: { from: hourIn(-2), to: hourIn(5) } });
  expect(await sendTo(person)).toMatchObject({ limit: 'hours' });
  await ctx.db.execute(sql`UPDATE customer SET timezone = 'Pacific/Auckland' WHERE id = ${key.customerId}`);
  expect(await sendTo(person)).toBe('settled');
  expect(receiver.accepted).toHaveLength(1);
});

test('refusals of the campaign count on, however often its list is changed', async () => {
  await using receiver = await scriptedSmtpServer({
    answer: ({ verb }) => (verb === 'MAIL' ? '553 5.7.1 Sender address rejected: not owned by user' : undefined),
  });
  const { ids, sendTo, change } = await planned(ctx, { recipients: 3, smtpPort: receiver.port });
  const ends: unknown[] = [];
  for (const id of ids) {
    ends.push(await sendTo(id));
    await change({ name: `Renamed ${id}` });
  }
  expect(ends).toEqual([
    'open',
    'open',
    expect.objectContaining({ pauseFor: expect.objectContaining({ code: 'refused_by_server' }) }),
  ]);
});

test('a campaign that goes on after a bounce spike is taken up anew, also by a process that did not see the pause', async () => {
  await using receiver = await scriptedSmtpServer({ extensions: ['PIPELINING'] });
  const { ctx: own, key, tools, campaignUid } = await planned(ctx, { recipients: 1, smtpPort: receiver.port });
  const before = await tools.campaigns.take(ctx, key);
  await pauseCampaign(own, campaignUid);
  await ctx.db.execute(sql`UPDATE campaign SET bounce_spike = 'held' WHERE id = ${key.campaignId}`);
  await resumeCampaign(own, campaignUid);
  const after = await createActiveCampaigns().take(ctx, key);
  expect(after?.campaign.refusals.believesBounces).toBe(true);
  // Nobody is marked for another version than the present one: the loop that has the old one ends.
  expect(after?.edition.contentVersion).toBe((before?.edition.contentVersion ?? 0) + 1);
});
