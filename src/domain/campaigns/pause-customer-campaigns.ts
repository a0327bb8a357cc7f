/** Pauses whatever a customer has scheduled or under way, because the customer was disabled or deleted. */
import { sql } from '../../db/database.ts';
import type { Context } from '../context.ts';
import { moveCampaigns, PAUSABLE } from './campaign-state.ts';

/** One statement for all of them; harmless to repeat, and for a customer that is active again meanwhile. */
export async function pauseCustomerCampaigns(ctx: Context, { customerId }: { customerId: bigint }): Promise<void> {
  const which = sql`customer_id = ${customerId} AND EXISTS (SELECT 1 FROM customer c WHERE c.id = ${customerId} AND c.status <> 'active')`;
  const reason = { code: 'account_disabled', params: {} } as const;
  await moveCampaigns(ctx.db, which, { from: PAUSABLE, to: 'paused', reason });
}
