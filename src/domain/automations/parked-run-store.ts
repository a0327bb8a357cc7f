/** Writes of parked runs, and of what is overdue in a flow that was stopped. */
import { sql, row, typed, type Queryable, type Transaction } from '../../db/database.ts';
import type { VersionKey, NodeKey } from './run.ts';
import { countUnparked } from './node-store.ts';
import { RUN_COLUMNS, RUN_ROW } from './run-store.ts';

/** Makes all parked runs of the node due. Returns how many. */
export async function unparkRuns(
  tx: Transaction,
  key: NodeKey,
  { request, now }: { readonly request: string | null; readonly now: Date },
): Promise<number> {
  const { customerId, automationId, version, node } = key;
  const runs = await tx.execute(
    sql`UPDATE hot.flow_run r SET state = 'due', wake_at = ${now}, failures = 0, reason = ${request}
         WHERE r.customer_id = ${customerId} AND r.automation_id = ${automationId} AND r.version = ${version} AND r.node = ${node} AND r.state = 'parked'`,
  );
  if (runs > 0) countUnparked(tx, key, { runs, now });
  return runs;
}

const PLACED_ROW = row({
  ...RUN_ROW,
  version: 'int',
  node: 'text',
  state: typed<'due' | 'waiting' | 'parked'>('text'),
});

/** Locks the person's runs in the flow. */
export async function lockRunsOfPerson(
  tx: Transaction,
  { customerId, automationId, personId }: Omit<VersionKey, 'version'> & { readonly personId: bigint },
) {
  const rows = await tx.query(
    PLACED_ROW,
    sql`SELECT ${RUN_COLUMNS}, r.version, r.node, r.state::text AS state FROM hot.flow_run r
         WHERE r.customer_id = ${customerId} AND r.automation_id = ${automationId} AND r.person_id = ${personId} ORDER BY r.id FOR NO KEY UPDATE`,
  );
  return rows.map((run) => ({ ...run, wakeAt: run.since, payload: null, person: null }));
}

type AutomationKey = Omit<VersionKey, 'version'>;

/** How many runs of the flow have been due since this time or longer. */
export async function countOverdue(
  db: Queryable,
  { customerId, automationId }: AutomationKey,
  since: Date,
): Promise<number> {
  const [found] = await db.query(
    { runs: 'int' },
    sql`SELECT count(*)::int AS runs FROM hot.flow_run r WHERE ${overdue({ customerId, automationId }, since)}`,
  );
  return found?.runs ?? 0;
}

function overdue({ customerId, automationId }: AutomationKey, since: Date) {
  return sql`r.customer_id = ${customerId} AND r.automation_id = ${automationId} AND r.wake_at <= ${since}`;
}

/** What has been due since this time or longer gets this request. */
export async function askOfOverdue(
  tx: Transaction,
  key: AutomationKey,
  { since, request }: { readonly since: Date; readonly request: string },
): Promise<void> {
  await tx.execute(sql`UPDATE hot.flow_run r SET reason = ${request} WHERE ${overdue(key, since)}`);
}

/** What has been due since this time or longer is spread evenly over so many hours from now on, in its order. */
export async function spreadOverdue(
  tx: Transaction,
  key: AutomationKey,
  { since, now, hours }: { readonly since: Date; readonly now: Date; readonly hours: number },
): Promise<void> {
  await tx.execute(
    sql`UPDATE hot.flow_run r SET wake_at = ${now}::timestamptz + make_interval(hours => ${hours}::int) * o.share
          FROM (SELECT r.id, percent_rank() OVER (ORDER BY r.wake_at, r.id) AS share FROM hot.flow_run r WHERE ${overdue(key, since)}) o
         WHERE ${overdue(key, since)} AND r.id = o.id`,
  );
}
