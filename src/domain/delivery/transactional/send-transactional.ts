/** Accepts a transactional mail: when this returns, its messages are in the ledger and are sent, whatever happens to this process. */
import { randomUUID } from 'node:crypto';
import { ExpectedError } from '../../../lib/errors.ts';
import { emailKey } from '../../../lib/text.ts';
import { addSubscriber } from '../../audience/add-subscriber.ts';
import { requireRunningPlan } from '../../billing/require-allowed.ts';
import { templateNotFound } from '../../content/templates/template-errors.ts';
import { holdTemplate } from '../../content/templates/template-store.ts';
import { inTransaction, viewerOf, type Context, type TransactionContext } from '../../context.ts';
import { enqueueWithIds } from '../../messages/enqueue-messages.ts';
import type { NewMessage } from '../../messages/message.ts';
import { insertMailEntries, insertMessageFiles } from '../../messages/transactional-mail-store.ts';
import { SOURCE_KINDS } from '../../source-key.ts';
import { checkMail, type CheckedMail } from './check-mail.ts';
import { NONE } from './mail-source.ts';
import { knownRecipients, messagesOfCauses, type KnownRecipient } from './recipients-read-model.ts';
import { priorityOf, refuseTooManyWaiting, refuseTooMuchKept } from './waiting.ts';
import type { AcceptedMail, SendTransactionalInput } from './transactional.ts';

/**
 * Enqueues a message for each recipient and answers what becomes of each, in their order. Throws ValidationError (on each wrong
 * field), WrongStateError `SUBSCRIPTION_ENDED`, RateLimitedError `TOO_MANY_WAITING` and
 * `TOO_MANY_ATTACHMENTS`, NotFoundError and ForeignResourceError
 * (`TEMPLATE_NOT_FOUND`, `LIST_NOT_FOUND`, `FILE_NOT_FOUND`), ForbiddenError.
 */
export async function sendTransactional(ctx: Context, given: SendTransactionalInput): Promise<AcceptedMail[]> {
  const mail = await checkMail(ctx, given);
  const { customerId } = viewerOf(ctx);
  await requireRunningPlan(ctx.db, customerId);
  await refuseTooManyWaiting(ctx.db, customerId, priorityOf(mail.template?.kind));
  const ofFiles = mail.files.reduce((sum, { bytes }) => sum + (bytes?.length ?? 0), 0);
  await refuseTooMuchKept(ctx.db, customerId, ofFiles * mail.input.to.length);
  return inTransaction(ctx, (tx) => accept(tx, customerId, mail));
}

async function accept(tx: TransactionContext, customerId: bigint, mail: CheckedMail): Promise<AcceptedMail[]> {
  const { input, template, list, files } = mail;
  if (template && !(await holdTemplate(tx.db, template))) throw templateNotFound();
  if (input.upsertSubscriber && list) await addMissing(tx, mail);
  const emailKeys = input.to.map(({ email }) => emailKey(email));
  const known = await knownRecipients(tx.db, { customerId, listId: list?.id ?? NONE, emailKeys });
  const planned = known.map((recipient, no) => plan(customerId, { mail, recipient, no }));
  const messages = planned.flatMap(({ message }) => (message ? [message] : []));
  const written = await enqueueWithIds(tx.db, messages);
  const messageIds = written.map(({ id }) => id);
  const entry = { customerId, externalId: input.externalId || null, tags: input.tags ?? [] };
  if (messageIds.length > 0)
    await insertMailEntries(
      tx.db,
      messageIds.map((messageId) => ({ ...entry, messageId })),
    );
  if (messageIds.length > 0 && files.length > 0) await insertMessageFiles(tx.db, { customerId, messageIds }, files);
  const isNew = new Map(written.map(({ id, cause }) => [cause, id]));
  const others = messages.map(({ cause }) => cause).filter((cause) => !isNew.has(cause));
  const before = others.length > 0 ? await messagesOfCauses(tx.db, customerId, others) : [];
  const earlier = new Map(before.map(({ id, cause }) => [cause, id]));
  return planned.map(({ message, suppression }, no) => {
    const email = input.to[no]?.email ?? '';
    if (!message) return { email, id: null, state: 'suppressed', reason: suppression };
    const id = isNew.get(message.cause);
    if (id === undefined) return { email, id: earlier.get(message.cause) ?? null, state: 'duplicate', reason: null };
    if (suppression !== null) return { email, id, state: 'suppressed', reason: suppression };
    return { email, id, state: isAhead(input.sendAt) ? 'scheduled' : 'accepted', reason: null };
  });
}

function isAhead(sendAt: Date | null | undefined): boolean {
  return sendAt ? sendAt.getTime() > Date.now() : false;
}

interface Planned {
  /** Null: the ledger cannot have it. */
  readonly message: NewMessage | null;
  readonly suppression: string | null;
}

/** The message for one recipient. One that is suppressed is written, too, so that the log has it; the sender closes it. */
function plan(
  customerId: bigint,
  { mail, recipient, no }: { mail: CheckedMail; recipient: KnownRecipient; no: number },
): Planned {
  const { input, template, list, content } = mail;
  const { subscriberId, status, emailKey: key } = recipient;
  const kind = template?.kind ?? 'transactional';
  // Without a person on the list there is nothing to unsubscribe.
  if (kind !== 'transactional' && subscriberId === null) return { message: null, suppression: 'not_on_list' };
  const to =
    kind === 'transactional' || subscriberId === null
      ? { email: input.to[no]?.email ?? '' }
      : { subscriberId, listId: list?.id ?? NONE, status: 'subscribed' };
  const offList = kind !== 'transactional' && status !== 'subscribed' ? status : null;
  const sourceId = template?.id ?? NONE;
  const message: NewMessage = {
    ...{ source: { customerId, sourceKind: SOURCE_KINDS.transactional, sourceId }, to, kind },
    ...{ purpose: 'transactional', priority: priorityOf(kind) },
    cause: input.externalId ? `external ${sourceId} ${input.externalId} ${key}` : `mail ${randomUUID()}`,
    content: { ...content, data: { ...input.data, ...input.to[no]?.data } },
    ...(isAhead(input.sendAt) && input.sendAt ? { sendAt: input.sendAt } : {}),
  };
  return { message, suppression: recipient.suppression ?? offList };
}

const CANNOT_BE_ADDED = ['EMAIL_SUPPRESSED', 'EMAIL_TAKEN'];

/** Adds who is not on the list, without consent to anything: they get no campaign until they subscribe. */
async function addMissing(tx: TransactionContext, { input, list }: CheckedMail): Promise<void> {
  if (!list) return;
  const emailKeys = input.to.map(({ email }) => emailKey(email));
  const known = await knownRecipients(tx.db, { customerId: list.customerId, listId: list.id, emailKeys });
  for (const [no, { subscriberId, suppression }] of known.entries()) {
    const email = input.to[no]?.email;
    if (subscriberId !== null || suppression !== null || email === undefined) continue;
    await addSubscriber(tx, { listUid: list.uid, email, status: 'unconfirmed' }).catch((error: unknown) => {
      // Another call was faster, or the person was erased: the mail is sent all the same.
      if (!(error instanceof ExpectedError) || !CANNOT_BE_ADDED.includes(error.code)) throw error;
    });
  }
}
