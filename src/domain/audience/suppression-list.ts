/**
 * Reading and changing suppression lists: a customer its own, an administrator that of the whole installation. A customer sees an
 * entry of the installation only as "suppressed".
 */
import { z } from 'zod';
import { ForbiddenError, NotFoundError } from '../../lib/errors.ts';
import { EMAIL_BYTES_MAX, emailAddress, emailKey, isEmailAddress, optionalLine, parseInput } from '../../lib/text.ts';
import { holdsScope } from '../accounts/scopes.ts';
import { inTransaction, viewerOf, type Context } from '../context.ts';
import { lockByAddress } from './subscriber-store.ts';
import { EVERY_CUSTOMER } from './suppression.ts';
import { insertSuppressions, pageOfSuppressions, unsuppress, type SuppressionPage } from './suppression-store.ts';
import { endUndoOfAddress } from './undo-store.ts';

/** Addresses per call: about two megabytes. */
export const SUPPRESS_AT_ONCE_MAX = 10_000;
const NOTE_MAX = 500;

/** Reasons that a user may give; the program records all but `manual` by itself, too. */
export const SAID_REASONS = ['manual', 'bounce', 'complaint', 'undeliverable'] as const;

interface Whose {
  /** The installation's list; for administrators. */
  readonly everywhere?: boolean | null | undefined;
}

export interface SuppressInput extends Whose {
  readonly emails: readonly string[];
  readonly reason?: string | null | undefined;
  readonly note?: string | null | undefined;
}

export const suppressInput = z.object({
  emails: z
    .array(z.string().describe(`An email address of at most ${EMAIL_BYTES_MAX} bytes.`))
    .min(1)
    .max(SUPPRESS_AT_ONCE_MAX)
    .refine((emails) => emails.every((email) => isEmailAddress(email.trim())), 'must all be valid email addresses'),
  reason: z
    .enum(SAID_REASONS)
    .nullish()
    .transform((reason) => reason ?? 'manual'),
  note: optionalLine(NOTE_MAX).nullish(),
});

export const notSuppressed = () => new NotFoundError('SUPPRESSION_NOT_FOUND', 'This address is not on the list.');

/**
 * Adds addresses to the list; existing entries stay. Returns how many are new. Throws ValidationError on `emails`, `reason`,
 * `note`, ForbiddenError.
 */
export async function suppressAddresses(ctx: Context, input: SuppressInput): Promise<{ added: number }> {
  const { emails, reason, note } = parseInput(suppressInput, input);
  const keys = [...new Set(emails.map((email) => emailKey(email.trim())))].sort();
  const added = await insertSuppressions(ctx.db, {
    customerId: keeperOf(ctx, input),
    emailKeys: keys,
    reason,
    note: note ?? null,
    addedBy: viewerOf(ctx).userId,
  });
  return { added };
}

/** Removes an address from the list. Throws NotFoundError `SUPPRESSION_NOT_FOUND`, ValidationError, ForbiddenError. */
export async function unsuppressAddress(ctx: Context, input: Whose & { email: string }): Promise<{ email: string }> {
  const email = emailKey(parseInput(z.object({ email: emailAddress() }), input).email);
  const customerId = keeperOf(ctx, input);
  return inTransaction(ctx, async ({ db, ipAddress }) => {
    await lockByAddress(db, customerId, email);
    if (!(await unsuppress(db, { customerId, emailKey: email }))) throw notSuppressed();
    // The suppression was a withdrawal after the click, and its removal by somebody else is no consent.
    await endUndoOfAddress(db, { customerId, emailKey: email }, { source: 'api', ipAddress });
    return { email };
  });
}

export interface SuppressionFilter extends Whose {
  /** Only this address, if it is on the list. */
  readonly email?: string | null | undefined;
}

export const suppressionFilterInput = z.object({ email: optionalLine(EMAIL_BYTES_MAX) });

/** A page of the list, by address. Throws ValidationError on `email`, ForbiddenError. */
export async function suppressionPage(
  ctx: Context,
  filter: SuppressionFilter,
  { offset, limit }: { offset: number; limit: number },
): Promise<SuppressionPage> {
  const customerId = keeperOf(ctx, filter);
  const { email } = parseInput(suppressionFilterInput, { email: filter.email ?? '' });
  // An invalid address is on no list.
  if (email !== '' && !isEmailAddress(email)) return { nodes: [], total: 0 };
  const question = { customerId, viewerId: viewerOf(ctx).customerId, offset, limit };
  return pageOfSuppressions(ctx.db, email === '' ? question : { ...question, emailKey: emailKey(email) });
}

function keeperOf(ctx: Context, { everywhere }: Whose): bigint {
  const { customerId, isAdmin, scopes } = viewerOf(ctx);
  if (!everywhere) return customerId;
  if (!isAdmin || !holdsScope(scopes, 'admin'))
    throw new ForbiddenError('FORBIDDEN', 'Only an administrator can use the list of the whole installation.');
  return EVERY_CUSTOMER;
}
