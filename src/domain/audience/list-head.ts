/**
 * What a page of a list's people needs of the list, in one statement: whose it is, how many they are, which fields
 * they have. Indexes are asked for more than anything else, and each statement costs a round trip.
 */
import { sql } from '../../db/database.ts';
import { isUid } from '../../lib/ids.ts';
import { viewerOf, type Context } from '../context.ts';
import type { MailList } from './list.ts';
import { listNotFound } from './list-errors.ts';
import { ownList } from './own-list.ts';

/** How many people: all of them, those who ever opened, those who ever clicked. */
export interface PeopleCount {
  readonly everybody: number;
  readonly openers: number;
  readonly clickers: number;
}

export interface ListHead extends PeopleCount {
  readonly list: Pick<MailList, 'customerId' | 'id'>;
  /** In the order the fields were made. */
  readonly fieldTags: readonly string[];
}

/** The caller's list. Throws NotFoundError `LIST_NOT_FOUND`, ForeignResourceError of the same code. */
export async function ownListHead(ctx: Context, uid: string): Promise<ListHead> {
  const { customerId } = viewerOf(ctx);
  if (!isUid(uid)) throw listNotFound();
  const [row] = await ctx.db.query<PeopleCount & { id: bigint; fieldTags: string[] }>(
    sql`SELECT l.id, coalesce(c.subscribed + c.unsubscribed + c.unconfirmed + c.pending, 0) AS everybody,
               coalesce(c.openers, 0) AS openers, coalesce(c.clickers, 0) AS clickers,
               ARRAY(SELECT f.tag FROM list_field f
                      WHERE f.customer_id = l.customer_id AND f.list_id = l.id ORDER BY f.id) AS "fieldTags"
          FROM mail_list l LEFT JOIN hot.list_counter c ON c.customer_id = l.customer_id AND c.list_id = l.id
         WHERE l.customer_id = ${customerId} AND l.uid = ${uid}`,
    'audience.list_head',
  );
  if (row) return { ...row, list: { customerId, id: row.id } };
  // It says why not.
  const { id } = await ownList(ctx, uid);
  return { everybody: 0, openers: 0, clickers: 0, fieldTags: [], list: { customerId, id } };
}
