/** What of a list uses a custom field: segments, campaigns that are not done, its own settings, imports under way. */
import { row, sql, typed, type Queryable, type RowOf } from '../../db/database.ts';
import { namesField } from '../flow-uses/flow-use.ts';
import type { SegmentRule } from './segments/segment.ts';

interface FieldOfList {
  readonly customerId: bigint;
  readonly listId: bigint;
  readonly tag: string;
}

/** Of a segment's rule, at any depth: the conditions on the field `$tag`, and on its changes. */
const FIELD_IN_RULE = sql`'$.** ? (@.field.tag == $tag || @.did.field == $tag || @.didNot.field == $tag)'`;

const SEGMENT_OF_FIELD = row({ name: 'text', rule: typed<SegmentRule>('json') });

/** Segments whose rule has a condition on the field. */
export function segmentsOfField(
  db: Queryable,
  { customerId, listId, tag }: FieldOfList,
): Promise<RowOf<typeof SEGMENT_OF_FIELD>[]> {
  return db.query(
    SEGMENT_OF_FIELD,
    sql`SELECT name, rule FROM segment
         WHERE customer_id = ${customerId} AND list_id = ${listId}
           AND jsonb_path_exists(rule, ${FIELD_IN_RULE}, jsonb_build_object('tag', ${tag}::text))
         ORDER BY id`,
  );
}

/**
 * Names of campaigns to the list that are scheduled or under way and name the field in their message, or in the rule that they
 * took from their segment when they began: the segment may have another one since.
 */
export async function campaignsOfField(
  db: Queryable,
  { customerId, listId, tag }: FieldOfList,
  max: number,
): Promise<string[]> {
  const named = namesField(tag);
  const rows = await db.query(
    { name: 'text' },
    sql`SELECT name FROM campaign
         WHERE customer_id = ${customerId} AND list_id = ${listId} AND status IN ('scheduled', 'queued', 'sending', 'paused')
           AND (concat_ws(' ', subject, preheader, from_name, html, plain) ~* ${named}
                OR jsonb_path_exists(segment_snapshot, ${FIELD_IN_RULE}, jsonb_build_object('tag', ${tag}::text)))
         ORDER BY id LIMIT ${max}`,
  );
  return rows.map(({ name }) => name);
}

/** Whether the list reads people's time zones from the field. */
export async function isTimezoneField(db: Queryable, { customerId, listId, tag }: FieldOfList): Promise<boolean> {
  const lists = await db.execute(
    sql`SELECT 1 FROM mail_list WHERE customer_id = ${customerId} AND id = ${listId} AND timezone_tag = ${tag}`,
  );
  return lists > 0;
}

/** Whether an import into the list is running: it has read the fields already. One that waits reads them later. */
export async function isImporting(
  db: Queryable,
  { customerId, listId }: Pick<FieldOfList, 'customerId' | 'listId'>,
): Promise<boolean> {
  const imports = await db.execute(
    sql`SELECT 1 FROM mail_list_import
         WHERE customer_id = ${customerId} AND list_id = ${listId} AND status = 'running' LIMIT 1`,
  );
  return imports > 0;
}

const STORED_VALUE = row({ id: 'bigint', email: 'text', value: 'text?' });

/** The next people of the list by id, with their value of the field; null: they have none. */
export function valuesOfField(
  db: Queryable,
  { customerId, listId, tag }: FieldOfList,
  { afterId, limit }: { readonly afterId: bigint; readonly limit: number },
): Promise<RowOf<typeof STORED_VALUE>[]> {
  return db.query(
    STORED_VALUE,
    sql`SELECT id, email, fields ->> ${tag}::text AS value FROM subscriber
         WHERE customer_id = ${customerId} AND list_id = ${listId} AND id > ${afterId} ORDER BY id LIMIT ${limit}`,
    'audience.values_of_field',
  );
}
