/** Quiet hours or a frequency cap were changed: campaigns look again at the recipients that these hold back (D82). Repeating it is harmless. */
import type { ChangedHolding } from '../accounts/enqueue-held-mails.ts';
import { inTransaction, type Context } from '../context.ts';
import type { IdRange } from '../delivery/campaigns/audience-snapshot-store.ts';
import { ledgerOfCampaign } from '../delivery/ledger/delivery.ts';
import { freeHeldRecipients } from '../delivery/messages/held-mail-store.ts';
import { campaignsThatMayHold, type MayHold } from './campaign-wait-read-model.ts';
import { findCampaignById } from './campaign-store.ts';
import { enqueueBatches } from './enqueue-batches.ts';
import { wakeCampaign } from './wait-for-plan.ts';

/** Of one transaction: a few hundred milliseconds. */
const RECIPIENTS_AT_ONCE = 10_000;
/** A job sends to all who are due between its first and its last recipient. Few who were held among a million must not become one job for all of them. */
const IDS_FOR_EACH = 10n;

/** Of campaigns under way and paused ones. False: the process stops, and some are left. */
export async function freeHeldRecipientsOf(
  ctx: Context,
  changed: ChangedHolding,
  isStopping: () => boolean,
): Promise<boolean> {
  for (const campaign of await campaignsThatMayHold(ctx.db, changed)) {
    for (let afterId: bigint | undefined = 0n; afterId !== undefined;) {
      if (isStopping()) return false;
      afterId = await freeSome(ctx, campaign, afterId);
    }
    // As a whole it waits for the end of the hours that were set before.
    if (campaign.waitsForHours) await wakeCampaign(ctx, campaign);
  }
  return true;
}

/** The last one that was freed; undefined: there are no more. A paused campaign gets its jobs when it is resumed. */
async function freeSome(ctx: Context, given: MayHold, afterId: bigint): Promise<bigint | undefined> {
  const { customerId, campaignId, hasOwnTimes } = given;
  return inTransaction(ctx, async (tx) => {
    const campaign = await findCampaignById(tx.db, customerId, campaignId, { lock: true });
    if (!campaign || campaign.snapshotOn === null) return undefined;
    const key = ledgerOfCampaign({ customerId, campaignId, snapshotOn: campaign.snapshotOn });
    // Where people have send times of their own, a time was chosen for its hour, too.
    const slice = { afterId, max: RECIPIENTS_AT_ONCE, withSendTimes: !hasOwnTimes };
    const freed = await freeHeldRecipients(tx.db, key, slice);
    if (campaign.status === 'sending')
      await enqueueBatches(tx.db, campaign, rangesOf(freed, tx.installation.limits.sendBatchSize));
    return freed.length < RECIPIENTS_AT_ONCE ? undefined : freed.at(-1)?.id;
  });
}

function rangesOf(freed: readonly { readonly id: bigint }[], batchSize: number): readonly IdRange[] {
  const ranges: { fromId: bigint; toId: bigint; people: number }[] = [];
  for (const { id } of freed) {
    const last = ranges.at(-1);
    if (last && last.people < batchSize && id - last.fromId < BigInt(batchSize) * IDS_FOR_EACH) {
      last.toId = id;
      last.people += 1;
    } else ranges.push({ fromId: id, toId: id, people: 1 });
  }
  return ranges;
}
