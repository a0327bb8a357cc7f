/** The values of people that a rule reads: why it was true of a person, or was not. */
import { row, sql, type Queryable, type RowOf } from '../../../db/database.ts';
import { subscriberColumns } from '../subscriber-fields.ts';
import { withId } from '../subscriber-store.ts';
import type { Condition, SegmentRule } from './segment.ts';
import type { RuleOfList } from './segment-read-model.ts';

const { id, email, status, source, fields, tags, createdAt, updatedAt } = subscriberColumns;
const READ_PERSON = row({
  ...{ id: id.type, email: email.type, status: status.type, source: source.type, fields: fields.type },
  ...{ tags: tags.type, createdAt: createdAt.type, updatedAt: updatedAt.type },
  ...{ verification: 'text', verifiedAt: 'timestamptz?' },
});
type ReadPerson = RowOf<typeof READ_PERSON>;

/** Conditions about one value of a person. What the others read are many events, or a plugin's answer. */
const VALUE_NAMES = [
  'email',
  'tags',
  'status',
  'source',
  'createdAt',
  'updatedAt',
  'verification',
  'verifiedAt',
] as const;

/** Values by the names of conditions; of a field of the list by its tag. Null: the person has none. */
export type ReadValues = Readonly<Record<string, unknown>>;

/** Of each of these people the first `max`; of a rule without conditions about values nobody is read. */
export async function readValues(
  db: Queryable,
  { rule, customerId, listId }: RuleOfList,
  { ids, max }: { readonly ids: readonly bigint[]; readonly max: number },
): Promise<ReadonlyMap<bigint, ReadValues>> {
  const readers = new Map([...new Map(conditionsOf(rule).flatMap(readersOf))].slice(0, max));
  if (readers.size === 0) return new Map();
  const people = await db.query(
    READ_PERSON,
    sql`SELECT s.id, s.email, s.status, s.source, s.fields, s.tags, s.created_at AS "createdAt", s.updated_at AS "updatedAt",
               coalesce(s.verification, 'unverified') AS verification, s.verified_at AS "verifiedAt"
          FROM unnest(${[...ids]}::bigint[]) AS k (id)
         CROSS JOIN LATERAL (SELECT s.* FROM subscriber s WHERE ${withId({ customerId, listId, id: sql`k.id` })}) s`,
  );
  return new Map(
    people.map((person) => [
      person.id,
      Object.fromEntries([...readers].map(([name, read]) => [name, read(person) ?? null])),
    ]),
  );
}

function conditionsOf(rule: SegmentRule): readonly Condition[] {
  if ('all' in rule) return rule.all.flatMap(conditionsOf);
  if ('any' in rule) return rule.any.flatMap(conditionsOf);
  if ('none' in rule) return rule.none.flatMap(conditionsOf);
  return [rule];
}

type Reader = readonly [name: string, read: (person: ReadPerson) => unknown];

function readersOf(condition: Condition): readonly Reader[] {
  if ('field' in condition) {
    const { tag } = condition.field;
    return [[tag, (person) => person.fields[tag]]];
  }
  return VALUE_NAMES.filter((name) => name in condition).map((name) => [name, (person) => person[name]]);
}
