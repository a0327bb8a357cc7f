/** Writes of bounce handlers, and the reads that the verbs need. */
import { join, sql, type Queryable, type Sql } from '../../db/database.ts';
import { assignments, insertion, selectList, columnsOf } from '../../db/fields.ts';
import { deriveKey, seal, unseal } from '../../lib/crypto.ts';
import { handlerColumns, handlerFields, handlerSettings } from './bounce-handler-fields.ts';
import {
  BOUNCE_HANDLER_KEY_ROW,
  type BounceHandler,
  type BounceHandlerKey,
  type MailboxAddress,
  type NewBounceHandler,
} from './bounce-handler.ts';
import { deleteAllMessages } from './bounce-message-store.ts';

const BOUNCE_HANDLER_ROW = columnsOf(handlerColumns);
const COLUMNS = selectList(handlerColumns);
const KEY_PURPOSE = 'bounce-handler';

export async function insertHandler(db: Queryable, handler: NewBounceHandler): Promise<BounceHandler> {
  const [row] = await db.query(
    BOUNCE_HANDLER_ROW,
    sql`INSERT INTO bounce_handler ${insertion(handlerFields, handler)} RETURNING ${COLUMNS}`,
  );
  if (!row) throw new Error('An inserted bounce handler came back empty.');
  return row;
}

/** Writes the handler. A changed one is polled at once; a new address drops the record of old messages. */
export async function updateHandlerRow(
  db: Queryable,
  handler: BounceHandler,
  { isElsewhere }: { isElsewhere: boolean },
): Promise<void> {
  const { customerId, id } = handler;
  const again: Sql = isElsewhere
    ? sql`, next_poll_at = now(), held_until = NULL, last_error = NULL, failures = 0, polled_at = NULL`
    : sql`, next_poll_at = least(next_poll_at, now())`;
  const written = [sql`updated_at = now()`, ...assignments(handlerSettings, handler)];
  await db.execute(
    sql`UPDATE bounce_handler SET ${join(written)} ${again} WHERE customer_id = ${customerId} AND id = ${id}`,
  );
  if (isElsewhere) await deleteAllMessages(db, handler);
}

export async function deleteHandlerRow(db: Queryable, key: BounceHandlerKey): Promise<void> {
  const { customerId, id } = key;
  await deleteAllMessages(db, key);
  await db.execute(sql`DELETE FROM bounce_handler WHERE customer_id = ${customerId} AND id = ${id}`);
}

export async function findHandler(
  db: Queryable,
  key: { customerId: bigint; uid: string },
  lock = false,
): Promise<BounceHandler | undefined> {
  const [row] = await db.query(
    BOUNCE_HANDLER_ROW,
    sql`SELECT ${COLUMNS} FROM bounce_handler WHERE customer_id = ${key.customerId} AND uid = ${key.uid} ${lock ? sql`FOR UPDATE` : sql``}`,
  );
  return row;
}

export async function handlerExists(db: Queryable, uid: string): Promise<boolean> {
  return (await db.execute(sql`SELECT 1 FROM bounce_handler WHERE uid = ${uid} LIMIT 1`)) > 0;
}

/** Counts under a lock, so that creations of one customer run one after the other. */
export async function countHandlers(db: Queryable, customerId: bigint): Promise<number> {
  await db.execute(sql`SELECT 1 FROM customer WHERE id = ${customerId} FOR UPDATE`);
  const [row] = await db.query(
    { count: 'int' },
    sql`SELECT count(*)::int AS count FROM bounce_handler WHERE customer_id = ${customerId}`,
  );
  return row?.count ?? 0;
}

/** Handlers that are due and not being read. */
export function dueHandlers(db: Queryable): Promise<BounceHandlerKey[]> {
  return db.query(
    BOUNCE_HANDLER_KEY_ROW,
    sql`SELECT customer_id AS "customerId", id FROM bounce_handler
         WHERE status = 'active' AND next_poll_at <= now() AND coalesce(held_until <= now(), true) ORDER BY next_poll_at`,
  );
}

/** Takes the handler for one process: undefined when another has it, or it is not active. */
export async function leaseHandler(
  db: Queryable,
  { customerId, id }: BounceHandlerKey,
  seconds: number,
): Promise<BounceHandler | undefined> {
  const [row] = await db.query(
    BOUNCE_HANDLER_ROW,
    sql`UPDATE bounce_handler SET held_until = now() + make_interval(secs => ${seconds})
         WHERE customer_id = ${customerId} AND id = ${id} AND status = 'active' AND coalesce(held_until <= now(), true)
        RETURNING ${COLUMNS}`,
  );
  return row;
}

/** Extends the lease; false when the handler is not active any more, or has another address. */
export async function renewLease(
  db: Queryable,
  { customerId, id }: BounceHandlerKey,
  seconds: number,
): Promise<boolean> {
  const renewed = await db.execute(
    sql`UPDATE bounce_handler SET held_until = now() + make_interval(secs => ${seconds})
         WHERE customer_id = ${customerId} AND id = ${id} AND status = 'active' AND held_until IS NOT NULL`,
  );
  return renewed > 0;
}

/** Counts a message that was read. */
export async function countFound(
  db: Queryable,
  { customerId, id }: BounceHandlerKey,
  found: 'bounce' | 'complaint' | 'other',
): Promise<void> {
  await db.execute(
    sql`UPDATE bounce_handler SET bounce_count = bounce_count + ${found === 'bounce' ? 1 : 0}::int,
               complaint_count = complaint_count + ${found === 'complaint' ? 1 : 0}::int, other_count = other_count + ${found === 'other' ? 1 : 0}::int
         WHERE customer_id = ${customerId} AND id = ${id}`,
    'bounces.count_found',
  );
}

export interface PollResult {
  readonly error: string | null;
  readonly nextSeconds: number;
}

/** Releases it until it is read again. */
export async function releaseHandler(
  db: Queryable,
  { customerId, id }: BounceHandlerKey,
  { error, nextSeconds }: PollResult,
): Promise<void> {
  await db.execute(
    sql`UPDATE bounce_handler SET held_until = NULL, polled_at = now(), last_error = ${error},
               failures = CASE WHEN ${error}::text IS NULL THEN 0 ELSE failures + 1 END,
               -- Twice as long after each failure, up to an hour.
               next_poll_at = now() + make_interval(secs => CASE WHEN ${error}::text IS NULL THEN ${nextSeconds}::float8
                 ELSE least(3600, ${nextSeconds}::float8 * 2 ^ least(failures, 10)) END)
         WHERE customer_id = ${customerId} AND id = ${id}`,
  );
}

export function sealPassword(secret: string, uid: string, password: string): Buffer {
  return seal(deriveKey(secret, KEY_PURPOSE), password, uid);
}

/** The address of the mailbox, with the decrypted password; throws when the installation's secret is another one. */
export function mailboxAddressOf(secret: string, handler: BounceHandler): MailboxAddress {
  const { protocol, host, port, encryption, username, folder } = handler;
  const password = unseal(deriveKey(secret, KEY_PURPOSE), handler.sealedPassword, handler.uid);
  return { protocol, host, port, encryption, username, folder, password };
}
