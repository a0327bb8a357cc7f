/** The log of a customer's transactional mails. */
import { isUid, messageIdOf } from '../../../lib/ids.ts';
import { emailKey, parseInput } from '../../../lib/text.ts';
import { findOwnedTemplate } from '../../content/templates/find-owned-template.ts';
import { viewerOf, type Context } from '../../context.ts';
import type { DeliveryState } from '../ledger/delivery.ts';
import type { MessageWindow } from '../messages/message-log.ts';
import { countLoggedMails, loggedMail, loggedMails, type LoggedMail } from './mail-log-read-model.ts';
import { mailNotFound } from './transactional-errors.ts';
import { mailFilterInput } from './transactional.ts';

export interface MailFilter {
  readonly state?: DeliveryState | null | undefined;
  readonly email?: string | null | undefined;
  readonly templateUid?: string | null | undefined;
  readonly tag?: string | null | undefined;
  readonly externalId?: string | null | undefined;
  readonly createdFrom?: Date | null | undefined;
  readonly createdTo?: Date | null | undefined;
}

/** A page of the caller's mails, the newest first. Throws ValidationError, NotFoundError `TEMPLATE_NOT_FOUND`. */
export async function mailPage(
  ctx: Context,
  filter: MailFilter,
  { countedMax, ...window }: MessageWindow,
): Promise<{ nodes: readonly LoggedMail[]; total: number }> {
  const { email, templateUid, tag, externalId } = parseInput(mailFilterInput, filter);
  const question = {
    customerId: viewerOf(ctx).customerId,
    state: filter.state ?? null,
    emailKey: email ? emailKey(email) : null,
    templateId: templateUid ? (await findOwnedTemplate(ctx, templateUid)).id : null,
    ...{ tag: tag || null, externalId: externalId || null },
    ...{ createdFrom: filter.createdFrom ?? null, createdTo: filter.createdTo ?? null },
  };
  const nodes = await loggedMails(ctx.db, question, window);
  return { nodes, total: await countLoggedMails(ctx.db, question, countedMax) };
}

/** One of the caller's mails. Throws NotFoundError `TRANSACTIONAL_NOT_FOUND`. */
export async function findOwnedMail(ctx: Context, uid: string): Promise<LoggedMail> {
  const { customerId } = viewerOf(ctx);
  const found = isUid(uid) ? await loggedMail(ctx.db, { customerId, id: messageIdOf(uid) }) : undefined;
  if (!found) throw mailNotFound();
  return found;
}
