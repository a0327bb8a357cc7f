/** The people of ledger rows and of links, with the values for messages. */
import { sql, typed, row, type Queryable } from '../../db/database.ts';
import { withId } from '../audience/subscriber-store.ts';
import type { DueDelivery, Lease } from './ledger/delivery.ts';

export interface Person extends Pick<DueDelivery, 'email' | 'fields' | 'denialReason'> {
  readonly id: bigint;
}

const PERSON_ROW = row({
  id: 'bigint',
  email: 'text?',
  fields: typed<NonNullable<Person['fields']>>('json?'),
  denialReason: typed<NonNullable<Person['denialReason']>>('text?'),
});

/** One look-up by the whole key per row, whatever the planner expects of a new list. */
export function peopleBehind(db: Queryable, customerId: bigint, rows: readonly Lease[]): Promise<Person[]> {
  return db.query(
    PERSON_ROW,
    sql`SELECT i.id, s.email, s.fields,
               CASE WHEN s.email IS NULL THEN 'deleted' WHEN s.status <> 'subscribed' THEN s.status WHEN x.found THEN 'suppressed' END AS "denialReason"
          FROM unnest(${rows.map((row) => row.recipientId)}::bigint[], ${rows.map((row) => row.listId)}::bigint[]) AS i(id, list_id)
          LEFT JOIN LATERAL (SELECT s.email, s.email_key, s.fields, s.status FROM subscriber s
                              WHERE ${withId({ customerId, listId: sql`i.list_id`, id: sql`i.id` })}) s ON true
          LEFT JOIN LATERAL (SELECT true AS found FROM public.suppression x
                              WHERE x.customer_id IN (0, ${customerId}) AND x.email_key = s.email_key LIMIT 1) x ON true`,
    'delivery.people',
  );
}

/** Address and values of a person on the list; undefined: there is none with that id. */
export async function personOnList(
  db: Queryable,
  { customerId, listId, id }: { customerId: bigint; listId: bigint; id: bigint },
): Promise<{ email: string; fields: Record<string, unknown> } | undefined> {
  const [person] = await db.query(
    { email: 'text', fields: typed<Record<string, unknown>>('json') },
    sql`SELECT email, fields FROM subscriber WHERE customer_id = ${customerId} AND list_id = ${listId} AND id = ${id}`,
  );
  return person;
}

/** The operator's own account. */
export async function operatorAccount(db: Queryable): Promise<{ id: bigint; uid: string } | undefined> {
  const [operator] = await db.query(
    { id: 'bigint', uid: 'text' },
    sql`SELECT id, uid FROM customer WHERE is_operator ORDER BY id LIMIT 1`,
  );
  return operator;
}

/** More people rarely administrate one installation. */
const ADMINISTRATORS_MAX = 10;

/** The users who get the mail to the operator. */
export function administrators(db: Queryable): Promise<{ email: string }[]> {
  return db.query(
    { email: 'text' },
    sql`SELECT email FROM app_user WHERE is_admin AND status = 'active' ORDER BY id LIMIT ${ADMINISTRATORS_MAX}`,
  );
}

/** The first users of a customer. */
export function usersOf(db: Queryable, customerId: bigint): Promise<{ email: string }[]> {
  return db.query(
    { email: 'text' },
    sql`SELECT email FROM app_user WHERE customer_id = ${customerId} AND status = 'active' ORDER BY id LIMIT ${ADMINISTRATORS_MAX}`,
  );
}

/** A webhook that is still paused. */
export async function pausedWebhook(db: Queryable, { customerId, id }: { customerId: bigint; id: bigint }) {
  const [webhook] = await db.query(
    { name: 'text', url: 'text', reason: 'text?', kind: 'text' },
    sql`SELECT name, url, pause_reason AS reason, kind FROM webhook WHERE customer_id = ${customerId} AND id = ${id} AND status = 'paused'`,
  );
  return webhook;
}
