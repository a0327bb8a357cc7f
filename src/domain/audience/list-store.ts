/** Writes of lists and their contacts. */
import { sql, join, type Queryable, type Sql } from '../../db/database.ts';
import { newUid } from '../../lib/ids.ts';
import type { ListContact, MailList } from './list.ts';

/** What a `MailList` is made of. */
export const MAIL_LIST = sql`customer_id AS "customerId", id, uid, name, subscribe_confirmation AS "subscribeConfirmation",
  send_welcome_email AS "sendWelcomeEmail"`;

export interface NewList {
  readonly customerId: bigint;
  readonly name: string;
  readonly fromEmail: string;
  readonly fromName: string;
  readonly defaultSubject: string;
  readonly remindMessage?: string | null | undefined;
  readonly subscribeConfirmation?: boolean | undefined;
  readonly sendWelcomeEmail?: boolean | undefined;
  readonly unsubscribeNotification?: boolean | undefined;
  readonly sendGoodbyeEmail?: boolean | undefined;
  readonly publicSignup?: boolean | undefined;
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
    INSERT INTO mail_list (customer_id, uid, name, default_subject, from_email, from_name, remind_message,
                           subscribe_confirmation, send_welcome_email, unsubscribe_notification, send_goodbye_email, public_signup)
    VALUES (${list.customerId}, ${newUid()}, ${list.name}, ${list.defaultSubject}, ${list.fromEmail}, ${list.fromName},
            ${list.remindMessage ?? null}, ${list.subscribeConfirmation ?? false}, ${list.sendWelcomeEmail ?? false},
            ${list.unsubscribeNotification ?? false}, ${list.sendGoodbyeEmail ?? false}, ${list.publicSignup ?? false})
    RETURNING ${MAIL_LIST}`);
  if (!row) throw new Error('An inserted list came back empty.');
  await db.execute(sql`INSERT INTO hot.list_counter (customer_id, list_id) VALUES (${row.customerId}, ${row.id})`);
  return row;
}

export async function insertContact(db: Queryable, list: MailList, contact: ListContact): Promise<void> {
  await db.execute(sql`
    INSERT INTO list_contact (customer_id, list_id, company, address_1, address_2, city, state, zip, phone, country_id, email, url)
    VALUES (${list.customerId}, ${list.id}, ${contact.company}, ${contact.address1}, ${contact.address2}, ${contact.city},
            ${contact.state}, ${contact.zip}, ${contact.phone}, ${contact.countryId}, ${contact.email}, ${contact.url})`);
}

const LIST_COLUMNS = {
  name: sql`name`,
  fromEmail: sql`from_email`,
  fromName: sql`from_name`,
  defaultSubject: sql`default_subject`,
  remindMessage: sql`remind_message`,
  subscribeConfirmation: sql`subscribe_confirmation`,
  sendWelcomeEmail: sql`send_welcome_email`,
  unsubscribeNotification: sql`unsubscribe_notification`,
  sendGoodbyeEmail: sql`send_goodbye_email`,
  publicSignup: sql`public_signup`,
  timezone: sql`timezone`,
  timezoneTag: sql`timezone_tag`,
  /** As JSON. */
  quietHours: sql`quiet_hours`,
};

const CONTACT_COLUMNS = {
  company: sql`company`,
  address1: sql`address_1`,
  address2: sql`address_2`,
  city: sql`city`,
  state: sql`state`,
  zip: sql`zip`,
  phone: sql`phone`,
  countryId: sql`country_id`,
  email: sql`email`,
  url: sql`url`,
};

/** A row of list_contact (called c) as one JSON object: a `ListContact`. */
export const CONTACT_OBJECT = sql`jsonb_build_object(
  'company', c.company, 'address1', c.address_1, 'address2', c.address_2, 'city', c.city, 'state', c.state, 'zip', c.zip,
  'phone', c.phone, 'countryId', c.country_id, 'email', c.email, 'url', c.url)`;

type Values<Columns> = { readonly [name in keyof Columns]?: string | number | boolean | null | undefined };

/** Writes what is given and leaves the rest. Answers whether the list was still there. */
export async function updateListRow(
  db: Queryable,
  list: MailList,
  values: Values<typeof LIST_COLUMNS>,
): Promise<boolean> {
  const assignments = [sql`updated_at = now()`, ...assignmentsOf(LIST_COLUMNS, values)];
  const touched = await db.execute(
    sql`UPDATE mail_list SET ${join(assignments)} WHERE customer_id = ${list.customerId} AND id = ${list.id}`,
  );
  return touched === 1;
}

export async function updateContactRow(
  db: Queryable,
  list: MailList,
  values: Values<typeof CONTACT_COLUMNS>,
): Promise<void> {
  const assignments = assignmentsOf(CONTACT_COLUMNS, values);
  if (assignments.length === 0) return;
  await db.execute(
    sql`UPDATE list_contact SET ${join(assignments)} WHERE customer_id = ${list.customerId} AND list_id = ${list.id}`,
  );
}

/** Only columns of the table above can ever be written, whatever `values` holds. */
function assignmentsOf<Columns extends Record<string, Sql>>(columns: Columns, values: Values<Columns>): Sql[] {
  const names: (keyof Columns)[] = Object.keys(columns);
  return names
    .filter((name) => values[name] !== undefined)
    .map((name) => sql`${columns[name] ?? sql``} = ${values[name]}`);
}
