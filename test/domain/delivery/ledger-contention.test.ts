/** Several writers of one ledger at once: whoever loses a deadlock writes again, and nobody's outcome is lost. */
import { setTimeout as sleep } from 'node:timers/promises';
import { randomUUID } from 'node:crypto';
import pg from 'pg';
import { describe, expect, it } from 'vitest';
import { queryRows } from '../../../scripts/support/query-rows.ts';
import { sql } from '../../../src/db/database.ts';
import { snapshotAudience } from '../../../src/domain/campaigns/snapshot-audience.ts';
import { startCampaign } from '../../../src/domain/campaigns/start-campaign.ts';
import { leaseRecipients } from '../../../src/domain/delivery/campaigns/lease-recipients.ts';
import { createActiveCampaigns } from '../../../src/domain/delivery/campaigns/active-campaign.ts';
import { renewLeases, settle } from '../../../src/domain/delivery/ledger/ledger-store.ts';
import { recoverAmbiguous } from '../../../src/domain/delivery/ledger/unknown-outcome-store.ts';
import { balanceOf, campaignWorld } from '../../support/campaign-world.ts';
import { createTestContext } from '../../support/test-context.ts';

const ctx = await createTestContext();

/** A campaign of `recipients` people, all leased to one worker. */
async function claimedWorld(recipients: number) {
  const world = await campaignWorld(ctx, { recipients, smtpPort: 9 });
  const customerId = world.ctx.viewer?.customerId ?? 0n;
  await startCampaign(world.ctx, world.campaignUid);
  await snapshotAudience(world.ctx, { customerId, campaignId: world.campaignId }, new AbortController().signal);
  const inHand = await createActiveCampaigns().take(ctx, { customerId, campaignId: world.campaignId });
  if (!inHand) throw new Error('The campaign is not being sent.');
  const { campaign, edition } = inHand;
  const holder = { owner: randomUUID(), leaseSeconds: 45 };
  const range = { ...campaign.key, fromId: 0n, toId: 2n ** 62n };
  const claimed = await leaseRecipients(ctx.db, range, holder);
  return { world, campaign, edition, holder, range, claimed };
}

const sent = {
  state: 'sent',
  isTry: true,
  reply: '250 ok',
  reason: null,
  runtimeMessageId: 'x',
  delaySeconds: 0,
} as const;

/** A session of its own that holds the row until it is told otherwise. */
async function rowHolder(campaignId: bigint, subscriberId: bigint | undefined) {
  const client = new pg.Client({ connectionString: ctx.database.url });
  await client.connect();
  await client.query('BEGIN');
  const take = (id: bigint | undefined) =>
    client.query('SELECT 1 FROM hot.delivery WHERE source_id = $1 AND recipient_id = $2 FOR UPDATE', [campaignId, id]);
  await take(subscriberId);
  return { client, take };
}

describe('the ledger', () => {
  it('records an outcome again when the database undid the write to break a deadlock', async () => {
    const { world, campaign, edition, holder, claimed } = await claimedWorld(2);
    const [first, second] = claimed;
    if (!first || !second) throw new Error('Nobody was claimed.');
    await settle(ctx.db, {
      key: campaign.key,
      contentVersion: edition.contentVersion,
      holder,
      serverId: 1n,
      outcomes: [],
      next: [first],
    });
    const { client, take } = await rowHolder(world.campaignId, first.recipientId);
    // Whoever looks for a circle and finds one is undone: not this one.
    await client.query(`SET deadlock_timeout = '1h'`);
    const other = await rowHolder(world.campaignId, second.recipientId);
    const recorded = campaign.recorder(ctx, { serverId: 1n, holder }).record({
      contentVersion: edition.contentVersion,
      outcomes: [{ ...first, ...sent }],
      next: [second],
    });
    recorded.catch(() => undefined);
    const waiting = sql`SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`;
    await expect.poll(() => queryRows(ctx.db, waiting)).toHaveLength(1);
    const taken = take(second.recipientId);
    await expect.poll(() => queryRows(ctx.db, waiting)).toHaveLength(2);
    await other.client.query('ROLLBACK');
    await other.client.end();
    // Then the write has the second row and waits for the first: the database sees the circle and undoes the write.
    await taken;
    await client.query('ROLLBACK');
    await client.end();
    expect((await recorded).notMarked.size).toBe(0);
    expect(await balanceOf(world)).toMatchObject({ sent: 1, sending: 1 });
  });

  it('renews leases around a row that somebody writes to', async () => {
    const { world, holder, range, claimed } = await claimedWorld(3);
    const { client } = await rowHolder(world.campaignId, claimed[1]?.recipientId);
    await Promise.race([
      renewLeases(ctx.db, range, { ...holder, leaseSeconds: 3_600 }),
      sleep(120_000, undefined, { ref: false }).then(() => {
        throw new Error('The renewal waits.');
      }),
    ]);
    await client.query('ROLLBACK');
    await client.end();
    const rows = await queryRows<{ renewed: boolean }>(
      ctx.db,
      sql`SELECT lease_expires_at > now() + interval '30 minutes' AS renewed FROM hot.delivery WHERE source_id = ${world.campaignId} ORDER BY recipient_id`,
    );
    expect(rows.map(({ renewed }) => renewed)).toEqual([true, false, true]);
  });

  it('sends to nobody more often than tries are allowed, however often the worker dies', async () => {
    const { world, campaign, edition, holder, range, claimed } = await claimedWorld(2);
    await settle(ctx.db, {
      key: campaign.key,
      contentVersion: edition.contentVersion,
      holder,
      serverId: 1n,
      outcomes: [],
      next: claimed,
    });
    await ctx.db.execute(
      sql`UPDATE hot.delivery SET lease_expires_at = now() - interval '1 second', attempts = CASE WHEN recipient_id = ${claimed[0]?.recipientId} THEN 11 ELSE 0 END
           WHERE source_id = ${world.campaignId}`,
    );
    await recoverAmbiguous(ctx.db, range, { policy: 'retry', attemptsMax: 12 });
    expect(await balanceOf(world)).toMatchObject({ audience: 2, unknown: 1, queued: 1 });
  });

  it('hands nothing over to somebody who was suppressed after the claim', async () => {
    const { campaign, edition, holder, claimed } = await claimedWorld(2);
    await ctx.db.execute(
      sql`INSERT INTO suppression (customer_id, email_key, reason) VALUES (0, 'p2@example.org', 'manual')`,
    );
    const { notMarked } = await settle(ctx.db, {
      key: campaign.key,
      contentVersion: edition.contentVersion,
      holder,
      serverId: 1n,
      outcomes: [],
      next: claimed,
    });
    expect([...notMarked]).toEqual([claimed[1]]);
  });
});
