/** What a stranger may see of a list with public sign-up: its name, and the fields its owner made visible. */
import { sql, row, typed, type RowOf } from '../../db/database.ts';
import { isUid } from '../../lib/ids.ts';
import type { Context } from '../context.ts';
import type { FieldType } from './field-value.ts';
import { LIST_APPEARANCE, LIST_APPEARANCE_ROW } from './list-appearance-read-model.ts';
import type { CaptchaMode } from './list-fields.ts';
import { TAKES_SIGN_UPS } from './list-store.ts';

const PUBLIC_LIST_ROW = row({
  captcha: typed<CaptchaMode>('text'),
  ...LIST_APPEARANCE_ROW,
  fields: typed<readonly PublicField[]>('json'),
});
export type PublicList = RowOf<typeof PUBLIC_LIST_ROW>;

export interface PublicField {
  readonly tag: string;
  readonly label: string;
  readonly type: FieldType;
  readonly required: boolean;
  /** What can be chosen, if the type has choices. */
  readonly options: readonly string[];
}

/** Undefined when there is no such list, or no public sign-up. */
export async function publicList(ctx: Context, uid: string): Promise<PublicList | undefined> {
  if (!isUid(uid)) return undefined;
  const [list] = await ctx.db.query(
    PUBLIC_LIST_ROW,
    sql`SELECT l.signup_captcha AS captcha, ${LIST_APPEARANCE}, coalesce((SELECT jsonb_agg(jsonb_build_object('tag', f.tag, 'label', f.label, 'type', f.type, 'required', f.required, 'options', f.options)
                                           ORDER BY f.custom_order, f.id)
                                   FROM list_field f WHERE f.customer_id = l.customer_id AND f.list_id = l.id AND f.visible), '[]') AS fields
          FROM mail_list l WHERE l.uid = ${uid} AND ${TAKES_SIGN_UPS} ORDER BY l.id LIMIT 1`,
    'audience.public_list',
  );
  return list;
}
