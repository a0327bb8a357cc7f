/** Messages that cannot be signed: the campaign stops and says why, and nobody is skipped for it. */
import { expect, test } from 'vitest';
import { sql } from '../../../src/db/database.ts';
import { snapshotAudience } from '../../../src/domain/campaigns/snapshot-audience.ts';
import { startCampaign } from '../../../src/domain/campaigns/start-campaign.ts';
import { createActiveCampaigns, type ActiveCampaigns } from '../../../src/domain/delivery/campaigns/active-campaign.ts';
import { sendBatch } from '../../../src/domain/delivery/campaigns/send-batch.ts';
import { createDriverPool } from '../../../src/domain/sending/driver-pool.ts';
import { balanceOf, campaignWorld } from '../../support/campaign-world.ts';
import { createTestContext } from '../../support/test-context.ts';
import { withDriver } from '../../support/with-hooks.ts';

const ctx = await createTestContext();

test('a campaign that skips what cannot be composed skips nobody because of its key', async () => {
  withDriver(ctx.hooks, {
    type: 'taker',
    name: 'Taker',
    description: '',
    configKeys: [],
    secretKeys: [],
    validate: () => ({ ok: true, settings: {} }),
    connect: () => ({
      capacity: 2,
      send: async ({ messageId }) => ({ runtimeMessageId: messageId, reply: '250' }),
      test: async () => ({ ok: true }),
      close: async () => undefined,
    }),
  });
  const world = await campaignWorld(ctx, { recipients: 5, smtpPort: 9 });
  const key = { customerId: world.ctx.viewer?.customerId ?? 0n, campaignId: world.campaignId };
  await ctx.db.execute(
    sql`UPDATE sending_server SET type = 'taker', settings = '{}' WHERE customer_id = ${key.customerId}`,
  );
  await startCampaign(world.ctx, world.campaignUid);
  await snapshotAudience(world.ctx, key, new AbortController().signal);
  const real = createActiveCampaigns();
  const campaigns: ActiveCampaigns = {
    ...real,
    async take(...asked) {
      const inHand = await real.take(...asked);
      const sign = () => Promise.reject(new Error('no such key'));
      if (!inHand) return undefined;
      const { campaign, edition } = inHand;
      return { campaign, edition: { ...edition, skipsFailed: true, identity: { ...edition.identity, sign } } };
    },
  };
  const tools = { drivers: createDriverPool(ctx.hooks), campaigns, announce: () => undefined };
  const worker = { ...tools, workerId: crypto.randomUUID(), abortSignal: new AbortController().signal };
  const end = await sendBatch(ctx, { ...key, fromId: 0n, toId: 2n ** 62n }, worker);
  expect(end).toMatchObject({
    pauseFor: { code: 'recipient_fault', params: { fault: expect.stringMatching(/could not be signed: no such key/) } },
  });
  expect(await balanceOf(world)).toMatchObject({ audience: 5, queued: 5, failed: 0, sent: 0 });
});
