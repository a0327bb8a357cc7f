/** Runs that wait at an API-call node: who they are, and what a call adds to their payloads. */
import { sql, row, typed, type Queryable, type Transaction } from '../../../db/database.ts';
import { isSuppressed } from '../../audience/people-store.ts';
import { withId } from '../../audience/subscriber-store.ts';
import type { FlowPayload } from '../flow/flow-payload.ts';
import type { DueRun, NodeKey, RunPerson, VersionKey } from '../runs/run.ts';
import { RUN_COLUMNS, RUN_ROW } from '../runs/run-store.ts';

/** What a run began with, and what a call brought, as the database writes it: with a space after each comma and colon. */
const MERGED_BYTES_MAX = 256 * 1024;

const VERSION_ROW = row({ version: 'int', waiting: 'int' });

/** The versions of the automation in which people are at this node, the newest first, and how many. */
export function versionsWaiting(db: Queryable, { customerId, automationId, node }: Omit<NodeKey, 'version'>) {
  return db.query(
    VERSION_ROW,
    sql`SELECT n.version, n.waiting::int AS waiting FROM hot.flow_node n
         WHERE n.customer_id = ${customerId} AND n.automation_id = ${automationId} AND n.node = ${node} AND n.waiting > 0
         ORDER BY n.version DESC`,
  );
}

/** The earliest first, and read anew each time: people may be moved to later ones meanwhile (D84). */
export async function* versionsInOrder(
  db: Queryable,
  key: Omit<NodeKey, 'version'>,
): AsyncGenerator<VersionKey['version']> {
  const seen = new Set<number>();
  for (;;) {
    const next = (await versionsWaiting(db, key)).findLast(({ version }) => !seen.has(version));
    if (!next) return;
    seen.add(next.version);
    yield next.version;
  }
}

const WAITING_ROW = row({
  ...RUN_ROW,
  status: 'text?',
  isSuppressed: 'bool?',
  fields: typed<RunPerson['fields'] | null>('json?'),
});

export interface WaitingQuestion {
  readonly listId: bigint;
  /** Who came later is not called. */
  readonly calledAt: Date;
  /** Null: everybody. */
  readonly personId: bigint | null;
  readonly afterId: bigint;
  readonly max: number;
}

/** Locks who waits at the node, in the order of their runs. The call or the end of the wait wins: whoever locks the row first. */
export async function lockWaiting(tx: Transaction, key: NodeKey, question: WaitingQuestion): Promise<DueRun[]> {
  const { listId, calledAt, personId, afterId, max } = question;
  const whose = personId === null ? sql`true` : sql`r.person_id = ${personId}`;
  const rows = await tx.query(
    WAITING_ROW,
    sql`SELECT ${RUN_COLUMNS}, s.status, s.fields, s."isSuppressed"
          FROM hot.flow_run r
          LEFT JOIN LATERAL (SELECT s.status, s.fields, ${isSuppressed(key.customerId)} AS "isSuppressed" FROM subscriber s
                              WHERE ${withId({ customerId: key.customerId, listId, id: sql`r.person_id` })}) s ON true
         WHERE r.customer_id = ${key.customerId} AND r.automation_id = ${key.automationId} AND r.version = ${key.version}
           AND r.node = ${key.node} AND r.state = 'waiting' AND r.since <= ${calledAt} AND r.id > ${afterId} AND ${whose}
         ORDER BY r.id LIMIT ${max} FOR NO KEY UPDATE OF r`,
  );
  return rows.map(({ status, fields, isSuppressed: suppressed, ...run }) => ({
    ...run,
    wakeAt: calledAt,
    payload: null,
    person: status === null ? null : { status, fields: fields ?? {}, isSuppressed: suppressed ?? false },
  }));
}

/**
 * Adds the values to the payloads of these runs; values of the same name are replaced. Returns the runs whose payload has room for them:
 * of the others nothing is changed.
 */
export async function addToPayloads(
  tx: Transaction,
  { customerId, automationId }: VersionKey,
  { runIds, payload }: { readonly runIds: readonly bigint[]; readonly payload: FlowPayload },
): Promise<ReadonlySet<bigint>> {
  const rows = await tx.query(
    { id: 'bigint' },
    sql`INSERT INTO hot.flow_payload AS p (customer_id, automation_id, run_id, payload)
        SELECT ${customerId}, ${automationId}, r.id, ${JSON.stringify(payload)}::jsonb FROM unnest(${[...runIds]}::bigint[]) AS r (id) ORDER BY r.id
        ON CONFLICT (customer_id, automation_id, run_id) DO UPDATE SET payload = p.payload || excluded.payload
        WHERE octet_length((p.payload || excluded.payload)::text) <= ${MERGED_BYTES_MAX}
        RETURNING run_id AS id`,
  );
  return new Set(rows.map(({ id }) => id));
}
