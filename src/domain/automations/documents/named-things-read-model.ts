/** Names of what flows refer to by uids, and uids of what has a name. */
import { row, sql, typed, type Queryable } from '../../../db/database.ts';
import type { TemplateKind } from '../../content/templates/template.ts';
import type { UidKind } from './flow-references-map.ts';

const THING_ROW = row({
  kind: typed<UidKind>('text'),
  uid: 'text',
  name: 'text',
  templateKind: typed<TemplateKind | null>('text?'),
});

export interface Asked {
  readonly customerId: bigint;
  /** Segments are of one list. */
  readonly listId: bigint;
  readonly uids: readonly string[];
  readonly names: readonly string[];
}

/** Of one name at most so many are read: two are one too many already. */
const SAME_NAME_MAX = 2;

/** Templates, lists, segments, automations and campaigns of the customer with one of the uids or names. */
export function thingsNamed(db: Queryable, { customerId, listId, uids, names }: Asked) {
  return db.query(
    THING_ROW,
    sql`SELECT t.kind, t.uid, t.name, t."templateKind" FROM (
          SELECT t.*, row_number() OVER (PARTITION BY t.kind, t.name, t.uid = ANY (${[...uids]}::text[]) ORDER BY t.uid) AS no,
                 t.uid = ANY (${[...uids]}::text[]) AS "isAsked" FROM (
            SELECT 'templates' AS kind, uid, name, kind AS "templateKind" FROM template WHERE customer_id = ${customerId}
            UNION ALL SELECT 'lists', uid, name, NULL FROM mail_list WHERE customer_id = ${customerId}
            UNION ALL SELECT 'segments', uid, name, NULL FROM segment WHERE customer_id = ${customerId} AND list_id = ${listId}
            UNION ALL SELECT 'automations', uid, name, NULL FROM automation WHERE customer_id = ${customerId}
            UNION ALL SELECT 'campaigns', uid, name, NULL FROM campaign WHERE customer_id = ${customerId}) t
           WHERE t.uid = ANY (${[...uids]}::text[]) OR t.name = ANY (${[...names]}::text[])) t
         WHERE t."isAsked" OR t.no <= ${SAME_NAME_MAX} ORDER BY t.kind, t.uid`,
    'automations.things_named',
  );
}
