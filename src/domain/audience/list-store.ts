/** Writes and locks of lists and their contacts, and the rows as verbs need them. */
import { sql, join, row, type Queryable, type RowOf } from '../../db/database.ts';
import { assignments, insertion, jsonObject, selectList, columnsOf, type ValuesOf } from '../../db/fields.ts';
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

const MAIL_LIST_ROW = columnsOf(mailListColumns);

/** The columns of a `MailList`. */
export const MAIL_LIST = selectList(mailListColumns);

export type ListKey = Pick<MailList, 'customerId' | 'id'>;

export interface NewList extends ValuesOf<typeof newListFields> {
  readonly customerId: bigint;
  readonly name: string;
  readonly fromEmail: string;
  readonly fromName: string;
  readonly defaultSubject: string;
}

/** For a list `l`: whether the public may sign up. Lists of disabled customers are closed. */
export const TAKES_SIGN_UPS = sql`l.public_signup
  AND EXISTS (SELECT 1 FROM customer c WHERE c.id = l.customer_id AND c.status = 'active')`;

/** The customer's list with this uid. */
export async function findList(
  db: Queryable,
  { customerId, uid }: { readonly customerId: bigint; readonly uid: string },
): Promise<MailList | undefined> {
  const [list] = await db.query(
    MAIL_LIST_ROW,
    sql`SELECT ${MAIL_LIST} FROM mail_list WHERE customer_id = ${customerId} AND uid = ${uid}`,
    'audience.own_list',
  );
  return list;
}

const LIST_NAME_ROW = row({ id: 'bigint', uid: 'text', name: 'text', remindMessage: 'text?' });

/** Lists of a customer by id, in the order asked for, in one statement; undefined: it was deleted. */
export async function listNamesOf(
  db: Queryable,
  customerId: bigint,
  ids: readonly bigint[],
): Promise<(RowOf<typeof LIST_NAME_ROW> | undefined)[]> {
  const rows = await db.query(
    LIST_NAME_ROW,
    sql`SELECT id, uid, name, remind_message AS "remindMessage" FROM mail_list
         WHERE customer_id = ${customerId} AND id = ANY (${[...ids]}::bigint[])`,
    'audience.list_names',
  );
  const byId = new Map(rows.map((list) => [list.id, list]));
  return ids.map((id) => byId.get(id));
}

export async function uidOfList(db: Queryable, { customerId, id }: ListKey): Promise<string | undefined> {
  const [list] = await db.query(
    { uid: 'text' },
    sql`SELECT uid FROM mail_list WHERE customer_id = ${customerId} AND id = ${id}`,
  );
  return list?.uid;
}

/** Whether any customer has a list with this uid. */
export async function listExists(db: Queryable, uid: string): Promise<boolean> {
  return (await db.execute(sql`SELECT 1 FROM mail_list WHERE uid = ${uid} LIMIT 1`)) > 0;
}

/** The list as it is now; it cannot be deleted before the transaction ends. */
export async function holdList(db: Queryable, { customerId, id }: ListKey): Promise<MailList | undefined> {
  const [list] = await db.query(
    MAIL_LIST_ROW,
    sql`SELECT ${MAIL_LIST} FROM mail_list WHERE customer_id = ${customerId} AND id = ${id} FOR KEY SHARE`,
    'audience.hold_own_list',
  );
  return list;
}

/** The same for the list with this uid and public sign-up. */
export async function holdPublicList(db: Queryable, uid: string): Promise<MailList | undefined> {
  const [list] = await db.query(
    MAIL_LIST_ROW,
    sql`SELECT ${MAIL_LIST} FROM mail_list l WHERE uid = ${uid} AND ${TAKES_SIGN_UPS} ORDER BY id LIMIT 1 FOR KEY SHARE OF l`,
    'audience.hold_public_list',
  );
  return list;
}

/** Locks the list against other changes until the transaction ends. Returns whether it exists. */
export async function lockListForChange(db: Queryable, { customerId, id }: ListKey): Promise<boolean> {
  const held = await db.execute(
    sql`SELECT 1 FROM mail_list WHERE customer_id = ${customerId} AND id = ${id} FOR NO KEY UPDATE`,
  );
  return held > 0;
}

/** Locks the list against all, including transactions that add people. Returns whether it exists. */
export async function lockListForDeletion(db: Queryable, { customerId, id }: ListKey): Promise<boolean> {
  const held = await db.execute(
    sql`SELECT 1 FROM mail_list WHERE customer_id = ${customerId} AND id = ${id} FOR UPDATE`,
  );
  return held > 0;
}

/** Names of the first campaigns to the list that are scheduled or under way. */
export async function campaignsUsingList(db: Queryable, { customerId, id }: ListKey, limit: number): Promise<string[]> {
  const campaigns = await db.query(
    { name: 'text' },
    sql`
      SELECT name FROM campaign
       WHERE customer_id = ${customerId} AND list_id = ${id} AND status IN ('scheduled', 'queued', 'sending', 'paused')
       ORDER BY id LIMIT ${limit}`,
  );
  return campaigns.map(({ name }) => name);
}

/** Deletes the list; a job erases its other rows. */
export async function deleteListRow(db: Queryable, { customerId, id }: ListKey): Promise<void> {
  await db.execute(sql`DELETE FROM mail_list WHERE customer_id = ${customerId} AND id = ${id}`);
}

const UNSUBSCRIBE_MAILS_ROW = row({
  id: 'bigint',
  saysGoodbye: 'bool',
  notifiesOwner: 'bool',
});
/** The mails that a list sends after an unsubscribe. */
export type UnsubscribeMails = RowOf<typeof UNSUBSCRIBE_MAILS_ROW>;

/** Of several lists of a customer, by id. */
export async function unsubscribeMailsOf(
  db: Queryable,
  customerId: bigint,
  ids: readonly bigint[],
): Promise<ReadonlyMap<bigint, UnsubscribeMails>> {
  const lists = await db.query(
    UNSUBSCRIBE_MAILS_ROW,
    sql`SELECT id, send_goodbye_email AS "saysGoodbye", unsubscribe_notification AS "notifiesOwner"
          FROM mail_list WHERE customer_id = ${customerId} AND id = ANY (${[...ids]}::bigint[])`,
    'audience.after_unsubscribes',
  );
  return new Map(lists.map((list) => [list.id, list]));
}

/** Whether the list sends a welcome mail. */
export async function sendsWelcome(db: Queryable, { customerId, id }: ListKey): Promise<boolean> {
  const lists = await db.execute(
    sql`SELECT 1 FROM mail_list WHERE customer_id = ${customerId} AND id = ${id} AND send_welcome_email`,
    'audience.after_confirmation',
  );
  return lists > 0;
}

/** Keeps a list from being deleted, and its people from being erased, until the transaction ends. */
export async function lockList(db: Queryable, list: { customerId: bigint; listId: bigint }): Promise<void> {
  await db.execute(
    sql`SELECT 1 FROM mail_list WHERE customer_id = ${list.customerId} AND id = ${list.listId} FOR KEY SHARE`,
    'audience.hold_list',
  );
}

/** Stores a list and its counters, all zero. */
export async function insertList(db: Queryable, list: NewList): Promise<MailList> {
  const [row] = await db.query(
    MAIL_LIST_ROW,
    sql`
    INSERT INTO mail_list ${insertion(newListFields, { ...list, uid: newUid() })} RETURNING ${MAIL_LIST}`,
  );
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

/** Writes the given values. Returns whether the list still exists. */
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

/** Locks every list of the customer, or of all customers: waits for transactions that add people. */
export async function lockLists(db: Queryable, customerId: bigint): Promise<void> {
  await db.execute(sql`SELECT 1 FROM mail_list WHERE ${ofCustomer(customerId)} ORDER BY customer_id, id FOR UPDATE`);
}

/** Records that the list's owner was notified of unsubscribes. */
export async function noteUnsubscribesNotified(db: Queryable, { customerId, id }: ListKey): Promise<void> {
  await db.execute(
    sql`UPDATE mail_list SET unsubscribes_notified_at = now() WHERE customer_id = ${customerId} AND id = ${id}`,
  );
}
