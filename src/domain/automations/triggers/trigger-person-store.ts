/** What triggers know of people: the next times of dates and timetables, who is in a segment, who has changed. Set-wise, some hundreds at once. */
import { sql, row, typed, type Queryable, type Transaction } from '../../../db/database.ts';
import { withId } from '../../audience/subscriber-store.ts';
import type { RunPerson } from '../runs/run.ts';
import type { TriggerKey, WatchedRow } from './watched-trigger.ts';

const CHANGED_ROW = row({ personId: 'bigint', changedAt: 'timestamptz', enters: 'bool', depth: 'smallint' });

const PERSON_ROW = row({ personId: 'bigint' });

/** Why a trigger looks at a person. */
export interface Change {
  /** The first of several changes. */
  readonly since: Date;
  /** Whether any of them may start flows (D72). */
  readonly enters: boolean;
  /** Flows that started one another (D83). */
  readonly depth: number;
}

/** Takes the next people who came or changed; the trigger's row is held. Answers also how many rows these were. */
export async function takeChanged(
  tx: Transaction,
  { customerId, id }: TriggerKey,
  max: number,
): Promise<{ readonly people: ReadonlyMap<bigint, Change>; readonly rows: number }> {
  const rows = await tx.query(
    CHANGED_ROW,
    sql`DELETE FROM hot.flow_changed e
         WHERE e.customer_id = ${customerId} AND e.trigger_id = ${id}
           AND e.id = ANY (ARRAY(SELECT id FROM hot.flow_changed WHERE customer_id = ${customerId} AND trigger_id = ${id} ORDER BY id LIMIT ${max}))
        RETURNING e.person_id AS "personId", e.changed_at AS "changedAt", e.enters, e.depth`,
    'automations.take_changed',
  );
  const people = new Map<bigint, Change>();
  for (const { personId, changedAt, enters, depth } of rows) {
    const known = people.get(personId) ?? { since: changedAt, enters, depth };
    people.set(personId, {
      since: changedAt < known.since ? changedAt : known.since,
      enters: enters || known.enters,
      depth: Math.max(depth, known.depth),
    });
  }
  return { people, rows: rows.length };
}

/** Who of these people came to the list after the look at all people began. */
export async function newAmong(
  db: Queryable,
  { customerId, listId, walkFrom }: Pick<WatchedRow, 'customerId' | 'listId' | 'walkFrom'>,
  ids: readonly bigint[],
): Promise<readonly bigint[]> {
  if (ids.length === 0) return [];
  const rows = await db.query(
    PERSON_ROW,
    sql`SELECT s.id AS "personId" FROM unnest(${[...ids]}::bigint[]) AS k (id)
         CROSS JOIN LATERAL (SELECT s.id, s.created_at FROM subscriber s WHERE ${withId({ customerId, listId, id: sql`k.id` })}) s
         WHERE s.created_at > ${walkFrom}`,
    'automations.new_among',
  );
  return rows.map(({ personId }) => personId);
}

/** Who of these people is judged by changes that were not taken yet: all who have some; of a look that lets nobody in those who are new. */
export async function pendingAmong(db: Queryable, row: WatchedRow, ids: readonly bigint[]): Promise<readonly bigint[]> {
  const rows = await db.query(
    PERSON_ROW,
    sql`SELECT DISTINCT person_id AS "personId" FROM hot.flow_changed
         WHERE customer_id = ${row.customerId} AND trigger_id = ${row.id} AND person_id = ANY (${[...ids]}::bigint[])`,
    'automations.pending_among',
  );
  const pending = rows.map(({ personId }) => personId);
  return row.walkEnters ? pending : newAmong(db, row, pending);
}

/** The ids of the next people of the list. */
export async function nextPeople(
  db: Queryable,
  { customerId, listId }: { readonly customerId: bigint; readonly listId: bigint },
  { after, max }: { readonly after: bigint; readonly max: number },
): Promise<readonly bigint[]> {
  const rows = await db.query(
    { id: 'bigint' },
    sql`SELECT s.id FROM subscriber s WHERE s.customer_id = ${customerId} AND s.list_id = ${listId} AND s.id > ${after} ORDER BY s.id LIMIT ${max}`,
    'automations.next_people',
  );
  return rows.map(({ id }) => id);
}

const FIELDS = typed<RunPerson['fields']>('json');
const KNOWN_ROW = row({
  personId: 'bigint',
  fields: FIELDS,
  dueAt: 'timestamptz?',
  dueOn: 'date?',
  firedOn: 'date?',
});

/** These people as they are now, with what the trigger knows of them. */
export function knownPeople(
  db: Queryable,
  { customerId, id, listId }: TriggerKey & { readonly listId: bigint },
  ids: readonly bigint[],
) {
  return db.query(
    KNOWN_ROW,
    sql`SELECT s.id AS "personId", s.fields, p.due_at AS "dueAt", p.due_on AS "dueOn", p.fired_on AS "firedOn"
          FROM unnest(${[...ids]}::bigint[]) AS k (id)
         CROSS JOIN LATERAL (SELECT s.id, s.fields FROM subscriber s WHERE ${withId({ customerId, listId, id: sql`k.id` })}) s
          LEFT JOIN LATERAL (SELECT p.due_at, p.due_on, p.fired_on FROM hot.flow_trigger_person p
                              WHERE p.customer_id = ${customerId} AND p.trigger_id = ${id} AND p.person_id = s.id OFFSET 0) p ON true`,
    'automations.known_people',
  );
}

const DUE_ROW = row({
  personId: 'bigint',
  fields: typed<RunPerson['fields'] | null>('json?'),
  dueAt: 'timestamptz',
  dueOn: 'date',
});

/** For whom a slot has come, the earliest first; without fields: not on the list any more. */
export function duePeople(
  db: Queryable,
  { customerId, id, listId }: TriggerKey & { readonly listId: bigint },
  { now, max }: { readonly now: Date; readonly max: number },
) {
  return db.query(
    DUE_ROW,
    sql`SELECT p.person_id AS "personId", s.fields, p.due_at AS "dueAt", p.due_on AS "dueOn"
          FROM hot.flow_trigger_person p
          LEFT JOIN LATERAL (SELECT s.fields FROM subscriber s WHERE ${withId({ customerId, listId, id: sql`p.person_id` })}) s ON true
         WHERE p.customer_id = ${customerId} AND p.trigger_id = ${id} AND p.due_at <= ${now} ORDER BY p.due_at, p.person_id LIMIT ${max}`,
    'automations.due_people',
  );
}

export interface Plan {
  readonly personId: bigint;
  readonly dueAt: Date | null;
  readonly dueOn: string | null;
  readonly firedOn: string | null;
}

export async function writePlans(
  tx: Transaction,
  { customerId, id }: TriggerKey,
  plans: readonly Plan[],
): Promise<void> {
  if (plans.length === 0) return;
  await tx.execute(
    sql`INSERT INTO hot.flow_trigger_person (customer_id, trigger_id, person_id, due_at, due_on, fired_on)
        SELECT ${customerId}, ${id}, p.person, p.due_at, p.due_on, p.fired_on
          FROM unnest(${plans.map(({ personId }) => personId)}::bigint[], ${plans.map(({ dueAt }) => dueAt)}::timestamptz[],
                      ${plans.map(({ dueOn }) => dueOn)}::date[], ${plans.map(({ firedOn }) => firedOn)}::date[]) AS p (person, due_at, due_on, fired_on)
        ON CONFLICT (customer_id, trigger_id, person_id) DO UPDATE
          SET due_at = excluded.due_at, due_on = excluded.due_on, fired_on = excluded.fired_on`,
    'automations.write_plans',
  );
}

/** Removes these people from the memory of the trigger; answers those whom the trigger knew. */
export async function removePeople(
  tx: Transaction,
  { customerId, id }: TriggerKey,
  ids: readonly bigint[],
): Promise<readonly bigint[]> {
  if (ids.length === 0) return [];
  const rows = await tx.query(
    PERSON_ROW,
    sql`DELETE FROM hot.flow_trigger_person WHERE customer_id = ${customerId} AND trigger_id = ${id} AND person_id = ANY (${[...ids]}::bigint[])
        RETURNING person_id AS "personId"`,
    'automations.remove_people',
  );
  return rows.map(({ personId }) => personId);
}

/** Remembers that these people are in the segment; answers those of whom it was not known. */
export async function rememberPeople(
  tx: Transaction,
  { customerId, id }: TriggerKey,
  ids: readonly bigint[],
): Promise<readonly bigint[]> {
  const rows = await tx.query(
    PERSON_ROW,
    sql`INSERT INTO hot.flow_trigger_person (customer_id, trigger_id, person_id)
        SELECT ${customerId}, ${id}, p.person FROM unnest(${[...ids]}::bigint[]) AS p (person)
        ON CONFLICT (customer_id, trigger_id, person_id) DO NOTHING
        RETURNING person_id AS "personId"`,
    'automations.remember_people',
  );
  return rows.map(({ personId }) => personId);
}

/** The next people who are known of the segment, from one id (not itself) up to another; null: without end. */
export async function membersBetween(
  db: Queryable,
  { customerId, id }: TriggerKey,
  { after, upTo, max }: { readonly after: bigint; readonly upTo: bigint | null; readonly max: number },
): Promise<readonly bigint[]> {
  const rows = await db.query(
    PERSON_ROW,
    sql`SELECT person_id AS "personId" FROM hot.flow_trigger_person
         WHERE customer_id = ${customerId} AND trigger_id = ${id} AND person_id > ${after} AND (${upTo}::bigint IS NULL OR person_id <= ${upTo}::bigint)
         ORDER BY person_id LIMIT ${max}`,
    'automations.members_between',
  );
  return rows.map(({ personId }) => personId);
}

/** Deletes at most so many rows of a trigger that is gone; then the trigger. Answers how many rows these were. */
export async function eraseTrigger(
  db: Queryable,
  { customerId, automationId, id }: TriggerKey,
  max: number,
): Promise<number> {
  for (const table of ['flow_trigger_person', 'flow_changed', 'flow_slot'] as const) {
    const name = sql([`hot.${table}`]);
    const erased = await db.execute(
      sql`DELETE FROM ${name} WHERE customer_id = ${customerId} AND trigger_id = ${id}
             AND ctid = ANY (ARRAY(SELECT ctid FROM ${name} WHERE customer_id = ${customerId} AND trigger_id = ${id} LIMIT ${max}))`,
    );
    if (erased > 0) return erased;
  }
  return db.execute(
    sql`DELETE FROM hot.flow_trigger t WHERE t.customer_id = ${customerId} AND t.automation_id = ${automationId} AND t.id = ${id}`,
  );
}

export interface SlotCount {
  readonly day: string;
  readonly entered: number;
  readonly refused: number;
  readonly notMatching: number;
  readonly late: number;
}

/** Adds to what came of the trigger's days. */
export async function addToSlots(
  tx: Transaction,
  { customerId, automationId, id }: TriggerKey,
  counts: readonly SlotCount[],
): Promise<void> {
  if (counts.length === 0) return;
  await tx.execute(
    sql`INSERT INTO hot.flow_slot AS s (customer_id, automation_id, trigger_id, day, entered, refused, not_matching, late)
        SELECT ${customerId}, ${automationId}, ${id}, c.day, c.entered, c.refused, c."notMatching", c.late
          FROM jsonb_to_recordset(${JSON.stringify(counts)}::jsonb) AS c (day date, entered int, refused int, "notMatching" int, late int)
        ON CONFLICT (customer_id, trigger_id, day) DO UPDATE
          SET entered = s.entered + excluded.entered, refused = s.refused + excluded.refused,
              not_matching = s.not_matching + excluded.not_matching, late = s.late + excluded.late`,
    'automations.add_to_slots',
  );
}
