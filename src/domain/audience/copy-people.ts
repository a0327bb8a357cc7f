/**
 * Copies or moves people to another list of the same customer, a thousand at once, in the caller's transaction. Who has opted out there stays
 * so. A list with double opt-in asks those who are new to it to confirm. Who is moved stays on the old list as unsubscribed, with the
 * history and the consent that belong to it.
 */
import { hasRunningPlan } from '../billing/plans/require-allowed.ts';
import { remainingSubscribers } from '../billing/plans/require-within-limit.ts';
import { recordPersonEvents, setFlowDepths, setRecording } from '../../events/person-event-store.ts';
import { WrongStateError } from '../../lib/errors.ts';
import type { TransactionContext } from '../context.ts';
import { enqueueMessages } from '../messages/enqueue-messages.ts';
import { enqueueConfirmations } from './confirmation.ts';
import {
  insertConsentEvents,
  insertCopies,
  lockPairs,
  takeSubscriberIds,
  updateCopies,
  type ChangedCopy,
  type CopyingLists,
  type NewCopy,
  type PersonPair,
} from './copy-people-store.ts';
import { lockCounters } from './list-counter-store.ts';
import { fieldsOfList } from './list-field-store.ts';
import type { MailList } from './list-fields.ts';
import { findList, holdList } from './list-store.ts';
import { messageOf } from './mails/person-message.ts';
import {
  depthsThere,
  isSame,
  planCopies,
  type ConflictRule,
  type CopyPlan,
  type CopyRefusal,
  type FreshCopy,
} from './plan-copies.ts';
import { rememberTags, unsubscribePeople } from './subscriber-store.ts';
import { distinctTags } from './subscriber.ts';

export interface CopyPeople {
  readonly customerId: bigint;
  readonly listId: bigint;
  readonly ids: readonly bigint[];
  readonly toListUid: string;
  readonly onConflict: ConflictRule;
  readonly isMove: boolean;
  readonly now: Date;
  /** How deep flows have started one another, by person (D83). */
  readonly depths: ReadonlyMap<bigint, number>;
}

/** Why people were not copied, by their ids; the others were. */
export async function copyPeople(ctx: TransactionContext, copy: CopyPeople): Promise<ReadonlyMap<bigint, CopyRefusal>> {
  const { customerId, listId } = copy;
  const found = await findList(ctx.db, { customerId, uid: copy.toListUid });
  const to = found && (await holdList(ctx.db, found));
  const ids = [...new Set(copy.ids)];
  if (!to) return new Map(ids.map((id) => [id, 'list_deleted']));
  const pairs = await lockPairs(ctx.db, { customerId, listId, ids }, to.id);
  const { fresh, changed, refused } = planCopies(pairs, {
    fields: await fieldsOfList(ctx.db, to),
    onConflict: copy.onConflict,
  });
  for (const id of ids) if (!pairs.some(({ person }) => person.id === id)) refused.set(id, 'not_subscribed');
  for (const one of copy.isMove ? [listId, to.id].toSorted((a, b) => (a < b ? -1 : 1)) : [to.id])
    await lockCounters(ctx.db, { customerId, listId: one });
  const allowed = fresh.length === 0 ? fresh : await allowedOf(ctx, to, { fresh, refused });
  await write(ctx, copy, { to, pairs, fresh: allowed, changed });
  const moved = ids.filter((id) => !refused.has(id));
  if (copy.isMove) await leave(ctx, copy, { to, moved });
  return refused;
}

/** Those whom the plan allows; notes why the others are not copied. */
async function allowedOf(
  { tx, db }: TransactionContext,
  to: MailList,
  { fresh, refused }: Pick<CopyPlan, 'fresh' | 'refused'>,
): Promise<readonly FreshCopy[]> {
  const { customerId, id: listId } = to;
  const left = await leftInPlan();
  if (left === 'ended' || (to.subscribeConfirmation && !(await hasRunningPlan(db, customerId)))) {
    for (const { person } of fresh) refused.set(person.id, 'plan_ended');
    return [];
  }
  for (const { person } of fresh.slice(left)) refused.set(person.id, 'plan_limit');
  return fresh.slice(0, left);

  async function leftInPlan(): Promise<number | 'ended'> {
    try {
      const remaining = await remainingSubscribers(tx, { customerId, listId });
      return remaining ? Math.max(0, remaining.left) : fresh.length;
    } catch (error) {
      if (error instanceof WrongStateError) return 'ended';
      throw error;
    }
  }
}

interface Writing {
  readonly to: MailList;
  readonly pairs: readonly PersonPair[];
  readonly fresh: readonly FreshCopy[];
  readonly changed: readonly ChangedCopy[];
}

async function write(ctx: TransactionContext, copy: CopyPeople, { to, pairs, fresh, changed }: Writing): Promise<void> {
  const { db } = ctx;
  const { customerId, listId } = copy;
  const there = new Map(pairs.flatMap((pair) => (pair.there ? [[pair.there.id, pair.there] as const] : [])));
  const ids = await takeSubscriberIds(db, fresh.length);
  const copies = fresh.map(({ person, fields }, no): NewCopy => ({ id: ids[no] ?? 0n, personId: person.id, fields }));
  await setFlowDepths(db, new Map([...copy.depths, ...depthsThere(copy.depths, { pairs, copies })]));
  const status = to.subscribeConfirmation ? 'pending' : 'subscribed';
  const lists: CopyingLists = { customerId, listId, toListId: to.id };
  if (copies.length > 0 && (await insertCopies(db, { ...lists, status }, copies)) !== copies.length)
    throw new Error('An address came to the list by another transaction: try again.');
  const written = changed.filter((one) => !isSame(one, there.get(one.id)));
  await updateCopies(db, lists, written);
  const returned = written.filter(({ id, status: now }) => there.get(id)?.status !== now).map(({ id }) => id);
  const list = { customerId, listId: to.id };
  const came = await insertConsentEvents(db, { ...list, ids }, { status, source: 'flow' });
  await insertConsentEvents(db, { ...list, ids: returned }, { status: 'subscribed', source: 'flow' });
  if (status === 'pending') await enqueueConfirmations(db, came);
  else if (to.sendWelcomeEmail)
    await enqueueMessages(
      db,
      came.map((person) => messageOf(person, { kind: 'welcome', eventId: person.eventId })),
    );
  const tags = [...fresh.map(({ person }) => person.tags), ...written.map((one) => one.tags)].flat();
  await rememberTags(db, to, distinctTags(tags));
}

/** Ends the subscriptions here. The event is `moved`, not `unsubscribed`: the person did not leave, and gets no goodbye. */
async function leave(
  { db }: TransactionContext,
  { customerId, listId, depths, now: at }: CopyPeople,
  { to, moved }: { readonly to: MailList; readonly moved: readonly bigint[] },
): Promise<void> {
  const people = moved.map((id) => ({ customerId, listId, id }));
  await setRecording(db, false);
  const left = await unsubscribePeople(db, people, { source: 'move', ipAddress: null });
  await setRecording(db, true);
  const events = left.map(({ id }) => ({
    ...({ personId: id, kind: 'moved', at, depth: depths.get(id) ?? 0 } as const),
    data: { listUid: to.uid },
  }));
  await recordPersonEvents(db, { customerId, listId }, events);
}
