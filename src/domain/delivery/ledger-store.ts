/**
 * Writes of the ledger. Each is one statement that also keeps the campaign's counters, is conditional on owner and
 * epoch, and uses the database's clock; so repeating one is harmless and two workers never write over each other.
 */
import { assert } from '../../lib/errors.ts';
import { plainArray, textArray } from '../../db/array-text.ts';
import { empty, sql, type Queryable, type Sql } from '../../db/database.ts';
import { NO_ANSWER } from '../sending/replies/judge-reply.ts';
import { needsRuntimeMessage, runtimeMessageKey } from '../tracking/runtime-message.ts';
import {
  type Lease,
  type DeliveryOutcome,
  type DueDelivery,
  type LedgerKey,
  type LedgerRange,
  type RecipientKey,
} from './delivery.ts';
import { inRange } from './ledger-read-model.ts';

/** Who holds rows, and for how long without a renewal. */
export interface Leaseholder {
  readonly owner: string;
  readonly leaseSeconds: number;
}

function leaseEnd({ leaseSeconds }: Leaseholder) {
  return sql`now() + make_interval(secs => ${leaseSeconds})`;
}

/**
 * Leases to `holder` what is due in the range: queued rows whose time has come, and rows whose leaseholder's lease ran
 * out or who is dead. Each gets a new epoch, so whatever the former holder still writes finds nothing.
 */
export async function leaseRange(db: Queryable, range: LedgerRange, holder: Leaseholder): Promise<Lease[]> {
  return db.query<Lease & Record<string, unknown>>(
    sql`UPDATE hot.delivery d
           SET state = 'leased', epoch = d.epoch + 1, owner = ${holder.owner}::uuid, lease_expires_at = ${leaseEnd(holder)}, updated_at = now()
         WHERE ${inRange(range)}
           AND ((d.state = 'queued' AND (d.not_before IS NULL OR d.not_before <= now()))
             OR (d.state = 'leased' AND (d.lease_expires_at < now() OR NOT hot.is_worker_alive(d.owner))))
        RETURNING d.recipient_id AS "recipientId", d.occurrence, d.list_id AS "listId", d.epoch, d.attempts`,
    'delivery.claim',
  );
}

/** What is due in the range and in nobody's hands, as `settle` takes it: with the epoch that marking will give it. */
export async function dueInRange(db: Queryable, range: LedgerRange): Promise<DueDelivery[]> {
  // One look-up by the whole key for each, whatever the planner thinks of a list that was just imported.
  return db.query<DueDelivery & Record<string, unknown>>(
    sql`SELECT d.recipient_id AS "recipientId", d.occurrence, d.list_id AS "listId", d.epoch + 1 AS epoch, d.attempts, s.email, s.fields,
               CASE WHEN s.email IS NULL THEN 'deleted' WHEN s.status <> 'subscribed' THEN s.status WHEN x.found THEN 'suppressed' END AS "denialReason"
          FROM hot.delivery d
          LEFT JOIN LATERAL (SELECT s.email, s.email_key, s.fields, s.status FROM public.subscriber s
                              WHERE s.customer_id = ${range.customerId} AND s.list_id = d.list_id AND s.id = d.recipient_id OFFSET 0) s ON true
          LEFT JOIN LATERAL (SELECT true AS found FROM public.suppression x
                              WHERE x.customer_id IN (0, ${range.customerId}) AND x.email_key = s.email_key LIMIT 1) x ON true
         WHERE ${inRange(range)} AND d.state = 'queued' AND (d.not_before IS NULL OR d.not_before <= now())
         ORDER BY d.recipient_id, d.occurrence`,
    'delivery.due',
  );
}

export interface Handover extends RecipientKey {
  readonly epoch: number;
  /** The address that was read, and that the message goes to. */
  readonly email: string;
}

export interface SettleInput {
  readonly key: LedgerKey;
  readonly holder: Leaseholder;
  /** null: no server had a part in it. */
  readonly serverId: bigint | null;
  /** Attempts that ended. */
  readonly outcomes: readonly DeliveryOutcome[];
  /** Rows that are about to be handed over: leased to the holder, or as `dueInRange` gave them. */
  readonly next: readonly Handover[];
  /** Of the message that `next` are to get: once the content has changed, nobody is marked for it. Null: `next` is empty. */
  readonly contentVersion: number | null;
}

export interface Settled {
  /** Those of `next` that may not be handed over; all others may, now. */
  readonly notMarked: ReadonlySet<Handover>;
  /** Outcomes that found their row as expected. */
  readonly recorded: number;
  /** The campaign is being sent, as it was read. */
  readonly goesOn: boolean;
}

/**
 * Records outcomes and marks the next rows as `sending`, in one statement and one commit. Turned away is everybody when
 * the campaign is no longer sending or was changed, and who unsubscribed, was suppressed, was erased, has another address or was
 * taken by another meanwhile. May be repeated after a lost connection.
 */
export async function settle(db: Queryable, input: SettleInput): Promise<Settled> {
  const { key, holder, outcomes, next } = input;
  const named = outcomes.filter(({ runtimeMessageId }) => needsRuntimeMessage(runtimeMessageId));
  const [answer] = await db.query<{ recorded: number; goes_on: boolean; not_marked: string | null }>(
    sql`${runtimeMessages(key, named)}SELECT recorded, goes_on, not_marked::text FROM hot.record_and_mark(
          ${key.snapshotOn}::date, ${key.customerId}, ${key.sourceKind}, ${key.sourceId}, ${holder.owner}::uuid, ${input.serverId},
          make_interval(secs => ${holder.leaseSeconds}),
          ${plainArray(outcomes, (o) => o.recipientId)}::bigint[], ${plainArray(outcomes, (o) => o.occurrence)}::bigint[],
          ${plainArray(outcomes, (o) => o.epoch)}::int[], ${plainArray(outcomes, (o) => o.state)}::hot.delivery_state[],
          ${plainArray(outcomes, (o) => o.isTry)}::boolean[], ${textArray(outcomes, (o) => o.reply)}::text[], ${textArray(outcomes, (o) => o.reason)}::text[],
          ${textArray(outcomes, (o) => o.runtimeMessageId)}::text[], ${plainArray(outcomes, (o) => o.delaySeconds)}::float8[],
          ${plainArray(outcomes, (o) => o.reason === NO_ANSWER)}::boolean[],
          ${plainArray(next, (n) => n.recipientId)}::bigint[], ${plainArray(next, (n) => n.occurrence)}::bigint[], ${plainArray(next, (n) => n.epoch)}::int[],
          ${textArray(next, (n) => n.email)}::text[], ${input.contentVersion}::int)`,
    named.length > 0 ? 'delivery.settle-named' : 'delivery.settle',
  );
  assert(answer !== undefined, 'the ledger answers every write in one row');
  return {
    notMarked:
      answer.not_marked === null
        ? NOBODY
        : new Set(answer.not_marked.match(/\d+/g)?.flatMap((no) => next[Number(no) - 1] ?? [])),
    recorded: answer.recorded,
    goesOn: answer.goes_on,
  };
}

const NOBODY: ReadonlySet<Handover> = new Set();

/** Keeps the ids that a vendor gave the messages; none are kept of what goes out under our own Message-ID. */
function runtimeMessages({ customerId, sourceKind, sourceId }: LedgerKey, named: readonly DeliveryOutcome[]): Sql {
  if (named.length === 0) return empty;
  return sql`WITH named AS (
    INSERT INTO hot.runtime_message (customer_id, source_kind, source_id, recipient_id, occurrence, message_key)
    SELECT ${customerId}, ${sourceKind}, ${sourceId}, n.*
      FROM unnest(${named.map((o) => o.recipientId)}::bigint[], ${named.map((o) => o.occurrence)}::bigint[],
      ${named.map((o) => runtimeMessageKey(o.runtimeMessageId ?? ''))}::bytea[]) AS n (recipient_id, occurrence, message_key)
    ON CONFLICT DO NOTHING)
  `;
}

/** Puts back what `owner` leased in the range and did not begin. */
export async function releaseLeases(db: Queryable, range: LedgerRange, owner: string): Promise<number> {
  return db.execute(
    sql`UPDATE hot.delivery d SET state = 'queued', owner = NULL, lease_expires_at = NULL, updated_at = now()
         WHERE ${inRange(range)} AND d.state = 'leased' AND d.owner = ${owner}::uuid`,
    'delivery.release',
  );
}

/**
 * Keeps the leases of `owner` in the range while its dialogues go on. Passes by rows that are being written to: these
 * are marked or settled at this moment, and to wait for them while holding others is how a deadlock is made.
 */
export async function renewLeases(db: Queryable, range: LedgerRange, holder: Leaseholder): Promise<void> {
  await db.execute(
    sql`UPDATE hot.delivery d SET lease_expires_at = ${leaseEnd(holder)}
         WHERE ${inRange(range)} AND (d.recipient_id, d.occurrence) IN (
           SELECT d.recipient_id, d.occurrence FROM hot.delivery d
            WHERE ${inRange(range)} AND d.state IN ('leased', 'sending') AND d.owner = ${holder.owner}::uuid
            ORDER BY d.recipient_id, d.occurrence FOR NO KEY UPDATE SKIP LOCKED)`,
    'delivery.renew',
  );
}
