/**
 * Tags and fields of many people of a list at once. Locks people by ascending id (subscriber-store.ts); who has the tag or value already
 * is not written.
 */
import { row, sql, typed, type Queryable } from '../../db/database.ts';
import { rememberTags } from './subscriber-store.ts';
import { TAGS_MAX } from './subscriber.ts';

export interface PeopleOfList {
  readonly customerId: bigint;
  readonly listId: bigint;
  readonly ids: readonly bigint[];
}

/** Locked rows of these people, as `p (id)`. */
function lockedPeople({ customerId, listId, ids }: PeopleOfList) {
  return sql`SELECT s.id FROM subscriber s WHERE s.customer_id = ${customerId} AND s.list_id = ${listId} AND s.id = ANY (${[...ids]}::bigint[])
              ORDER BY s.id FOR NO KEY UPDATE`;
}

/** Locks these people until the transaction ends. */
export async function lockPeople(db: Queryable, people: PeopleOfList): Promise<void> {
  await db.execute(lockedPeople(people), 'audience.lock_people');
}

/** Adds the tag. Answers those who could not get it: they have as many tags as a person may have. */
export async function tagPeople(db: Queryable, people: PeopleOfList, tag: string): Promise<ReadonlySet<bigint>> {
  const { customerId, listId } = people;
  const rows = await db.query(
    { id: 'bigint', isFull: 'bool' },
    sql`WITH p AS MATERIALIZED (${lockedPeople(people)}), lacking AS (
          SELECT s.id, cardinality(s.tags) >= ${TAGS_MAX}::int AS is_full FROM p
            JOIN subscriber s ON s.customer_id = ${customerId} AND s.list_id = ${listId} AND s.id = p.id
           WHERE NOT EXISTS (SELECT 1 FROM unnest(s.tags) AS t (name) WHERE hot.fold(t.name) = hot.fold(${tag}))
        ), tagged AS (
          UPDATE subscriber s SET tags = s.tags || ARRAY[${tag}::text], updated_at = now()
            FROM lacking l WHERE s.customer_id = ${customerId} AND s.list_id = ${listId} AND s.id = l.id AND NOT l.is_full
        )
        SELECT id, is_full AS "isFull" FROM lacking`,
    'audience.tag_people',
  );
  if (rows.some(({ isFull }) => !isFull)) await rememberTags(db, { customerId, id: listId }, [tag]);
  return new Set(rows.filter(({ isFull }) => isFull).map(({ id }) => id));
}

/** Removes the tag, in whatever case it is written. */
export async function untagPeople(db: Queryable, people: PeopleOfList, tag: string): Promise<void> {
  const { customerId, listId } = people;
  await db.execute(
    sql`WITH p AS MATERIALIZED (${lockedPeople(people)})
        UPDATE subscriber s SET updated_at = now(),
               tags = ARRAY(SELECT t.name FROM unnest(s.tags) WITH ORDINALITY AS t (name, no) WHERE hot.fold(t.name) <> hot.fold(${tag}) ORDER BY t.no)
          FROM p WHERE s.customer_id = ${customerId} AND s.list_id = ${listId} AND s.id = p.id
           AND EXISTS (SELECT 1 FROM unnest(s.tags) AS t (name) WHERE hot.fold(t.name) = hot.fold(${tag}))`,
    'audience.untag_people',
  );
}

/** Writes a field; an empty value clears it. The value is one of the field's kind (field-value.ts). */
export async function setFieldOfPeople(
  db: Queryable,
  people: PeopleOfList,
  { tag, value }: { readonly tag: string; readonly value: string },
): Promise<void> {
  const { customerId, listId } = people;
  await db.execute(
    sql`WITH p AS MATERIALIZED (${lockedPeople(people)})
        UPDATE subscriber s SET updated_at = now(),
               fields = CASE WHEN ${value} = '' THEN s.fields - ${tag}::text ELSE s.fields || jsonb_build_object(${tag}::text, ${value}::text) END
          FROM p WHERE s.customer_id = ${customerId} AND s.list_id = ${listId} AND s.id = p.id
           AND coalesce(s.fields ->> ${tag}::text, '') <> ${value}`,
    'audience.set_field_of_people',
  );
}

const PERSON_ROW = row({ id: 'bigint', status: 'text', fields: typed<Readonly<Record<string, string>>>('json') });

/** Status and fields of these people, by id. */
export async function peopleById(db: Queryable, { customerId, listId, ids }: PeopleOfList) {
  const rows = await db.query(
    PERSON_ROW,
    sql`SELECT s.id, s.status, s.fields FROM subscriber s
         WHERE s.customer_id = ${customerId} AND s.list_id = ${listId} AND s.id = ANY (${[...ids]}::bigint[])`,
    'audience.people_by_id',
  );
  return new Map(rows.map((one) => [one.id, one]));
}
