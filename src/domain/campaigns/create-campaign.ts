/** Creates a campaign, after composing it once to see that it can be composed. */
import { newUid } from '../../lib/ids.ts';
import { parseInput } from '../../lib/text.ts';
import { lockOwnedList } from '../audience/find-owned-list.ts';
import { requireWithinLimit } from '../billing/require-within-limit.ts';
import { inTransaction, viewerOf, type Context } from '../context.ts';
import { compileCampaign } from '../delivery/campaign-message.ts';
import { createCampaignInput, type CreateCampaignInput } from './campaign-fields.ts';
import { checkedRoutes } from '../sending/routing/routes.ts';
import { segmentToWrite } from './campaign-segment.ts';
import { moveCampaign } from './campaign-state-store.ts';
import { insertCampaign } from './campaign-store.ts';

/** Creates the campaign and returns its uid. Throws ValidationError, SUBSCRIPTION_ENDED, LIST_NOT_FOUND, SEGMENT_NOT_FOUND. */
export async function createCampaign(ctx: Context, input: CreateCampaignInput): Promise<{ uid: string }> {
  const { customerId } = viewerOf(ctx);
  const parsed = parseInput(createCampaignInput, input);
  const uid = newUid();
  await inTransaction(ctx, async (tx) => {
    const { db } = tx;
    // No foreign key holds it: a list that is being deleted takes no campaign.
    const list = await lockOwnedList(tx, parsed.listUid);
    await requireWithinLimit(tx.tx, { customerId, limit: 'campaign_max', field: 'name' });
    const segmentId = await segmentToWrite(tx, { listId: list.id, segmentUid: parsed.segmentUid });
    const id = await insertCampaign(db, {
      ...parsed,
      customerId,
      listId: list.id,
      segmentId: segmentId ?? null,
      sendingServers: await checkedRoutes(db, customerId, parsed.sendingServers ?? null),
      uid,
    });
    await moveCampaign(db, { customerId, id }, { from: ['new'], to: 'ready' });
    await compileCampaign(db, { customerId, campaignId: id });
  });
  return { uid };
}
