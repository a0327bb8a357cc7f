/**
 * Runs in the database: what is due at a node, and the one way to move them. Whoever moves runs holds their rows, and writes rows,
 * history, entries and counts in one transaction (D88). Times are those of the caller's fixed "now".
 */
import { sql, row, typed, type Queryable, type Transaction } from '../../../db/database.ts';
import type { FlowPayload } from '../flow/flow-payload.ts';
import { countMoves } from './node-count-store.ts';
import { peopleById } from '../../audience/people-store.ts';
import {
  RUN_REQUESTS,
  type Cursor,
  type DueRun,
  type Move,
  type NodeKey,
  type Passes,
  type VersionKey,
} from './run.ts';

export const RUN_ROW = row({
  id: 'bigint',
  personId: 'bigint',
  enteredAt: 'timestamptz',
  eventsFrom: 'timestamptz',
  eventsAfter: 'bigint',
  since: 'timestamptz',
  depth: 'smallint',
  failures: 'smallint',
  hasLeft: 'bool',
  entryKey: 'text',
  reason: 'text?',
  passes: typed<Passes | null>('json?'),
  steps: 'int',
  done: typed<readonly string[] | null>('json?'),
});
export const RUN_COLUMNS = sql`r.id, r.person_id AS "personId", r.entered_at AS "enteredAt", coalesce(r.event_at, r.entered_at) AS "eventsFrom", coalesce(r.event_id, 0) AS "eventsAfter", r.since, r.depth, r.failures, r.has_left AS "hasLeft", r.entry_key AS "entryKey", r.reason, r.passes, r.steps, r.done`;

const DUE_ROW = row({ ...RUN_ROW, wakeAt: 'timestamptz', isAtWork: 'bool' });

export interface DueQuestion {
  readonly listId: bigint;
  /** Due before or at this time. */
  readonly until: Date;
  readonly max: number;
  /** Only what comes after it. */
  readonly after?: Cursor | undefined;
  readonly withPayload: boolean;
}

/**
 * Locks what is due at the node, the earliest first, and then reads the people: what changes them after that comes to the follower, which waits
 * for these rows. Rows that others hold come later. Rows before the cursor were moved: walking past what is left of them would take longer with
 * every batch.
 */
export async function lockDue(tx: Transaction, key: NodeKey, question: DueQuestion): Promise<DueRun[]> {
  const { customerId, automationId } = key;
  const { listId, until, max, after, withPayload } = question;
  const behind = after ? sql`(r.wake_at, r.id) > (${after.wakeAt}, ${after.id})` : sql`true`;
  const runs = await tx.query(
    DUE_ROW,
    sql`SELECT ${RUN_COLUMNS}, r.wake_at AS "wakeAt", r.state = 'due' AS "isAtWork" FROM hot.flow_run r
         WHERE r.customer_id = ${customerId} AND r.automation_id = ${automationId} AND r.version = ${key.version}
           AND r.node = ${key.node} AND r.wake_at <= ${until} AND ${behind}
         ORDER BY r.wake_at, r.id LIMIT ${max} FOR NO KEY UPDATE SKIP LOCKED`,
    after ? 'automations.lock_due_after' : 'automations.lock_due',
  );
  if (runs.length === 0) return [];
  const people = await peopleById(tx, { customerId, listId, ids: [...new Set(runs.map(({ personId }) => personId))] });
  const payloads = withPayload ? await payloadsOf(tx, key, runs) : undefined;
  return runs.map((run) => ({
    ...run,
    payload: payloads?.get(run.id) ?? null,
    person: people.get(run.personId) ?? null,
  }));
}

const PAYLOAD_ROW = row({ id: 'bigint', payload: typed<FlowPayload>('json') });

async function payloadsOf(
  tx: Transaction,
  { customerId, automationId }: VersionKey,
  runs: readonly { readonly id: bigint }[],
): Promise<ReadonlyMap<bigint, FlowPayload>> {
  const rows = await tx.query(
    PAYLOAD_ROW,
    sql`SELECT p.run_id AS id, p.payload FROM hot.flow_payload p
         WHERE p.customer_id = ${customerId} AND p.automation_id = ${automationId} AND p.run_id = ANY (${runs.map(({ id }) => id)}::bigint[])`,
    'automations.payloads',
  );
  return new Map(rows.map(({ id, payload }) => [id, payload]));
}

/**
 * For a transaction that enters or moves people: every row is found by its key, and rows of a batch are joined by hash, whatever the
 * statistics of a table that has just grown say.
 */
export async function findByKeys(tx: Transaction): Promise<void> {
  await tx.execute(
    sql`SELECT set_config('enable_seqscan', 'off', true), set_config('enable_nestloop', 'off', true), set_config('enable_mergejoin', 'off', true),
               set_config('enable_bitmapscan', 'off', true)`,
    'automations.find_by_keys',
  );
}

interface Moves {
  readonly moves: readonly Move[];
  readonly now: Date;
}

/** Writes the moves: rows, entries, history and counts. The rows are locked by this transaction. */
export async function moveRuns(tx: Transaction, key: VersionKey, { moves, now }: Moves): Promise<void> {
  if (moves.length === 0) return;
  await writeMoves(tx, key, { moves, now });
  countMoves(tx, key, moves);
}

function stepOf({ run, from, what, port, reason, details }: Move) {
  return { id: String(run.id), person: String(run.personId), from, what, port, reason, details };
}

/** Where the run stands from now on; without a node: nowhere. */
function placeOf({ run, from, what, reason, to }: Move, now: Date) {
  const hasMoved = what === 'passed' || run.reason === RUN_REQUESTS.waitAnew;
  const isParked = what === 'parked';
  // Mails are passed over until the person waits again.
  const request = to?.state === 'due' && run.reason === RUN_REQUESTS.skipMails ? run.reason : null;
  return {
    ...{ node: to?.node ?? (isParked ? from : null), state: to?.state ?? 'parked', wake: to?.wakeAt ?? null },
    ...{ since: hasMoved ? now : run.since, failures: what === 'passed' ? 0 : run.failures },
    ...{ asked: isParked ? reason : request, passes: run.passes, has_left: run.hasLeft, entry_key: run.entryKey },
    ...(run.done && { done: run.done }),
  };
}

/** Numbers the steps of each run on; one that stays without a reason is no step. */
function inOrder(moves: readonly Move[]): readonly (Move & { readonly no: number })[] {
  const last = new Map<bigint, number>();
  return moves.map((move) => {
    const { run, what, reason } = move;
    const no = (last.get(run.id) ?? run.steps) + (what === 'stays' && reason === null ? 0 : 1);
    last.set(run.id, no);
    return { ...move, no };
  });
}

/**
 * Runs are named with their people: by old statistics the database takes the index of the customer's people, and read all of the customer's runs
 * when it had only these of their ids.
 */
async function writeMoves(tx: Queryable, key: VersionKey, { moves, now }: Moves): Promise<void> {
  const { customerId, automationId, version } = key;
  const rows = inOrder(moves).map(({ no, ...move }) => ({
    ...{ ...stepOf(move), no },
    ...(move.goesOn ? {} : { ...placeOf(move, now), last: true }),
  }));
  const last = moves.flatMap(({ run, goesOn }) => (goesOn ? [] : [run]));
  const [ids, people] = [last.map(({ id }) => id), last.map(({ personId }) => personId)];
  const ended = moves.flatMap(({ run, to, what }) => (to || what === 'parked' ? [] : [run]));
  const [endedIds, endedPeople] = [ended.map(({ id }) => id), ended.map(({ personId }) => personId)];
  await tx.execute(
    sql`WITH m AS MATERIALIZED (
          SELECT * FROM jsonb_to_recordset(${JSON.stringify(rows)}::jsonb)
            AS m (id bigint, person bigint, no integer, "from" text, what text, port text, reason text, details jsonb, last boolean, entry_key text,
                  node text, state hot.flow_state, wake timestamptz, since timestamptz, failures smallint, asked text, passes jsonb, has_left boolean, done jsonb)
        ), moved AS (
          UPDATE hot.flow_run r
             SET node = m.node, state = m.state, wake_at = m.wake, since = m.since, failures = m.failures, reason = m.asked,
                 passes = nullif(m.passes, 'null'), has_left = m.has_left, done = m.done, steps = m.no
            FROM m WHERE r.customer_id = ${customerId} AND r.automation_id = ${automationId} AND r.id = ANY (${ids}::bigint[])
             AND r.person_id = ANY (${people}::bigint[]) AND r.id = m.id AND m.last AND m.node IS NOT NULL
        ), gone AS (
          DELETE FROM hot.flow_run r USING m
           WHERE r.customer_id = ${customerId} AND r.automation_id = ${automationId} AND r.id = ANY (${endedIds}::bigint[])
             AND r.person_id = ANY (${endedPeople}::bigint[]) AND r.id = m.id AND m.last AND m.node IS NULL
        ), ended AS (
          UPDATE hot.flow_entry e SET ended_at = ${now}, end_reason = CASE m.what WHEN 'passed' THEN 'end' ELSE m.reason END, ended_version = ${version}, done = m.done
            FROM m WHERE e.customer_id = ${customerId} AND e.automation_id = ${automationId} AND e.person_id = ANY (${endedPeople}::bigint[])
             AND e.person_id = m.person AND e.entry_key = m.entry_key AND e.run_id = m.id AND m.last AND m.node IS NULL
        ), emptied AS (
          DELETE FROM hot.flow_payload p USING m
           WHERE p.customer_id = ${customerId} AND p.automation_id = ${automationId} AND p.run_id = ANY (${endedIds}::bigint[])
             AND p.run_id = m.id AND m.last AND m.node IS NULL
        )
        INSERT INTO hot.flow_step (customer_id, automation_id, run_id, person_id, at, version, happened_on, node, what, port, reason, details, no)
        SELECT ${customerId}, ${automationId}, m.id, m.person, ${now}, ${version}, (${now}::timestamptz AT TIME ZONE 'UTC')::date,
               m.from, m.what, m.port, m.reason, m.details, m.no
          FROM m WHERE m.what <> 'stays' OR m.reason IS NOT NULL`,
    'automations.move',
  );
}

/** Locks the run if it still is at the node as it was when it failed. */
export async function holdsRun(tx: Transaction, key: NodeKey, { id, failures }: DueRun): Promise<boolean> {
  const held = await tx.execute(
    sql`SELECT 1 FROM hot.flow_run r
         WHERE r.customer_id = ${key.customerId} AND r.automation_id = ${key.automationId} AND r.id = ${id} AND r.version = ${key.version}
           AND r.node = ${key.node} AND r.failures = ${failures} AND r.wake_at IS NOT NULL FOR NO KEY UPDATE`,
  );
  return held > 0;
}

/** A run that failed at this node is tried again later (D87); what was asked for it stays asked (D85). */
export async function delayRun(
  tx: Transaction,
  { customerId, automationId }: NodeKey,
  { run: { id, reason }, wakeAt }: { readonly run: DueRun; readonly wakeAt: Date },
): Promise<void> {
  await tx.execute(
    sql`UPDATE hot.flow_run r SET failures = r.failures + 1, wake_at = ${wakeAt}, reason = ${reason}
         WHERE r.customer_id = ${customerId} AND r.automation_id = ${automationId} AND r.id = ${id}`,
  );
}
