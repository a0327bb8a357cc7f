/** Makes a campaign from what the caller says, after composing it once to see that it can be composed. */
import { newUid } from '../../lib/ids.ts';
import { parseInput } from '../../lib/text.ts';
import { ownList } from '../audience/own-list.ts';
import { inTransaction, viewerOf, type Context } from '../context.ts';
import { compileCampaign } from '../delivery/dispatch.ts';
import { campaignValues, createCampaignInput, type CreateCampaignInput } from './campaign-input.ts';
import { insertCampaign } from './campaign-store.ts';

/** Creates the campaign and answers its uid. Throws ValidationError, LIST_NOT_FOUND, FOREIGN_RESOURCE. */
export async function createCampaign(ctx: Context, input: CreateCampaignInput): Promise<{ uid: string }> {
  const { customerId } = viewerOf(ctx);
  const parsed = parseInput(createCampaignInput, input);
  const list = await ownList(ctx, parsed.list_uid);
  const uid = newUid();
  await inTransaction(ctx, async ({ db }) => {
    const id = await insertCampaign(db, {
      ...campaignValues(parsed),
      name: parsed.name,
      customerId,
      listId: list.id,
      uid,
      status: 'ready',
    });
    await compileCampaign(db, customerId, id);
  });
  return { uid };
}
