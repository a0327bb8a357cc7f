/** Writes and reads of what happens to people. */
import { sql, type Queryable } from '../db/database.ts';
import { notify } from '../db/listen.ts';
import {
  PERSON_EVENT_KINDS,
  PERSON_EVENTS_CHANNEL,
  type PersonEventData,
  type PersonEventKind,
} from './person-event.ts';

export interface ListOfPeople {
  readonly customerId: bigint;
  readonly listId: bigint;
}

export interface NewPersonEvent {
  readonly personId: bigint;
  readonly kind: PersonEventKind;
  /** Now by the database's clock if absent. */
  readonly at?: Date;
  readonly depth?: number;
  /** True if absent. */
  readonly startsFlows?: boolean;
  readonly name?: string;
  readonly data?: PersonEventData | null;
}

/** Records what happened to people of a list, in one statement. `db` is the transaction in which it happens. */
export async function recordPersonEvents(
  db: Queryable,
  { customerId, listId }: ListOfPeople,
  events: readonly NewPersonEvent[],
): Promise<void> {
  if (events.length === 0) return;
  const rows = events.map(({ personId, kind, at, depth = 0, startsFlows = true, name = null, data = null }) => ({
    ...{ person: String(personId), kind: PERSON_EVENT_KINDS[kind], at, depth, starts: startsFlows, name, data },
  }));
  await db.execute(
    sql`INSERT INTO hot.person_event (customer_id, list_id, person_id, at, kind, depth, starts_flows, name, data)
        SELECT ${customerId}, ${listId}, e.person, coalesce(e.at, clock_timestamp()), e.kind, e.depth, e.starts, e.name, nullif(e.data, 'null')
          FROM ROWS FROM (jsonb_to_recordset(${JSON.stringify(rows)}::jsonb)
                          AS (person bigint, at timestamptz, kind smallint, depth smallint, starts boolean, name text, data jsonb))
               WITH ORDINALITY AS e (person, at, kind, depth, starts, name, data, no)
         ORDER BY e.no`,
    'person_events.record',
  );
  await notify(db, PERSON_EVENTS_CHANNEL, '');
}

/** Bounces are taken back no later: whole campaigns are judged by their latest recipients. */
const TAKEN_BACK_WITHIN_HOURS = 1;

/** Removes hard bounces that were recorded a moment ago: the server was wrong about many people at once. */
export async function removeHardBounces(db: Queryable, customerId: bigint, people: readonly bigint[]): Promise<void> {
  await db.execute(
    sql`DELETE FROM hot.person_event
         WHERE recorded_on >= (now() AT TIME ZONE 'UTC')::date - 1 AND customer_id = ${customerId} AND person_id = ANY (${[...people]}::bigint[]) AND at >= now() - make_interval(hours => ${TAKEN_BACK_WITHIN_HOURS})
           AND kind = ${PERSON_EVENT_KINDS.bounced} AND data ->> 'type' = 'hard'`,
    'person_events.remove_bounces',
  );
}

/** Says to the triggers, for this transaction, how deep flows have started one another, by person (D83). */
export async function setFlowDepths(db: Queryable, depths: ReadonlyMap<bigint, number>): Promise<void> {
  const text = JSON.stringify(Object.fromEntries([...depths].map(([personId, depth]) => [String(personId), depth])));
  await db.execute(sql`SELECT set_config('mailwright.flow_depths', ${text}, true)`, 'person_events.depths');
}

/** Whether the triggers record what happens to people by this transaction: not while it is recorded as something else. */
export async function setRecording(db: Queryable, isOn: boolean): Promise<void> {
  await db.execute(
    sql`SELECT set_config('mailwright.person_events', ${isOn ? '' : 'off'}, true)`,
    'person_events.set_recording',
  );
}
