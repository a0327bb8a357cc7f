/** Saved payment methods as their owner and administrators see them. */
import { row, sql, type Queryable, type RowOf } from '../../db/database.ts';

const SHOWN_METHOD_ROW = row({
  id: 'bigint',
  uid: 'text',
  title: 'text',
  info: 'text',
  gatewayUid: 'text',
  gatewayName: 'text',
  gatewayType: 'text',
  createdAt: 'timestamptz',
});
type MethodRow = RowOf<typeof SHOWN_METHOD_ROW>;

export interface ShownMethod extends Omit<MethodRow, 'id'> {
  /** The next renewal is charged to it. */
  readonly isUsed: boolean;
}

/** The newest first. */
export function shownMethods(db: Queryable, customerId: bigint, max: number): Promise<MethodRow[]> {
  return db.query(
    SHOWN_METHOD_ROW,
    sql`
    SELECT m.id, m.uid, m.title, m.info, g.uid AS "gatewayUid", g.name AS "gatewayName", g.type AS "gatewayType", m.created_at AS "createdAt"
      FROM payment_method m JOIN payment_gateway g ON g.id = m.gateway_id
     WHERE m.customer_id = ${customerId} AND m.removed_at IS NULL ORDER BY m.id DESC LIMIT ${max}`,
  );
}
