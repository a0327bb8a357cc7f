/** What happened to one person, from each table by itself: the newest entries before a place, as many as a page has. */
import { row, sql, typed, type Queryable, type RowOf, type Sql } from '../../db/database.ts';
import { withId } from '../audience/subscriber-store.ts';
import type { SuppressionReason } from '../audience/suppression.ts';
import { SOURCE_KINDS } from '../source-key.ts';
import { MICROS_PER_MS, millisecondOf, RANKS, type TimelinePage, type TimelinePosition } from './timeline.ts';

export interface PersonKey {
  readonly customerId: bigint;
  readonly listId: bigint;
  readonly id: bigint;
}

/** A time as a parameter, to the microsecond. */
function timeOf(micros: bigint): Sql {
  const milliseconds = new Date(Number(micros / MICROS_PER_MS)).toISOString().slice(0, -1);
  return sql`${`${milliseconds}${String(micros % MICROS_PER_MS).padStart(3, '0')}Z`}::timestamptz`;
}

const MICROS = sql`(extract(epoch FROM e.at) * 1000000)::bigint AS micros`;

/** The end of its millisecond, within which the tables decide. */
const endOf = (place: TimelinePosition): Sql => timeOf((millisecondOf(place) + 1n) * MICROS_PER_MS);

/** Entries of this table that come after the place, as `compareEntries` says. Those of one table are in order of time, id, number. */
function isAfter(after: TimelinePosition | undefined, rank: number, { id, no }: { id: Sql; no: Sql }): Sql {
  if (!after) return sql`true`;
  if (rank < after.rank) return sql`e.at < ${endOf(after)}`;
  if (rank > after.rank) return sql`e.at < ${timeOf(millisecondOf(after) * MICROS_PER_MS)}`;
  const at = timeOf(after.micros);
  return sql`e.at <= ${at} AND (e.at, ${id}, ${no}) < (${at}, ${after.id}::bigint, ${after.no}::int)`;
}

const EVENT_ROW = row({
  at: 'timestamptz',
  micros: 'bigint',
  id: 'bigint',
  kind: 'smallint',
  depth: 'smallint',
  startsFlows: 'bool',
  name: 'text?',
  /** Null, too, when it is too large to be shown. */
  data: typed<Readonly<Record<string, unknown>> | null>('json?'),
});
export type TimelineEvent = RowOf<typeof EVENT_ROW>;

/** Of an event from outside; what is larger is left out, so that a page stays small. */
const DATA_BYTES_MAX = 4_096;

export function timelineEvents(
  db: Queryable,
  { customerId, id }: PersonKey,
  { kinds, after, limit, isCounting = false }: TimelinePage & { readonly kinds: readonly number[] },
): Promise<TimelineEvent[]> {
  return db.query(
    EVENT_ROW,
    sql`SELECT e.at, ${MICROS}, e.id, e.kind, e.depth, e.starts_flows AS "startsFlows", e.name,
               CASE WHEN NOT ${isCounting} AND octet_length(e.data::text) <= ${DATA_BYTES_MAX} THEN e.data END AS data
          FROM hot.person_event e
         WHERE e.customer_id = ${customerId} AND e.person_id = ${id} AND e.kind = ANY (${[...kinds]}::smallint[])
           AND ${isAfter(after, RANKS.event, { id: sql`e.id`, no: sql`0` })}
         ORDER BY e.at DESC, e.id DESC LIMIT ${limit}`,
  );
}

const STEP_ROW = row({
  at: 'timestamptz',
  micros: 'bigint',
  id: 'bigint',
  no: 'int',
  automationUid: 'text',
  automation: 'text',
  version: 'int',
  node: 'text',
  step: 'text',
  port: 'text?',
  reason: 'text?',
});

/** Steps through flows. */
export function timelineSteps(db: Queryable, { customerId, id }: PersonKey, { after, limit }: TimelinePage) {
  return db.query(
    STEP_ROW,
    sql`SELECT e.at, ${MICROS}, e.run_id AS id, e.no, a.uid AS "automationUid", a.name AS automation, e.version, e.node, e.what AS step, e.port, e.reason
          FROM hot.flow_step e
          JOIN automation a ON a.customer_id = e.customer_id AND a.id = e.automation_id
         WHERE e.customer_id = ${customerId} AND e.person_id = ${id}
           AND ${isAfter(after, RANKS.step, { id: sql`e.run_id`, no: sql`e.no` })}
         ORDER BY e.at DESC, e.run_id DESC, e.no DESC LIMIT ${limit}`,
  );
}

const MAIL_ROW = row({
  /** Since when it is in its state. */
  at: 'timestamptz',
  micros: 'bigint',
  /** Of the campaign; of any other mail, of the message. */
  id: 'bigint',
  sourceKind: 'smallint',
  sourceId: 'bigint',
  occurrence: 'bigint',
  /** Nothing came back before that day. */
  snapshotOn: 'date',
  /** Of the campaign or the automation, if it still exists. */
  uid: 'text?',
  name: 'text?',
  purpose: 'text?',
  state: 'text',
  reason: 'text?',
  opens: 'int',
  clicks: 'int',
});
export type TimelineMail = RowOf<typeof MAIL_ROW>;

/** Campaigns of the list, and other messages to the person, that a page looks at: the newest before its place. */
const MAILS_MAX = 2_000;

/**
 * The mails to the person that may have entries after the place: each row of the ledger is found by its key. A person has no index of
 * their own there, so the campaigns of the list are walked.
 */
export function timelineMails(
  db: Queryable,
  { customerId, listId, id }: PersonKey,
  { after }: Pick<TimelinePage, 'after'>,
): Promise<TimelineMail[]> {
  const until = after ? endOf(after) : sql`now()`;
  return db.query(
    MAIL_ROW,
    sql`
    SELECT d.updated_at AS at, (extract(epoch FROM d.updated_at) * 1000000)::bigint AS micros, m.id, m.source_kind AS "sourceKind", m.source_id AS "sourceId",
           m.occurrence, m.snapshot_on AS "snapshotOn", coalesce(m.uid, a.uid) AS uid, coalesce(m.name, a.name) AS name, m.purpose,
           d.state::text AS state, d.reason, coalesce(r.open_count, 0) AS opens, coalesce(r.click_count, 0) AS clicks
      FROM (
        (SELECT c.id, ${SOURCE_KINDS.campaign}::smallint AS source_kind, c.id AS source_id, 0::bigint AS occurrence, c.snapshot_on, c.uid, c.name, NULL::text AS purpose
           FROM campaign c
          WHERE c.customer_id = ${customerId} AND c.list_id = ${listId} AND c.snapshot_on <= (${until} AT TIME ZONE 'UTC')::date
          ORDER BY c.snapshot_on DESC, c.id DESC LIMIT ${MAILS_MAX})
        UNION ALL
        (SELECT m.id, m.source_kind, m.source_id, m.id, m.snapshot_on, NULL, NULL, m.purpose
           FROM hot.message m
          WHERE m.customer_id = ${customerId} AND m.recipient_id = ${id} AND m.created_at <= ${until}
          ORDER BY m.id DESC LIMIT ${MAILS_MAX})) m
     CROSS JOIN LATERAL (
       SELECT l.updated_at, l.state, l.reason FROM hot.delivery l
        WHERE l.snapshot_on = m.snapshot_on AND l.customer_id = ${customerId} AND l.source_kind = m.source_kind AND l.source_id = m.source_id
          AND l.recipient_id = ${id} AND l.occurrence = m.occurrence OFFSET 0) d
      LEFT JOIN LATERAL (
       SELECT r.open_count, r.click_count FROM hot.recipient_activity r
        WHERE r.customer_id = ${customerId} AND r.source_kind = m.source_kind AND r.source_id = m.source_id
          AND r.recipient_id = ${id} AND r.occurrence = m.occurrence OFFSET 0) r ON true
      LEFT JOIN automation a ON m.source_kind = ${SOURCE_KINDS.automation} AND a.customer_id = ${customerId} AND a.id = m.source_id`,
  );
}

const ACT_ROW = row({
  at: 'timestamptz',
  micros: 'bigint',
  id: 'bigint',
  /** Place of its mail in the question. */
  mail: 'int',
  isMachine: 'bool',
  /** Of an open: it follows from a click. */
  isImplied: 'bool',
  url: 'text?',
});

/** Opens or clicks of these mails. */
export function timelineActs(
  db: Queryable,
  { customerId, id }: PersonKey,
  {
    act,
    mails,
    after,
    limit,
    isCounting = false,
  }: TimelinePage & { readonly act: 'open' | 'click'; readonly mails: readonly TimelineMail[] },
) {
  const isOpen = act === 'open';
  const table = isOpen ? sql`hot.open_event` : sql`hot.click_event`;
  const columns = isOpen
    ? sql`e.by_click AS implied, NULL::text AS url`
    : sql`false AS implied, CASE WHEN NOT ${isCounting} THEN e.url END AS url`;
  const older = isAfter(after, RANKS[act], { id: sql`e.id`, no: sql`0` });
  return db.query(
    ACT_ROW,
    sql`
    SELECT e.at, ${MICROS}, e.id, (k.no - 1)::int AS mail, e.is_machine AS "isMachine", e.implied AS "isImplied", e.url
      FROM unnest(${mails.map(({ sourceKind }) => sourceKind)}::smallint[], ${mails.map(({ sourceId }) => sourceId)}::bigint[],
                  ${mails.map(({ occurrence }) => occurrence)}::bigint[], ${mails.map(({ snapshotOn }) => snapshotOn)}::date[])
           WITH ORDINALITY k (source_kind, source_id, occurrence, since, no)
     CROSS JOIN LATERAL (
       SELECT e.at, e.id, e.is_machine, ${columns} FROM ${table} e
        WHERE e.customer_id = ${customerId} AND e.source_kind = k.source_kind AND e.source_id = k.source_id AND e.recipient_id = ${id}
          AND e.occurrence = k.occurrence AND e.at >= k.since AND ${older}
        ORDER BY e.at DESC, e.id DESC LIMIT ${limit}) e
     ORDER BY e.at DESC, e.id DESC LIMIT ${limit}`,
  );
}

const SUPPRESSION_ROW = row({ at: 'timestamptz', micros: 'bigint', reason: typed<SuppressionReason>('text') });

/** Since when the person's address is on the customer's suppression list; nothing of the installation's, which customers do not see. */
export function timelineSuppressions(
  db: Queryable,
  { customerId, listId, id }: PersonKey,
  { after }: Pick<TimelinePage, 'after'>,
) {
  return db.query(
    SUPPRESSION_ROW,
    sql`SELECT e.at, ${MICROS}, e.reason
          FROM (SELECT s.email_key FROM subscriber s WHERE ${withId({ customerId, listId, id: sql`${id}` })}) s
          JOIN LATERAL (SELECT x.created_at AS at, x.reason FROM suppression x
                         WHERE x.customer_id = ${customerId} AND x.email_key = s.email_key) e ON true
         WHERE ${isAfter(after, RANKS.suppression, { id: sql`0::bigint`, no: sql`0` })}`,
  );
}
