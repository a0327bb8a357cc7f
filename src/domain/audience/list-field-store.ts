/** Reads and writes of a list's custom fields. */
import { sql, type Queryable } from '../../db/database.ts';
import { newUid } from '../../lib/ids.ts';
import type { MailList } from './list-fields.ts';
import { LIST_FIELD_ROW, type FieldSettings, type ListField } from './list-field.ts';

export type NewField = FieldSettings & { readonly tag: string };

const COLUMNS = sql`id, uid, type, label, tag, default_value AS "defaultValue", required, visible, custom_order AS "customOrder", options`;

/** The order of a list's fields: the owner's, then in which they were made. */
export const FIELD_ORDER = sql`custom_order, id`;

/** Stores a field; undefined when the list has the tag already. */
export async function insertField(db: Queryable, list: MailList, field: NewField): Promise<ListField | undefined> {
  const [row] = await db.query(
    LIST_FIELD_ROW,
    sql`
    INSERT INTO list_field (customer_id, uid, list_id, type, label, tag, default_value, required, visible, custom_order, options)
    VALUES (${list.customerId}, ${newUid()}, ${list.id}, ${field.type}, ${field.label}, ${field.tag}, ${field.defaultValue},
            ${field.required}, ${field.visible}, ${field.customOrder}, ${field.options}::text[])
    ON CONFLICT (customer_id, list_id, tag) DO NOTHING
    RETURNING ${COLUMNS}`,
  );
  return row;
}

/** A list's custom fields in their order. */
export async function fieldsOfList(db: Queryable, list: Pick<MailList, 'customerId' | 'id'>): Promise<ListField[]> {
  return db.query(
    LIST_FIELD_ROW,
    sql`SELECT ${COLUMNS} FROM list_field WHERE customer_id = ${list.customerId} AND list_id = ${list.id} ORDER BY ${FIELD_ORDER}`,
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
         WHERE customer_id = ${customerId} AND list_id = ANY (${[...listIds]}::bigint[]) ORDER BY ${FIELD_ORDER}`,
    'audience.field_tags_of_lists',
  );
  const byList = Map.groupBy(rows, (row) => row.listId);
  return listIds.map((id) => byList.get(id)?.map((row) => row.tag) ?? []);
}

/** Whether any customer has a field with this uid. */
export async function fieldExists(db: Queryable, uid: string): Promise<boolean> {
  return (await db.execute(sql`SELECT 1 FROM list_field WHERE uid = ${uid} LIMIT 1`)) > 0;
}

type FieldKey = Pick<ListField, 'id'> & Pick<MailList, 'customerId'>;

export async function updateField(db: Queryable, { customerId, id }: FieldKey, field: FieldSettings): Promise<void> {
  await db.execute(sql`
    UPDATE list_field SET type = ${field.type}, label = ${field.label}, default_value = ${field.defaultValue},
           required = ${field.required}, visible = ${field.visible}, custom_order = ${field.customOrder},
           options = ${field.options}::text[], updated_at = now()
     WHERE customer_id = ${customerId} AND id = ${id}`);
}

export async function deleteField(db: Queryable, { customerId, id }: FieldKey): Promise<void> {
  await db.execute(sql`DELETE FROM list_field WHERE customer_id = ${customerId} AND id = ${id}`);
}
