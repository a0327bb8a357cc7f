/**
 * Writes of messages whose outcome is unknown: their worker died, or their server never answered. The promises of ledger-store.ts
 * apply here too.
 */
import { sql, type Queryable } from '../../../db/database.ts';
import type { DeliveryReason } from '../../sending/delivery-reason.ts';
import { ofSource } from '../../statistics/source-read-model.ts';
import {
  retrySecondsOf,
  type DeliveryOutcome,
  type LedgerKey,
  type LedgerRange,
  type UnknownPolicy,
} from './delivery.ts';
import { inLedger, inRange } from './ledger-read-model.ts';

const WORKER_LOST: DeliveryReason = 'worker_lost';

export interface RecoveryRule {
  readonly policy: UnknownPolicy;
  readonly attemptsMax: number;
}

/**
 * Decides messages whose worker died between handing over and recording: parks them as `unknown`, or queues them again while
 * tries are left. Waits for the lease even when the worker is known to be dead: its last message may still be in flight. What a
 * dead worker had only leased is queued again at once.
 */
export async function recoverAmbiguous(
  db: Queryable,
  range: LedgerRange,
  { policy, attemptsMax }: RecoveryRule,
): Promise<number> {
  return db.execute(
    sql`WITH lost AS (
          UPDATE hot.delivery d
             SET state = CASE WHEN ${policy === 'park'} OR d.attempts + 1 >= ${attemptsMax} THEN 'unknown' ELSE 'queued' END::hot.delivery_state,
                 ambiguous_count = d.ambiguous_count + 1, ambiguous_since = coalesce(d.ambiguous_since, d.updated_at),
                 attempts = d.attempts + 1, reason = ${WORKER_LOST}, lease_expires_at = NULL, not_before = NULL, updated_at = now()
           WHERE ${inRange(range)} AND d.state = 'sending' AND d.lease_expires_at < now()
          RETURNING d.state
        ), freed AS (
          UPDATE hot.delivery d SET state = 'queued', owner = NULL, lease_expires_at = NULL, updated_at = now()
           WHERE ${inRange(range)} AND d.state = 'leased' AND (d.lease_expires_at < now() OR NOT hot.is_worker_alive(d.owner))
        ), counted AS (
          UPDATE hot.delivery_counter c SET open = c.open - t.n, unknown = c.unknown + t.n
            FROM (SELECT count(*) AS n FROM lost WHERE state = 'unknown') t
           WHERE ${ofSource('c', range)} AND t.n > 0
        )
        SELECT state FROM lost`,
    'delivery.recover',
  );
}

/** A late answer for a row that was given up, as `unknown` or for another try that has not started: the server accepted it. */
export async function resolveUnknownAsSent(
  db: Queryable,
  key: LedgerKey,
  answer: { owner: string; late: readonly DeliveryOutcome[] },
): Promise<void> {
  const { owner, late } = answer;
  await db.execute(
    sql`WITH given_up AS (
          SELECT d.recipient_id, d.occurrence, d.state, o.reply, o.runtime_message_id FROM hot.delivery d
            JOIN unnest(${late.map((o) => o.recipientId)}::bigint[], ${late.map((o) => o.occurrence)}::bigint[], ${late.map((o) => o.epoch)}::int[],
              ${late.map((o) => o.reply)}::text[], ${late.map((o) => o.runtimeMessageId)}::text[]) AS o(recipient_id, occurrence, epoch, reply, runtime_message_id)
              ON d.recipient_id = o.recipient_id AND d.occurrence = o.occurrence AND d.epoch = o.epoch
           WHERE ${inLedger(key)} AND d.recipient_id = ANY(${late.map((o) => o.recipientId)}::bigint[])
             AND d.owner = ${owner}::uuid AND (d.state = 'unknown' OR (d.state = 'queued' AND d.reason = ${WORKER_LOST}))
           ORDER BY d.recipient_id, d.occurrence FOR NO KEY UPDATE OF d
        ), found AS (
          UPDATE hot.delivery d SET state = 'sent', reply = g.reply, runtime_message_id = g.runtime_message_id, reason = NULL, updated_at = now()
            FROM given_up g
           WHERE ${inLedger(key)} AND d.recipient_id = ANY(${late.map((o) => o.recipientId)}::bigint[])
             AND d.recipient_id = g.recipient_id AND d.occurrence = g.occurrence
          RETURNING g.state
        )
        UPDATE hot.delivery_counter c SET open = c.open - t.queued, unknown = c.unknown - t.unknown, sent = c.sent + t.queued + t.unknown
          FROM (SELECT count(*) FILTER (WHERE state = 'queued') AS queued, count(*) FILTER (WHERE state = 'unknown') AS unknown FROM found) t
         WHERE ${ofSource('c', key)} AND t.queued + t.unknown > 0`,
    'delivery.resolve',
  );
}

export const BY_HAND: Readonly<Record<UnknownDecision, DeliveryReason>> = {
  accept: 'accepted_by_hand',
  resend: 'resent_by_hand',
};

/** `accept`: the server accepted them. `resend`: they are sent again, maybe for the second time. */
export type UnknownDecision = 'accept' | 'resend';

/** Closes or reopens every `unknown` row of the campaign, including counters; returns their number. */
export async function decideUnknown(db: Queryable, key: LedgerKey, decision: UnknownDecision): Promise<number> {
  const state = decision === 'accept' ? 'sent' : 'queued';
  const [row] = await db.query(
    { decided: 'int' },
    sql`WITH decided AS (
          UPDATE hot.delivery d
             SET state = ${state}::hot.delivery_state, reason = ${BY_HAND[decision]},
                 owner = NULL, lease_expires_at = NULL, not_before = NULL, updated_at = now(),
                 -- what is sent again by hand goes out however long ago it was, and through any server
                 ambiguous_since = NULL, server_id = CASE WHEN ${decision === 'accept'} THEN d.server_id END
           WHERE ${inLedger(key)} AND d.state = 'unknown'
          RETURNING 1
        ), counted AS (
          UPDATE hot.delivery_counter c
             SET unknown = c.unknown - t.n, sent = c.sent + CASE WHEN ${decision === 'accept'} THEN t.n ELSE 0 END,
                 open = c.open + CASE WHEN ${decision === 'accept'} THEN 0 ELSE t.n END
            FROM (SELECT count(*) AS n FROM decided) t
           WHERE ${ofSource('c', key)} AND t.n > 0
        )
        SELECT count(*)::int AS decided FROM decided`,
  );
  return row?.decided ?? 0;
}

/**
 * For a vendor that recognises a repeated message by its key: sending one again is harmless while the vendor remembers the key,
 * and makes a second copy afterwards. Drivers say how long that is (`idempotencyKeySeconds`).
 *
 * Records since when the outcome of queued messages of the range is unknown, and parks those that the vendor may no longer
 * recognise, or that were handed to another server. Call it before anybody is taken from the range.
 */
export async function parkOldUnknownOutcomes(
  db: Queryable,
  range: LedgerRange,
  vendor: { serverId: bigint; keySeconds: number },
): Promise<void> {
  await db.execute(
    sql`WITH doubted AS (
          UPDATE hot.delivery d
             SET ambiguous_since = coalesce(d.ambiguous_since, d.updated_at),
                 state = CASE WHEN coalesce(d.server_id, ${vendor.serverId}) = ${vendor.serverId}
                               AND coalesce(d.ambiguous_since, d.updated_at) + make_interval(secs => ${retrySecondsOf(vendor.keySeconds)}) > now()
                              THEN 'queued' ELSE 'unknown' END::hot.delivery_state
           WHERE ${inRange(range)} AND d.state = 'queued' AND d.ambiguous_count > 0
          RETURNING d.state
        )
        UPDATE hot.delivery_counter c SET open = c.open - t.n, unknown = c.unknown + t.n
          FROM (SELECT count(*) AS n FROM doubted WHERE state = 'unknown') t
         WHERE ${ofSource('c', range)} AND t.n > 0`,
    'delivery.park-doubts',
  );
}
