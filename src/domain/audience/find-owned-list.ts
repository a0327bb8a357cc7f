/** Resolves a list's uid for the caller: his own, somebody else's, or nobody's. */
import { sql, type Queryable } from '../../db/database.ts';
import { isUid } from '../../lib/ids.ts';
import { viewerOf, type Context, type TransactionContext } from '../context.ts';
import type { MailList } from './list-fields.ts';
import { foreignList, listNotFound } from './list-errors.ts';
import { MAIL_LIST, TAKES_SIGN_UPS } from './list-store.ts';

/** The caller's list. Throws NotFoundError `LIST_NOT_FOUND`, ForeignResourceError of the same code. */
export async function findOwnedList(ctx: Context, uid: string): Promise<MailList> {
  const { customerId } = viewerOf(ctx);
  if (!isUid(uid)) throw listNotFound();
  const [list] = await ctx.db.query<MailList>(
    sql`SELECT ${MAIL_LIST} FROM mail_list WHERE customer_id = ${customerId} AND uid = ${uid}`,
    'audience.own_list',
  );
  return list ?? refuse(ctx.db, uid);
}

/** The same, and nobody deletes the list before the transaction ends. Everything that adds people needs this. */
export async function lockOwnedList(ctx: TransactionContext, uid: string): Promise<MailList> {
  const { id, customerId } = await findOwnedList(ctx, uid);
  const [list] = await ctx.db.query<MailList>(
    sql`SELECT ${MAIL_LIST} FROM mail_list WHERE customer_id = ${customerId} AND id = ${id} FOR KEY SHARE`,
    'audience.hold_own_list',
  );
  if (!list) throw listNotFound();
  return list;
}

/** A list that takes sign-ups from the public, whoever asks; held as `lockOwnedList` does. Throws NotFoundError `LIST_NOT_FOUND`. */
export async function lockPublicList(ctx: TransactionContext, uid: string): Promise<MailList> {
  const [list] = isUid(uid)
    ? await ctx.db.query<MailList>(
        sql`SELECT ${MAIL_LIST} FROM mail_list l WHERE uid = ${uid} AND ${TAKES_SIGN_UPS} ORDER BY id LIMIT 1 FOR KEY SHARE OF l`,
        'audience.hold_public_list',
      )
    : [];
  if (!list) throw listNotFound();
  return list;
}

async function refuse(db: Queryable, uid: string): Promise<never> {
  const [other] = await db.query(sql`SELECT 1 FROM mail_list WHERE uid = ${uid} LIMIT 1`);
  throw other ? foreignList() : listNotFound();
}
