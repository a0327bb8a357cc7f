/**
 * Runs for their owners. Every list is read by key, in the order of an index, whatever the number of people: who waits, by the end of
 * their wait; all others the newest first.
 */
import { row, sql, typed, type Queryable, type RowOf, type Sql } from '../../../db/database.ts';
import { withId } from '../../audience/subscriber-store.ts';
import type { FlowPayload } from '../flow/flow-payload.ts';
import type { AutomationKey, RunFilter, RunPosition, RunState } from './seen-run.ts';

const POSITION_ROW = row({ id: 'bigint', wakeMicros: 'bigint?' });

interface RunWindow {
  /** The last one of the page before. */
  readonly after: RunPosition | undefined;
  readonly limit: number;
}

export interface RunPage extends RunWindow {
  readonly filter: RunFilter;
}

/** Ids are below it. */
const NO_ID = 1n << 62n;
const MICROS_PER_MS = 1_000n;

/** A page of the runs. `passed` is of a node. */
export function runPositions(
  db: Queryable,
  key: AutomationKey,
  { filter, ...window }: RunPage,
): Promise<RunPosition[]> {
  if (filter.personId !== null)
    return byIds(db, window, runsOfPerson(key, filter, { personId: filter.personId, before: idBefore(window) }));
  if (filter.state === 'waiting') return db.query(POSITION_ROW, waitingRuns(key, filter, window));
  if (filter.state === null) return byIds(db, window, allRuns(key, filter, window));
  return byIds(db, window, runsAtNodes(key, filter, { state: filter.state, ...window }));
}

/** The newest first. `runs`: ids, of which one may come twice. */
function byIds(db: Queryable, { limit }: RunWindow, runs: Sql): Promise<RunPosition[]> {
  return db.query(
    POSITION_ROW,
    sql`SELECT DISTINCT f.id, NULL::bigint AS "wakeMicros" FROM (${runs}) f ORDER BY f.id DESC LIMIT ${limit}`,
  );
}

function idBefore({ after }: RunWindow): bigint {
  return after?.id ?? NO_ID;
}

function ofVersion(version: Sql, filter: RunFilter): Sql {
  return filter.version === null ? sql`true` : sql`${version} = ${filter.version}`;
}

/** The nodes that the filter names, with somebody to whom the condition applies. */
function nodes({ customerId, automationId }: AutomationKey, filter: RunFilter, some: Sql): Sql {
  const named = filter.node === null ? sql`true` : sql`n.node = ${filter.node}`;
  return sql`n.customer_id = ${customerId} AND n.automation_id = ${automationId} AND ${ofVersion(sql`n.version`, filter)} AND ${named} AND ${some}`;
}

/** Who goes on first comes first; who waits without end comes last. */
function waitingRuns(key: AutomationKey, filter: RunFilter, { after, limit }: RunWindow): Sql {
  const { customerId, automationId } = key;
  const at = sql`r.customer_id = ${customerId} AND r.automation_id = ${automationId} AND r.version = n.version AND r.node = n.node`;
  const isPastTimes = after !== undefined && after.wakeMicros === null;
  const later =
    after === undefined || after.wakeMicros === null
      ? sql`${!isPastTimes}`
      : sql`(r.wake_at, r.id) > (${timeOf(after.wakeMicros)}, ${after.id})`;
  const endless = isPastTimes ? sql`r.id > ${after.id}` : sql`true`;
  return sql`
    SELECT w.id, (extract(epoch FROM w.wake_at) * 1000000)::bigint AS "wakeMicros"
      FROM hot.flow_node n
     CROSS JOIN LATERAL (
       (SELECT r.id, r.wake_at FROM hot.flow_run r
         WHERE ${at} AND r.wake_at IS NOT NULL AND ${later} ORDER BY r.wake_at, r.id LIMIT ${limit})
       UNION ALL
       (SELECT r.id, r.wake_at FROM hot.flow_run r
         WHERE ${at} AND r.wake_at IS NULL AND r.state = 'waiting' AND ${endless} ORDER BY r.id LIMIT ${limit})) w
     WHERE ${nodes(key, filter, sql`n.waiting > 0`)}
     ORDER BY w.wake_at NULLS LAST, w.id LIMIT ${limit}`;
}

/** A time as a parameter, to the microsecond. */
function timeOf(micros: bigint): Sql {
  const milliseconds = new Date(Number(micros / MICROS_PER_MS)).toISOString().slice(0, -1);
  return sql`${`${milliseconds}${String(micros % MICROS_PER_MS).padStart(3, '0')}Z`}::timestamptz`;
}

/** Who is parked at nodes, went on from one, or left the flow there. */
function runsAtNodes(
  key: AutomationKey,
  filter: RunFilter,
  { state, ...window }: RunWindow & { readonly state: Exclude<RunState, 'waiting'> },
): Sql {
  const { customerId, automationId } = key;
  const ofNode = sql`t.customer_id = ${customerId} AND t.automation_id = ${automationId} AND t.version = n.version AND t.node = n.node`;
  const before = idBefore(window);
  const found =
    state === 'parked'
      ? sql`SELECT t.id FROM hot.flow_run t WHERE ${ofNode} AND t.wake_at IS NULL AND t.state = 'parked' AND t.id < ${before} ORDER BY t.id DESC`
      : sql`SELECT DISTINCT t.run_id AS id FROM hot.flow_step t
             WHERE ${ofNode} AND t.what IN ('passed', 'left') AND t.what = ${state} AND t.run_id < ${before} ORDER BY t.run_id DESC`;
  const some = { parked: sql`n.parked > 0`, passed: sql`n.passed > 0`, left: sql`n."left" > 0` }[state];
  return sql`
    SELECT f.id FROM hot.flow_node n CROSS JOIN LATERAL (${found} LIMIT ${window.limit}) f
     WHERE ${nodes(key, filter, some)}`;
}

/** Also those that have ended; without what the history has forgotten. */
function allRuns({ customerId, automationId }: AutomationKey, filter: RunFilter, window: RunWindow): Sql {
  const before = idBefore(window);
  return sql`
    (SELECT DISTINCT t.run_id AS id FROM hot.flow_step t
      WHERE t.customer_id = ${customerId} AND t.automation_id = ${automationId} AND t.run_id < ${before} AND ${ofVersion(sql`t.version`, filter)}
      ORDER BY t.run_id DESC LIMIT ${window.limit})
    UNION ALL
    (SELECT r.id FROM hot.flow_run r
      WHERE r.customer_id = ${customerId} AND r.automation_id = ${automationId} AND r.id < ${before} AND ${ofVersion(sql`r.version`, filter)}
      ORDER BY r.id DESC LIMIT ${window.limit})`;
}

/** Of one person: they are few. */
function runsOfPerson(
  { customerId, automationId }: AutomationKey,
  filter: RunFilter,
  { personId, before }: { readonly personId: bigint; readonly before: bigint },
): Sql {
  const steps = sql`
    SELECT t.run_id AS id FROM hot.flow_step t
     WHERE t.customer_id = ${customerId} AND t.person_id = ${personId} AND t.automation_id = ${automationId} AND t.run_id < ${before}
       AND ${ofVersion(sql`t.version`, filter)}`;
  const runs = sql`
    SELECT r.id FROM hot.flow_run r
     WHERE r.customer_id = ${customerId} AND r.person_id = ${personId} AND r.automation_id = ${automationId} AND r.id < ${before}
       AND ${ofVersion(sql`r.version`, filter)}`;
  const { state, node } = filter;
  if (state === null) return sql`${steps} UNION ALL ${runs}`;
  if (state === 'passed' || state === 'left')
    return sql`${steps} AND t.what = ${state} AND ${node === null ? sql`true` : sql`t.node = ${node}`}`;
  const isParked = state === 'parked';
  return sql`${runs} AND (r.state = 'parked') = ${isParked} AND ${node === null ? sql`true` : sql`r.node = ${node}`}`;
}

const SEEN_RUN = row({
  id: 'bigint',
  personId: 'bigint',
  /** Null: the person is not on the list any more. */
  email: 'text?',
  version: 'int',
  state: typed<RunState>('text'),
  /** Where it is, or was at its end. */
  node: 'text',
  enteredAt: 'timestamptz',
  /** Arrival at the node; of one that has ended, its end. */
  since: 'timestamptz',
  wakeAt: 'timestamptz?',
  endedAt: 'timestamptz?',
  /** Why it is parked, has ended, or waits for a plugin. */
  reason: 'text?',
  failures: 'smallint',
});
export type SeenRun = RowOf<typeof SEEN_RUN> & AutomationKey;

/** The reason of runs at a node that a plugin has not answered. */
const WAITS_FOR_PLUGIN = 'condition_unavailable';

/** These runs, in their order; without those of which nothing is known any more. */
export async function seenRuns(
  db: Queryable,
  { customerId, automationId, listId }: AutomationKey & { readonly listId: bigint },
  ids: readonly bigint[],
): Promise<SeenRun[]> {
  const steps = sql`hot.flow_step t WHERE t.customer_id = ${customerId} AND t.automation_id = ${automationId} AND t.run_id = i.id`;
  const rows = await db.query(
    SEEN_RUN,
    sql`
    SELECT i.id, p.id AS "personId", s.email, coalesce(r.version, l.version) AS version,
           CASE WHEN r.state = 'parked' THEN 'parked' WHEN r.id IS NOT NULL THEN 'waiting' WHEN l.what = 'passed' THEN 'passed' ELSE 'left' END AS state,
           coalesce(r.node, l.node) AS node, coalesce(r.entered_at, f.at) AS "enteredAt", coalesce(r.since, l.at) AS since, r.wake_at AS "wakeAt",
           CASE WHEN r.id IS NULL THEN l.at END AS "endedAt",
           CASE WHEN r.id IS NULL THEN l.reason WHEN r.state = 'parked' THEN r.reason WHEN r.wake_at <= n.next_wake_at THEN ${WAITS_FOR_PLUGIN} END AS reason,
           coalesce(r.failures, 0::smallint) AS failures
      FROM unnest(${[...ids]}::bigint[]) WITH ORDINALITY i (id, place)
      LEFT JOIN LATERAL (SELECT r.* FROM hot.flow_run r
                          WHERE r.customer_id = ${customerId} AND r.automation_id = ${automationId} AND r.id = i.id OFFSET 0) r ON true
      LEFT JOIN LATERAL (SELECT n.next_wake_at FROM hot.flow_node n
                          WHERE n.customer_id = ${customerId} AND n.automation_id = ${automationId} AND n.version = r.version AND n.node = r.node
                            AND n.postponed_at IS NOT NULL) n ON true
      LEFT JOIN LATERAL (SELECT t.person_id, t.at FROM ${steps} ORDER BY t.no LIMIT 1) f ON true
      LEFT JOIN LATERAL (SELECT t.* FROM ${steps} ORDER BY t.no DESC LIMIT 1) l ON true
     CROSS JOIN LATERAL (SELECT coalesce(r.person_id, f.person_id) AS id) p
      LEFT JOIN LATERAL (SELECT s.email FROM subscriber s WHERE ${withId({ customerId, listId, id: sql`p.id` })}) s ON true
     WHERE p.id IS NOT NULL
     ORDER BY i.place`,
    'automations.seen_runs',
  );
  return rows.map((one) => ({ ...one, customerId, automationId }));
}

const STEP_ROW = row({
  no: 'int',
  at: 'timestamptz',
  version: 'int',
  node: 'text',
  what: 'text',
  port: 'text?',
  reason: 'text?',
  details: typed<Readonly<Record<string, unknown>> | null>('json?'),
});

export type RunKey = AutomationKey & { readonly id: bigint };

/** The steps after this one, in their order. */
export function stepsOf(
  db: Queryable,
  { customerId, automationId, id }: RunKey,
  { after, limit }: { readonly after: number; readonly limit: number },
) {
  return db.query(
    STEP_ROW,
    sql`SELECT t.no, t.at, t.version, t.node, t.what, t.port, t.reason, t.details FROM hot.flow_step t
         WHERE t.customer_id = ${customerId} AND t.automation_id = ${automationId} AND t.run_id = ${id} AND t.no > ${after}
         ORDER BY t.no LIMIT ${limit}`,
    'automations.steps_of_run',
  );
}

export async function countSteps(db: Queryable, { customerId, automationId, id }: RunKey): Promise<number> {
  const [found] = await db.query(
    { count: 'int' },
    sql`SELECT count(*)::int AS count FROM hot.flow_step t
         WHERE t.customer_id = ${customerId} AND t.automation_id = ${automationId} AND t.run_id = ${id}`,
  );
  return found?.count ?? 0;
}

/** What the run has as `payload.*`; undefined: nothing, or it has ended. */
export async function payloadOfRun(
  db: Queryable,
  { customerId, automationId, id }: RunKey,
): Promise<FlowPayload | undefined> {
  const [found] = await db.query(
    { payload: typed<FlowPayload>('json') },
    sql`SELECT p.payload FROM hot.flow_payload p
         WHERE p.customer_id = ${customerId} AND p.automation_id = ${automationId} AND p.run_id = ${id}`,
  );
  return found?.payload;
}
