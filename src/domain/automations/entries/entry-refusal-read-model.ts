/**
 * Who of people would be refused by the rules of entry, and why (D70): for a look before the act. Who enters is decided by the ledger of entries
 * alone (entry-store.ts).
 */
import { empty, row, sql, typed, type Queryable, type Sql } from '../../../db/database.ts';
import { isSuppressed } from '../../audience/people-store.ts';
import { withId } from '../../audience/subscriber-store.ts';
import { peopleOf } from '../../audience/segments/rule-read-model.ts';
import type { RuleScope, SegmentRule } from '../../audience/segments/segment.ts';
import type { Refusal } from './enter-people.ts';
import type { LiveFlow } from '../runs/live-flow.ts';

const COUNT_ROW = row({ refused: typed<Refusal | null>('text?'), people: 'int' });

/** Of the people of a rule: how many would be refused by each reason; null: would enter. */
export function countRefusals(
  db: Queryable,
  live: LiveFlow,
  { rule, ...scope }: Pick<RuleScope, 'asOf' | 'answers'> & { readonly rule: SegmentRule },
) {
  const { customerId } = live.key;
  return db.query(
    COUNT_ROW,
    sql`SELECT p.refused, count(*)::int AS people
          FROM (SELECT ${refusalOf(live, { now: scope.asOf, among: empty })} AS refused ${peopleOf(rule, { customerId, listId: live.listId, ...scope })}) p
         GROUP BY p.refused ORDER BY people DESC, p.refused`,
  );
}

const REFUSED_ROW = row({ id: 'bigint', refused: typed<Refusal>('text') });

/** Of these people those who would be refused. */
export async function refusedAmong(
  db: Queryable,
  live: LiveFlow,
  { ids, now }: { readonly ids: readonly bigint[]; readonly now: Date },
): Promise<ReadonlyMap<bigint, Refusal>> {
  const { customerId } = live.key;
  const named = sql`${[...ids]}::bigint[]`;
  // Else the database may read the entries of everybody at once, for some people.
  const refusal = refusalOf(live, { now, among: sql`AND e.person_id = ANY (${named})` });
  const rows = await db.query(
    REFUSED_ROW,
    sql`SELECT p.id, p.refused
          FROM (SELECT s.id, ${refusal} AS refused FROM unnest(${named}) AS k (id)
                 CROSS JOIN LATERAL (SELECT s.* FROM subscriber s WHERE ${withId({ customerId, listId: live.listId, id: sql`k.id` })}) s) p
         WHERE p.refused IS NOT NULL`,
  );
  return new Map(rows.map(({ id, refused }) => [id, refused]));
}

interface Looking {
  readonly now: Date;
  /** Narrows the entries `e` that are read. */
  readonly among: Sql;
}

/** Of the subscriber `s`, in the order in which the engine looks; null: none. */
function refusalOf({ key, flow }: LiveFlow, looking: Looking): Sql {
  const isForLeavers = flow.triggers.some(({ type }) => type === 'unsubscribed');
  const getsMail = isForLeavers
    ? sql`WHEN false THEN NULL`
    : sql`WHEN s.status <> 'subscribed' THEN 'not_subscribed' WHEN ${isSuppressed(key.customerId)} THEN 'suppressed'`;
  return sql`CASE ${getsMail} ${byEntry({ key, flow }, looking)} END`;
}

/** Entries with other keys count, too: an earlier version of the flow may have had some. */
function byEntry({ key, flow: { entry } }: Pick<LiveFlow, 'key' | 'flow'>, { now, among }: Looking): Sql {
  const entries = sql`SELECT 1 FROM hot.flow_entry e
                       WHERE e.customer_id = ${key.customerId} AND e.automation_id = ${key.automationId} AND e.person_id = s.id ${among}`;
  const isBlocked = sql`WHEN EXISTS (${entries} AND e.blocked_at IS NOT NULL) THEN 'too_often'`;
  switch (entry.mode) {
    case 'once':
      return sql`WHEN EXISTS (${entries}) THEN 'entered_before'`;
    case 'after_end':
      return sql`${isBlocked} WHEN EXISTS (${entries} AND e.ended_at IS NULL) THEN 'in_flow'`;
    case 'after_days':
      return sql`${isBlocked} WHEN EXISTS (${entries} AND e.entered_at > ${now}::timestamptz - make_interval(days => ${entry.days}::int)) THEN 'too_soon'`;
    default:
      return sql`WHEN true THEN 'no_key'`;
  }
}
