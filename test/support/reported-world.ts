/** A message that was handed over to somebody, with the marks by which a report can name it. */
import { queryRows } from '../../scripts/support/query-rows.ts';
import { sql } from '../../src/db/database.ts';
import type { Context } from '../../src/domain/context.ts';
import { isSuppressed } from '../../src/domain/audience/suppression-store.ts';
import { readCampaignStatistics } from '../../src/domain/statistics/campaign-statistics-read-model.ts';
import { linkSignerOf } from '../../src/domain/tracking/link-signer.ts';
import { returnPathOf } from '../../src/domain/tracking/return-path.ts';
import { seedCampaign } from './audience-rows.ts';
import { sentMessage, type SentMessage } from './sent-message.ts';
import { deliveryOf } from './delivery-of.ts';
import { createTenant } from './tenant.ts';

export interface ReportedWorld extends SentMessage {
  readonly ctx: Context;
  readonly customerId: bigint;
  readonly listId: bigint;
  readonly subscriberId: bigint;
  readonly emailKey: string;
  readonly returnPath: string;
  /** The mail address in its List-Unsubscribe. */
  readonly unsubscribeAddress: string;
  /** In the form that the shapes of bounces take. */
  readonly original: { readonly messageId: string; readonly to: string; readonly returnPath: string };
}

type SentOptions = { state?: string; daysAgo?: number; runtimeMessageId?: string };

/** A tenant of its own with one person and one message. */
export async function reportedWorld(root: Context, options: SentOptions = {}): Promise<ReportedWorld> {
  const ctx = await createTenant(root);
  const customerId = ctx.viewer?.customerId ?? 0n;
  const { listId, subscriberIds } = await seedCampaign(ctx.db, { subscribers: 1, customerId });
  return messageTo({ ctx, customerId, listId, subscriberId: subscriberIds[0] ?? 0n }, options);
}

/** Another message to the same person. */
export async function anotherMessage(world: ReportedWorld): Promise<ReportedWorld> {
  return messageTo(world, {});
}

async function messageTo(
  to: Pick<ReportedWorld, 'ctx' | 'customerId' | 'listId' | 'subscriberId'>,
  options: SentOptions,
): Promise<ReportedWorld> {
  const { ctx, customerId, listId, subscriberId } = to;
  const emailKey = 'p1@example.org';
  await ctx.db.execute(sql`SELECT hot.ensure_partitions(current_date, current_date)`);
  const sent = await sentMessage(ctx, { customerId, listId, subscriberId, ...options });
  const delivery = deliveryOf({ customerId, campaignId: sent.campaignId, subscriberId });
  const returnPath = returnPathOf(ctx.installation, delivery, 'bounces.example');
  const links = linkSignerOf(ctx.installation).forRecipient({ ...delivery, listId }, undefined, 'bounces.example');
  const unsubscribeAddress = links.unsubscribeMail() ?? '';
  const original = { messageId: sent.messageId, to: emailKey, returnPath };
  return { ctx, customerId, listId, subscriberId, emailKey, returnPath, unsubscribeAddress, original, ...sent };
}

/** What reports have done so far. `counted`: sent, delivered, bounces, complaints. */
export async function standingOf({ ctx, customerId, campaignId, subscriberId, emailKey }: ReportedWorld) {
  const [figures] = await readCampaignStatistics(ctx, [{ customerId, campaignId }]);
  const [rows] = await queryRows<{ bounces: number; complaints: number; status: string; consents: number }>(
    ctx.db,
    sql`
    SELECT (SELECT count(*)::int FROM hot.bounce_event WHERE source_id = ${campaignId}) AS bounces,
           (SELECT count(*)::int FROM hot.feedback_event WHERE source_id = ${campaignId}) AS complaints,
           (SELECT status FROM subscriber WHERE id = ${subscriberId}) AS status,
           (SELECT count(*)::int FROM consent_event WHERE subscriber_id = ${subscriberId}) AS consents`,
  );
  return {
    ...rows,
    counted: [figures?.sentCount, figures?.deliveredCount, figures?.bounceCount, figures?.abuseFeedbackCount],
    suppressed: await isSuppressed(ctx.db, { customerId, emailKey }),
  };
}

/** Nothing was reported. */
export const untouched = {
  bounces: 0,
  complaints: 0,
  status: 'subscribed',
  consents: 0,
  counted: [1, 1, 0, 0],
  suppressed: false,
};
