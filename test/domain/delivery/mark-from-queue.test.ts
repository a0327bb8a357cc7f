/** Rows that are only read before they are marked: whoever marks first has them, whoever comes late gets nothing. */
import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { queryRows } from '../../../scripts/support/query-rows.ts';
import { sql } from '../../../src/db/database.ts';
import { snapshotAudience } from '../../../src/domain/campaigns/snapshot-audience.ts';
import { startCampaign } from '../../../src/domain/campaigns/start-campaign.ts';
import { findRecipients } from '../../../src/domain/delivery/campaigns/lease-recipients.ts';
import type { LeasedDelivery, DeliveryOutcome } from '../../../src/domain/delivery/ledger/delivery.ts';
import { createActiveCampaigns } from '../../../src/domain/delivery/campaigns/active-campaign.ts';
import { settle } from '../../../src/domain/delivery/ledger/ledger-store.ts';
import { recoverAmbiguous, resolveUnknownAsSent } from '../../../src/domain/delivery/ledger/unknown-outcome-store.ts';
import { balanceOf, campaignWorld } from '../../support/campaign-world.ts';
import { createTestContext } from '../../support/test-context.ts';

const ctx = await createTestContext();
const sent = { state: 'sent', isTry: true, reply: '250 "ok" \\ {a,b}', reason: null, runtimeMessageId: 'x' } as const;

async function openWorld(recipients: number) {
  const world = await campaignWorld(ctx, { recipients, smtpPort: 9 });
  const customerId = world.ctx.viewer?.customerId ?? 0n;
  await startCampaign(world.ctx, world.campaignUid);
  await snapshotAudience(world.ctx, { customerId, campaignId: world.campaignId }, new AbortController().signal);
  const inHand = await createActiveCampaigns().take(ctx, { customerId, campaignId: world.campaignId });
  if (!inHand) throw new Error('The campaign is not being sent.');
  const { key } = inHand.campaign;
  const { contentVersion } = inHand.edition;
  const range = { ...key, fromId: 0n, toId: 2n ** 62n };
  const worker = () => {
    const holder = { owner: randomUUID(), leaseSeconds: 45 };
    const write = (outcomes: readonly DeliveryOutcome[], next: readonly LeasedDelivery[]) =>
      settle(ctx.db, { key, holder, serverId: 1n, outcomes, next, contentVersion });
    return {
      late: (rows: readonly LeasedDelivery[]) =>
        resolveUnknownAsSent(ctx.db, key, {
          owner: holder.owner,
          late: rows.map(({ recipientId, occurrence, epoch }) => ({
            recipientId,
            occurrence,
            epoch,
            delaySeconds: 0,
            ...sent,
          })),
        }),
      find: () => findRecipients(ctx.db, range, holder),
      mark: async (next: readonly LeasedDelivery[]) => {
        const { notMarked } = await write([], next);
        return next.filter((row) => !notMarked.has(row)).map(({ recipientId }) => recipientId);
      },
      record: (rows: readonly LeasedDelivery[], outcome: Partial<DeliveryOutcome> = {}) =>
        write(
          rows.map(({ recipientId, occurrence, epoch }) => ({
            ...{ recipientId, occurrence, epoch, delaySeconds: 0 },
            ...sent,
            ...outcome,
          })),
          [],
        ),
    };
  };
  return { world, range, worker };
}

describe('rows taken from the queue', () => {
  it('go to one of twenty workers that read them all and mark them at once', async () => {
    const { world, worker } = await openWorld(200);
    const workers = Array.from({ length: 20 }, worker);
    const found = await Promise.all(workers.map((one) => one.find()));
    expect(new Set(found.map((rows) => rows.length))).toEqual(new Set([200]));
    const marked = await Promise.all(workers.map((one, index) => one.mark(found[index] ?? [])));
    const ids = marked.flat();
    expect(ids).toHaveLength(200);
    expect(new Set(ids).size).toBe(200);
    expect(await balanceOf(world)).toMatchObject({ audience: 200, sending: 200, queued: 0 });
  });

  it('are marked again when the same worker repeats its write, and by nobody else', async () => {
    const { world, worker } = await openWorld(2);
    const [one, other] = [worker(), worker()];
    const [mine, theirs] = [await one.find(), await other.find()];
    await one.mark(mine);
    expect(await one.mark(mine)).toHaveLength(2);
    expect(await other.mark(theirs)).toHaveLength(0);
    expect((await other.record(theirs)).recorded).toBe(0);
    expect((await one.record(mine)).recorded).toBe(2);
    expect(await one.mark(mine)).toHaveLength(0);
    expect(await balanceOf(world)).toMatchObject({ audience: 2, sent: 2, sending: 0 });
    const rows = await queryRows<{ reply: string }>(
      ctx.db,
      sql`SELECT reply FROM hot.delivery WHERE source_id = ${world.campaignId}`,
    );
    expect(rows.map(({ reply }) => reply)).toEqual([sent.reply, sent.reply]);
  });

  it('wait when they are held back before anybody has marked them, once', async () => {
    const { world, worker } = await openWorld(2);
    const [one, other] = [worker(), worker()];
    const [mine, theirs] = [await one.find(), await other.find()];
    const later = { state: 'queued', isTry: false, reply: null, reason: 'provider_paused', delaySeconds: 600 } as const;
    expect((await one.record(mine, later)).recorded).toBe(2);
    expect((await one.record(mine, later)).recorded).toBe(0);
    expect(await other.mark(theirs)).toHaveLength(0);
    expect(await other.find()).toEqual([]);
    expect(await balanceOf(world)).toMatchObject({ audience: 2, queued: 2 });
  });

  it('are not marked for somebody who left the list after they were read', async () => {
    const { world, worker } = await openWorld(3);
    const one = worker();
    const found = await one.find();
    const [gone] = found;
    await ctx.db.execute(sql`UPDATE subscriber SET status = 'unsubscribed' WHERE id = ${gone?.recipientId ?? 0n}`);
    expect(await one.mark(found)).toHaveLength(2);
    expect(await one.find()).toEqual([]);
    expect(await balanceOf(world)).toMatchObject({ audience: 3, sending: 2, skipped: 1, queued: 0 });
  });

  it('are marked for nothing but the message that is there now', async () => {
    const { world, worker } = await openWorld(2);
    const one = worker();
    const found = await one.find();
    await ctx.db.execute(
      sql`UPDATE campaign SET subject = 'Mended', content_version = content_version + 1 WHERE id = ${world.campaignId}`,
    );
    expect(await one.mark(found)).toEqual([]);
    expect(await balanceOf(world)).toMatchObject({ audience: 2, queued: 2 });
  });

  it('come back from a worker that died before it began with what it had leased', async () => {
    const { world, range, worker } = await openWorld(3);
    const dead = randomUUID();
    await ctx.db.execute(
      sql`UPDATE hot.delivery SET state = 'leased', epoch = 1, owner = ${dead}::uuid, lease_expires_at = now() + interval '40 seconds'
           WHERE source_id = ${world.campaignId}`,
    );
    const one = worker();
    expect(await one.find()).toEqual([]);
    await recoverAmbiguous(ctx.db, range, { policy: 'park', attemptsMax: 3 });
    expect(await one.mark(await one.find())).toHaveLength(3);
    expect(await balanceOf(world)).toMatchObject({ audience: 3, sending: 3 });
  });

  it('that were taken for lost and queued again are sent when the answer comes late, unless another has them by then', async () => {
    const { world, range, worker } = await openWorld(2);
    const [one, other] = [worker(), worker()];
    const [first, second] = await one.find();
    if (!first || !second) throw new Error('Two are due.');
    await one.mark([first, second]);
    await ctx.db.execute(
      sql`UPDATE hot.delivery SET lease_expires_at = now() - interval '1 second' WHERE source_id = ${world.campaignId}`,
    );
    await recoverAmbiguous(ctx.db, range, { policy: 'retry', attemptsMax: 3 });
    expect(await balanceOf(world)).toMatchObject({ queued: 2, sending: 0 });
    const [, theirs] = await other.find();
    await other.mark(theirs ? [theirs] : []);
    for (const _again of [1, 2]) await one.late([first, second]);
    expect(await balanceOf(world)).toMatchObject({ audience: 2, sent: 1, sending: 1, queued: 0 });
    const [counter] = await queryRows(
      ctx.db,
      sql`SELECT open::int, sent::int, unknown::int FROM hot.delivery_counter WHERE source_id = ${world.campaignId}`,
    );
    expect(counter).toEqual({ open: 1, sent: 1, unknown: 0 });
  });

  it('are worked on by one job of a process at a time', async () => {
    const { range } = await openWorld(1);
    const part = { ...range, fromId: 10n, toId: 20n };
    const { lockRange } = createActiveCampaigns();
    const letGo = lockRange('one', part);
    expect(lockRange('one', { ...range, fromId: 20n, toId: 30n })).toEqual({ isCovered: false });
    expect(lockRange('one', { ...range, fromId: 11n, toId: 20n })).toEqual({ isCovered: true });
    expect(lockRange('one', { ...range, fromId: 21n, toId: 30n })).toBeTypeOf('function');
    expect(lockRange('two', part)).toBeTypeOf('function');
    if (typeof letGo === 'function') letGo();
    expect(lockRange('one', part)).toBeTypeOf('function');
  });
});
