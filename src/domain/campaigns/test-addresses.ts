/** The addresses that tests of messages go to: how many, which are refused, and whose values they show. */
import { z } from 'zod';
import { RateLimitedError, ValidationError } from '../../lib/errors.ts';
import { emailAddress, emailKey } from '../../lib/text.ts';
import { subscribersByAddress } from '../audience/find-subscriber.ts';
import { isSuppressed } from '../audience/suppression-store.ts';
import type { Context } from '../context.ts';
import { countRequestedMails } from '../sending/requested-mails.ts';

/** A test is for colleagues; a mailing is a campaign. */
export const TEST_ADDRESSES_MAX = 10;
/** Test addresses per customer and hour: enough for real work, too few for abuse. */
export const TESTS_PER_HOUR_MAX = 100;
const HOUR_SECONDS = 3_600;

/** The addresses as a caller gives them. */
export const testEmails = z
  .array(emailAddress())
  .min(1, 'The emails field needs at least one address.')
  .max(TEST_ADDRESSES_MAX, `A test goes to at most ${TEST_ADDRESSES_MAX} addresses.`);

/** Each address once. */
export function distinctEmails(emails: readonly string[]): readonly string[] {
  return [...new Map(emails.map((email) => [emailKey(email), email])).values()];
}

/** Throws ValidationError `ADDRESS_SUPPRESSED`, which names the addresses. */
export async function refuseSuppressed(ctx: Context, customerId: bigint, emails: readonly string[]): Promise<void> {
  const refused: string[] = [];
  for (const email of emails)
    if (await isSuppressed(ctx.db, { customerId, emailKey: emailKey(email) })) refused.push(email);
  if (refused.length === 0) return;
  const sentences = refused.map((email) => `${email} is suppressed: no mail is sent to it.`);
  throw new ValidationError({ emails: sentences }, 'ADDRESS_SUPPRESSED', sentences.join(' '));
}

/** Counts the tests of the hour. Throws RateLimitedError `TOO_MANY_TESTS`. */
export async function refuseTooManyTests(
  { db }: Context,
  { customerId, mails }: { readonly customerId: bigint; readonly mails: number },
): Promise<void> {
  const limit = { key: `test-mails:${customerId}`, max: TESTS_PER_HOUR_MAX, seconds: HOUR_SECONDS };
  const waitSeconds = await countRequestedMails(db, [limit], mails);
  const sentence = `At most ${TESTS_PER_HOUR_MAX} addresses can be tested in an hour.`;
  if (waitSeconds !== undefined) throw new RateLimitedError('TOO_MANY_TESTS', sentence, waitSeconds);
}

export interface TestReader {
  readonly email: string;
  /** Whose values are used; null: sample values. */
  readonly subscriberId: bigint | null;
}

/** The values of `chosen`, else of whoever of the list has the address. */
export async function testReaders(
  ctx: Context,
  {
    emails,
    listId,
    chosen,
  }: { readonly emails: readonly string[]; readonly listId: bigint; readonly chosen: bigint | null },
): Promise<readonly TestReader[]> {
  const readers: TestReader[] = [];
  for (const email of emails)
    readers.push({ email, subscriberId: chosen ?? (await subscriberWith(ctx, listId, email)) });
  return readers;
}

async function subscriberWith(ctx: Context, listId: bigint, email: string): Promise<bigint | null> {
  const people = await subscribersByAddress(ctx, email);
  return people.find((person) => person.listId === listId)?.id ?? null;
}
