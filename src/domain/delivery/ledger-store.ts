/**
 * Writes of the ledger. Each is one statement that also keeps the campaign's counters, is conditional on owner and
 * epoch, and uses the database's clock; so repeating one is harmless and two workers never write over each other.
 */
import { sql, type Queryable } from '../../db/database.ts';
import type { ClaimedDelivery, DeliveryOutcome, LedgerKey, LedgerRange, UnknownPolicy } from './delivery.ts';

/** Who holds rows, and for how long without a renewal. */
export interface Leaseholder {
  readonly owner: string;
  readonly leaseSeconds: number;
}

function leaseEnd({ leaseSeconds }: Leaseholder) {
  return sql`now() + make_interval(secs => ${leaseSeconds})`;
}

function inRange(range: LedgerRange) {
  return sql`d.planned_on = ${range.plannedOn}::date AND d.customer_id = ${range.customerId}
    AND d.campaign_id = ${range.campaignId} AND d.subscriber_id BETWEEN ${range.fromId} AND ${range.toId}`;
}

function inLedger(key: LedgerKey) {
  return sql`d.planned_on = ${key.plannedOn}::date AND d.customer_id = ${key.customerId} AND d.campaign_id = ${key.campaignId}`;
}

/**
 * Leases what is due in the range to `owner`: queued rows whose time has come, and rows whose leaseholder's lease
 * ran out or who is dead. Whoever left the list, or was suppressed since the plan, is closed as skipped.
 */
export async function claimRange(db: Queryable, range: LedgerRange, claim: { listId: bigint; holder: Leaseholder }): Promise<ClaimedDelivery[]> {
  const { listId, holder } = claim;
  return db.query<ClaimedDelivery & Record<string, unknown>>(
    sql`WITH due AS (
          SELECT d.subscriber_id FROM hot.delivery d
           WHERE ${inRange(range)}
             AND ((d.state = 'queued' AND (d.not_before IS NULL OR d.not_before <= now()))
               OR (d.state = 'leased' AND (d.lease_expires_at < now() OR NOT hot.is_worker_alive(d.owner))))
           ORDER BY d.subscriber_id FOR UPDATE SKIP LOCKED
        ), person AS (
          SELECT due.subscriber_id, s.email, s.fields,
                 CASE WHEN s.id IS NULL THEN 'deleted' WHEN s.status <> 'subscribed' THEN s.status
                      WHEN x.email_key IS NOT NULL THEN 'suppressed' END AS obstacle
            FROM due
            LEFT JOIN public.subscriber s ON s.customer_id = ${range.customerId} AND s.list_id = ${listId} AND s.id = due.subscriber_id
            LEFT JOIN LATERAL (SELECT email_key FROM public.suppression x
                                WHERE x.customer_id IN (0, ${range.customerId}) AND x.email_key = s.email_key LIMIT 1) x ON true
        ), taken AS (
          UPDATE hot.delivery d
             SET state = (CASE WHEN p.obstacle IS NULL THEN 'leased' WHEN p.obstacle = 'suppressed' THEN 'suppressed' ELSE 'skipped' END)::hot.delivery_state,
                 reason = coalesce(p.obstacle, d.reason), epoch = d.epoch + 1, updated_at = now(),
                 owner = CASE WHEN p.obstacle IS NULL THEN ${holder.owner}::uuid END,
                 lease_expires_at = CASE WHEN p.obstacle IS NULL THEN ${leaseEnd(holder)} END
            FROM person p WHERE ${inRange(range)} AND d.subscriber_id = p.subscriber_id
          RETURNING d.subscriber_id, d.epoch, d.attempts, d.state, p.email, p.fields
        ), counted AS (
          UPDATE hot.delivery_counter c SET open = c.open - t.skipped - t.suppressed, skipped = c.skipped + t.skipped, suppressed = c.suppressed + t.suppressed
            FROM (SELECT count(*) FILTER (WHERE state = 'skipped') AS skipped, count(*) FILTER (WHERE state = 'suppressed') AS suppressed FROM taken) t
           WHERE c.customer_id = ${range.customerId} AND c.campaign_id = ${range.campaignId} AND t.skipped + t.suppressed > 0
        )
        SELECT subscriber_id AS "subscriberId", epoch, attempts, email, fields FROM taken WHERE state = 'leased' ORDER BY subscriber_id`,
    'delivery.claim',
  );
}

export interface Handover {
  readonly subscriberId: bigint;
  readonly epoch: number;
}

export interface SettleInput {
  readonly key: LedgerKey;
  readonly listId: bigint;
  readonly holder: Leaseholder;
  readonly serverId: bigint;
  /** Attempts that ended. */
  readonly outcomes: readonly DeliveryOutcome[];
  /** Leased rows that are about to be handed over. */
  readonly next: readonly Handover[];
}

export interface Settled {
  /** Ids that may be handed over now. */
  readonly marked: ReadonlySet<bigint>;
  /** Outcomes that found their row as expected. */
  readonly recorded: number;
  readonly isSending: boolean;
}

// A campaign's ledger grows faster than the planner's statistics: believing it to be tiny, it would read all of it for
// every write. The ids as an array keep it on the primary key (measured: 6 ms a write became 1 ms at 10,000 rows).

/**
 * Records outcomes and marks the next rows as `sending`, in one statement and one commit. `marked` is
 * empty when the campaign is no longer sending, and leaves out who unsubscribed meanwhile. May be repeated after a
 * lost connection.
 */
export async function settle(db: Queryable, input: SettleInput): Promise<Settled> {
  const { key, outcomes, next } = input;
  const rows = await db.query<{ kind: 'marked' | 'recorded' | 'sending'; value: bigint }>(
    sql`WITH outcome AS (
          SELECT * FROM unnest(${outcomes.map((o) => o.subscriberId)}::bigint[], ${outcomes.map((o) => o.epoch)}::int[],
            ${outcomes.map((o) => o.state)}::hot.delivery_state[], ${outcomes.map((o) => o.isTry)}::boolean[], ${outcomes.map((o) => o.reply)}::text[],
            ${outcomes.map((o) => o.reason)}::text[], ${outcomes.map((o) => o.runtimeMessageId)}::text[], ${outcomes.map((o) => o.delaySeconds)}::float8[])
            AS o(subscriber_id, epoch, state, is_try, reply, reason, runtime_message_id, delay_seconds)
        ), settled AS (
          UPDATE hot.delivery d
             SET state = o.state, reply = o.reply, reason = o.reason, runtime_message_id = o.runtime_message_id,
                 attempts = d.attempts + o.is_try::int, updated_at = now(), server_id = ${input.serverId},
                 ambiguous_count = d.ambiguous_count + (o.reason IS NOT DISTINCT FROM 'no answer')::int,
                 not_before = CASE WHEN o.state = 'queued' THEN now() + make_interval(secs => o.delay_seconds) END,
                 owner = CASE WHEN o.state = 'unknown' THEN d.owner END, lease_expires_at = NULL
            FROM outcome o
           WHERE ${inLedger(key)} AND d.subscriber_id = ANY(${outcomes.map((o) => o.subscriberId)}::bigint[]) AND d.subscriber_id = o.subscriber_id
             AND d.epoch = o.epoch AND d.owner = ${input.holder.owner}::uuid AND d.state IN ('leased', 'sending')
          RETURNING d.state
        ), counted AS (
          UPDATE hot.delivery_counter c
             SET open = c.open - t.closed, sent = c.sent + t.sent, failed = c.failed + t.failed, skipped = c.skipped + t.skipped, unknown = c.unknown + t.unknown
            FROM (SELECT count(*) FILTER (WHERE state <> 'queued') AS closed, count(*) FILTER (WHERE state = 'sent') AS sent,
                         count(*) FILTER (WHERE state = 'failed') AS failed, count(*) FILTER (WHERE state = 'skipped') AS skipped,
                         count(*) FILTER (WHERE state = 'unknown') AS unknown FROM settled) t
           WHERE c.customer_id = ${key.customerId} AND c.campaign_id = ${key.campaignId} AND t.closed > 0
        ), campaign AS (
          SELECT count(*) > 0 AS is_sending FROM public.campaign c
           WHERE c.customer_id = ${key.customerId} AND c.id = ${key.campaignId} AND c.status = 'sending'
        ), marked AS (
          UPDATE hot.delivery d SET state = 'sending', lease_expires_at = ${leaseEnd(input.holder)}, updated_at = now(), server_id = ${input.serverId}
            FROM unnest(${next.map((n) => n.subscriberId)}::bigint[], ${next.map((n) => n.epoch)}::int[]) AS n(subscriber_id, epoch)
           WHERE ${inLedger(key)} AND d.subscriber_id = ANY(${next.map((n) => n.subscriberId)}::bigint[]) AND d.subscriber_id = n.subscriber_id
             AND d.epoch = n.epoch AND d.owner = ${input.holder.owner}::uuid AND d.state IN ('leased', 'sending')
             AND (SELECT is_sending FROM campaign)
             AND EXISTS (SELECT 1 FROM public.subscriber s WHERE s.customer_id = ${key.customerId} AND s.list_id = ${input.listId}
                            AND s.id = n.subscriber_id AND s.status = 'subscribed')
          RETURNING d.subscriber_id
        )
        SELECT 'marked' AS kind, subscriber_id AS value FROM marked
        UNION ALL SELECT 'recorded', count(*) FROM settled
        UNION ALL SELECT 'sending', is_sending::int FROM campaign`,
    'delivery.settle',
  );
  return {
    marked: new Set(rows.filter((row) => row.kind === 'marked').map((row) => row.value)),
    recorded: Number(rows.find((row) => row.kind === 'recorded')?.value ?? 0n),
    isSending: rows.some((row) => row.kind === 'sending' && row.value === 1n),
  };
}

/** Puts back what `owner` leased in the range and did not begin. */
export async function releaseLeases(db: Queryable, range: LedgerRange, owner: string): Promise<number> {
  return db.execute(
    sql`UPDATE hot.delivery d SET state = 'queued', owner = NULL, lease_expires_at = NULL, updated_at = now()
         WHERE ${inRange(range)} AND d.state = 'leased' AND d.owner = ${owner}::uuid`,
    'delivery.release',
  );
}

/** Keeps the leases of `owner` in the range while its dialogues go on. */
export async function renewLeases(db: Queryable, range: LedgerRange, holder: Leaseholder): Promise<void> {
  await db.execute(
    sql`UPDATE hot.delivery d SET lease_expires_at = ${leaseEnd(holder)}
         WHERE ${inRange(range)} AND d.state IN ('leased', 'sending') AND d.owner = ${holder.owner}::uuid`,
    'delivery.renew',
  );
}

/**
 * Decides messages whose worker died between handing over and recording: parks them as `unknown`, or queues them
 * again. Waits for the lease even when the worker is known to be dead: its last message may still be on its way.
 */
export async function recoverAmbiguous(db: Queryable, range: LedgerRange, policy: UnknownPolicy): Promise<number> {
  return db.execute(
    sql`WITH lost AS (
          UPDATE hot.delivery d
             SET state = ${policy === 'park' ? 'unknown' : 'queued'}::hot.delivery_state, ambiguous_count = d.ambiguous_count + 1,
                 attempts = d.attempts + 1, reason = 'worker lost', lease_expires_at = NULL, not_before = NULL, updated_at = now()
           WHERE ${inRange(range)} AND d.state = 'sending' AND d.lease_expires_at < now()
          RETURNING d.state
        ), counted AS (
          UPDATE hot.delivery_counter c SET open = c.open - t.n, unknown = c.unknown + t.n
            FROM (SELECT count(*) AS n FROM lost WHERE state = 'unknown') t
           WHERE c.customer_id = ${range.customerId} AND c.campaign_id = ${range.campaignId} AND t.n > 0
        )
        SELECT state FROM lost`,
    'delivery.recover',
  );
}

/** A late answer for a row that was given up as `unknown`: the server did take it. */
export async function resolveUnknownAsSent(db: Queryable, key: LedgerKey, answer: { owner: string; late: readonly DeliveryOutcome[] }): Promise<void> {
  const { owner, late } = answer;
  await db.query(
    sql`WITH found AS (
          UPDATE hot.delivery d SET state = 'sent', reply = o.reply, runtime_message_id = o.runtime_message_id, reason = NULL, updated_at = now()
            FROM unnest(${late.map((o) => o.subscriberId)}::bigint[], ${late.map((o) => o.epoch)}::int[], ${late.map((o) => o.reply)}::text[],
              ${late.map((o) => o.runtimeMessageId)}::text[]) AS o(subscriber_id, epoch, reply, runtime_message_id)
           WHERE ${inLedger(key)} AND d.subscriber_id = ANY(${late.map((o) => o.subscriberId)}::bigint[]) AND d.subscriber_id = o.subscriber_id
             AND d.epoch = o.epoch AND d.owner = ${owner}::uuid AND d.state = 'unknown'
          RETURNING 1
        )
        UPDATE hot.delivery_counter c SET unknown = c.unknown - t.n, sent = c.sent + t.n
          FROM (SELECT count(*) AS n FROM found) t
         WHERE c.customer_id = ${key.customerId} AND c.campaign_id = ${key.campaignId} AND t.n > 0`,
    'delivery.resolve',
  );
}
