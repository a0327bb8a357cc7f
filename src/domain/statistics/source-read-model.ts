/** Conditions on rows with the key of a source or a message (source-key.ts), and campaigns as sources. */
import { raw, sql, type Sql } from '../../db/database.ts';
import { SOURCE_KINDS, type DeliveryKey, type SourceKey } from '../source-key.ts';
import type { CampaignKey } from './campaign-key.ts';

/** A literal, so that every plan knows it. */
export const CAMPAIGN = sql`${raw(String(SOURCE_KINDS.campaign))}::smallint`;

export function sourceOfCampaign({ customerId, campaignId }: CampaignKey): SourceKey {
  return { customerId, sourceKind: SOURCE_KINDS.campaign, sourceId: campaignId };
}

/** The campaign of a source; undefined: it is another kind. */
export function campaignOfSource({ customerId, sourceKind, sourceId }: SourceKey): CampaignKey | undefined {
  return sourceKind === SOURCE_KINDS.campaign ? { customerId, campaignId: sourceId } : undefined;
}

/** Rows of the source in the table that the statement calls `alias`. */
export function ofSource(alias: string, { customerId, sourceKind, sourceId }: SourceKey): Sql {
  const t = raw(alias);
  return sql`${t}.customer_id = ${customerId} AND ${t}.source_kind = ${sourceKind} AND ${t}.source_id = ${sourceId}`;
}

/** The row, or the rows of events, of one message. */
export function ofDelivery(alias: string, key: DeliveryKey): Sql {
  const t = raw(alias);
  return sql`${ofSource(alias, key)} AND ${t}.recipient_id = ${key.recipientId} AND ${t}.occurrence = ${key.occurrence}`;
}

/**
 * That rows of the ledger are in the source's month: of a campaign one, of another source only the row knows it. A statement
 * needs another name for a campaign.
 */
export function inMonthOf(alias: string, source: SourceKey): Sql {
  const campaign = campaignOfSource(source);
  if (!campaign) return sql`true`;
  return sql`${raw(alias)}.snapshot_on = (SELECT c.snapshot_on FROM campaign c WHERE c.customer_id = ${campaign.customerId} AND c.id = ${campaign.campaignId})`;
}
