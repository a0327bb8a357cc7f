/**
 * Up to where each active flow has read what happened to the people of its list. A flow's position moves in the transaction that lets
 * people in and moves them on, so each event has its effect exactly once; a flow that fails delays no other.
 */
import { row, sql, type Queryable, type RowOf, type Transaction } from '../../../db/database.ts';
import type { UnavailableCondition } from '../../audience/segments/segment-errors.ts';
import { LAST_PERSON_EVENT_ID } from '../../../events/person-event-read-model.ts';
import type { VersionKey } from '../runs/run.ts';

type FlowKey = Pick<VersionKey, 'customerId' | 'automationId'>;

/** A failed batch is tried again after 2, 4, 8 … seconds, at most this. */
const RETRY_SECONDS_MAX = 600;
/** The same while a plugin does not answer: the flow goes on within a minute after it is back. */
const UNANSWERED_SECONDS_MAX = 30;
const FAILURES_MAX = 30;

/** A flow that an outage stopped reads nothing until it is activated, and then from where it was. */
export const UNTIL_ACTIVATED = sql`'infinity'::timestamptz`;

/** What happens to people from the outage on waits until the flow is activated. */
export async function keepPosition(db: Queryable, { customerId, automationId }: FlowKey): Promise<void> {
  await db.execute(
    sql`UPDATE hot.flow_follower SET failures = 0, retry_at = ${UNTIL_ACTIVATED} WHERE customer_id = ${customerId} AND automation_id = ${automationId}`,
  );
}

/** Whether an outage stopped the flow, and it was not activated since. */
export async function isPositionKept(db: Queryable, { customerId, automationId }: FlowKey): Promise<boolean> {
  const kept = await db.execute(
    sql`SELECT 1 FROM hot.flow_follower WHERE customer_id = ${customerId} AND automation_id = ${automationId} AND retry_at = ${UNTIL_ACTIVATED}`,
  );
  return kept > 0;
}

/** When the flow read last what happened to people; undefined: it has read nothing yet, or what happened since is read when it goes on. */
export async function unreadSince(
  db: Queryable,
  { customerId, id }: { readonly customerId: bigint; readonly id: bigint },
): Promise<Date | undefined> {
  const [found] = await db.query(
    { since: 'timestamptz' },
    sql`SELECT since FROM hot.flow_follower
         WHERE customer_id = ${customerId} AND automation_id = ${id} AND retry_at IS DISTINCT FROM ${UNTIL_ACTIVATED}`,
  );
  return found?.since;
}

/** From now on: what happened before brings nobody in (D71); but what happened since an outage stopped the flow does. */
export async function followFromNow(
  db: Queryable,
  { customerId, id }: { readonly customerId: bigint; readonly id: bigint },
): Promise<void> {
  await db.execute(sql`
    INSERT INTO hot.flow_follower AS f (customer_id, automation_id, position) VALUES (${customerId}, ${id}, ${LAST_PERSON_EVENT_ID})
    ON CONFLICT (customer_id, automation_id) DO UPDATE
      SET position = CASE WHEN f.retry_at = ${UNTIL_ACTIVATED} THEN f.position ELSE excluded.position END,
          since = CASE WHEN f.retry_at = ${UNTIL_ACTIVATED} THEN f.since ELSE excluded.since END, failures = 0,
          retry_at = CASE WHEN f.retry_at = ${UNTIL_ACTIVATED} THEN clock_timestamp() END, postponed_at = NULL, postponed_for = NULL`);
}

const BEHIND_ROW = row({ customerId: 'bigint', automationId: 'bigint', version: 'int', listId: 'bigint' });
export type FlowBehind = RowOf<typeof BEHIND_ROW>;

/**
 * Active flows with something to read, of each customer the same number, those that have waited longest first. `version` is the one that people
 * enter. `isTriedAgain`: only those that have failed, or were read in part.
 */
export function flowsBehind(
  db: Queryable,
  upTo: bigint,
  { max, isTriedAgain }: { readonly max: number; readonly isTriedAgain: boolean },
) {
  return db.query(
    BEHIND_ROW,
    sql`SELECT f.customer_id AS "customerId", f.automation_id AS "automationId", a.live_version AS version, a.list_id AS "listId"
          FROM hot.flow_follower f
          JOIN automation a ON a.customer_id = f.customer_id AND a.id = f.automation_id AND a.status = 'active' AND a.live_version IS NOT NULL
         WHERE f.position < ${upTo} AND (f.retry_at IS NULL OR f.retry_at <= clock_timestamp())
           AND ${isTriedAgain ? sql`f.retry_at IS NOT NULL` : sql`true`}
           AND EXISTS (SELECT 1 FROM hot.person_event e
                        WHERE e.customer_id = f.customer_id AND e.list_id = a.list_id AND e.id > f.position AND e.id <= ${upTo}
                          AND e.recorded_on >= (f.since AT TIME ZONE 'UTC')::date - 1)
         ORDER BY row_number() OVER (PARTITION BY f.customer_id ORDER BY f.since), f.since LIMIT ${max}`,
    isTriedAgain ? 'automations.flows_tried_again' : 'automations.flows_behind',
  );
}

const HELD_ROW = row({ position: 'bigint', since: 'timestamptz', isPostponed: 'bool' });

/** Holds the flow's position until the transaction ends; undefined: another process does, or the flow was stopped meanwhile. */
export async function holdPosition(tx: Transaction, { customerId, automationId }: FlowKey) {
  const [held] = await tx.query(
    HELD_ROW,
    sql`SELECT f.position, f.since, f.postponed_at IS NOT NULL AS "isPostponed" FROM hot.flow_follower f
          JOIN automation a ON a.customer_id = f.customer_id AND a.id = f.automation_id AND a.status = 'active'
         WHERE f.customer_id = ${customerId} AND f.automation_id = ${automationId} FOR NO KEY UPDATE OF f SKIP LOCKED`,
    'automations.hold_position',
  );
  return held;
}

/**
 * Stores that all is done up to this event; the next ones were recorded after `since`. `isAll`: there are none yet. Of a flow that was read in
 * part the rest is due at once, also for processes that have looked at it already.
 */
export async function movePosition(
  tx: Transaction,
  { customerId, automationId }: FlowKey,
  { position, since, isAll }: { readonly position: bigint; readonly since: Date; readonly isAll: boolean },
): Promise<void> {
  await tx.execute(
    sql`UPDATE hot.flow_follower
           SET position = ${position}, since = ${since}, failures = 0, retry_at = CASE WHEN NOT ${isAll}::boolean THEN clock_timestamp() END,
               postponed_at = NULL, postponed_for = NULL
         WHERE customer_id = ${customerId} AND automation_id = ${automationId}`,
    'automations.move_position',
  );
}

/**
 * The next events could not be handled: they are tried again later; of a flow that an outage has stopped meanwhile when it is activated. `about`: what a
 * plugin has not answered. Returns whether the flow waits for a plugin from now on.
 */
export async function delayPosition(
  db: Queryable,
  key: FlowKey,
  about: UnavailableCondition | null = null,
): Promise<boolean> {
  const secondsMax = about ? UNANSWERED_SECONDS_MAX : RETRY_SECONDS_MAX;
  const [delayed] = await db.query(
    { isNew: 'bool' },
    sql`UPDATE hot.flow_follower f
           SET failures = least(f.failures + 1, ${FAILURES_MAX}::int),
               retry_at = clock_timestamp() + make_interval(secs => least(2 ^ (f.failures + 1), ${secondsMax}::int)),
               postponed_at = CASE WHEN ${about !== null}::boolean THEN coalesce(f.postponed_at, clock_timestamp()) END,
               postponed_for = ${about && JSON.stringify(about)}::jsonb
          FROM (SELECT f.postponed_at FROM hot.flow_follower f WHERE ${isFlow(key)}) x
         WHERE ${isFlow(key)} AND f.retry_at IS DISTINCT FROM ${UNTIL_ACTIVATED}
        RETURNING x.postponed_at IS NULL AND f.postponed_at IS NOT NULL AS "isNew"`,
  );
  return delayed?.isNew ?? false;
}

function isFlow({ customerId, automationId }: FlowKey) {
  return sql`f.customer_id = ${customerId} AND f.automation_id = ${automationId}`;
}

/** A plugin for which the flow waited has answered. */
export async function clearPostponed(tx: Transaction, key: FlowKey): Promise<void> {
  await tx.execute(sql`UPDATE hot.flow_follower f SET postponed_at = NULL, postponed_for = NULL WHERE ${isFlow(key)}`);
}
