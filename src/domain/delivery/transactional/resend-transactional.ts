/** Sends a transactional mail again, as a new one with the same content. */
import { randomUUID } from 'node:crypto';
import { assert } from '../../../lib/errors.ts';
import { requireRunningPlan } from '../../billing/plans/require-allowed.ts';
import { holdTemplates } from '../../content/templates/template-store.ts';
import { inTransaction, viewerOf, type Context } from '../../context.ts';
import { enqueueWithIds } from '../../messages/enqueue-messages.ts';
import { CONTENT_KEPT_DAYS } from '../../messages/message.ts';
import { copyMailEntry } from '../../messages/transactional-mail-store.ts';
import { SOURCE_KINDS } from '../../source-key.ts';
import { messageUid } from '../../../lib/ids.ts';
import type { DeliveryState } from '../ledger/delivery.ts';
import { findOwnedMail } from './mail-log.ts';
import { NONE } from './mail-source.ts';
import { mailToResend, type LoggedMail } from './mail-log-read-model.ts';
import { contentErased, stillOpen, templateDeleted } from './transactional-errors.ts';
import { keptBytes } from './recipients-read-model.ts';
import { priorityOf, refuseTooManyWaiting, refuseTooMuchKept } from './waiting.ts';

const OPEN: readonly DeliveryState[] = ['queued', 'leased', 'sending'];

/**
 * The new mail, with the tags of the first one. Throws WrongStateError (`TRANSACTIONAL_OPEN`, `CONTENT_ERASED`,
 * `TEMPLATE_DELETED`, `SUBSCRIPTION_ENDED`), RateLimitedError (`TOO_MANY_WAITING`, `TOO_MANY_ATTACHMENTS`), NotFoundError `TRANSACTIONAL_NOT_FOUND`.
 */
export async function resendTransactional(ctx: Context, uid: string): Promise<LoggedMail> {
  const { customerId } = viewerOf(ctx);
  await requireRunningPlan(ctx.db, customerId);
  return inTransaction(ctx, async (tx) => {
    const { id: fromId, state, email } = await findOwnedMail(tx, uid);
    if (OPEN.includes(state)) throw stillOpen(state);
    const mail = await mailToResend(tx.db, { customerId, id: fromId });
    if (!mail?.content || email === '') throw contentErased(CONTENT_KEPT_DAYS);
    const { sourceId, recipientId, listId, kind, status, content } = mail;
    const templateIds = sourceId === NONE ? [] : [sourceId];
    if ((await holdTemplates(tx.db, customerId, templateIds)).size < templateIds.length) throw templateDeleted();
    await refuseTooManyWaiting(tx.db, customerId, priorityOf(kind));
    await refuseTooMuchKept(tx.db, customerId, await keptBytes(tx.db, customerId, fromId));
    const [written] = await enqueueWithIds(tx.db, [
      {
        ...{ source: { customerId, sourceKind: SOURCE_KINDS.transactional, sourceId }, kind, content },
        ...{ purpose: 'transactional', priority: priorityOf(kind), cause: `resend ${uid} ${randomUUID()}` },
        to: listId === null || status === null ? { email } : { subscriberId: recipientId, listId, status },
      },
    ]);
    assert(written, 'a message with a new cause is written');
    await copyMailEntry(tx.db, { customerId, fromId, toId: written.id });
    return findOwnedMail(tx, messageUid(written.id));
  });
}
