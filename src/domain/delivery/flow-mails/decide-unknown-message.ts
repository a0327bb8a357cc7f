/**
 * A user's decision about a mail of an automation with an unknown outcome. With the server's log at hand the user accepts it as sent, or sends it
 * again at the risk of a second copy.
 */
import { WrongStateError } from '../../../lib/errors.ts';
import { inTransaction, viewerOf, type Context } from '../../context.ts';
import { CONTENT_KEPT_DAYS } from '../../messages/message.ts';
import { keepInQuota } from '../../sending/send-budget-store.ts';
import type { UnknownDecision } from '../ledger/unknown-outcome-store.ts';
import { findOwnedMessage } from '../messages/message-log.ts';
import type { LoggedMessage } from '../messages/message-log-read-model.ts';
import { contentErased } from '../transactional/transactional-errors.ts';
import { decideUnknownMail } from './unknown-message-store.ts';

/**
 * Answers the mail as it is after the decision. Whoever may not get mails any more gets none, and a stopped automation holds it. Throws NotFoundError
 * `MESSAGE_NOT_FOUND`, WrongStateError (`MESSAGE_NOT_UNKNOWN`, `CONTENT_ERASED`).
 */
export async function decideUnknownMessage(
  ctx: Context,
  uid: string,
  decision: UnknownDecision,
): Promise<LoggedMessage> {
  return inTransaction(ctx, async (tx) => {
    const message = await findOwnedMessage(tx, uid);
    if (message.purpose !== 'flow' || message.state !== 'unknown') throw notUnknown(message);
    const { customerId } = viewerOf(tx);
    const isDecided = await decideUnknownMail(tx.db, { customerId, id: message.id }, decision);
    const after = await findOwnedMessage(tx, uid);
    // A late answer of the server, or another decision, may have come first.
    if (!isDecided) throw after.state === 'unknown' ? contentErased(CONTENT_KEPT_DAYS) : notUnknown(after);
    if (decision === 'resend') await keepInQuota(tx.db, customerId, 1);
    return after;
  });
}

function notUnknown({ purpose, state }: LoggedMessage): WrongStateError {
  const what = purpose === 'flow' ? `this one is ${state}` : 'this one is of no automation';
  return new WrongStateError(
    'MESSAGE_NOT_UNKNOWN',
    `Only a mail of an automation whose outcome is unknown can be decided about: ${what}.`,
  );
}
