/** Where and when a campaign goes: its servers by weight, its quiet hours, the local time of its people. */
import { join, sql, type Sql } from '../../db/database.ts';
import type { QuietHours } from '../audience/quiet-hours.ts';
import type { TransactionContext } from '../context.ts';
import { checkedRoutes, type SendingRoute } from '../sending/routing/routes.ts';

/** Undefined leaves alone, null clears. */
export interface CampaignRouting {
  readonly sending_servers?: readonly SendingRoute[] | null | undefined;
  readonly quiet_hours?: QuietHours | null | undefined;
  readonly deliver_in_subscriber_timezone?: boolean | undefined;
  readonly local_time?: string | null | undefined;
}

/** Writes what is given. Throws SENDING_SERVER_NOT_FOUND, and the foreign error of the same code. */
export async function writeCampaignRouting(
  { db }: TransactionContext,
  { customerId, id }: { customerId: bigint; id: bigint },
  values: CampaignRouting,
): Promise<void> {
  const assignments: Sql[] = [];
  if (values.sending_servers !== undefined) {
    const routes = await checkedRoutes(db, customerId, values.sending_servers);
    assignments.push(sql`sending_servers = ${routes ? JSON.stringify(routes) : null}::jsonb`);
  }
  if (values.quiet_hours !== undefined)
    assignments.push(sql`quiet_hours = ${values.quiet_hours ? JSON.stringify(values.quiet_hours) : null}::jsonb`);
  if (values.deliver_in_subscriber_timezone !== undefined)
    assignments.push(sql`deliver_in_subscriber_timezone = ${values.deliver_in_subscriber_timezone}`);
  if (values.local_time !== undefined) assignments.push(sql`local_time = ${values.local_time}`);
  if (assignments.length === 0) return;
  await db.execute(sql`UPDATE campaign SET ${join(assignments)} WHERE customer_id = ${customerId} AND id = ${id}`);
}
