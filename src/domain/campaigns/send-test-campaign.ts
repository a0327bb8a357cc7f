/** Sends tests of a campaign's message to addresses that the author chooses. */
import { z } from 'zod';
import { optionalLine, parseInput, singleLine } from '../../lib/text.ts';
import { requireRunningPlan } from '../billing/plans/require-allowed.ts';
import { inTransaction, type Context } from '../context.ts';
import { compileCampaign } from '../delivery/campaigns/campaign-message.ts';
import { enqueueTestMessages } from '../delivery/campaigns/test-message.ts';
import { insertTests, type TestMessage } from '../delivery/campaigns/test-message-store.ts';
import { senderFault } from '../sending/addresses/usable-sender.ts';
import { hasServerToSendThrough } from '../sending/sending-server-read-model.ts';
import { campaignNotReady } from './campaign-errors.ts';
import { findOwnedCampaign } from './find-owned-campaign.ts';
import { readerOf } from './preview-campaign.ts';
import { distinctEmails, refuseSuppressed, refuseTooManyTests, testEmails, testReaders } from './test-addresses.ts';

export const sendTestInput = z.object({
  uid: singleLine(64),
  emails: testEmails,
  subscriber: optionalLine(320).nullable().optional(),
  markSubject: z.boolean().nullable().optional(),
});

export type SendTestInput = z.input<typeof sendTestInput>;

/**
 * Queues a test to each address, with the values of `subscriber` (uid, id or address), else of the subscriber of the list with
 * that address, else sample values. Works in any state of the campaign. Throws ValidationError (`ADDRESS_SUPPRESSED`, what cannot
 * be composed), CAMPAIGN_NOT_READY without a server, RateLimitedError `TOO_MANY_TESTS`, what
 * `requireRunningPlan` throws, NotFoundError,
 * ForeignResourceError.
 */
export async function sendTestCampaign(
  ctx: Context,
  given: SendTestInput,
): Promise<{ uid: string; messages: readonly TestMessage[] }> {
  const parsed = parseInput(sendTestInput, given);
  const emails = distinctEmails(parsed.emails);
  return inTransaction(ctx, async (inner) => {
    const campaign = await findOwnedCampaign(inner, parsed.uid);
    const { customerId, id: campaignId } = campaign;
    const reader = await readerOf(inner, campaign, parsed.subscriber);
    await requireRunningPlan(inner.db, customerId);
    await refuseSuppressed(inner, customerId, emails);
    const fault = await senderFault(inner.db, inner.installation, { customerId, email: campaign.fromEmail });
    if (fault !== undefined) throw campaignNotReady({ fromEmail: [fault] });
    if (!(await hasServerToSendThrough(inner.db, customerId)))
      throw campaignNotReady({ sendingServer: ['There is no active sending server: create one first.'] });
    await compileCampaign(inner, { customerId, campaignId });
    await refuseTooManyTests(inner, { customerId, mails: emails.length });
    const readers = await testReaders(inner, { emails, listId: campaign.listId, chosen: reader });
    const isMarked = parsed.markSubject ?? true;
    const messages = await insertTests(inner.db, { campaign: { customerId, campaignId }, readers, isMarked });
    await enqueueTestMessages(inner.db, { customerId, campaignId, testIds: messages.map(({ id }) => id) });
    return { uid: campaign.uid, messages };
  });
}
