/** Names one campaign: what every module needs that counts for it, sends it or closes it. */
export interface CampaignKey {
  readonly customerId: bigint;
  readonly campaignId: bigint;
}
