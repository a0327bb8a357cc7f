/** What a copy of people to another list is to write there: pure. */
import type { ChangedCopy, LockedPerson, NewCopy, PersonPair } from './copy-people-store.ts';
import { readFieldValue } from './field-value.ts';
import type { ListField } from './list-field.ts';
import { distinctTags, TAGS_MAX } from './subscriber.ts';

/** What becomes of values where the address is on the other list already (D98). */
export const CONFLICT_RULES = ['keep', 'overwrite', 'fill_empty'] as const;
export type ConflictRule = (typeof CONFLICT_RULES)[number];

export type CopyRefusal =
  | 'list_deleted'
  | 'not_subscribed'
  | 'unsubscribed_there'
  | 'too_many_tags'
  | 'plan_limit'
  | 'plan_ended';

export interface FreshCopy {
  readonly person: LockedPerson;
  readonly fields: Readonly<Record<string, string>>;
}

export interface CopyPlan {
  readonly fresh: readonly FreshCopy[];
  readonly changed: readonly ChangedCopy[];
  readonly refused: Map<bigint, CopyRefusal>;
}

interface Rules {
  readonly fields: readonly ListField[];
  readonly onConflict: ConflictRule;
}

/** Who is new there, who is changed, and who is refused. */
export function planCopies(pairs: readonly PersonPair[], { fields, onConflict }: Rules): CopyPlan {
  const fresh: FreshCopy[] = [];
  const changed: ChangedCopy[] = [];
  const refused = new Map<bigint, CopyRefusal>();
  for (const { person, there } of pairs) {
    const values = valuesFor(fields, person);
    if (person.status !== 'subscribed') refused.set(person.id, 'not_subscribed');
    else if (!there) fresh.push({ person, fields: values });
    else if (there.status === 'unsubscribed' && there.wasMoved !== true) refused.set(person.id, 'unsubscribed_there');
    else {
      const merged = mergedWith(there, { values, tags: person.tags, onConflict });
      if (merged.tags.length > TAGS_MAX) refused.set(person.id, 'too_many_tags');
      else changed.push(merged);
    }
  }
  return { fresh, changed, refused };
}

/** Values of fields with the same tags; one that the other list's field does not take is left out. */
function valuesFor(fields: readonly ListField[], { fields: given }: LockedPerson): Record<string, string> {
  const values: Record<string, string> = {};
  for (const field of fields) {
    const text = given[field.tag] ?? '';
    const value = text.trim() === '' ? undefined : readFieldValue(field, text).value;
    if (value !== undefined) values[field.tag] = value;
  }
  return values;
}

interface Merging {
  readonly values: Readonly<Record<string, string>>;
  readonly tags: readonly string[];
  readonly onConflict: ConflictRule;
}

/** Who was moved away before is subscribed again. */
function mergedWith(there: LockedPerson, { values, tags, onConflict }: Merging): ChangedCopy {
  const status = there.status === 'unsubscribed' ? 'subscribed' : there.status;
  if (onConflict === 'keep') return { id: there.id, status, fields: there.fields, tags: there.tags };
  const has = Object.entries(there.fields).filter(([, value]) => value !== '');
  const fields =
    onConflict === 'overwrite' ? { ...there.fields, ...values } : { ...values, ...Object.fromEntries(has) };
  return { id: there.id, status, fields, tags: distinctTags([...there.tags, ...tags]) };
}

export function isSame(one: ChangedCopy, there: LockedPerson | undefined): boolean {
  if (one.status !== there?.status || one.tags.length !== there.tags.length) return false;
  const tags = Object.keys({ ...one.fields, ...there.fields });
  return tags.every((tag) => one.fields[tag] === there.fields[tag]);
}

/** What a copy causes on the other list is as deep as what it causes here. */
export function depthsThere(
  depths: ReadonlyMap<bigint, number>,
  { pairs, copies }: { readonly pairs: readonly PersonPair[]; readonly copies: readonly NewCopy[] },
): [bigint, number][] {
  return [
    ...pairs.flatMap(({ person, there }): [bigint, number][] =>
      there ? [[there.id, depths.get(person.id) ?? 0]] : [],
    ),
    ...copies.map(({ id, personId }): [bigint, number] => [id, depths.get(personId) ?? 0]),
  ];
}
