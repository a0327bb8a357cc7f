/** Writes of lists and their contacts. */
import { sql, join, type Queryable } from '../../db/database.ts';
import { assignments, insertion, jsonObject, selectList, type ValuesOf } from '../../db/fields.ts';
import { newUid } from '../../lib/ids.ts';
import {
  changedListFields,
  contactFields,
  mailListColumns,
  newContactFields,
  newListFields,
  type ListChanges,
  type ListContact,
  type MailList,
} from './list-fields.ts';
import { ofCustomer } from './suppression-store.ts';

/** What a `MailList` is made of. */
export const MAIL_LIST = selectList(mailListColumns);

export interface NewList extends ValuesOf<typeof newListFields> {
  readonly customerId: bigint;
  readonly name: string;
  readonly fromEmail: string;
  readonly fromName: string;
  readonly defaultSubject: string;
}

/** Of a list `l`: whether the public may sign up. Those of disabled customers take nobody. */
export const TAKES_SIGN_UPS = sql`l.public_signup
  AND EXISTS (SELECT 1 FROM customer c WHERE c.id = l.customer_id AND c.status = 'active')`;

/** Keeps a list from being deleted, and its people from being erased, until the transaction ends. */
export async function lockList(db: Queryable, list: { customerId: bigint; listId: bigint }): Promise<void> {
  await db.query(
    sql`SELECT 1 FROM mail_list WHERE customer_id = ${list.customerId} AND id = ${list.listId} FOR KEY SHARE`,
    'audience.hold_list',
  );
}

/** Stores a list and its counters, all zero. */
export async function insertList(db: Queryable, list: NewList): Promise<MailList> {
  const [row] = await db.query<MailList>(sql`
    INSERT INTO mail_list ${insertion(newListFields, { ...list, uid: newUid() })} RETURNING ${MAIL_LIST}`);
  if (!row) throw new Error('An inserted list came back empty.');
  await db.execute(sql`INSERT INTO hot.list_counter (customer_id, list_id) VALUES (${row.customerId}, ${row.id})`);
  return row;
}

export async function insertContact(db: Queryable, list: MailList, contact: ListContact): Promise<void> {
  const values = { customerId: list.customerId, listId: list.id, ...contact };
  await db.execute(sql`INSERT INTO list_contact ${insertion(newContactFields, values)}`);
}

/** A row of list_contact (called c) as one JSON object: a `ListContact`. */
export const CONTACT_OBJECT = jsonObject(contactFields, 'c');

/** Writes what is given and leaves the rest. Answers whether the list was still there. */
export async function updateListRow(db: Queryable, list: MailList, changes: ListChanges): Promise<boolean> {
  const written = [sql`updated_at = now()`, ...assignments(changedListFields, changes)];
  const touched = await db.execute(
    sql`UPDATE mail_list SET ${join(written)} WHERE customer_id = ${list.customerId} AND id = ${list.id}`,
  );
  return touched === 1;
}

export async function updateContactRow(
  db: Queryable,
  list: MailList,
  changes: ValuesOf<typeof contactFields>,
): Promise<void> {
  const written = assignments(contactFields, changes);
  if (written.length === 0) return;
  await db.execute(
    sql`UPDATE list_contact SET ${join(written)} WHERE customer_id = ${list.customerId} AND list_id = ${list.id}`,
  );
}

/** Locks every list of the customer, or of all of them: whoever is adding somebody is waited for. */
export async function lockLists(db: Queryable, customerId: bigint): Promise<void> {
  await db.query(sql`SELECT 1 FROM mail_list WHERE ${ofCustomer(customerId)} ORDER BY customer_id, id FOR UPDATE`);
}

/** The list's owner was told who left. */
export async function noteUnsubscribesNotified(
  db: Queryable,
  { customerId, id }: Pick<MailList, 'customerId' | 'id'>,
): Promise<void> {
  await db.execute(
    sql`UPDATE mail_list SET unsubscribes_notified_at = now() WHERE customer_id = ${customerId} AND id = ${id}`,
  );
}

/** Locks the counters of a list until the transaction ends, as everybody does who adds people to it. */
export async function lockCounters(
  db: Queryable,
  { customerId, listId }: { readonly customerId: bigint; readonly listId: bigint },
): Promise<void> {
  await db.execute(
    sql`INSERT INTO hot.list_counter (customer_id, list_id) VALUES (${customerId}, ${listId}) ON CONFLICT DO NOTHING`,
  );
  await db.query(
    sql`SELECT 1 FROM hot.list_counter WHERE customer_id = ${customerId} AND list_id = ${listId} FOR UPDATE`,
  );
}
