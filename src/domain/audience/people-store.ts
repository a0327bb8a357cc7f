/**
 * Tags and fields of many people of a list at once. Locks people by ascending id (subscriber-store.ts); who has the tag or value already
 * is not written.
 */
import { row, sql, typed, type Queryable } from '../../db/database.ts';
import { rememberTags, withId } from './subscriber-store.ts';
import { TAGS_MAX } from './subscriber.ts';
import { EVERY_CUSTOMER } from './suppression.ts';

export interface PeopleOfList {
  readonly customerId: bigint;
  readonly listId: bigint;
  readonly ids: readonly bigint[];
}

/** Locks these people, by ascending id, until the transaction ends. */
export async function lockPeople(db: Queryable, { customerId, listId, ids }: PeopleOfList): Promise<void> {
  const ascending = [...new Set(ids)].toSorted((a, b) => (a < b ? -1 : 1));
  await db.execute(
    sql`SELECT s.id FROM unnest(${ascending}::bigint[]) AS k (id)
         CROSS JOIN LATERAL (SELECT s.id FROM subscriber s WHERE ${withId({ customerId, listId, id: sql`k.id` })} FOR NO KEY UPDATE) s`,
    'audience.lock_people',
  );
}

/** These people as they are, for a statement that changes some of them; they are locked. */
function lockedPeople({ customerId, listId, ids }: PeopleOfList) {
  return sql`SELECT s.* FROM unnest(${[...new Set(ids)]}::bigint[]) AS k (id)
              CROSS JOIN LATERAL (SELECT s.id, s.email_key, s.tags, s.fields FROM subscriber s WHERE ${withId({ customerId, listId, id: sql`k.id` })}) s`;
}

/**
 * The locked people `p` as rows `s` that are changed. Their addresses are keys, too: by old statistics the planner may take the index of addresses, and
 * read all of the customer's people when it had only ids.
 */
export function areThese({ customerId, listId, ids }: PeopleOfList) {
  return sql`s.customer_id = ${customerId} AND s.list_id = ${listId} AND s.id = ANY (${[...ids]}::bigint[])
         AND s.email_key = ANY (ARRAY(SELECT p.email_key FROM p))`;
}

/** Adds the tag. Answers those who could not get it: they have as many tags as a person may have. */
export async function tagPeople(db: Queryable, people: PeopleOfList, tag: string): Promise<ReadonlySet<bigint>> {
  await lockPeople(db, people);
  const rows = await db.query(
    { id: 'bigint', isFull: 'bool' },
    sql`WITH p AS MATERIALIZED (${lockedPeople(people)}), lacking AS MATERIALIZED (
          SELECT p.id, coalesce(cardinality(p.tags), 0) >= ${TAGS_MAX}::int AS is_full FROM p WHERE NOT ${hasTag(tag)}
        ), tagged AS (
          UPDATE subscriber s SET tags = coalesce(s.tags, ARRAY[]::text[]) || ARRAY[${tag}::text], updated_at = now()
            FROM lacking l WHERE ${areThese(people)} AND s.id = l.id AND NOT l.is_full
        )
        SELECT id, is_full AS "isFull" FROM lacking`,
    'audience.tag_people',
  );
  const list = { customerId: people.customerId, id: people.listId };
  if (rows.some(({ isFull }) => !isFull)) await rememberTags(db, list, [tag]);
  return new Set(rows.filter(({ isFull }) => isFull).map(({ id }) => id));
}

/** Whether `p` has the tag, in whatever case it is written. */
function hasTag(tag: string) {
  return sql`EXISTS (SELECT 1 FROM unnest(p.tags) AS t (name) WHERE hot.fold(t.name) = hot.fold(${tag}))`;
}

/** Removes the tag. */
export async function untagPeople(db: Queryable, people: PeopleOfList, tag: string): Promise<void> {
  await lockPeople(db, people);
  await db.execute(
    sql`WITH p AS MATERIALIZED (${lockedPeople(people)})
        UPDATE subscriber s SET updated_at = now(),
               tags = ARRAY(SELECT t.name FROM unnest(s.tags) WITH ORDINALITY AS t (name, no) WHERE hot.fold(t.name) <> hot.fold(${tag}) ORDER BY t.no)
          FROM p WHERE ${areThese(people)} AND s.id = p.id AND ${hasTag(tag)}`,
    'audience.untag_people',
  );
}

/** Writes a field; an empty value clears it. The value is one of the field's kind (field-value.ts). */
export async function setFieldOfPeople(
  db: Queryable,
  people: PeopleOfList,
  { tag, value }: { readonly tag: string; readonly value: string },
): Promise<void> {
  await lockPeople(db, people);
  await db.execute(
    sql`WITH p AS MATERIALIZED (${lockedPeople(people)})
        UPDATE subscriber s SET updated_at = now(),
               fields = CASE WHEN ${value} = '' THEN s.fields - ${tag}::text ELSE s.fields || jsonb_build_object(${tag}::text, ${value}::text) END
          FROM p WHERE ${areThese(people)} AND s.id = p.id AND coalesce(p.fields ->> ${tag}::text, '') <> ${value}`,
    'audience.set_field_of_people',
  );
}

/**
 * Whether the address of the subscriber `s` is suppressed for the customer. OFFSET 0 keeps it a look-up for each: else all suppressed addresses of a customer
 * whom the planner's statistics do not know are read.
 */
export function isSuppressed(customerId: bigint) {
  return sql`EXISTS (SELECT 1 FROM suppression x WHERE x.customer_id IN (${customerId}, ${EVERY_CUSTOMER}) AND x.email_key = s.email_key OFFSET 0)`;
}

const PERSON_ROW = row({
  id: 'bigint',
  status: 'text',
  isSuppressed: 'bool',
  fields: typed<Readonly<Record<string, string>>>('json'),
});

/** Status and fields of these people, by id. */
export async function peopleById(db: Queryable, { customerId, listId, ids }: PeopleOfList) {
  const rows = await db.query(
    PERSON_ROW,
    sql`SELECT s.id, s.status, s.fields, ${isSuppressed(customerId)} AS "isSuppressed" FROM unnest(${[...new Set(ids)]}::bigint[]) AS k (id)
         CROSS JOIN LATERAL (SELECT s.* FROM subscriber s WHERE ${withId({ customerId, listId, id: sql`k.id` })}) s`,
    'audience.people_by_id',
  );
  return new Map(rows.map((one) => [one.id, one]));
}

/** Who of these people was unsubscribed by a move to another list, and has not opted out since. */
export async function movedAmong(
  db: Queryable,
  { customerId, listId, ids }: PeopleOfList,
): Promise<ReadonlySet<bigint>> {
  if (ids.length === 0) return new Set();
  const rows = await db.query(
    { id: 'bigint' },
    sql`SELECT p.id FROM unnest(${[...ids]}::bigint[]) AS p (id)
         CROSS JOIN LATERAL (SELECT e.source FROM consent_event e
                              WHERE e.customer_id = ${customerId} AND e.list_id = ${listId} AND e.subscriber_id = p.id ORDER BY e.id DESC LIMIT 1) e
         WHERE e.source = 'move'`,
    'audience.moved_among',
  );
  return new Set(rows.map(({ id }) => id));
}
