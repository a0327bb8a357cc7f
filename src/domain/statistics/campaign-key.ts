/** The key of one campaign. */
import { row, type RowOf } from '../../db/database.ts';

export const CAMPAIGN_KEY_ROW = row({
  customerId: 'bigint',
  campaignId: 'bigint',
});
export type CampaignKey = RowOf<typeof CAMPAIGN_KEY_ROW>;
