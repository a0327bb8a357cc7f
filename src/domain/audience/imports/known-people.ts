/** Finds out who of a batch is on the list already and what the file changes for them, and writes that. */
import { sql, type Queryable } from '../../../db/database.ts';
import { tagKey } from '../subscriber.ts';
import { fieldsWriter } from './copy-text.ts';
import type { ImportRun } from './import-run.ts';
import type { ImportedStatus, Person } from './person.ts';

/** Somebody on the list for whom the file says something new. */
export interface ChangedPerson {
  readonly id: string;
  readonly person: Person;
  /** Undefined: the status stays. */
  readonly status: ImportedStatus | undefined;
  readonly newTags: readonly string[];
}

export interface KnownPeople {
  /** Addresses that are on the list. */
  readonly keys: ReadonlySet<string>;
  readonly changed: readonly ChangedPerson[];
}

interface Match {
  readonly position: number;
  readonly id: string;
  readonly sameFields: boolean;
  readonly sameStatus: boolean;
  readonly tags: readonly string[] | null;
}

/**
 * Looks people up by address. A status in the file moves a person, except that who unsubscribed stays so, and that
 * `unconfirmed` takes nothing back from anybody. Without "update existing" nobody is changed.
 */
export async function findKnownPeople(db: Queryable, run: ImportRun, people: readonly Person[]): Promise<KnownPeople> {
  if (people.length === 0) return { keys: new Set(), changed: [] };
  const updates = run.found.updateExisting;
  const toJson = fieldsWriter(run.reader.fieldColumns);
  // Addresses and JSON hold no line breaks, and joined texts are far cheaper to send than arrays.
  const matches = await db.query<Match>(
    sql`SELECT g.position::int, s.id::text,
               g.fields IS NULL OR s.fields @> g.fields::jsonb AS "sameFields",
               g.status IS NULL OR s.status IN ('unsubscribed', g.status) OR g.status = 'unconfirmed' AS "sameStatus",
               CASE WHEN ${updates && run.reader.givesTags}::boolean THEN s.tags END AS tags
          FROM unnest(string_to_array(${people.map(({ key }) => key).join('\n')}::text, E'\n'),
                      string_to_array(${updates ? people.map(toJson).join('\n') : null}::text, E'\n'),
                      string_to_array(${updates && run.reader.givesStatus ? people.map(({ status }) => status ?? '').join('\n') : null}::text, E'\n', ''))
               WITH ORDINALITY AS g (key, fields, status, position)
         -- The limit keeps this a look-up by address for each, whatever the planner thinks of the list's size.
         CROSS JOIN LATERAL (
           SELECT id, fields, status, tags FROM subscriber
            WHERE customer_id = ${run.list.customerId} AND email_key = g.key AND list_id = ${run.list.id} LIMIT 1) s`,
    'imports.find_known',
  );
  const keys = new Set<string>();
  const changed: ChangedPerson[] = [];
  for (const match of matches) {
    const person = people[match.position - 1];
    if (!person) continue;
    keys.add(person.key);
    const newTags = match.tags ? tagsToAdd(person.tags, match.tags) : [];
    if (match.sameFields && match.sameStatus && newTags.length === 0) continue;
    changed.push({ id: match.id, person, status: match.sameStatus ? undefined : person.status, newTags });
  }
  return { keys, changed };
}

function tagsToAdd(given: readonly string[], present: readonly string[]): string[] {
  const keys = new Set(present.map(tagKey));
  return given.filter((tag) => !keys.has(tagKey(tag)));
}

/** Writes what the file changes, with an entry in the history for every change of status. Answers how many were changed. */
export async function updateKnownPeople(
  db: Queryable,
  run: ImportRun,
  changed: readonly ChangedPerson[],
): Promise<number> {
  if (changed.length === 0) return 0;
  const toJson = fieldsWriter(run.reader.fieldColumns);
  const { customerId, id: listId } = run.list;
  const [row] = await db.query<{ updated: number }>(
    sql`WITH changed AS (
          UPDATE subscriber s
             SET fields = s.fields || g.fields::jsonb,
                 tags = CASE WHEN g.tags IS NULL THEN s.tags ELSE s.tags || ARRAY(SELECT jsonb_array_elements_text(g.tags::jsonb)) END,
                 -- Whoever unsubscribed while this batch was on its way stays so too.
                 status = CASE WHEN s.status = 'unsubscribed' THEN s.status ELSE coalesce(g.status, s.status) END,
                 pending_until = CASE WHEN g.status IS NULL THEN s.pending_until END,
                 updated_at = now()
            FROM unnest(${changed.map(({ id }) => id)}::bigint[], ${changed.map(({ person }) => toJson(person))}::text[],
                        ${changed.map(({ status }) => status ?? null)}::text[],
                        ${changed.map(({ newTags }) => (newTags.length > 0 ? JSON.stringify(newTags) : null))}::text[])
                 AS g (id, fields, status, tags)
           WHERE s.customer_id = ${customerId} AND s.list_id = ${listId} AND s.id = g.id
          RETURNING s.id, s.status, g.status AS asked),
        logged AS (
          INSERT INTO consent_event (customer_id, list_id, subscriber_id, status, source)
          SELECT ${customerId}, ${listId}, id, status, ${run.source} FROM changed WHERE status = asked)
        SELECT count(*)::int AS updated FROM changed`,
    'imports.update_known',
  );
  return row?.updated ?? 0;
}
