/**
 * Mails that a customer has sent, outside of campaigns, to addresses that nobody but itself has named: tests, and links
 * that verify a sender. They are counted in rows of their own: those of the tests and senders go when the customer
 * deletes them, and the count would begin anew.
 */
import { sql, type Queryable } from '../../db/database.ts';
import { deriveKey, mac } from '../../lib/crypto.ts';
import { emailKey } from '../../lib/text.ts';

export interface RequestedMails {
  readonly customerId: bigint;
  readonly kind: 'test' | 'from-address';
}

/** No limit looks back further. */
const KEPT_SECONDS = 86_400;

/** So many of the kind within the last seconds. The caller holds what makes askings of one customer wait for each other. */
export async function requestedMails(
  db: Queryable,
  { customerId, kind }: RequestedMails,
  seconds: number,
): Promise<number> {
  const [row] = await db.query<{ count: number }>(
    sql`SELECT count(*)::int AS count FROM hot.requested_mail
         WHERE customer_id = ${customerId} AND kind = ${kind} AND at > now() - make_interval(secs => ${seconds}::int)`,
    'sending.asked-mails',
  );
  return row?.count ?? 0;
}

export interface RequestedOfAddress {
  /** Of the caller's customer within the pause. */
  readonly justNow: number;
  /** Of all customers within a day. */
  readonly inDay: number;
}

/** What an address got. */
export async function requestedOfAddress(
  db: Queryable,
  {
    secret,
    customerId,
    email,
    pauseSeconds,
  }: { secret: string; customerId: bigint; email: string; pauseSeconds: number },
): Promise<RequestedOfAddress> {
  const [row] = await db.query<{ justNow: number; inDay: number }>(
    sql`SELECT count(*) FILTER (WHERE customer_id = ${customerId} AND at > now() - make_interval(secs => ${pauseSeconds}::int))::int AS "justNow",
               count(*)::int AS "inDay"
          FROM hot.requested_mail WHERE address_key = ${addressKey(secret, email)} AND kind = 'from-address' AND at > now() - make_interval(secs => ${KEPT_SECONDS}::int)`,
    'sending.asked-of-address',
  );
  return row ?? { justNow: 0, inDay: 0 };
}

/** Notes mails to these addresses, and forgets the customer's old ones. */
export async function countRequestedMail(
  db: Queryable,
  { secret, customerId, kind, emails }: RequestedMails & { secret: string; emails: readonly string[] },
): Promise<void> {
  await db.execute(
    sql`DELETE FROM hot.requested_mail WHERE customer_id = ${customerId} AND kind = ${kind} AND at < now() - make_interval(secs => ${KEPT_SECONDS}::int)`,
  );
  const keys = emails.map((email) => addressKey(secret, email));
  await db.execute(
    sql`INSERT INTO hot.requested_mail (customer_id, kind, address_key) SELECT ${customerId}, ${kind}, k FROM unnest(${keys}::bytea[]) AS k`,
    'sending.note-asked-mails',
  );
}

function addressKey(secret: string, email: string): Buffer {
  return mac(deriveKey(secret, 'asked-mail'), emailKey(email));
}
