/** Reads of the ledger: open work of a range, the balance, one recipient's history. */
import { raw, sql, typed, row, type Queryable, type Sql } from '../../db/database.ts';
import { ofSource } from '../statistics/source-read-model.ts';
import { atLaterSendTime } from './send-time-store.ts';
import { deliveryStates, type DeliveryState, type LedgerKey, type LedgerRange, type RecipientKey } from './delivery.ts';

/** Rows `d` of a range of the ledger. */
export function inRange(range: LedgerRange): Sql {
  return sql`${inLedger(range)} AND d.recipient_id BETWEEN ${range.fromId} AND ${range.toId}`;
}

/** Rows `d` of a source's part of the ledger. */
export function inLedger(key: LedgerKey): Sql {
  return sql`d.snapshot_on = ${key.snapshotOn}::date AND ${ofSource('d', key)}`;
}

export interface OpenWork {
  readonly open: number;
  /** Seconds until the first of it is due: 0 now, null when nothing is open. */
  readonly dueInSeconds: number | null;
}

/** The open work of the range, and when it is due; recipients with a later send time have a job of their own. */
export async function openWorkIn(db: Queryable, range: LedgerRange): Promise<OpenWork> {
  const [row] = await db.query(
    { open: 'int', due: 'float8?' },
    sql`SELECT count(*)::int AS open,
               extract(epoch FROM min(CASE WHEN d.state = 'queued' THEN coalesce(d.not_before, now()) ELSE d.lease_expires_at END) - now())::float8 AS due
          FROM hot.delivery d
         WHERE ${inRange(range)} AND d.state IN ('queued', 'leased', 'sending')
           AND NOT ${atLaterSendTime}`,
    'delivery.open-work',
  );
  const due = row?.due ?? null;
  return { open: row?.open ?? 0, dueInSeconds: due === null ? null : Math.max(0, due) };
}

export type LedgerBalance = Readonly<Record<DeliveryState, number>> & { readonly audience: number };

/** Counts the ledger's rows by state: exact, of one moment, and slow for a large campaign. */
export async function countLedger(db: Queryable, key: LedgerKey): Promise<LedgerBalance> {
  const rows = await db.query(
    { state: typed<DeliveryState>('text'), rows: 'int' },
    sql`SELECT state::text AS state, count(*)::int AS rows FROM hot.delivery d WHERE ${inLedger(key)} GROUP BY 1`,
  );
  const counts = new Map(rows.map((row) => [row.state, row.rows]));
  const of = (state: DeliveryState): number => counts.get(state) ?? 0;
  return {
    audience: deliveryStates.reduce((sum, state) => sum + of(state), 0),
    queued: of('queued'),
    leased: of('leased'),
    sending: of('sending'),
    sent: of('sent'),
    failed: of('failed'),
    skipped: of('skipped'),
    suppressed: of('suppressed'),
    unknown: of('unknown'),
  };
}

/**
 * Whether nobody can have got the campaign's message: none was accepted, none has an unknown outcome, and no worker holds a
 * recipient. For campaigns that were sent the counters answer; only for others is the ledger read.
 */
export async function isUnsent(db: Queryable, key: LedgerKey): Promise<boolean> {
  const [row] = await db.query(
    { isUnsent: 'bool' },
    sql`SELECT CASE
                 WHEN EXISTS (SELECT 1 FROM hot.delivery_counter c
                               WHERE ${ofSource('c', key)} AND c.sent + c.unknown > 0) THEN false
                 ELSE NOT EXISTS (SELECT 1 FROM hot.delivery d
                                   WHERE ${inLedger(key)} AND (d.state IN ('leased', 'sending', 'sent', 'unknown') OR d.ambiguous_count > 0))
               END AS "isUnsent"`,
  );
  return row?.isUnsent ?? false;
}

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

/**
 * Hides the state from the planner: if it knew that a state is rare, it would read the month's ledgers of all campaigns instead
 * of this one's by key.
 */
function inState(state: DeliveryState): Sql {
  return sql`CASE WHEN state = ${state}::hot.delivery_state THEN true ELSE false END`;
}

/** By the counters, which contain only the sum of open rows. */
async function isAnybodyIn(db: Queryable, key: LedgerKey, state: DeliveryState): Promise<boolean> {
  const counter = state === 'queued' || state === 'leased' || state === 'sending' ? 'open' : state;
  const rows = await db.execute(
    sql`SELECT 1 FROM hot.delivery_counter c WHERE ${ofSource('c', key)} AND ${raw(counter)} > 0`,
  );
  return rows > 0;
}
