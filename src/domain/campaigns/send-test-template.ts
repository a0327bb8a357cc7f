/** Sends tests of a template to addresses that its author chooses: as a flow would send it to people of a list. */
import { z } from 'zod';
import { ValidationError } from '../../lib/errors.ts';
import { optionalLine, parseInput, singleLine } from '../../lib/text.ts';
import { requireScope } from '../accounts/require-scope.ts';
import { findOwnedList } from '../audience/find-owned-list.ts';
import { listNotFound } from '../audience/list-errors.ts';
import { requireRunningPlan } from '../billing/plans/require-allowed.ts';
import { mailData } from '../content/mail-data.ts';
import { findOwnedTemplate } from '../content/templates/find-owned-template.ts';
import { inTransaction, type Context } from '../context.ts';
import { readListSource } from '../delivery/campaigns/campaign-source-read-model.ts';
import { compileTemplateTest, enqueueTemplateTests, type TemplateTest } from '../delivery/flow-mails/test-template.ts';
import { senderFault } from '../sending/addresses/usable-sender.ts';
import { hasServerToSendThrough } from '../sending/sending-server-read-model.ts';
import { readerOf } from './preview-campaign.ts';
import { distinctEmails, refuseSuppressed, refuseTooManyTests, testEmails, testReaders } from './test-addresses.ts';

const UID_LENGTH_MAX = 64;
const REFERENCE_LENGTH_MAX = 320;

export const sendTestTemplateInput = z.object({
  uid: singleLine(UID_LENGTH_MAX),
  listUid: singleLine(UID_LENGTH_MAX),
  emails: testEmails,
  subscriber: optionalLine(REFERENCE_LENGTH_MAX).nullish(),
  data: mailData.nullish(),
  payload: mailData.nullish(),
  markSubject: z.boolean().nullish(),
});

export type SendTestTemplateInput = z.input<typeof sendTestTemplateInput>;

/**
 * Queues a test to each address, from the sender of the list and with its contact and fields; the values are those of `subscriber` (uid, id or
 * address), else of the subscriber of the list with that address, else sample values. Throws ValidationError (`ADDRESS_SUPPRESSED`, what cannot
 * be composed, a list whose sender cannot be used, no server), RateLimitedError `TOO_MANY_TESTS`, what `requireRunningPlan` throws,
 * ForbiddenError (scopes), NotFoundError and ForeignResourceError (`TEMPLATE_NOT_FOUND`, `LIST_NOT_FOUND`).
 */
export async function sendTestTemplate(
  ctx: Context,
  given: SendTestTemplateInput,
): Promise<{ uid: string; tests: readonly TemplateTest[] }> {
  requireScope(ctx, 'listUid', 'lists:read');
  const parsed = parseInput(sendTestTemplateInput, given);
  const emails = distinctEmails(parsed.emails);
  return inTransaction(ctx, async (inner) => {
    const template = await findOwnedTemplate(inner, parsed.uid);
    const { customerId } = template;
    const list = await findOwnedList(inner, parsed.listUid);
    const chosen = await readerOf(inner, { customerId, listId: list.id }, parsed.subscriber);
    await requireRunningPlan(inner.db, customerId);
    await refuseSuppressed(inner, customerId, emails);
    await refuseUnusableSender(inner, customerId, list.id);
    const test = { template, listId: list.id, isMarked: parsed.markSubject ?? true };
    await compileTemplateTest(inner, test);
    await refuseTooManyTests(inner, { customerId, mails: emails.length });
    const readers = await testReaders(inner, { emails, listId: list.id, chosen });
    const { data = null, payload = null } = parsed;
    const sent = { template, isMarked: test.isMarked, listUid: list.uid, readers, data, payload };
    return { uid: template.uid, tests: await enqueueTemplateTests(inner.db, sent) };
  });
}

/** Throws ValidationError when nothing can be sent from the address of the list. */
export async function refuseUnusableSender(
  { db, installation }: Context,
  customerId: bigint,
  listId: bigint,
): Promise<void> {
  const list = await readListSource(db, { customerId, listId });
  if (!list) throw listNotFound();
  const fault = await senderFault(db, installation, { customerId, email: list.from_email });
  if (fault !== undefined) throw new ValidationError({ listUid: [`The sender of the list cannot be used: ${fault}`] });
  if (await hasServerToSendThrough(db, customerId)) return;
  throw new ValidationError({ sendingServer: ['There is no active sending server: create one first.'] });
}
