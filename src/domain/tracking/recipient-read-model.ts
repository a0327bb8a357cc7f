/** What the public pages show about the person of a link. The link is the only proof of identity. */
import type { Context } from '../context.ts';
import { sql, row, typed, type RowOf } from '../../db/database.ts';
import type { FieldType } from '../audience/field-value.ts';
import { LIST_APPEARANCE, LIST_APPEARANCE_ROW } from '../audience/list-appearance-read-model.ts';
import type { TrackedRecipient } from './tracking.ts';

const RECIPIENT_CARD_ROW = row({
  recipientId: 'bigint',
  email: 'text',
  status: 'text',
  ...LIST_APPEARANCE_ROW,
  /** Fields of the list that the person may see and change, in the order of the list. */
  fields: typed<readonly RecipientField[]>('json'),
});
export type RecipientCard = RowOf<typeof RECIPIENT_CARD_ROW>;

export interface RecipientField {
  readonly tag: string;
  readonly label: string;
  readonly type: FieldType;
  readonly required: boolean;
  readonly value: string;
  /** What can be chosen, if the type has choices. */
  readonly options: readonly string[];
}

/** The person on the list, or undefined when either is gone. */
export async function readRecipient(
  ctx: Pick<Context, 'db'>,
  recipient: TrackedRecipient,
): Promise<RecipientCard | undefined> {
  const { customerId, listId, recipientId } = recipient;
  const rows = await ctx.db.query(
    RECIPIENT_CARD_ROW,
    sql`SELECT s.id AS "recipientId", s.email, s.status, ${LIST_APPEARANCE},
               coalesce((SELECT jsonb_agg(jsonb_build_object('tag', f.tag, 'label', f.label, 'type', f.type, 'required', f.required, 'options', f.options,
                                                             'value', coalesce(s.fields ->> f.tag, '')) ORDER BY f.custom_order, f.id)
                           FROM list_field f WHERE f.customer_id = s.customer_id AND f.list_id = s.list_id AND f.visible), '[]') AS fields
          FROM subscriber s JOIN mail_list l ON l.customer_id = s.customer_id AND l.id = s.list_id
         WHERE s.customer_id = ${customerId} AND s.list_id = ${listId} AND s.id = ${recipientId}`,
    'tracking.recipient',
  );
  return rows[0];
}
