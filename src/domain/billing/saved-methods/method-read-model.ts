/** Saved payment methods as their owner and administrators see them. */
import { row, sql, type Queryable, type RowOf } from '../../../db/database.ts';

const SHOWN_METHOD_ROW = row({
  id: 'bigint',
  uid: 'text',
  title: 'text',
  info: 'text',
  gatewayUid: 'text',
  gatewayName: 'text',
  gatewayType: 'text',
  createdAt: 'timestamptz',
  paysRemote: 'bool',
});
type MethodRow = RowOf<typeof SHOWN_METHOD_ROW>;

export interface ShownMethod extends Omit<MethodRow, 'id'> {
  /** The next renewal is charged to it here. */
  readonly isUsed: boolean;
}

/** The newest first. */
export function shownMethods(db: Queryable, customerId: bigint, max: number): Promise<MethodRow[]> {
  return db.query(
    SHOWN_METHOD_ROW,
    sql`
    SELECT m.id, m.uid, m.title, m.info, g.uid AS "gatewayUid", g.name AS "gatewayName", g.type AS "gatewayType", m.created_at AS "createdAt",
           EXISTS (SELECT 1 FROM remote_subscription r
                    WHERE r.customer_id = m.customer_id AND r.gateway_id = m.gateway_id AND r.method_digest = m.digest AND NOT r.is_ended)
             AS "paysRemote"
      FROM payment_method m JOIN payment_gateway g ON g.id = m.gateway_id
     WHERE m.customer_id = ${customerId} AND m.removed_at IS NULL ORDER BY m.id DESC LIMIT ${max}`,
  );
}

/** Whether a subscription that the vendor keeps and has not ended is paid with it. */
export async function paysRemote(
  db: Queryable,
  { customerId, id }: { readonly customerId: bigint; readonly id: bigint },
): Promise<boolean> {
  const found = await db.execute(sql`
    SELECT 1 FROM payment_method m
      JOIN remote_subscription r ON r.customer_id = m.customer_id AND r.gateway_id = m.gateway_id AND r.method_digest = m.digest
     WHERE m.customer_id = ${customerId} AND m.id = ${id} AND NOT r.is_ended LIMIT 1`);
  return found > 0;
}
