/** A campaign's message to somebody, as the ledger and all that comes back names it. */
import type { DeliveryKey } from '../../src/domain/source-key.ts';
import type { CampaignKey } from '../../src/domain/statistics/campaign-key.ts';
import { sourceOfCampaign } from '../../src/domain/statistics/source-read-model.ts';

export function deliveryOf({
  subscriberId,
  ...campaign
}: CampaignKey & { readonly subscriberId: bigint }): DeliveryKey {
  return { ...sourceOfCampaign(campaign), recipientId: subscriberId, occurrence: 0n };
}
