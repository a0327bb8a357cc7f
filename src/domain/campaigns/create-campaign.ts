/** Creates a campaign, after composing it once to see that it can be composed. */
import { assert } from '../../lib/errors.ts';
import { newUid } from '../../lib/ids.ts';
import { InputFaults } from '../../lib/input-faults.ts';
import { lockOwnedList } from '../audience/find-owned-list.ts';
import { requireWithinLimit } from '../billing/plans/require-within-limit.ts';
import { inTransaction, viewerOf, type Context, type TransactionContext } from '../context.ts';
import { compileCampaign } from '../delivery/campaigns/campaign-message.ts';
import { createCampaignInput, type CreateCampaignInput } from './campaign-fields.ts';
import { checkedRoutes } from '../sending/routing/routes.ts';
import { withTemplate, type TemplateChoice } from './template-choice.ts';
import { segmentToWrite } from './campaign-segment.ts';
import { moveCampaign } from './campaign-state-store.ts';
import { insertCampaign } from './campaign-store.ts';

/** Creates the campaign and returns its uid. Throws ValidationError, SUBSCRIPTION_ENDED, LIST_NOT_FOUND, SEGMENT_NOT_FOUND. */
export async function createCampaign(
  ctx: Context,
  input: CreateCampaignInput & TemplateChoice,
): Promise<{ uid: string }> {
  const { customerId } = viewerOf(ctx);
  const given = await withTemplate(ctx, input);
  const uid = newUid();
  await inTransaction(ctx, async (tx) => {
    const { db } = tx;
    const { segmentId, ...checked } = await checkedCampaign(tx, customerId, given);
    const id = await insertCampaign(db, { ...checked, customerId, segmentId: segmentId ?? null, uid });
    await moveCampaign(db, { customerId, id }, { from: ['new'], to: 'ready' });
    await compileCampaign(tx, { customerId, campaignId: id });
  });
  return { uid };
}

/** The fields, and what they name. All faults are thrown together. */
async function checkedCampaign(tx: TransactionContext, customerId: bigint, input: CreateCampaignInput) {
  const faults = new InputFaults();
  const parsed = faults.read(createCampaignInput, input);
  const { listUid, segmentUid } = parsed ?? input;
  // No foreign key holds it: a list that is being deleted takes no campaign.
  const list = listUid ? await faults.gather(() => lockOwnedList(tx, listUid), 'listUid') : undefined;
  await faults.gather(() => requireWithinLimit(tx.tx, { customerId, limit: 'campaign_max', field: 'name' }));
  const segmentId =
    list && (await faults.gather(() => segmentToWrite(tx, { listId: list.id, segmentUid }), 'segmentUid'));
  const routes =
    parsed &&
    (await faults.gather(() => checkedRoutes(tx.db, customerId, parsed.sendingServers ?? null), 'sendingServers'));
  faults.check({ areMore: tx.checksOnly });
  assert(parsed && list, 'a campaign without faults has no list');
  return { ...parsed, listId: list.id, segmentId, sendingServers: routes ?? null };
}
