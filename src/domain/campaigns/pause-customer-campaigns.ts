/** Pauses whatever a customer has scheduled or under way, because the customer was disabled or deleted. */
import { sql } from '../../db/database.ts';
import type { Context } from '../context.ts';
import { PAUSABLE } from './campaign.ts';

const REASON = 'The account was disabled.';

/** One statement for all of them; harmless to repeat, and for a customer that is active again meanwhile. */
export async function pauseCustomerCampaigns(ctx: Context, { customerId }: { customerId: bigint }): Promise<void> {
  await ctx.db.execute(sql`
    UPDATE campaign SET status = 'paused', status_reason = ${REASON}, updated_at = now()
     WHERE customer_id = ${customerId} AND status = ANY(${PAUSABLE}::text[])
       AND EXISTS (SELECT 1 FROM customer c WHERE c.id = ${customerId} AND c.status <> 'active')`);
}
