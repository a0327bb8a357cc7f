/** The log of a customer's messages that are not of a campaign: mails of its lists, tests of its campaigns, notices. */
import { z } from 'zod';
import { NotFoundError } from '../../../lib/errors.ts';
import { isUid, messageIdOf } from '../../../lib/ids.ts';
import { emailAddress, emailKey, parseInput } from '../../../lib/text.ts';
import { viewerOf, type Context } from '../../context.ts';
import { MESSAGE_PURPOSES } from '../../messages/message.ts';
import type { DeliveryState } from '../ledger/delivery.ts';
import { countLoggedMessages, loggedMessage, loggedMessages, type LoggedMessage } from './message-log-read-model.ts';

export const messageFilterInput = z.object({
  email: emailAddress().nullish(),
  purpose: z.enum(MESSAGE_PURPOSES).nullish(),
});

export interface MessageFilter {
  readonly purpose?: string | null | undefined;
  readonly state?: DeliveryState | null | undefined;
  readonly email?: string | null | undefined;
}

export interface MessageWindow {
  readonly offset: number;
  readonly limit: number;
  /** The total is counted so far. */
  readonly countedMax: number;
}

/** A page of the caller's messages, the newest first. Throws ValidationError on `email` and `purpose`. */
export async function messagePage(
  ctx: Context,
  filter: MessageFilter,
  { countedMax, ...window }: MessageWindow,
): Promise<{ nodes: readonly LoggedMessage[]; total: number }> {
  const { email, purpose } = parseInput(messageFilterInput, { email: filter.email, purpose: filter.purpose });
  const question = {
    customerId: viewerOf(ctx).customerId,
    purpose: purpose ?? null,
    state: filter.state ?? null,
    emailKey: email ? emailKey(email) : null,
  };
  const nodes = await loggedMessages(ctx.db, question, window);
  return { nodes, total: await countLoggedMessages(ctx.db, question, countedMax) };
}

/** One of the caller's messages. Throws NotFoundError `MESSAGE_NOT_FOUND`. */
export async function findOwnedMessage(ctx: Context, uid: string): Promise<LoggedMessage> {
  const { customerId } = viewerOf(ctx);
  const found = isUid(uid) ? await loggedMessage(ctx.db, { customerId, id: messageIdOf(uid) }) : undefined;
  if (!found) throw new NotFoundError('MESSAGE_NOT_FOUND', 'There is no such message.');
  return found;
}
