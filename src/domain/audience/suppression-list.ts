/**
 * The suppression list as its keeper sees and changes it: a customer its own, an administrator that of the whole
 * installation. What an entry of the installation does to a customer shows there only as "suppressed".
 */
import { z } from 'zod';
import { sql, type Sql } from '../../db/database.ts';
import { ForbiddenError, NotFoundError } from '../../lib/errors.ts';
import { EMAIL_BYTES_MAX, emailAddress, emailKey, isEmailAddress, optionalLine, parseInput } from '../../lib/text.ts';
import { holdsScope } from '../accounts/scopes.ts';
import { viewerOf, type Context } from '../context.ts';
import { EVERY_CUSTOMER, type SuppressionReason } from './suppression.ts';

export interface Suppressed {
  /** As it is compared: in lower case. */
  readonly email: string;
  readonly reason: SuppressionReason;
  readonly note: string | null;
  /** The user who put it there; null when it was no user, or somebody else's. */
  readonly addedByUid: string | null;
  readonly createdAt: Date;
}

/** Addresses that one call may bring: about two megabytes. */
export const SUPPRESS_AT_ONCE_MAX = 10_000;
const NOTE_MAX = 500;

/** What a person may say as a reason; bounces and complaints are found out, not said. */
export const SAID_REASONS = ['manual', 'bounce', 'complaint'] as const;

interface Whose {
  /** The installation's list; for administrators. */
  readonly everywhere?: boolean | null | undefined;
}

export interface SuppressInput extends Whose {
  readonly emails: readonly string[];
  readonly reason?: string | null | undefined;
  readonly note?: string | null | undefined;
}

const suppressInput = z.object({
  emails: z
    .array(z.string())
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
 * Puts addresses on the list; those that are there stay as they are. Answers how many are new. Throws ValidationError
 * on `emails`, `reason`, `note`, ForbiddenError.
 */
export async function suppressAddresses(ctx: Context, input: SuppressInput): Promise<{ added: number }> {
  const { emails, reason, note } = parseInput(suppressInput, input);
  const keys = [...new Set(emails.map((email) => emailKey(email.trim())))].sort();
  const added = await ctx.db.execute(sql`
    INSERT INTO suppression (customer_id, email_key, reason, note, added_by)
    SELECT ${keeperOf(ctx, input)}, key, ${reason}, ${note ?? null}, ${viewerOf(ctx).userId} FROM unnest(${keys}::text[]) AS k (key)
    ON CONFLICT DO NOTHING`);
  return { added };
}

/** Takes an address off the list. Throws NotFoundError `SUPPRESSION_NOT_FOUND`, ValidationError, ForbiddenError. */
export async function unsuppressAddress(ctx: Context, input: Whose & { email: string }): Promise<{ email: string }> {
  const email = emailKey(parseInput(z.object({ email: emailAddress() }), input).email);
  const gone = await ctx.db.execute(
    sql`DELETE FROM suppression WHERE customer_id = ${keeperOf(ctx, input)} AND email_key = ${email}`,
  );
  if (gone === 0) throw notSuppressed();
  return { email };
}

export interface SuppressionFilter extends Whose {
  /** The one address, if it is there. */
  readonly email?: string | null | undefined;
}

const filterInput = z.object({ email: optionalLine(EMAIL_BYTES_MAX) });

export interface SuppressionPage {
  readonly nodes: readonly Suppressed[];
  readonly total: number;
}

/** A page of the list, by address. Throws ValidationError on `email`, ForbiddenError. */
export async function suppressionPage(
  ctx: Context,
  filter: SuppressionFilter,
  { offset, limit }: { offset: number; limit: number },
): Promise<SuppressionPage> {
  const where = conditionOf(ctx, filter);
  const nodes = await ctx.db.query<Suppressed & Record<string, unknown>>(sql`
    SELECT x.email_key AS email, x.reason, x.note, u.uid AS "addedByUid", x.created_at AS "createdAt"
      FROM (SELECT * FROM suppression WHERE ${where} ORDER BY email_key OFFSET ${offset} LIMIT ${limit}) x
      -- Only a colleague is named: who of another customer's users acted is nobody's business.
      LEFT JOIN app_user u ON u.customer_id = ${viewerOf(ctx).customerId} AND u.id = x.added_by
     ORDER BY x.email_key`);
  const [count] = await ctx.db.query<{ total: number }>(
    sql`SELECT count(*)::int AS total FROM suppression WHERE ${where}`,
  );
  return { nodes, total: count?.total ?? 0 };
}

function conditionOf(ctx: Context, filter: SuppressionFilter): Sql {
  const keeper = sql`customer_id = ${keeperOf(ctx, filter)}`;
  const { email } = parseInput(filterInput, { email: filter.email ?? '' });
  if (email === '') return keeper;
  // What is no address is on no list.
  return isEmailAddress(email) ? sql`${keeper} AND email_key = ${emailKey(email)}` : sql`false`;
}

function keeperOf(ctx: Context, { everywhere }: Whose): bigint {
  const { customerId, isAdmin, scopes } = viewerOf(ctx);
  if (!everywhere) return customerId;
  if (!isAdmin || !holdsScope(scopes, 'admin'))
    throw new ForbiddenError('FORBIDDEN', 'Only an administrator can use the list of the whole installation.');
  return EVERY_CUSTOMER;
}
