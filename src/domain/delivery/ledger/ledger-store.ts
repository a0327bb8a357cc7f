/**
 * Writes of the ledger. Each is one statement that also updates the campaign's counters, is conditional on owner and epoch, and
 * uses the database's clock; so repeating one is harmless and two workers never overwrite each other.
 */
import { assert } from '../../../lib/errors.ts';
import { plainArray, textArray } from '../../../db/array-text.ts';
import { empty, sql, row, typed, type Queryable, type Sql } from '../../../db/database.ts';
import { withId } from '../../audience/subscriber-store.ts';
import { NO_ANSWER } from '../../sending/replies/judge-reply.ts';
import { needsRuntimeMessage, runtimeMessageKey } from '../../tracking/runtime-message.ts';
import {
  type Lease,
  type DeliveryOutcome,
  type DueDelivery,
  type LedgerKey,
  type LedgerRange,
  type RecipientKey,
} from './delivery.ts';
import { inRange } from './ledger-read-model.ts';

/** The holder of rows, and for how long without a renewal. */
export interface Leaseholder {
  readonly owner: string;
  readonly leaseSeconds: number;
}

function leaseEnd({ leaseSeconds }: Leaseholder) {
  return sql`now() + make_interval(secs => ${leaseSeconds})`;
}

const LEASE_ROW = row({
  listId: 'bigint?',
  epoch: 'int',
  attempts: 'smallint',
  occurrence: 'bigint',
  recipientId: 'bigint',
});

/**
 * Leases to `holder` what is due in the range: queued rows whose time has come, and rows whose lease ended or whose holder is
 * dead. Each gets a new epoch, so that later writes of the former holder have no effect.
 */
export async function leaseRange(db: Queryable, range: LedgerRange, holder: Leaseholder): Promise<Lease[]> {
  return db.query(
    LEASE_ROW,
    sql`UPDATE hot.delivery d
           SET state = 'leased', epoch = d.epoch + 1, owner = ${holder.owner}::uuid, lease_expires_at = ${leaseEnd(holder)}, updated_at = now()
         WHERE ${inRange(range)}
           AND ((d.state = 'queued' AND (d.not_before IS NULL OR d.not_before <= now()))
             OR (d.state = 'leased' AND (d.lease_expires_at < now() OR NOT hot.is_worker_alive(d.owner))))
        RETURNING d.recipient_id AS "recipientId", d.occurrence, d.list_id AS "listId", d.epoch, d.attempts`,
    'delivery.lease',
  );
}

const DUE_DELIVERY_ROW = row({
  ...LEASE_ROW,
  email: 'text?',
  fields: typed<NonNullable<DueDelivery['fields']>>('json?'),
  denialReason: typed<NonNullable<DueDelivery['denialReason']>>('text?'),
});

/** Due rows in the range that nobody holds, as `settle` takes them: with the epoch that marking will set. */
export async function dueInRange(db: Queryable, range: LedgerRange): Promise<DueDelivery[]> {
  // One look-up by the whole key per row, whatever the planner expects of a new list.
  return db.query(
    DUE_DELIVERY_ROW,
    sql`SELECT d.recipient_id AS "recipientId", d.occurrence, d.list_id AS "listId", d.epoch + 1 AS epoch, d.attempts, s.email, s.fields,
               CASE WHEN s.email IS NULL THEN 'deleted' WHEN s.status <> 'subscribed' THEN s.status WHEN x.found THEN 'suppressed' END AS "denialReason"
          FROM hot.delivery d
          LEFT JOIN LATERAL (SELECT s.email, s.email_key, s.fields, s.status FROM subscriber s
                              WHERE ${withId({ customerId: range.customerId, listId: sql`d.list_id`, id: sql`d.recipient_id` })}) s ON true
          LEFT JOIN LATERAL (SELECT true AS found FROM public.suppression x
                              WHERE x.customer_id IN (0, ${range.customerId}) AND x.email_key = s.email_key LIMIT 1) x ON true
         WHERE ${inRange(range)} AND d.state = 'queued' AND (d.not_before IS NULL OR d.not_before <= now())
         ORDER BY d.recipient_id, d.occurrence`,
    'delivery.due',
  );
}

export interface Handover extends RecipientKey {
  readonly epoch: number;
  /** The address that was read, to which the message goes. */
  readonly email: string;
}

export interface SettleInput {
  readonly key: LedgerKey;
  readonly holder: Leaseholder;
  /** null: no server was used. */
  readonly serverId: bigint | null;
  /** Attempts that ended. */
  readonly outcomes: readonly DeliveryOutcome[];
  /** Rows that are about to be handed over: leased to the holder, or from `dueInRange`. */
  readonly next: readonly Handover[];
  /** The content version for `next`: once the content has changed, nobody is marked for it. Null: `next` is empty. */
  readonly contentVersion: number | null;
}

export interface Settled {
  /** Those of `next` that must not be handed over; all others may. */
  readonly notMarked: ReadonlySet<Handover>;
  /** Outcomes whose row was found as expected. */
  readonly recorded: number;
  /** The campaign is being sent, in the same version. */
  readonly goesOn: boolean;
}

/**
 * Records outcomes and marks the next rows as `sending`, in one statement and one commit. Nobody is marked when the campaign is
 * no longer sending or was changed; nor a recipient who unsubscribed, was suppressed, was erased, has another address or was
 * taken by another worker meanwhile. May be repeated after a lost connection.
 */
export async function settle(db: Queryable, input: SettleInput): Promise<Settled> {
  const { key, holder, outcomes, next } = input;
  const named = outcomes.filter(({ runtimeMessageId }) => needsRuntimeMessage(runtimeMessageId));
  const [answer] = await db.query(
    { recorded: 'int', goes_on: 'bool', not_marked: 'text?' },
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
    named.length > 0 ? 'delivery.record_and_mark-named' : 'delivery.record_and_mark',
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

/** Stores the ids that a vendor gave the messages; none are stored for our own Message-IDs. */
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

/** Puts back what `owner` leased in the range and did not start. */
export async function releaseLeases(db: Queryable, range: LedgerRange, owner: string): Promise<number> {
  return db.execute(
    sql`UPDATE hot.delivery d SET state = 'queued', owner = NULL, lease_expires_at = NULL, updated_at = now()
         WHERE ${inRange(range)} AND d.state = 'leased' AND d.owner = ${owner}::uuid`,
    'delivery.release',
  );
}

/**
 * Renews the leases of `owner` in the range while its messages are in flight. Skips rows that are being written: these are being
 * marked or settled now, and waiting for them while holding others could cause a deadlock. IS TRUE keeps the selection from
 * becoming a join: with statistics older than the campaign it would compare each row of the range with each.
 */
export async function renewLeases(db: Queryable, range: LedgerRange, holder: Leaseholder): Promise<void> {
  await db.execute(
    sql`UPDATE hot.delivery d SET lease_expires_at = ${leaseEnd(holder)}
         WHERE ${inRange(range)} AND ((d.recipient_id, d.occurrence) IN (
           SELECT d.recipient_id, d.occurrence FROM hot.delivery d
            WHERE ${inRange(range)} AND d.state IN ('leased', 'sending') AND d.owner = ${holder.owner}::uuid
            ORDER BY d.recipient_id, d.occurrence FOR NO KEY UPDATE SKIP LOCKED)) IS TRUE`,
    'delivery.renew',
  );
}
