/** Deliveries of a campaign by key, with their number, whole or in one state. */
import { raw, sql, typed, row, type Queryable, type Sql } from '../../../db/database.ts';
import { ofSource } from '../../statistics/source-read-model.ts';
import type { DeliveryState, LedgerKey, RecipientKey } from './delivery.ts';
import { inLedger } from './ledger-read-model.ts';

/** A recipient's row in the ledger. */
export interface DeliveryRow extends RecipientKey {
  readonly email: string;
  readonly state: DeliveryState;
  readonly attempts: number;
  readonly ambiguousCount: number;
  readonly notBefore: Date | null;
  readonly updatedAt: Date;
  readonly serverId: bigint | null;
  readonly reason: string | null;
  readonly reply: string | null;
  readonly runtimeMessageId: string | null;
}

export interface DeliveryPageInput {
  readonly key: LedgerKey;
  readonly afterId: bigint;
  readonly limit: number;
  readonly state: DeliveryState | null;
}

const DELIVERY_PAGE_ROW = row({
  email: 'text',
  state: typed<DeliveryState>('text'),
  attempts: 'smallint',
  ambiguousCount: 'smallint',
  notBefore: 'timestamptz?',
  updatedAt: 'timestamptz',
  serverId: 'bigint?',
  reason: 'text?',
  reply: 'text?',
  runtimeMessageId: 'text?',
  occurrence: 'bigint',
  recipientId: 'bigint',
});

/** Deliveries of a campaign, in order of the recipient's id, after a key. */
export async function deliveryPage(
  db: Queryable,
  { key, afterId, limit, state }: DeliveryPageInput,
): Promise<DeliveryRow[]> {
  // Most campaigns have nobody in the requested state, and their whole ledger would be read to find that out.
  if (state !== null && !(await isAnybodyIn(db, key, state))) return [];
  return db.query(
    DELIVERY_PAGE_ROW,
    sql`SELECT recipient_id AS "recipientId", occurrence, email, state::text AS state, attempts, ambiguous_count AS "ambiguousCount", not_before AS "notBefore",
               updated_at AS "updatedAt", server_id AS "serverId", reason, reply, runtime_message_id AS "runtimeMessageId"
          FROM hot.delivery d
         WHERE ${inLedger(key)} AND recipient_id > ${afterId} AND ${state === null ? sql`true` : inState(state)}
         ORDER BY recipient_id LIMIT ${limit}`,
  );
}

/** How many deliveries of the campaign have this state, or any, none if its month was dropped: from the counters; in one of the open states counted, up to `max`. */
export async function countDeliveries(
  db: Queryable,
  { key, state, max }: { readonly key: LedgerKey; readonly state: DeliveryState | null; readonly max: number },
): Promise<number> {
  const counter = state === null ? 'audience' : counterOf(state);
  const [counted] = await db.query(
    { rows: 'int' },
    sql`SELECT c.${raw(counter)} AS rows FROM hot.delivery_counter c WHERE ${ofSource('c', key)} AND ${isMonthKept(key)}`,
  );
  const rows = counted?.rows ?? 0;
  if (counter !== 'open' || state === null || rows === 0) return rows;
  const [found] = await db.query(
    { rows: 'int' },
    sql`SELECT count(*)::int AS rows
          FROM (SELECT 1 FROM hot.delivery d WHERE ${inLedger(key)} AND ${inState(state)} LIMIT ${max}) counted`,
  );
  return found?.rows ?? 0;
}

/** The counters outlive the month of the ledger, which the operator may drop: then there is no row to page through. */
function isMonthKept({ snapshotOn }: LedgerKey): Sql {
  return sql`EXISTS (SELECT 1 FROM pg_inherits
    WHERE inhrelid = to_regclass('hot.delivery_' || to_char(${snapshotOn}::date, 'YYYY_MM')) AND NOT inhdetachpending)`;
}

/**
 * Hides the state from the planner: if it knew that a state is rare, it would read the month's ledgers of all campaigns instead
 * of this one's by key.
 */
function inState(state: DeliveryState): Sql {
  return sql`CASE WHEN state = ${state}::hot.delivery_state THEN true ELSE false END`;
}

/** By the counters, which contain only the sum of open rows. */
async function isAnybodyIn(db: Queryable, key: LedgerKey, state: DeliveryState): Promise<boolean> {
  const rows = await db.execute(
    sql`SELECT 1 FROM hot.delivery_counter c WHERE ${ofSource('c', key)} AND ${raw(counterOf(state))} > 0`,
  );
  return rows > 0;
}

function counterOf(state: DeliveryState): string {
  return state === 'queued' || state === 'leased' || state === 'sending' ? 'open' : state;
}
