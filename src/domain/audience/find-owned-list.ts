/** Finds a list by its uid for the caller: own, foreign or unknown. */
import type { Queryable } from '../../db/database.ts';
import { isUid } from '../../lib/ids.ts';
import { viewerOf, type Context, type TransactionContext } from '../context.ts';
import type { MailList } from './list-fields.ts';
import { foreignList, listNotFound } from './list-errors.ts';
import { findListHead, type ListHead, type ListHeadWindow } from './list-head-read-model.ts';
import { findList, holdList, holdPublicList, listExists } from './list-store.ts';

/** The caller's list. Throws NotFoundError `LIST_NOT_FOUND`, ForeignResourceError of the same code. */
export async function findOwnedList(ctx: Context, uid: string): Promise<MailList> {
  const { customerId } = viewerOf(ctx);
  if (!isUid(uid)) throw listNotFound();
  return (await findList(ctx.db, { customerId, uid })) ?? refuse(ctx.db, uid);
}

/** The same with its people, as far as one statement reads them. */
export async function findOwnedListHead(ctx: Context, uid: string, window: ListHeadWindow): Promise<ListHead> {
  const { customerId } = viewerOf(ctx);
  if (!isUid(uid)) throw listNotFound();
  return (await findListHead(ctx.db, { customerId, uid }, window)) ?? refuse(ctx.db, uid);
}

/** `findOwnedList`, and the list cannot be deleted before the transaction ends. Needed by everything that adds people. */
export async function lockOwnedList(ctx: TransactionContext, uid: string): Promise<MailList> {
  const list = await holdList(ctx.db, await findOwnedList(ctx, uid));
  if (!list) throw listNotFound();
  return list;
}

/** A list with public sign-up, for any caller; locked as by `lockOwnedList`. Throws NotFoundError `LIST_NOT_FOUND`. */
export async function lockPublicList(ctx: TransactionContext, uid: string): Promise<MailList> {
  const list = isUid(uid) ? await holdPublicList(ctx.db, uid) : undefined;
  if (!list) throw listNotFound();
  return list;
}

async function refuse(db: Queryable, uid: string): Promise<never> {
  throw (await listExists(db, uid)) ? foreignList() : listNotFound();
}
