/** Finds out who of a batch is on the list already and what the file changes for them, and writes that. */
import { sql, type Queryable, type Sql } from '../../../db/database.ts';
import { tagKey } from '../subscriber.ts';
import type { ImportRun } from './import-run.ts';
import type { PackedPeople } from './packed-people.ts';
import type { ImportedStatus } from './person.ts';
import { tellPlanner } from './tell-planner.ts';

/** Somebody on the list for whom the file says something new. */
export interface ChangedPerson {
  readonly id: string;
  /** Row in the batch. */
  readonly row: number;
  /** Undefined: the status stays. */
  readonly status: ImportedStatus | undefined;
  readonly newTags: readonly string[];
}

export interface KnownPeople {
  /** Rows of people who are on the list. */
  readonly rows: ReadonlySet<number>;
  readonly changed: readonly ChangedPerson[];
}

/**
 * The one person of this address. Who asks for more than one writes it as a look-up for each (LATERAL), in a batch's
 * transaction: sorting is off there, and only the index of addresses answers in their order without it. Left to choose,
 * the planner takes the index of the list's members for as good wherever it believes the list to be empty (a new list, a
 * table that was vacuumed after a large deletion), and reads all of them for everybody.
 */
export function onList({ list }: ImportRun, key: Sql): Sql {
  return sql`FROM subscriber
            WHERE customer_id = ${list.customerId} AND list_id = ${list.id} AND email_key BETWEEN ${key} AND ${key}
            ORDER BY email_key LIMIT 1`;
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
export async function findKnownPeople(
  db: Queryable,
  run: ImportRun,
  { people, rows }: { people: PackedPeople; rows: readonly number[] },
): Promise<KnownPeople> {
  if (rows.length === 0) return { rows: new Set(), changed: [] };
  const { found, reader } = run;
  const updates = found.updateExisting;
  const givesStatus = updates && reader.statusAt !== -1;
  const givesTags = updates && (reader.tagsAt !== -1 || reader.commonTags.length > 0);
  // Addresses and JSON hold no line breaks, and joined texts are far cheaper to send than arrays.
  const matches = await db.query<Match>(
    sql`SELECT g.position::int, s.id::text,
               g.fields IS NULL OR s.fields @> g.fields::jsonb AS "sameFields",
               g.status IS NULL OR s.status IN ('unsubscribed', g.status) OR g.status = 'unconfirmed' AS "sameStatus",
               CASE WHEN ${givesTags}::boolean THEN s.tags END AS tags
          FROM unnest(string_to_array(${people.keysText(rows)}::text, E'\n'),
                      string_to_array(${updates ? people.fieldsText(rows) : null}::text, E'\n'),
                      string_to_array(${givesStatus ? rows.map((row) => people.status(row) ?? '').join('\n') : null}::text, E'\n', ''))
               WITH ORDINALITY AS g (key, fields, status, position)
         CROSS JOIN LATERAL (SELECT id, fields, status, tags ${onList(run, sql`g.key`)}) s`,
  );
  const known = new Set<number>();
  const changed: ChangedPerson[] = [];
  for (const { position, id, sameFields, sameStatus, tags } of matches) {
    const row = rows[position - 1];
    if (row === undefined) continue;
    known.add(row);
    const newTags = tags ? tagsToAdd(people.tags(row), tags) : [];
    if (sameFields && sameStatus && newTags.length === 0) continue;
    changed.push({ id, row, status: sameStatus ? undefined : people.status(row), newTags });
  }
  return { rows: known, changed };
}

function tagsToAdd(given: readonly string[], present: readonly string[]): string[] {
  const keys = new Set(present.map(tagKey));
  return given.filter((tag) => !keys.has(tagKey(tag)));
}

/** Locks who is about to be changed, in the order of ids. */
export async function lockKnownPeople(db: Queryable, run: ImportRun, changed: readonly ChangedPerson[]): Promise<void> {
  if (changed.length === 0) return;
  // Of a list that it takes for empty it would read everybody, and set each beside all who are changed.
  run.plannerKnows = await tellPlanner(db, run.found, run.plannerKnows);
  const { customerId, id: listId } = run.list;
  await db.query(sql`
    SELECT count(*) FROM (
      SELECT 1 FROM subscriber
       WHERE customer_id = ${customerId} AND list_id = ${listId} AND id = ANY (${changed.map(({ id }) => id)}::bigint[])
       ORDER BY id FOR NO KEY UPDATE) AS locked`);
}

/** Writes what the file changes, with an entry in the history for every change of status. Answers how many were changed. */
export async function updateKnownPeople(
  db: Queryable,
  run: ImportRun,
  { people, changed }: { people: PackedPeople; changed: readonly ChangedPerson[] },
): Promise<number> {
  if (changed.length === 0) return 0;
  const { customerId, id: listId } = run.list;
  const [answer] = await db.query<{ updated: number }>(
    sql`WITH changed AS (
          UPDATE subscriber s
             SET fields = s.fields || g.fields::jsonb,
                 tags = CASE WHEN g.tags IS NULL THEN s.tags ELSE s.tags || ARRAY(SELECT jsonb_array_elements_text(g.tags::jsonb)) END,
                 -- Whoever unsubscribed while this batch was on its way stays so too.
                 status = CASE WHEN s.status = 'unsubscribed' THEN s.status ELSE coalesce(g.status, s.status) END,
                 pending_until = CASE WHEN g.status IS NULL THEN s.pending_until END,
                 updated_at = now()
            FROM unnest(${changed.map(({ id }) => id)}::bigint[],
                        string_to_array(${people.fieldsText(changed.map(({ row }) => row))}::text, E'\n'),
                        ${changed.map(({ status }) => status ?? null)}::text[],
                        ${changed.map(({ newTags }) => (newTags.length > 0 ? JSON.stringify(newTags) : null))}::text[])
                 AS g (id, fields, status, tags)
           WHERE s.customer_id = ${customerId} AND s.list_id = ${listId} AND s.id = g.id
          RETURNING s.id, s.status, g.status AS asked),
        logged AS (
          INSERT INTO consent_event (customer_id, list_id, subscriber_id, status, source)
          SELECT ${customerId}, ${listId}, id, status, ${run.source} FROM changed WHERE status = asked)
        SELECT count(*)::int AS updated FROM changed`,
  );
  return answer?.updated ?? 0;
}
