/**
 * The first campaign of an installation, to people who were imported a moment ago: the database has not looked at any of
 * it yet, and must all the same look everybody up by the key.
 */
import { expect, test } from 'vitest';
import { snapshotAudience } from '../../../src/domain/campaigns/snapshot-audience.ts';
import { startCampaign } from '../../../src/domain/campaigns/start-campaign.ts';
import { findRecipients } from '../../../src/domain/delivery/campaigns/lease-recipients.ts';
import { createActiveCampaigns } from '../../../src/domain/delivery/campaigns/active-campaign.ts';
import { settle } from '../../../src/domain/delivery/ledger/ledger-store.ts';
import { campaignWorld } from '../../support/campaign-world.ts';
import { readCounter } from '../../support/read-counter.ts';
import { createTestContext } from '../../support/test-context.ts';

const RECIPIENTS = 450;
const MARKED = 30;

const ctx = await createTestContext();
const counted = readCounter(ctx.database, ['subscriber', 'delivery_2']);

test('looks each recipient up, although no statistics were there', async () => {
  const world = await campaignWorld(ctx, { recipients: RECIPIENTS, smtpPort: 9 });
  const { campaignId } = world;
  const customerId = world.ctx.viewer?.customerId ?? 0n;
  await startCampaign(world.ctx, world.campaignUid);
  await snapshotAudience(world.ctx, { customerId, campaignId }, new AbortController().signal);
  const inHand = await createActiveCampaigns().take(ctx, { customerId, campaignId });
  if (!inHand) throw new Error('The campaign is not being sent.');
  const { key } = inHand.campaign;
  const { contentVersion } = inHand.edition;
  const holder = { owner: crypto.randomUUID(), leaseSeconds: 45 };
  const range = { ...key, fromId: 0n, toId: 2n ** 62n };
  const found = await findRecipients(ctx.db, range, holder);
  await counted(async (tx, read) => {
    const settled = await settle(tx, {
      key,
      holder,
      serverId: 1n,
      outcomes: [],
      next: found.slice(0, MARKED),
      contentVersion,
    });
    expect(settled.notMarked.size).toBe(0);
    expect(await read('subscriber')).toBeLessThanOrEqual(2 * MARKED);
    expect(await read('delivery_2')).toBeLessThanOrEqual(3 * MARKED);
  });
});
