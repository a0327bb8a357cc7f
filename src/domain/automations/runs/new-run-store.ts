/** Puts people into flows: their runs, payloads, first steps and counts, in one statement for a thousand. */
import { sql, type Transaction } from '../../../db/database.ts';
import type { FlowPayload } from '../flow/flow-payload.ts';
import { countEntries } from './node-count-store.ts';
import type { Place, Run, VersionKey } from './run.ts';

export interface NewRun {
  readonly run: Run;
  readonly to: Place;
  readonly payload: FlowPayload | null;
  /** The trigger that brought the person. */
  readonly reason: string;
}

/** Puts people in at their first node; their entries are made already (entry-store.ts). */
export async function insertRuns(tx: Transaction, key: VersionKey, runs: readonly NewRun[]): Promise<void> {
  if (runs.length === 0) return;
  const { customerId, automationId, version } = key;
  const rows = runs.map(({ run, to, payload, reason }) => ({
    ...{ id: String(run.id), person: String(run.personId), entered: run.enteredAt, depth: run.depth },
    ...{ entry_key: run.entryKey, node: to.node, state: to.state, wake: to.wakeAt, payload, reason },
    ...{ passes: run.passes, has_left: run.hasLeft, done: run.done ?? null },
    ...(run.eventsAfter === 0n ? {} : { event_id: String(run.eventsAfter), event_at: run.eventsFrom }),
  }));
  await tx.execute(
    sql`WITH m AS MATERIALIZED (
          SELECT * FROM jsonb_to_recordset(${JSON.stringify(rows)}::jsonb)
            AS m (id bigint, person bigint, entered timestamptz, depth smallint, entry_key text, node text,
                  state hot.flow_state, wake timestamptz, payload jsonb, reason text, passes jsonb, has_left boolean, done jsonb, event_id bigint, event_at timestamptz)
        ), run AS (
          INSERT INTO hot.flow_run (customer_id, automation_id, id, person_id, entered_at, since, wake_at, version, state, depth, node, entry_key, passes, has_left, done, event_id, event_at, steps)
          SELECT ${customerId}, ${automationId}, m.id, m.person, m.entered, m.entered, m.wake, ${version}, m.state, m.depth, m.node, m.entry_key, nullif(m.passes, 'null'), m.has_left, nullif(m.done, 'null'), m.event_id, m.event_at, 1 FROM m
        ), payload AS (
          INSERT INTO hot.flow_payload (customer_id, automation_id, run_id, payload)
          SELECT ${customerId}, ${automationId}, m.id, m.payload FROM m WHERE jsonb_typeof(m.payload) = 'object'
        )
        INSERT INTO hot.flow_step (customer_id, automation_id, run_id, person_id, at, version, happened_on, node, what, reason, no)
        SELECT ${customerId}, ${automationId}, m.id, m.person, m.entered, ${version}, (m.entered AT TIME ZONE 'UTC')::date, m.node, 'entered', m.reason, 1 FROM m`,
    'automations.insert_runs',
  );
  countEntries(
    tx,
    key,
    runs.map(({ to }) => to),
  );
}
