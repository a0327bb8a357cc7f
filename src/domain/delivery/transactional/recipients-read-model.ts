/** Reads what is known of the recipients of a call, and how many mails of the customer wait. */
import { sql, type Queryable } from '../../../db/database.ts';
import { ofCauses } from '../../messages/message-store.ts';

export interface KnownRecipient {
  readonly emailKey: string;
  /** Why the address gets no mail; null: it does. */
  readonly suppression: string | null;
  /** The person on the list of the call; null: none. */
  readonly subscriberId: bigint | null;
  readonly status: string | null;
}

export interface AskedRecipient {
  /** 0: no list. */
  readonly listId: bigint;
  readonly emailKey: string;
}

/** What is known of each address, in their order. */
export function knownRecipients(
  db: Queryable,
  customerId: bigint,
  asked: readonly AskedRecipient[],
): Promise<KnownRecipient[]> {
  return db.query(
    { emailKey: 'text', suppression: 'text?', subscriberId: 'bigint?', status: 'text?' },
    sql`SELECT g.email_key AS "emailKey", x.reason AS suppression, s.id AS "subscriberId", s.status
          FROM unnest(${asked.map(({ emailKey }) => emailKey)}::text[], ${asked.map(({ listId }) => listId)}::bigint[])
               WITH ORDINALITY AS g(email_key, list_id, no)
          LEFT JOIN LATERAL (SELECT u.reason FROM suppression u WHERE u.customer_id IN (0, ${customerId}) AND u.email_key = g.email_key
                              ORDER BY u.customer_id LIMIT 1) x ON true
          LEFT JOIN subscriber s ON g.list_id > 0 AND s.customer_id = ${customerId} AND s.list_id = g.list_id AND s.email_key = g.email_key
         ORDER BY g.no`,
    'transactional.recipients',
  );
}

/** The messages of the customer with these causes. */
export function messagesOfCauses(
  db: Queryable,
  customerId: bigint,
  causes: readonly string[],
): Promise<{ id: bigint; cause: string }[]> {
  return db.query({ id: 'bigint', cause: 'text' }, sql`SELECT m.id, m.cause FROM ${ofCauses(customerId, causes)}`);
}

/** How many mails of the customer with this priority wait, counted up to `max`. */
export async function countWaiting(
  db: Queryable,
  { customerId, priority, max }: { readonly customerId: bigint; readonly priority: number; readonly max: number },
): Promise<number> {
  const [row] = await db.query(
    { waiting: 'int' },
    sql`SELECT count(*)::int AS waiting FROM (
          SELECT 1 FROM hot.message_queue WHERE priority = ${priority} AND customer_id = ${customerId} LIMIT ${max}) counted`,
    'transactional.waiting',
  );
  return row?.waiting ?? 0;
}

/** The bytes of attachments that are kept for the customer; with a message, for this one. */
export async function keptBytes(db: Queryable, customerId: bigint, messageId: bigint | null = null): Promise<number> {
  const [row] = await db.query(
    { bytes: 'float8' },
    sql`SELECT coalesce(sum(octet_length(bytes)), 0)::float8 AS bytes FROM hot.message_file
         WHERE customer_id = ${customerId} AND (${messageId}::bigint IS NULL OR message_id = ${messageId})`,
    'transactional.kept-bytes',
  );
  return row?.bytes ?? 0;
}
