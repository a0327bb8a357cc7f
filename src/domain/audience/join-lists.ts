/**
 * Joining lists on a public page. The link of the page can be forwarded, so a person is always asked by mail, whatever the lists
 * say, and only a click in that mail subscribes.
 */
import { hasRunningPlan } from '../billing/plans/require-allowed.ts';
import { listsNotFull } from '../billing/plans/lists-not-full.ts';
import { inTransaction, type Context, type TransactionContext } from '../context.ts';
import { CONFIRMATIONS_PER_DAY_MAX, enqueueConfirmations, lockAsking } from './confirmation.ts';
import { addressDigest, barOf } from './erasing/erased-person-store.ts';
import { lockCountersOf } from './list-counter-store.ts';
import {
  askPeople,
  confirmationsOfDay,
  holdOffered,
  insertPending,
  type ChoosingAddress,
  type OfferedList,
} from './list-choice-store.ts';

export interface JoinListsInput extends ChoosingAddress {
  /** As it is written in mails. */
  readonly email: string;
  readonly listIds: readonly bigint[];
}

/** Ids of lists. One to which the address is subscribed already is in none of the three. */
export interface JoinedLists {
  /** A confirmation mail is sent for each. */
  readonly asked: readonly bigint[];
  /** Not today: the address gets no more confirmation mails (`CONFIRMATIONS_PER_DAY_MAX`). */
  readonly later: readonly bigint[];
  /** Not offered, deleted or full, or the address is suppressed. */
  readonly closed: readonly bigint[];
}

/** Asks an address to confirm for these lists of a customer. Never throws because of a list that it cannot join. */
export async function joinLists(ctx: Context, input: JoinListsInput): Promise<JoinedLists> {
  if (input.listIds.length === 0) return { asked: [], later: [], closed: [] };
  return inTransaction(ctx, async (inner) => {
    const held = await holdOffered(inner.db, input, input.listIds);
    const subscribed = held.filter(({ status }) => status === 'subscribed');
    const open = await openAmong(
      inner,
      input,
      held.filter((list) => !subscribed.includes(list)),
    );
    const notClosed = new Set([...subscribed, ...open].map(({ id }) => id));
    const closed = input.listIds.filter((id) => !notClosed.has(id));
    const left = open.length === 0 ? 0 : await confirmationsLeftToday(inner, input);
    const asked = open.slice(0, left);
    await ask(inner, input, asked);
    return { asked: asked.map(({ id }) => id), later: open.slice(left).map(({ id }) => id), closed };
  });
}

/** Those that take the address now: nobody is asked who is suppressed or of a customer without a running plan. */
async function openAmong(
  { db, tx, installation }: TransactionContext,
  { customerId, emailKey }: JoinListsInput,
  lists: readonly OfferedList[],
): Promise<readonly OfferedList[]> {
  const digest = addressDigest(installation, emailKey);
  if ((await barOf(db, { customerId, emailKey, digest })) === 'suppressed') return [];
  if (!(await hasRunningPlan(db, customerId))) return [];
  const fresh = lists.filter(({ status }) => status === null).map(({ id }) => id);
  await lockCountersOf(
    db,
    customerId,
    lists.map(({ id }) => id),
  );
  const notFull = await listsNotFull(tx, { customerId, listIds: fresh });
  return lists.filter(({ id, status }) => status !== null || notFull.includes(id));
}

/** How many more confirmation mails the address may get today. */
async function confirmationsLeftToday(
  { db, installation }: TransactionContext,
  input: JoinListsInput,
): Promise<number> {
  await lockAsking(db, input.customerId, input.emailKey);
  const mails = await confirmationsOfDay(db, input, addressDigest(installation, input.emailKey));
  return Math.max(0, CONFIRMATIONS_PER_DAY_MAX - mails);
}

async function ask(
  { db, ipAddress }: TransactionContext,
  input: JoinListsInput,
  lists: readonly OfferedList[],
): Promise<void> {
  if (lists.length === 0) return;
  const person = { ...input, ipAddress, source: 'form' } as const;
  const fresh = lists.filter(({ status }) => status === null).map(({ id }) => id);
  if (fresh.length > 0) await insertPending(db, person, fresh);
  const asked = await askPeople(
    db,
    person,
    lists.map(({ id }) => id),
  );
  await enqueueConfirmations(db, asked);
}
