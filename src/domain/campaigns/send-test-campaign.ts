/** Sends tests of a campaign's message to addresses that the author chooses. */
import { z } from 'zod';
import { RateLimitedError, ValidationError } from '../../lib/errors.ts';
import { emailAddress, emailKey, optionalLine, parseInput, singleLine } from '../../lib/text.ts';
import { subscribersByAddress } from '../audience/find-subscriber.ts';
import { isSuppressed } from '../audience/suppression-store.ts';
import { requireRunningPlan } from '../billing/require-allowed.ts';
import { inTransaction, type Context } from '../context.ts';
import { compileCampaign } from '../delivery/campaign-message.ts';
import { enqueueTestMessages } from '../delivery/test-message.ts';
import { insertTests, type TestMessage } from '../delivery/test-message-store.ts';
import { countRequestedMails } from '../sending/requested-mails.ts';
import { senderFault } from '../sending/addresses/usable-sender.ts';
import { hasServerToSendThrough } from '../sending/sending-server-read-model.ts';
import type { Campaign } from './campaign.ts';
import { campaignNotReady } from './campaign-errors.ts';
import { findOwnedCampaign } from './find-owned-campaign.ts';
import { readerOf } from './preview-campaign.ts';

/** A test is for colleagues; a mailing is a campaign. */
export const TEST_ADDRESSES_MAX = 10;
/** Test addresses per customer and hour: enough for real work, too few for abuse. */
export const TESTS_PER_HOUR_MAX = 100;
const HOUR_SECONDS = 3_600;

export const sendTestInput = z.object({
  uid: singleLine(64),
  emails: z
    .array(emailAddress())
    .min(1, 'The emails field needs at least one address.')
    .max(TEST_ADDRESSES_MAX, `A test goes to at most ${TEST_ADDRESSES_MAX} addresses.`),
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
  const emails = [...new Map(parsed.emails.map((email) => [emailKey(email), email])).values()];
  return inTransaction(ctx, async (inner) => {
    const campaign = await findOwnedCampaign(inner, parsed.uid);
    const { customerId, id: campaignId } = campaign;
    const reader = await readerOf(inner, campaign, parsed.subscriber);
    await requireRunningPlan(inner.db, customerId);
    await refuseSuppressed(inner, campaign, emails);
    const fault = await senderFault(inner.db, inner.installation, { customerId, email: campaign.fromEmail });
    if (fault !== undefined) throw campaignNotReady({ fromEmail: [fault] });
    if (!(await hasServerToSendThrough(inner.db, customerId)))
      throw campaignNotReady({ sendingServer: ['There is no active sending server: create one first.'] });
    await compileCampaign(inner, { customerId, campaignId });
    await refuseTooMany(inner, { customerId, mails: emails.length });
    const readers: { email: string; subscriberId: bigint | null }[] = [];
    for (const email of emails)
      readers.push({ email, subscriberId: reader ?? (await subscriberWith(inner, campaign, email)) });
    const isMarked = parsed.markSubject ?? true;
    const messages = await insertTests(inner.db, { campaign: { customerId, campaignId }, readers, isMarked });
    await enqueueTestMessages(inner.db, { customerId, campaignId, testIds: messages.map(({ id }) => id) });
    return { uid: campaign.uid, messages };
  });
}

async function refuseSuppressed(ctx: Context, { customerId }: Campaign, emails: readonly string[]): Promise<void> {
  const refused: string[] = [];
  for (const email of emails)
    if (await isSuppressed(ctx.db, { customerId, emailKey: emailKey(email) })) refused.push(email);
  if (refused.length === 0) return;
  const sentences = refused.map((email) => `${email} is suppressed: no mail is sent to it.`);
  throw new ValidationError({ emails: sentences }, 'ADDRESS_SUPPRESSED', sentences.join(' '));
}

async function subscriberWith(ctx: Context, { listId }: Campaign, email: string): Promise<bigint | null> {
  const people = await subscribersByAddress(ctx, email);
  return people.find((person) => person.listId === listId)?.id ?? null;
}

async function refuseTooMany({ db }: Context, { customerId, mails }: { customerId: bigint; mails: number }) {
  const limit = { key: `test-mails:${customerId}`, max: TESTS_PER_HOUR_MAX, seconds: HOUR_SECONDS };
  const waitSeconds = await countRequestedMails(db, [limit], mails);
  const sentence = `At most ${TESTS_PER_HOUR_MAX} addresses can be tested in an hour.`;
  if (waitSeconds !== undefined) throw new RateLimitedError('TOO_MANY_TESTS', sentence, waitSeconds);
}
