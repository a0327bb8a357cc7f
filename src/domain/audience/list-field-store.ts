/** Reads and writes of a list's custom fields. */
import { sql, type Queryable } from '../../db/database.ts';
import { newUid } from '../../lib/ids.ts';
import type { MailList } from './list-fields.ts';
import { LIST_FIELD_ROW, type FieldType, type ListField } from './list-field.ts';

export interface NewField {
  readonly type: FieldType;
  readonly label: string;
  readonly tag: string;
  readonly defaultValue: string | null;
  readonly required: boolean;
}

const COLUMNS = sql`id, uid, type, label, tag, default_value AS "defaultValue", required`;

/** Stores a field; undefined when the list has the tag already. */
export async function insertField(db: Queryable, list: MailList, field: NewField): Promise<ListField | undefined> {
  const [row] = await db.query(
    LIST_FIELD_ROW,
    sql`
    INSERT INTO list_field (customer_id, uid, list_id, type, label, tag, default_value, required)
    VALUES (${list.customerId}, ${newUid()}, ${list.id}, ${field.type}, ${field.label}, ${field.tag}, ${field.defaultValue}, ${field.required})
    ON CONFLICT (customer_id, list_id, tag) DO NOTHING
    RETURNING ${COLUMNS}`,
  );
  return row;
}

/** A list's custom fields in the order they were made. */
export async function fieldsOfList(db: Queryable, list: Pick<MailList, 'customerId' | 'id'>): Promise<ListField[]> {
  return db.query(
    LIST_FIELD_ROW,
    sql`SELECT ${COLUMNS} FROM list_field WHERE customer_id = ${list.customerId} AND list_id = ${list.id} ORDER BY id`,
    'audience.fields_of_list',
  );
}

/** The tags of several lists of one customer, in the order asked for, in one statement. */
export async function fieldTagsOfLists(
  db: Queryable,
  customerId: bigint,
  listIds: readonly bigint[],
): Promise<string[][]> {
  const rows = await db.query(
    { listId: 'bigint', tag: 'text' },
    sql`SELECT list_id AS "listId", tag FROM list_field
         WHERE customer_id = ${customerId} AND list_id = ANY (${[...listIds]}::bigint[]) ORDER BY id`,
    'audience.field_tags_of_lists',
  );
  const byList = Map.groupBy(rows, (row) => row.listId);
  return listIds.map((id) => byList.get(id)?.map((row) => row.tag) ?? []);
}
