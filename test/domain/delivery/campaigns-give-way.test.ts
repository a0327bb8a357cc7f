/** Campaigns ask before each of their rounds whether mail of the first priority goes first, and such mail says when it is under way. */
import { randomUUID } from 'node:crypto';
import path from 'node:path';
import { afterEach, expect, test, vi } from 'vitest';
import { sql } from '../../../src/db/database.ts';
import { snapshotAudience } from '../../../src/domain/campaigns/snapshot-audience.ts';
import { startCampaign } from '../../../src/domain/campaigns/start-campaign.ts';
import { viewerOf } from '../../../src/domain/context.ts';
import { createActiveCampaigns } from '../../../src/domain/delivery/campaigns/active-campaign.ts';
import { MessagePlaces } from '../../../src/domain/delivery/messages/message-places.ts';
import { precedence } from '../../../src/domain/delivery/precedence.ts';
import { sendBatch } from '../../../src/domain/delivery/campaigns/send-batch.ts';
import { PRIORITIES } from '../../../src/domain/messages/message.ts';
import { createDriverPool } from '../../../src/domain/sending/driver-pool.ts';
import { loadPlugins } from '../../../src/plugin-host/load-plugins.ts';
import { campaignWorld } from '../../support/campaign-world.ts';
import { scriptedSmtpServer } from '../../support/scripted-smtp-server.ts';
import { createTestContext } from '../../support/test-context.ts';

const RECIPIENTS = 5;
const ctx = await createTestContext();
await loadPlugins(path.resolve('plugins'), ctx.hooks);
afterEach(() => {
  vi.restoreAllMocks();
});

test('a campaign marks nobody before it may go on, and asks again before each further round', async () => {
  await using smtp = await scriptedSmtpServer();
  // One connection and one message at a time: a round for each recipient.
  const server = { connections: 1, window: 1 };
  const world = await campaignWorld(ctx, { recipients: RECIPIENTS, smtpPort: smtp.port, server });
  const key = { customerId: viewerOf(world.ctx).customerId, campaignId: world.campaignId };
  await startCampaign(world.ctx, world.campaignUid);
  await snapshotAudience(world.ctx, key, new AbortController().signal);
  const asked = Promise.withResolvers<void>();
  const may = Promise.withResolvers<void>();
  const asks = vi.spyOn(precedence, 'untilCampaignsMay').mockImplementation(() => {
    asked.resolve();
    return may.promise;
  });
  const tools = { drivers: createDriverPool(ctx.hooks), campaigns: createActiveCampaigns(), announce: () => undefined };
  const worker = { ...tools, workerId: randomUUID(), abortSignal: new AbortController().signal };
  const sending = sendBatch(world.ctx, { ...key, fromId: 0n, toId: 2n ** 62n }, worker);
  await Promise.race([asked.promise, sending]);
  const untouched = await ctx.db.execute(
    sql`SELECT 1 FROM hot.delivery WHERE customer_id = ${key.customerId} AND source_kind = 1 AND source_id = ${key.campaignId} AND state <> 'sending' AND state <> 'sent'`,
  );
  expect([untouched, smtp.accepted.length]).toEqual([RECIPIENTS, 0]);
  may.resolve();
  expect(await sending).toBe('settled');
  await tools.drivers.close();
  expect(smtp.accepted).toHaveLength(RECIPIENTS);
  expect(asks.mock.calls.length).toBeGreaterThanOrEqual(RECIPIENTS);
});

test('mail of the first priority is under way as long as its place is held, and other mail never is', async () => {
  const begins = vi.spyOn(precedence, 'begin');
  const ends = vi.spyOn(precedence, 'end');
  const places = new MessagePlaces();
  const work = Promise.withResolvers<void>();
  const held = Object.values(PRIORITIES).map((priority, no) =>
    places.hold({ id: BigInt(no), customerId: 1n, priority }, work.promise),
  );
  expect([begins.mock.calls.length, ends.mock.calls.length]).toEqual([1, 0]);
  work.resolve();
  await Promise.all(held);
  expect([begins.mock.calls.length, ends.mock.calls.length]).toEqual([1, 1]);
});
