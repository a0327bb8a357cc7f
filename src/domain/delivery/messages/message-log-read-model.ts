/** The log of messages that are not of a campaign: what became of each, and why. */
import { sql, row, typed, type Queryable, type RowOf, type Sql } from '../../../db/database.ts';
import type { MessageKind, MessagePurpose } from '../../messages/message.ts';
import type { DeliveryState } from '../ledger/delivery.ts';

/** What became of a message, as logs show it. */
export const OUTCOME_COLUMNS = {
  /** Empty: the person was erased. */
  email: 'text',
  state: typed<DeliveryState>('text'),
  reason: 'text?',
  reply: 'text?',
  attempts: 'smallint',
  ambiguousCount: 'smallint',
} as const;

const LOGGED_MESSAGE = row({
  id: 'bigint',
  purpose: typed<MessagePurpose>('text'),
  kind: typed<MessageKind>('text'),
  /** Null: the recipient is on no list. */
  subscriberId: 'bigint?',
  listUid: 'text?',
  campaignUid: 'text?',
  automationUid: 'text?',
  ...OUTCOME_COLUMNS,
  createdAt: 'timestamptz',
  sendAt: 'timestamptz?',
  notBefore: 'timestamptz?',
  updatedAt: 'timestamptz',
});
export type LoggedMessage = RowOf<typeof LOGGED_MESSAGE>;

export interface MessageQuestion {
  readonly customerId: bigint;
  readonly purpose: MessagePurpose | null;
  readonly state: DeliveryState | null;
  /** The address as it is compared: messages to whoever has it now. */
  readonly emailKey: string | null;
}

const COLUMNS = sql`m.id, m.purpose, m.kind, CASE WHEN m.list_id IS NOT NULL THEN m.recipient_id END AS "subscriberId", l.uid AS "listUid",
  c.uid AS "campaignUid", a.uid AS "automationUid", d.email, d.state::text AS state, d.reason, d.reply, d.attempts, d.ambiguous_count AS "ambiguousCount",
  m.created_at AS "createdAt", m.send_at AS "sendAt", d.not_before AS "notBefore", d.updated_at AS "updatedAt"`;

/** The ledger's row by its key; OFFSET 0 keeps it one look-up for each message. */
export const LEDGER = sql`
  CROSS JOIN LATERAL (
    SELECT e.* FROM hot.delivery e
     WHERE e.snapshot_on = m.snapshot_on AND e.customer_id = m.customer_id AND e.source_kind = m.source_kind AND e.source_id = m.source_id
       AND e.recipient_id = m.recipient_id AND e.occurrence = m.id OFFSET 0) d`;

const SOURCES = sql`
  LEFT JOIN mail_list l ON m.source_kind = 4 AND l.customer_id = m.customer_id AND l.id = m.source_id
  LEFT JOIN automation a ON m.source_kind = 2 AND a.customer_id = m.customer_id AND a.id = m.source_id
  LEFT JOIN campaign c ON m.source_kind = 5 AND c.customer_id = m.customer_id AND c.id = m.source_id`;

/** A page of the log, the newest first. */
export function loggedMessages(
  db: Queryable,
  question: MessageQuestion,
  { offset, limit }: { readonly offset: number; readonly limit: number },
): Promise<LoggedMessage[]> {
  return db.query(
    LOGGED_MESSAGE,
    sql`SELECT ${COLUMNS} FROM hot.message m ${LEDGER} ${SOURCES} WHERE ${asked(question)} ORDER BY m.id DESC OFFSET ${offset} LIMIT ${limit}`,
  );
}

/** How many they are, counted up to `max`. */
export async function countLoggedMessages(db: Queryable, question: MessageQuestion, max: number): Promise<number> {
  const ledger = question.state === null ? sql`` : LEDGER;
  const [row] = await db.query(
    { total: 'int' },
    sql`SELECT count(*)::int AS total FROM (SELECT 1 FROM hot.message m ${ledger} WHERE ${asked(question)} LIMIT ${max}) counted`,
  );
  return row?.total ?? 0;
}

/** One message of the customer. */
export async function loggedMessage(
  db: Queryable,
  { customerId, id }: { readonly customerId: bigint; readonly id: bigint },
): Promise<LoggedMessage | undefined> {
  const [found] = await messagesById(db, { customerId, ids: [id] });
  return found;
}

/** Messages of the customer, in the order of the ids; undefined for one that is kept no more. */
export async function messagesById(
  db: Queryable,
  { customerId, ids }: { readonly customerId: bigint; readonly ids: readonly bigint[] },
): Promise<(LoggedMessage | undefined)[]> {
  const rows = await db.query(
    LOGGED_MESSAGE,
    sql`SELECT ${COLUMNS} FROM hot.message m ${LEDGER} ${SOURCES} WHERE m.customer_id = ${customerId} AND m.id = ANY (${[...ids]}::bigint[])`,
  );
  const found = new Map(rows.map((one) => [one.id, one]));
  return ids.map((id) => found.get(id));
}

function asked({ customerId, purpose, state, emailKey }: MessageQuestion): Sql {
  const whose = sql`m.customer_id = ${customerId}`;
  const what = purpose === null ? whose : sql`${whose} AND m.purpose = ${purpose}`;
  const became = state === null ? what : sql`${what} AND d.state = ${state}::hot.delivery_state`;
  return emailKey === null ? became : sql`${became} AND ${isTo(customerId, emailKey)}`;
}

/** The message goes to whoever has this address now. */
export function isTo(customerId: bigint, emailKey: string): Sql {
  return sql`m.recipient_id = ANY (ARRAY(
    SELECT s.id FROM subscriber s WHERE s.customer_id = ${customerId} AND s.email_key = ${emailKey}
    UNION ALL
    SELECT r.id FROM hot.message_recipient r WHERE r.customer_id = ${customerId} AND r.email_key = ${emailKey}))`;
}
