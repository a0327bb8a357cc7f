/**
 * Rows of triggers that look at people (watched-trigger.ts): which of them have work, and how far they are. Whoever works on one holds
 * its row until the end of the transaction, so each works in one process at a time.
 */
import { sql, row, typed, type Queryable, type Sql, type Transaction } from '../../../db/database.ts';
import type { SegmentRule } from '../../audience/segments/segment.ts';
import type { TriggerKey, WatchedRow } from './watched-trigger.ts';

/** Writers that saw the trigger before its change have ended then, so no change of a person is missed. */
const SETTLED_SECONDS = 5;

export interface NewTrigger {
  readonly key: string;
  readonly segmentId: bigint | null;
  /** The field with the date. */
  readonly field: string | null;
}

interface Begin {
  readonly customerId: bigint;
  readonly automationId: bigint;
  readonly listId: bigint;
  readonly triggers: readonly NewTrigger[];
  readonly now: Date;
  /** Also those that were live fire only for what comes from now on. */
  readonly isAnew: boolean;
  /** Times that have come since the trigger began fire yet. */
  readonly keepsSlots: boolean;
}

/** What the people are looked at with. */
const SEEN_WITH = sql`CASE WHEN t.segment_id IS NULL THEN concat(l.timezone_tag, ' ', coalesce(l.timezone, c.timezone)) ELSE md5(s.rule::text) END`;

/** The triggers of a flow that was published or activated; its others are removed. */
export async function beginTriggerRows(tx: Transaction, begin: Begin): Promise<void> {
  const { customerId, automationId, listId, triggers, now, isAnew, keepsSlots } = begin;
  const keys = triggers.map(({ key }) => key);
  await tx.execute(
    sql`UPDATE hot.flow_trigger SET state = 'removed', retry_at = ${now}::timestamptz + make_interval(secs => ${SETTLED_SECONDS}::int)
         WHERE customer_id = ${customerId} AND automation_id = ${automationId} AND key <> ALL (${keys}::text[]) AND state <> 'removed'`,
  );
  await tx.execute(
    sql`INSERT INTO hot.flow_trigger AS o (customer_id, automation_id, list_id, key, state, started_at, segment_id, fields, walk_after, walk_from, walked_at, seen_with, retry_at)
        SELECT ${customerId}, ${automationId}, ${listId}, t.key, 'live', ${now}, t.segment_id,
               CASE WHEN t.segment_id IS NULL THEN array_remove(ARRAY[t.field, l.timezone_tag], NULL) END, 0, ${now}, ${now}, ${SEEN_WITH},
               CASE WHEN t.segment_id IS NULL THEN ${now}::timestamptz + make_interval(secs => ${SETTLED_SECONDS}::int) END
          FROM unnest(${keys}::text[], ${triggers.map(({ segmentId }) => segmentId)}::bigint[], ${triggers.map(({ field }) => field)}::text[]) AS t (key, segment_id, field)
          JOIN mail_list l ON l.customer_id = ${customerId} AND l.id = ${listId}
          JOIN customer c ON c.id = l.customer_id
          LEFT JOIN segment s ON s.customer_id = l.customer_id AND s.id = t.segment_id
        ON CONFLICT (customer_id, automation_id, key) DO UPDATE
          SET state = 'live', started_at = CASE WHEN ${keepsSlots} THEN o.started_at ELSE excluded.started_at END, fields = excluded.fields, walk_after = 0, walk_from = excluded.walk_from,
              walk_enters = false, walked_at = excluded.walked_at, seen_with = excluded.seen_with, segment_id = excluded.segment_id, retry_at = excluded.retry_at
        WHERE ${isAnew} OR o.state <> 'live'`,
  );
}

/** The automation is not active any more: nothing fires. */
export async function restTriggers(
  tx: Transaction,
  { customerId, automationId }: Omit<TriggerKey, 'id'>,
): Promise<void> {
  await tx.execute(
    sql`UPDATE hot.flow_trigger SET state = 'idle' WHERE customer_id = ${customerId} AND automation_id = ${automationId} AND state = 'live'`,
  );
}

const KEY_ROW = row({ customerId: 'bigint', automationId: 'bigint', id: 'bigint' });
const KEY = sql`t.customer_id AS "customerId", t.automation_id AS "automationId", t.id`;
const WITH_OTHERS = sql`hot.flow_trigger t
  LEFT JOIN automation a ON a.customer_id = t.customer_id AND a.id = t.automation_id
  LEFT JOIN mail_list l ON l.customer_id = t.customer_id AND l.id = t.list_id
  LEFT JOIN customer c ON c.id = t.customer_id
  LEFT JOIN segment s ON s.customer_id = t.customer_id AND s.id = t.segment_id`;
const IS_OUTDATED = sql`(t.seen_with IS DISTINCT FROM ${SEEN_WITH})`;
const IS_GONE = sql`(t.state = 'removed' OR a.id IS NULL OR l.id IS NULL)`;
const IS_LIVE = sql`(t.state = 'live' AND a.status = 'active')`;

function isHourDue(now: Date): Sql {
  return sql`(t.segment_id IS NOT NULL AND t.walked_at <= ${now}::timestamptz - interval '1 hour')`;
}

/** Each trigger at whose people somebody changed: one look-up by key for each, however many people wait of one that is idle. */
const WITH_CHANGED_PEOPLE = sql`
  WITH RECURSIVE first AS (
    (SELECT e.customer_id, e.trigger_id FROM hot.flow_changed e ORDER BY e.customer_id, e.trigger_id LIMIT 1)
    UNION ALL
    SELECT n.* FROM first f CROSS JOIN LATERAL (
      SELECT e.customer_id, e.trigger_id FROM hot.flow_changed e WHERE (e.customer_id, e.trigger_id) > (f.customer_id, f.trigger_id)
       ORDER BY e.customer_id, e.trigger_id LIMIT 1) n
  )
  SELECT trigger_id FROM first`;

/** Of thousands of triggers only those that a row of their own or a changed person names; the others have no look-up each. */
const IS_NAMED = sql`(t.state = 'removed' OR t.walk_after IS NOT NULL OR t.id = ANY (ARRAY(${WITH_CHANGED_PEOPLE})))`;

/**
 * The triggers with something to do, in any order: none comes first always (D89). A quick look finds those with changed people and those that look
 * at all people, and not those whose time has come or whose rule is another one.
 */
export function triggersAtWork(
  db: Queryable,
  now: Date,
  { max, isQuick }: { readonly max: number; readonly isQuick: boolean },
) {
  return db.query(
    { ...KEY_ROW, isGone: 'bool' },
    sql`SELECT ${KEY}, ${IS_GONE} AS "isGone" FROM ${WITH_OTHERS}
         WHERE (t.retry_at IS NULL OR t.retry_at <= ${now}) AND ${isQuick ? IS_NAMED : sql`true`}
           AND (${IS_GONE} OR ${IS_LIVE} AND (t.walk_after IS NOT NULL OR ${IS_OUTDATED} OR ${isHourDue(now)}
                OR EXISTS (SELECT 1 FROM hot.flow_changed e WHERE e.customer_id = t.customer_id AND e.trigger_id = t.id)
                OR EXISTS (SELECT 1 FROM hot.flow_trigger_person p WHERE p.customer_id = t.customer_id AND p.trigger_id = t.id AND p.due_at <= ${now})))
         ORDER BY random() LIMIT ${max}`,
    isQuick ? 'automations.triggers_named' : 'automations.triggers_at_work',
  );
}

/** Holds a trigger that is gone; false: another process does, or it is live again. */
export async function holdGone(tx: Transaction, { customerId, automationId, id }: TriggerKey): Promise<boolean> {
  const held = await tx.execute(
    sql`SELECT 1 FROM ${WITH_OTHERS}
         WHERE t.customer_id = ${customerId} AND t.automation_id = ${automationId} AND t.id = ${id} AND ${IS_GONE} FOR UPDATE OF t SKIP LOCKED`,
  );
  return held > 0;
}

/** Those of the flow's segments whose people are not all known yet. */
export function triggersOfSegments(db: Queryable, { customerId, automationId }: Omit<TriggerKey, 'id'>) {
  return db.query(
    { ...KEY_ROW, key: 'text' },
    sql`SELECT ${KEY}, t.key FROM hot.flow_trigger t
         WHERE t.customer_id = ${customerId} AND t.automation_id = ${automationId} AND t.segment_id IS NOT NULL AND t.state = 'live' AND t.walk_after IS NOT NULL
         ORDER BY t.id`,
  );
}

const WATCHED_ROW = row({
  ...KEY_ROW,
  listId: 'bigint',
  key: 'text',
  version: 'int',
  startedAt: 'timestamptz',
  walkAfter: 'bigint?',
  walkFrom: 'timestamptz',
  walkEnters: 'bool',
  tag: 'text?',
  fallback: 'text',
  rule: typed<SegmentRule | null>('json?'),
  isOutdated: 'bool',
  isHourDue: 'bool',
});

/** The trigger as it is now; `hold` locks its row. Undefined: it is not live, or another process works on it. */
export async function readTrigger(
  db: Queryable,
  { customerId, automationId, id }: TriggerKey,
  { now, hold }: { readonly now: Date; readonly hold: boolean },
): Promise<WatchedRow | undefined> {
  const [found] = await db.query(
    WATCHED_ROW,
    sql`SELECT ${KEY}, t.list_id AS "listId", t.key, a.live_version AS version, t.started_at AS "startedAt", t.walk_after AS "walkAfter", t.walk_from AS "walkFrom",
               t.walk_enters AS "walkEnters", l.timezone_tag AS tag, coalesce(l.timezone, c.timezone) AS fallback, s.rule,
               ${IS_OUTDATED} AS "isOutdated", ${isHourDue(now)} AS "isHourDue"
          FROM ${WITH_OTHERS}
         WHERE t.customer_id = ${customerId} AND t.automation_id = ${automationId} AND t.id = ${id}
           AND ${IS_LIVE} AND a.live_version IS NOT NULL AND l.id IS NOT NULL ${hold ? sql`FOR UPDATE OF t SKIP LOCKED` : sql``}`,
    hold ? 'automations.hold_trigger' : 'automations.read_trigger',
  );
  if (!found) return undefined;
  const { tag, fallback, ...watched } = found;
  return { ...watched, zones: { tag, fallback } };
}

/** All people are looked at from now on: with other zones, another rule, or because an hour is over. */
export async function beginWalk(
  tx: Transaction,
  { customerId, automationId, id }: TriggerKey,
  { now, enters }: { readonly now: Date; readonly enters: boolean },
): Promise<void> {
  await tx.execute(
    sql`UPDATE hot.flow_trigger f
           SET walk_after = 0, walk_from = CASE WHEN f.walk_after IS NULL THEN ${now}::timestamptz ELSE f.walk_from END, walk_enters = ${enters},
               walked_at = ${now}::timestamptz, seen_with = x.seen,
               fields = CASE WHEN f.segment_id IS NULL THEN array_remove(ARRAY[f.fields[1], x.tag], NULL) END
          FROM (SELECT ${SEEN_WITH} AS seen, l.timezone_tag AS tag FROM ${WITH_OTHERS}
                 WHERE t.customer_id = ${customerId} AND t.automation_id = ${automationId} AND t.id = ${id}) x
         WHERE f.customer_id = ${customerId} AND f.automation_id = ${automationId} AND f.id = ${id}`,
  );
}

/** All people up to this id were looked at; null: all. */
export async function writeWalk(
  tx: Transaction,
  { customerId, automationId, id }: TriggerKey,
  after: bigint | null,
): Promise<void> {
  await tx.execute(
    sql`UPDATE hot.flow_trigger SET walk_after = ${after} WHERE customer_id = ${customerId} AND automation_id = ${automationId} AND id = ${id}`,
    'automations.write_walk',
  );
}

export async function delayTrigger(
  db: Queryable,
  { customerId, automationId, id }: TriggerKey,
  until: Date,
): Promise<void> {
  await db.execute(
    sql`UPDATE hot.flow_trigger SET retry_at = ${until} WHERE customer_id = ${customerId} AND automation_id = ${automationId} AND id = ${id}`,
  );
}
