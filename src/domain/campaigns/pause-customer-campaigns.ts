/** Pauses all scheduled campaigns and campaigns under way of a customer that was disabled or deleted. */
import type { Context } from '../context.ts';
import { campaignsOfDisabled, moveCampaigns, PAUSABLE } from './campaign-state-store.ts';

/** One statement for all of them; harmless to repeat, and for a customer that is active again. */
export async function pauseCustomerCampaigns(ctx: Context, { customerId }: { customerId: bigint }): Promise<void> {
  const reason = { code: 'account_disabled', params: {} } as const;
  await moveCampaigns(ctx.db, campaignsOfDisabled(customerId), { from: PAUSABLE, to: 'paused', reason });
}
