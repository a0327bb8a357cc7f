/** Reads of the ledger: open work of a range, and the balance. */
import { sql, typed, type Queryable, type Sql } from '../../../db/database.ts';
import { ofSource } from '../../statistics/source-read-model.ts';
import { atLaterSendTime } from '../campaigns/send-time-store.ts';
import { deliveryStates, type DeliveryState, type LedgerKey, type LedgerRange } from './delivery.ts';

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
