/** Counts of nodes (D90), from one row for each node of a version: their cost does not depend on the number of people. */
import { row, sql, typed, type Queryable, type RowOf } from '../../../db/database.ts';
import type { UnavailableCondition } from '../../audience/segments/segment-errors.ts';
import type { AutomationKey, RunFilter } from './seen-run.ts';

const COUNT_ROW = row({
  version: 'int',
  node: 'text',
  entered: 'bigint',
  waiting: 'bigint',
  passed: 'bigint',
  left: 'bigint',
  parked: 'bigint',
  /** Since when nobody is moved at it, because too many were parked (D87); null: it works. */
  pausedAt: 'timestamptz?',
  /** Runs that were late when the flow went on, as long as some of them wait for their time (D85), and how many of them have gone. */
  lateTotal: 'bigint?',
  lateDone: 'bigint?',
  /** Since when people wait there for a plugin that has not answered; null: they do not. */
  postponedAt: 'timestamptz?',
  postponedFor: typed<UnavailableCondition | null>('json?'),
});
/** entered = waiting + passed + left + parked: the database refuses anything else. */
export type NodeCount = RowOf<typeof COUNT_ROW>;

/** Versions that are shown together. */
const VERSIONS_AT_ONCE = 20;

/** The counts of one version; null: of the newest that anybody came to, the newest first. */
export function nodeCounts(
  db: Queryable,
  { customerId, automationId }: AutomationKey,
  version: number | null,
): Promise<NodeCount[]> {
  return db.query(
    COUNT_ROW,
    sql`SELECT n.version, n.node, n.entered, n.waiting, n.passed, n."left", n.parked, n.paused_at AS "pausedAt",
               CASE WHEN n.late_mode IS NOT NULL THEN n.late_total END AS "lateTotal", CASE WHEN n.late_mode IS NOT NULL THEN n.late_done END AS "lateDone",
               CASE WHEN n.waiting > 0 THEN n.postponed_at END AS "postponedAt", CASE WHEN n.waiting > 0 THEN n.postponed_for END AS "postponedFor" FROM hot.flow_node n
         WHERE n.customer_id = ${customerId} AND n.automation_id = ${automationId}
           AND (n.version = ${version}::int OR ${version}::int IS NULL AND n.version IN (
             SELECT DISTINCT v.version FROM hot.flow_node v WHERE v.customer_id = ${customerId} AND v.automation_id = ${automationId}
              ORDER BY v.version DESC LIMIT ${VERSIONS_AT_ONCE}))
         ORDER BY n.version DESC, n.node`,
    'automations.node_counts',
  );
}

const OCCUPIED_ROW = row({ version: 'int', node: 'text', waiting: 'int', parked: 'int' });

/** Nodes at which people are, of versions before this one; null: of all. The newest version first. */
export function occupiedNodes(
  db: Queryable,
  { customerId, automationId }: AutomationKey,
  before: number | null,
): Promise<RowOf<typeof OCCUPIED_ROW>[]> {
  return db.query(
    OCCUPIED_ROW,
    sql`SELECT n.version, n.node, n.waiting::int AS waiting, n.parked::int AS parked FROM hot.flow_node n
         WHERE n.customer_id = ${customerId} AND n.automation_id = ${automationId} AND n.waiting + n.parked > 0
           AND (${before}::int IS NULL OR n.version < ${before}::int)
         ORDER BY n.version DESC, n.node`,
  );
}

/** The ids of nodes that anybody has come to, in any version. */
export async function knownNodes(
  db: Queryable,
  { customerId, automationId }: AutomationKey,
): Promise<ReadonlySet<string>> {
  const rows = await db.query(
    { node: 'text' },
    sql`SELECT DISTINCT n.node FROM hot.flow_node n WHERE n.customer_id = ${customerId} AND n.automation_id = ${automationId}`,
  );
  return new Set(rows.map(({ node }) => node));
}

const LIVE_ROW = row({
  liveVersion: 'int?',
  /** Since when the flow cannot read what happens to its people, because a plugin has not answered; null: it can. */
  postponedAt: 'timestamptz?',
  postponedFor: typed<UnavailableCondition | null>('json?'),
});

/** Undefined: the automation is gone. */
export async function liveVersionOf(db: Queryable, { customerId, automationId }: AutomationKey) {
  const [found] = await db.query(
    LIVE_ROW,
    sql`SELECT a.live_version AS "liveVersion", f.postponed_at AS "postponedAt", f.postponed_for AS "postponedFor"
          FROM automation a LEFT JOIN hot.flow_follower f ON f.customer_id = a.customer_id AND f.automation_id = a.id
         WHERE a.customer_id = ${customerId} AND a.id = ${automationId}`,
    'automations.live_version',
  );
  return found;
}

/** For how many seconds any part of the flow has waited for a plugin; 0: none does. */
export async function secondsUnanswered(db: Queryable, { customerId, automationId }: AutomationKey): Promise<number> {
  const [found] = await db.query(
    { seconds: 'float8' },
    sql`SELECT greatest(0, extract(epoch FROM clock_timestamp() - min(x.postponed_at)))::float8 AS seconds FROM (
          SELECT n.postponed_at FROM hot.flow_node n
           WHERE n.customer_id = ${customerId} AND n.automation_id = ${automationId} AND n.waiting > 0
          UNION ALL
          SELECT f.postponed_at FROM hot.flow_follower f WHERE f.customer_id = ${customerId} AND f.automation_id = ${automationId}) x`,
    'automations.seconds_unanswered',
  );
  return found?.seconds ?? 0;
}

const SUMS_ROW = row({ waiting: 'bigint', passed: 'bigint', left: 'bigint', parked: 'bigint' });

/** The sums over the nodes that the filter names. */
export async function sumOfCounts(
  db: Queryable,
  { customerId, automationId }: AutomationKey,
  { version, node }: Pick<RunFilter, 'version' | 'node'>,
): Promise<RowOf<typeof SUMS_ROW> | undefined> {
  const [sums] = await db.query(
    SUMS_ROW,
    sql`SELECT coalesce(sum(n.waiting), 0)::bigint AS waiting, coalesce(sum(n.passed), 0)::bigint AS passed,
               coalesce(sum(n."left"), 0)::bigint AS "left", coalesce(sum(n.parked), 0)::bigint AS parked
          FROM hot.flow_node n
         WHERE n.customer_id = ${customerId} AND n.automation_id = ${automationId}
           AND (${version}::int IS NULL OR n.version = ${version}::int) AND (${node}::text IS NULL OR n.node = ${node}::text)`,
  );
  return sums;
}

/** How often people entered the flow, counted over so many people. */
export async function countEntries(
  db: Queryable,
  { customerId, automationId }: AutomationKey,
  max: number,
): Promise<number> {
  const [found] = await db.query(
    { entries: 'int' },
    sql`SELECT least(coalesce(sum(f.entries), 0), ${max}::int)::int AS entries FROM (
          SELECT e.entries FROM hot.flow_entry e
           WHERE e.customer_id = ${customerId} AND e.automation_id = ${automationId}
           LIMIT ${max}) f`,
  );
  return found?.entries ?? 0;
}
