/**
 * Finds a subscriber by a uid, an integer id or an address (decision D7). An address is searched among the caller's own people
 * only: other customers' lists must not be revealed.
 */
import { isUid, subscriberIdOf } from '../../lib/ids.ts';
import { emailKey, isEmailAddress } from '../../lib/text.ts';
import { viewerOf, type Context } from '../context.ts';
import type { MailList } from './list-fields.ts';
import { findOwnedList } from './find-owned-list.ts';
import { foreignSubscriber, severalLists, subscriberNotFound } from './subscriber-errors.ts';
import { subscriberById, subscribersOfAddress } from './subscriber-read-model.ts';
import type { Subscriber, SubscriberRef } from './subscriber.ts';

/** Ids are below 2^52 (src/lib/ids.ts): 16 digits. */
const ID = /^[1-9]\d{0,15}$/;
const INTEGER = /^\d+$/;
/** The limit of lists with the same person in one answer. */
const LISTS_PER_ADDRESS_MAX = 1_000;

/**
 * The caller's subscriber, on the named list if any. Throws NotFoundError `SUBSCRIBER_NOT_FOUND` or `LIST_NOT_FOUND`,
 * ForeignResourceError of the same codes, ValidationError `LIST_REQUIRED` for an address on several lists.
 */
export async function findSubscriber(ctx: Context, { subscriber, listUid }: SubscriberRef): Promise<Subscriber> {
  const list = listUid ? await findOwnedList(ctx, listUid) : undefined;
  const slot = subscriber.trim();
  if (slot.includes('@')) return findByAddress(ctx, slot, list);
  const byUid = isUid(slot) ? await subscriberById(ctx.db, subscriberIdOf(slot)) : undefined;
  const found = byUid ?? (ID.test(slot) ? await subscriberById(ctx.db, BigInt(slot)) : undefined);
  // A foreign integer id is answered alike whether it exists or not (decision D95).
  if (!found) throw INTEGER.test(slot) ? foreignSubscriber() : subscriberNotFound();
  if (found.customerId !== viewerOf(ctx).customerId) throw foreignSubscriber();
  if (list && found.listId !== list.id) throw subscriberNotFound();
  return found;
}

/** The caller's subscribers with this address, one per list; empty when there is none. */
export async function subscribersByAddress(ctx: Context, address: string, list?: MailList): Promise<Subscriber[]> {
  if (!isEmailAddress(address.trim())) return [];
  const person = { customerId: viewerOf(ctx).customerId, emailKey: emailKey(address.trim()) };
  return subscribersOfAddress(ctx.db, { ...person, listId: list?.id }, LISTS_PER_ADDRESS_MAX);
}

async function findByAddress(ctx: Context, address: string, list: MailList | undefined): Promise<Subscriber> {
  const [found, other] = await subscribersByAddress(ctx, address, list);
  if (!found) throw subscriberNotFound();
  if (other) throw severalLists();
  return found;
}
