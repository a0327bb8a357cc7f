/**
 * The statements that add the people of a slice to the list. A temporary table holds them for one transaction, and every
 * statement works on all of them at once.
 */
import { sql, row, type Sql, type Transaction, type RowOf } from '../../../db/database.ts';
import type { Installation } from '../../context.ts';
import { digestIn } from '../erasing/erased-person-store.ts';
import { TAGS_MAX } from '../subscriber.ts';
import { EVERY_CUSTOMER } from '../suppression.ts';
import { endUndo } from '../undo-store.ts';
import { copyPeople } from './copy-format.ts';
import type { ListImport } from './list-import.ts';
import type { Person } from './person.ts';

const COPY_PEOPLE = 'COPY import_person (row, email, email_key, status, fields, tags) FROM STDIN';
/** The triggers for a list's counters hold the new rows of a slice in memory. */
const WORK_MEM = '64MB';

const OPENED_SLICE_ROW = row({
  hasSuppressions: 'bool',
  hasErased: 'bool',
  settings: 'text',
});
export type OpenedSlice = RowOf<typeof OPENED_SLICE_ROW>;

/**
 * Locks the list against deletion; undefined when the import has ended, or another process wrote the slice. A power cut may lose
 * the last slices: they are done again.
 */
export async function openSlice(tx: Transaction, found: ListImport, start: number): Promise<OpenedSlice | undefined> {
  const { customerId, listId, id, runAutomations } = found;
  const [row] = await tx.query(
    OPENED_SLICE_ROW,
    sql`SELECT set_config('work_mem', ${WORK_MEM}, true) || set_config('synchronous_commit', 'off', true)
               || set_config('enable_sort', 'off', true) -- matchPeople and lockChanged build on it
               || set_config('mailwright.run_automations', ${runAutomations ? 'on' : 'off'}, true) AS settings,
               EXISTS (SELECT 1 FROM suppression WHERE customer_id IN (${customerId}, ${EVERY_CUSTOMER})) AS "hasSuppressions",
               EXISTS (SELECT 1 FROM erased_person WHERE customer_id IN (${customerId}, ${EVERY_CUSTOMER})) AS "hasErased"
          FROM mail_list l JOIN mail_list_import i ON i.customer_id = l.customer_id AND i.list_id = l.id
         WHERE l.customer_id = ${customerId} AND l.id = ${listId} AND i.customer_id = ${customerId} AND i.id = ${id}
           AND i.status = 'running' AND i.bytes_processed = ${start}
           FOR KEY SHARE OF l`,
    'imports.open_slice',
  );
  return row;
}

/** Puts the people into a temporary table, whose size the planner knows. */
export async function stagePeople(tx: Transaction, people: Iterable<Person>): Promise<void> {
  await tx.execute(sql`
    CREATE TEMP TABLE import_person (row int, email text, email_key text, status text, fields jsonb, tags text[]) ON COMMIT DROP`);
  await tx.copy(COPY_PEOPLE, copyPeople(people));
  await tx.execute(sql`ANALYZE import_person (row)`);
}

/** Removes people who were erased. Returns their rows. */
export async function removeErased(tx: Transaction, found: ListImport, installation: Installation): Promise<number[]> {
  const removed = await tx.query(
    { row: 'int' },
    sql`
    DELETE FROM import_person g USING erased_person p
     WHERE p.customer_id IN (${found.customerId}, ${EVERY_CUSTOMER}) AND p.digest = ${digestIn(installation, sql`g.email_key`)}
    RETURNING g.row`,
  );
  // Erased by the customer and by the installation.
  return [...new Set(removed.map(({ row }) => row))];
}

const SUPPRESSED_ROW = row({
  row: 'int',
  /** By the customer's own entry only: why the installation suppresses an address is not shown to customers. */
  reason: 'text?',
});
export type SuppressedRow = RowOf<typeof SUPPRESSED_ROW>;

/** Removes people whose address is suppressed. */
export async function removeSuppressed(tx: Transaction, { customerId }: ListImport): Promise<SuppressedRow[]> {
  return tx.query(
    SUPPRESSED_ROW,
    sql`
    DELETE FROM import_person g
     USING (SELECT h.row, min(p.reason) FILTER (WHERE p.customer_id <> ${EVERY_CUSTOMER}) AS reason
              FROM import_person h
              JOIN suppression p ON p.customer_id IN (${customerId}, ${EVERY_CUSTOMER}) AND p.email_key = h.email_key
             GROUP BY h.row) b
     WHERE b.row = g.row
    RETURNING g.row, b.reason`,
  );
}

export interface Matches {
  /** People who are on the list. */
  readonly known: number;
  /** Those of them for whom the file has something new. */
  readonly changed: number;
}

/**
 * Finds out who is on the list and what the file changes for them. A status in the file changes a person's, except that
 * unsubscribed people stay so, and that `unconfirmed` never replaces another status. Without "update existing" nobody is changed.
 *
 * People are looked up by the address alone. Sorting is off in the transaction, and only the index of addresses answers
 * in their order without it: left to choose, the planner takes the index of the list's members for as good wherever it
 * believes the list to be empty, and reads all of them for everybody (docs/decisions/0390).
 */
export async function matchPeople(tx: Transaction, found: ListImport): Promise<Matches> {
  const { customerId, listId, updateExisting } = found;
  await tx.execute(
    sql`CREATE TEMP TABLE import_match (row int, id bigint, is_changed boolean, fields jsonb, status text, tags text[],
                                        has_other_changes boolean) ON COMMIT DROP`,
  );
  const known = await tx.execute(sql`
    INSERT INTO import_match
    SELECT g.row, s.id, c.is_changed, CASE WHEN c.is_changed THEN g.fields END, n.status, n.tags, n.has_other_changes
      FROM import_person g
     CROSS JOIN LATERAL (SELECT id, fields, status, tags FROM subscriber
                          WHERE customer_id = ${customerId} AND list_id = ${listId} AND email_key BETWEEN g.email_key AND g.email_key
                          ORDER BY email_key LIMIT 1) s
     CROSS JOIN LATERAL (SELECT CASE WHEN s.status <> 'unsubscribed' AND g.status NOT IN (s.status, 'unconfirmed') THEN g.status END AS status) w
     CROSS JOIN LATERAL (SELECT w.status, CASE WHEN s.tags @> g.tags THEN '{}' ELSE ${tagsToAdd()} END AS tags,
                                NOT s.fields @> g.fields OR w.status IS NOT NULL AS has_other_changes OFFSET 0) n
     CROSS JOIN LATERAL (SELECT ${updateExisting}::boolean AND (n.has_other_changes OR n.tags <> '{}') AS is_changed) c`);
  if (known === 0) return { known, changed: 0 };
  await tx.execute(sql`ANALYZE import_match (id, is_changed)`);
  const [counted] = await tx.query(
    { changed: 'int' },
    sql`SELECT count(*)::int AS changed FROM import_match WHERE is_changed`,
  );
  return { known, changed: counted?.changed ?? 0 };
}

/** Tags of g that s does not have in any spelling. */
function tagsToAdd(): Sql {
  return sql`ARRAY(SELECT t.tag FROM unnest(g.tags) WITH ORDINALITY AS t (tag, no)
                    WHERE hot.fold(t.tag) <> ALL (ARRAY(SELECT hot.fold(h) FROM unnest(s.tags) h)) ORDER BY t.no)`;
}

const FULL_ROW = row({
  row: 'int',
  /** As the person has them. */
  tags: 'text[]',
});

/**
 * Locks the people to be changed, in the order of ids; each by id alone, as in `matchPeople`. Returns those who would have too
 * many tags. OFFSET 0: everybody is locked before those are picked.
 */
export async function lockChanged(
  tx: Transaction,
  { customerId, listId }: Pick<ListImport, 'customerId' | 'listId'>,
): Promise<RowOf<typeof FULL_ROW>[]> {
  return tx.query(
    FULL_ROW,
    sql`
    SELECT x.row, x.tags
      FROM (SELECT m.row, m.added, s.tags
              FROM (SELECT row, id, cardinality(tags) AS added FROM import_match WHERE is_changed ORDER BY id) m
             CROSS JOIN LATERAL (SELECT tags FROM subscriber
                                  WHERE customer_id = ${customerId} AND list_id = ${listId} AND id BETWEEN m.id AND m.id
                                  ORDER BY id LIMIT 1 FOR NO KEY UPDATE) s
            OFFSET 0) x
     WHERE x.added > 0 AND cardinality(x.tags) + x.added > ${TAGS_MAX}`,
  );
}

/** The tags that a person of the slice is given; `row`: the person's place in it. */
export interface TagsOfRow {
  readonly row: number;
  readonly tags: readonly string[];
}

/** Replaces what is added to these people's tags. */
export async function replaceTags(tx: Transaction, people: readonly TagsOfRow[]): Promise<void> {
  const given = sql`jsonb_to_recordset(${JSON.stringify(people)}::jsonb) AS n (row int, tags text[])`;
  await tx.execute(sql`UPDATE import_person g SET tags = n.tags FROM ${given} WHERE g.row = n.row`);
  await tx.execute(sql`
    UPDATE import_match m SET tags = n.tags, is_changed = m.is_changed AND (m.has_other_changes OR n.tags <> '{}') FROM ${given} WHERE m.row = n.row`);
}

const NEW = sql`FROM import_person g WHERE NOT EXISTS (SELECT FROM import_match m WHERE m.row = g.row)`;

/** Removes the new people after the first `left` in the order of the file. Returns their rows. */
export async function removeSurplus(tx: Transaction, left: number): Promise<number[]> {
  const removed = await tx.query(
    { row: 'int' },
    sql`
    DELETE FROM import_person p USING (SELECT g.row ${NEW} ORDER BY g.row OFFSET ${Math.max(0, left)}) x
     WHERE x.row = p.row RETURNING p.row`,
  );
  return removed.map(({ row }) => row);
}

const INCOMPLETE_ROW = row({ row: 'int', tag: 'text' });

/** Removes new people who have no value of one of these fields. Returns their rows with the first such field. */
export async function removeIncomplete(
  tx: Transaction,
  requiredTags: readonly string[],
): Promise<RowOf<typeof INCOMPLETE_ROW>[]> {
  if (requiredTags.length === 0) return [];
  return tx.query(
    INCOMPLETE_ROW,
    sql`
    DELETE FROM import_person p
     USING (SELECT g.row, (SELECT t.tag FROM unnest(${[...requiredTags]}::text[]) WITH ORDINALITY AS t (tag, no)
                            WHERE NOT g.fields ? t.tag ORDER BY t.no LIMIT 1) AS tag ${NEW}) x
     WHERE x.row = p.row AND x.tag IS NOT NULL AND p.status IS DISTINCT FROM 'unsubscribed' RETURNING p.row, x.tag`,
  );
}

/**
 * Adds new people, with the defaults where they have no value, and returns their number. The consent history of an imported person begins with the row itself: source, time,
 * and `subscribed`. Only another first status gets an entry; one for everybody would double the writes.
 */
export async function insertNew(
  tx: Transaction,
  { customerId, listId, uid }: ListImport,
  defaults: Readonly<Record<string, string>>,
): Promise<number> {
  const fields =
    Object.keys(defaults).length === 0 ? sql`g.fields` : sql`${JSON.stringify(defaults)}::jsonb || g.fields`;
  const source = `import:${uid}`;
  const [counted] = await tx.query(
    { added: 'int' },
    sql`
    WITH added AS (
      INSERT INTO subscriber (customer_id, list_id, source, email, email_key, status, fields, tags)
      SELECT ${customerId}, ${listId}, ${source}, g.email, g.email_key, coalesce(g.status, 'subscribed'), ${fields}, g.tags
        ${NEW} ORDER BY g.row
      RETURNING id, status),
    logged AS (
      INSERT INTO consent_event (customer_id, list_id, subscriber_id, status, source)
      SELECT ${customerId}, ${listId}, id, status, ${source} FROM added WHERE status <> 'subscribed' ORDER BY id)
    SELECT count(*)::int AS added FROM added`,
  );
  return counted?.added ?? 0;
}

/** Writes the changes of the file, with a history entry for every change of status. Returns how many people were changed. */
export async function updateChanged(tx: Transaction, { customerId, listId, uid }: ListImport): Promise<number> {
  const [counted] = await tx.query(
    { updated: 'int' },
    sql`
    WITH changed AS (
      UPDATE subscriber s
         SET fields = s.fields || m.fields,
             tags = s.tags || m.tags,
             -- Whoever unsubscribed while this slice was on its way stays so too.
             status = CASE WHEN s.status = 'unsubscribed' THEN s.status ELSE coalesce(m.status, s.status) END,
             pending_until = CASE WHEN m.status IS NULL THEN s.pending_until END,
             updated_at = now()
        FROM import_match m
       WHERE m.is_changed AND s.customer_id = ${customerId} AND s.list_id = ${listId} AND s.id = m.id
      RETURNING s.id, s.status, m.status AS asked),
    logged AS (
      INSERT INTO consent_event (customer_id, list_id, subscriber_id, status, source)
      SELECT ${customerId}, ${listId}, id, status, ${`import:${uid}`} FROM changed WHERE status = asked ORDER BY id)
    SELECT count(*)::int AS updated FROM changed`,
  );
  return counted?.updated ?? 0;
}

/**
 * A row that says `unsubscribed` of somebody who is unsubscribed already ends the undo of the person's click. People whom another
 * transaction has locked are passed over, so that nobody waits for a lock out of the order of ids.
 */
export async function endUndos(tx: Transaction, { customerId, listId, uid }: ListImport): Promise<void> {
  await endUndo(
    tx,
    sql`SELECT s.customer_id, s.list_id, s.id
          FROM (SELECT m.id FROM import_match m JOIN import_person g ON g.row = m.row WHERE g.status = 'unsubscribed' OFFSET 0) m
         CROSS JOIN LATERAL (SELECT customer_id, list_id, id, status FROM subscriber
                              WHERE customer_id = ${customerId} AND list_id = ${listId} AND id BETWEEN m.id AND m.id
                              ORDER BY id LIMIT 1 FOR NO KEY UPDATE SKIP LOCKED) s
         WHERE s.status = 'unsubscribed'`,
    { source: `import:${uid}`, ipAddress: null },
  );
}
