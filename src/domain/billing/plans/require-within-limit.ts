/**
 * Called by every verb that creates something a plan counts, in its transaction, so that parallel callers exceed no limit:
 *
 * - `requireWithinLimit` before the row is written (lists, campaigns, segments, sending servers): the customer's transactions for
 *   this noun run one after the other from here to their commit.
 * - `requireSubscribersLeft` after the row is written (people): by then the list's counter counts it, and only the short time until
 *   the commit is exclusive.
 * - `remainingSubscribers` for many people at once: how many more are allowed. `hasSubscribersLeft` checks without a lock.
 * - `uploadLimitsOf`, `requireUploadSpace` for files, before the file's row is written.
 *
 * Nothing is limited for the operator's account. A customer with more than a new plan allows keeps it but cannot add. One without
 * a plan that allows preparing gets WrongStateError `SUBSCRIPTION_ENDED` or `SUBSCRIPTION_REQUIRED` (D55).
 */
import type { Queryable, Transaction } from '../../../db/database.ts';
import { lockUntilCommit } from '../../../db/lock.ts';
import { countOf, type CountedNoun } from '../../../lib/counted-noun.ts';
import { fileTooLarge, limitReached, uploadsFull } from './allowance-errors.ts';
import { allowanceOf, limitOf, maySend, type Allowance } from './allowance.ts';
import { requirePreparing } from './require-allowed.ts';
import { countUsage, lockUsage, uploadedBytes, type CountedLimit } from './usage-store.ts';

interface LimitRequest {
  readonly customerId: bigint;
  readonly limit: Exclude<CountedLimit, 'subscriber_max' | 'subscriber_per_list_max'>;
  /** The input field that the error names. */
  readonly field: string;
  /** For limits per list. */
  readonly listId?: bigint;
}

const NOUNS: Readonly<Record<CountedLimit, CountedNoun>> = {
  list_max: ['list', 'lists'],
  subscriber_max: ['subscriber', 'subscribers'],
  subscriber_per_list_max: ['subscriber in a list', 'subscribers in a list'],
  segment_per_list_max: ['segment in a list', 'segments in a list'],
  campaign_max: ['campaign', 'campaigns'],
  automation_max: ['automation', 'automations'],
  sending_servers_max: ['sending server', 'sending servers'],
  email_verification_servers_max: ['email verification server', 'email verification servers'],
  sending_domains_max: ['sending domain', 'sending domains'],
};

const PEOPLE_LIMITS = ['subscriber_per_list_max', 'subscriber_max'] as const;
const BYTES_PER_MEGABYTE = 1_048_576;

/** Requires that one more is allowed. Throws ValidationError `PLAN_LIMIT_REACHED`, WrongStateError `SUBSCRIPTION_ENDED`. */
export async function requireWithinLimit(tx: Transaction, request: LimitRequest): Promise<void> {
  const { limit, field } = request;
  const max = limitOf(await requirePreparing(tx, request.customerId), limit);
  if (max === null) return;
  await lockUsage(tx, request);
  if ((await countUsage(tx, request)) >= max) throw limitReached({ max, noun: NOUNS[limit], field });
}

interface ListKey {
  readonly customerId: bigint;
  readonly listId: bigint;
}

/**
 * Checks the limits after a person was written to the list. Throws ValidationError `PLAN_LIMIT_REACHED` on `field`,
 * WrongStateError `SUBSCRIPTION_ENDED`; the transaction must then be rolled back.
 */
export async function requireSubscribersLeft(tx: Transaction, { field, ...list }: ListKey & { field: string }) {
  const allowance = await requirePreparing(tx, list.customerId);
  const full = (await fullest(tx, allowance, list)).find(({ left }) => left < 0);
  if (full) throw limitReached({ max: full.max, noun: NOUNS[full.limit], field });
}

/**
 * Whether one more person could sign up now, without a guarantee. Without a running plan none could: signing up sends a
 * confirmation mail.
 */
export async function hasSubscribersLeft(db: Queryable, { customerId, listId }: ListKey): Promise<boolean> {
  const allowance = await allowanceOf(db, customerId);
  if (!maySend(allowance)) return false;
  for (const limit of PEOPLE_LIMITS) {
    const max = limitOf(allowance, limit);
    if (max !== null && (await countUsage(db, { customerId, limit, listId })) >= max) return false;
  }
  return true;
}

export type PeopleLimit = (typeof PEOPLE_LIMITS)[number];

/** How many more people a list may have: `left` (below 0: so many are too many), and the limit behind it. */
export interface RemainingSubscribers {
  readonly left: number;
  readonly limit: PeopleLimit;
  readonly max: number;
}

/** The text of a limit. */
export function limitText({ limit, max }: Pick<RemainingSubscribers, 'limit' | 'max'>): string {
  return `the plan allows at most ${countOf(max, NOUNS[limit])}`;
}

/**
 * How many more people the list may have, or undefined when there is no limit. Counted under the lock of
 * `requireSubscribersLeft`; who calls this before writing must already have locked the list's counters, because all lock the two
 * in this order. Throws WrongStateError `SUBSCRIPTION_ENDED`.
 */
export async function remainingSubscribers(tx: Transaction, list: ListKey): Promise<RemainingSubscribers | undefined> {
  const limits = await fullest(tx, await requirePreparing(tx, list.customerId), list);
  return limits.toSorted((a, b) => a.left - b.left)[0];
}

async function fullest(tx: Transaction, allowance: Allowance, { customerId, listId }: ListKey) {
  const found: RemainingSubscribers[] = [];
  // The list's own counter is locked by the writer already. The customer's needs a lock: other lists count too.
  for (const limit of PEOPLE_LIMITS) {
    const max = limitOf(allowance, limit);
    if (max === null) continue;
    const key = { customerId, limit, listId };
    if (limit === 'subscriber_max') await lockUsage(tx, key);
    found.push({ limit, max, left: max - (await countUsage(tx, key)) });
  }
  return found;
}

export interface UploadLimits {
  /** Largest file, in bytes; null: any size. */
  readonly fileBytesMax: number | null;
  /** All files together; null: any size. */
  readonly totalBytesMax: number | null;
}

/** The customer's upload limits, to refuse a file while it arrives. Throws WrongStateError `SUBSCRIPTION_ENDED`. */
export async function uploadLimitsOf(db: Queryable, customerId: bigint): Promise<UploadLimits> {
  const { options } = await requirePreparing(db, customerId);
  return { fileBytesMax: bytesOf(options.max_file_size_upload), totalBytesMax: bytesOf(options.max_size_upload_total) };
}

/**
 * Requires space for a file of `bytes`. Throws ValidationError `PLAN_FILE_TOO_LARGE` or `PLAN_LIMIT_REACHED` on `field`,
 * WrongStateError `SUBSCRIPTION_ENDED`.
 */
export async function requireUploadSpace(
  tx: Transaction,
  { customerId, bytes, field }: { customerId: bigint; bytes: number; field: string },
): Promise<void> {
  const { fileBytesMax, totalBytesMax } = await uploadLimitsOf(tx, customerId);
  if (fileBytesMax !== null && bytes > fileBytesMax) throw fileTooLarge(field, fileBytesMax / BYTES_PER_MEGABYTE);
  if (totalBytesMax === null) return;
  await lockUntilCommit(tx, `mailwright:usage:uploads:${customerId}`);
  if ((await uploadedBytes(tx, customerId)) + bytes > totalBytesMax)
    throw uploadsFull(field, totalBytesMax / BYTES_PER_MEGABYTE);
}

/** An option in megabytes as bytes; null is unlimited. */
export function bytesOf(megabytes: string): number | null {
  const number = Number(megabytes);
  return number < 0 ? null : number * BYTES_PER_MEGABYTE;
}
