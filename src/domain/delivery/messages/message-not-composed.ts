/** What becomes of a message that cannot be composed. */
import { ExpectedError, RateLimitedError } from '../../../lib/errors.ts';
import { faultSentence } from '../../content/template-fault.ts';
import type { Context } from '../../context.ts';
import { NOT_COMPOSED } from '../ledger/delivery.ts';
import { closed, storable, waits } from './message-outcome.ts';
import type { MessageOutcome, TakenMessage } from './message-queue-store.ts';
import { waitSeconds } from './message-tries.ts';
import { isPassing } from '../campaigns/outcome-recorder.ts';

/**
 * Throws when the database is away: then the message comes again. The process may be busy for a moment. Everything else is the message's
 * fault; so is what goes on for longer than a message is tried, whatever its text says.
 */
export function notComposed(ctx: Context, message: TakenMessage, error: unknown): MessageOutcome {
  const isOld = waitSeconds(message) === undefined;
  if (!isOld && isPassing(error) && !(error instanceof ExpectedError)) throw error;
  const reply = storable(faultSentence(error));
  if (!isOld && error instanceof RateLimitedError) return { ...waits(message, NOT_COMPOSED), reply };
  ctx.log.warn('messages.not_composed', { messageId: String(message.id), message: reply });
  return { ...closed(message, 'failed', NOT_COMPOSED), isTry: true, reply };
}
