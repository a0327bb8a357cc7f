/** Where and when a campaign goes: its servers by weight, its quiet hours, the local time of its people. */
import { join, sql, type Sql } from '../../db/database.ts';
import type { QuietHours } from '../audience/quiet-hours.ts';
import type { TransactionContext } from '../context.ts';
import { checkedRoutes, type SendingRoute } from '../sending/routing/routes.ts';

/** Undefined leaves alone, null clears. */
export interface CampaignRouting {
  readonly sendingServers?: readonly SendingRoute[] | null | undefined;
  readonly quietHours?: QuietHours | null | undefined;
  readonly deliverInSubscriberTimezone?: boolean | undefined;
  readonly localTime?: string | null | undefined;
}

/** Writes what is given. Throws SENDING_SERVER_NOT_FOUND, and the foreign error of the same code. */
export async function writeCampaignRouting(
  { db }: TransactionContext,
  { customerId, id }: { customerId: bigint; id: bigint },
  values: CampaignRouting,
): Promise<void> {
  const assignments: Sql[] = [];
  if (values.sendingServers !== undefined) {
    const routes = await checkedRoutes(db, customerId, values.sendingServers);
    assignments.push(sql`sending_servers = ${routes ? JSON.stringify(routes) : null}::jsonb`);
  }
  if (values.quietHours !== undefined)
    assignments.push(sql`quiet_hours = ${values.quietHours ? JSON.stringify(values.quietHours) : null}::jsonb`);
  if (values.deliverInSubscriberTimezone !== undefined)
    assignments.push(sql`deliver_in_subscriber_timezone = ${values.deliverInSubscriberTimezone}`);
  if (values.localTime !== undefined) assignments.push(sql`local_time = ${values.localTime}`);
  if (assignments.length === 0) return;
  await db.execute(sql`UPDATE campaign SET ${join(assignments)} WHERE customer_id = ${customerId} AND id = ${id}`);
}
