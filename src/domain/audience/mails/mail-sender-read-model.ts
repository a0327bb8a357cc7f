/** The sender of a list's mails: names, addresses, contact and fields. */
import { sql, typed, row, type Queryable } from '../../../db/database.ts';
import { fieldsOfList } from '../list-field-store.ts';
import type { ListContact } from '../list-fields.ts';
import { CONTACT_OBJECT, type ListKey } from '../list-store.ts';

/** The sender of a list's mails, and the address in their footer. */
export interface MailSender {
  readonly customerUid: string;
  readonly list: { readonly uid: string; readonly name: string };
  readonly from: { readonly name: string; readonly email: string };
  readonly contact: ListContact;
  /** Every tag of the list's fields, with the default for people without a value. */
  readonly fieldDefaults: Readonly<Record<string, string>>;
}

const MAIL_SENDER_ROW = row({
  from: typed<{ readonly name: string; readonly email: string }>('json'),
  list: typed<{ readonly uid: string; readonly name: string }>('json'),
  customerUid: 'text',
  contact: typed<ListContact>('json'),
});

/** Undefined when the list is gone, or its customer is disabled or being erased: then nothing is sent for it. */
export async function mailSenderOf(db: Queryable, { customerId, id }: ListKey): Promise<MailSender | undefined> {
  const [row] = await db.query(
    MAIL_SENDER_ROW,
    sql`
    SELECT u.uid AS "customerUid", jsonb_build_object('uid', l.uid, 'name', l.name) AS list,
           jsonb_build_object('name', l.from_name, 'email', l.from_email) AS from, ${CONTACT_OBJECT} AS contact
      FROM mail_list l JOIN customer u ON u.id = l.customer_id
      JOIN list_contact c ON c.customer_id = l.customer_id AND c.list_id = l.id
     WHERE l.customer_id = ${customerId} AND l.id = ${id} AND u.status = 'active'`,
  );
  if (!row) return undefined;
  const fields = await fieldsOfList(db, { customerId, id });
  return { ...row, fieldDefaults: Object.fromEntries(fields.map((field) => [field.tag, field.defaultValue ?? ''])) };
}
