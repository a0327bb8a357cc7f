/** Reads and writes of campaigns, except their state (campaign-state-store.ts). */
import { empty, join, sql, type Queryable } from '../../db/database.ts';
import { assignments, columnsOf, insertion, selectList } from '../../db/fields.ts';
import { assert } from '../../lib/errors.ts';
import type { AnswersByQuestion } from '../audience/segments/segment.ts';
import type { CampaignKey } from '../statistics/campaign-key.ts';
import { campaignColumns, campaignFields, type CampaignValues } from './campaign-fields.ts';
import type { Campaign } from './campaign.ts';

const CAMPAIGN_ROW = columnsOf(campaignColumns);
const COLUMNS = selectList(campaignColumns);

/** The customer's campaign with this uid, or undefined; `lock` locks it until the transaction ends. */
export async function findCampaign(
  db: Queryable,
  customerId: bigint,
  uid: string,
  options: { lock?: boolean } = {},
): Promise<Campaign | undefined> {
  const [campaign] = await db.query(
    CAMPAIGN_ROW,
    sql`SELECT ${COLUMNS} FROM campaign WHERE customer_id = ${customerId} AND uid = ${uid} ${options.lock ? sql`FOR UPDATE` : empty}`,
  );
  return campaign;
}

export async function findCampaignById(
  db: Queryable,
  customerId: bigint,
  id: bigint,
  options: { lock?: boolean } = {},
): Promise<Campaign | undefined> {
  const [campaign] = await db.query(
    CAMPAIGN_ROW,
    sql`SELECT ${COLUMNS} FROM campaign WHERE customer_id = ${customerId} AND id = ${id} ${options.lock ? sql`FOR UPDATE` : empty}`,
  );
  return campaign;
}

/** Whether any customer has a campaign with this uid. */
export async function campaignExists(db: Queryable, uid: string): Promise<boolean> {
  return (await db.execute(sql`SELECT 1 FROM campaign WHERE uid = ${uid}`)) > 0;
}

export interface NewCampaign extends CampaignValues {
  readonly customerId: bigint;
  readonly listId: bigint;
  readonly uid: string;
  readonly name: string;
}

/** Writes the campaign, which is `new`, and returns its id. */
export async function insertCampaign(db: Queryable, campaign: NewCampaign): Promise<bigint> {
  const [row] = await db.query(
    { id: 'bigint' },
    sql`INSERT INTO campaign ${insertion(campaignColumns, campaign)} RETURNING id`,
  );
  assert(row, 'an insert returns its row');
  return row.id;
}

/**
 * Waits until every mark for the present content has committed, and blocks new ones until the transaction ends: they then find
 * the next version. Locked after the campaign's row.
 */
export async function lockContent(db: Queryable, { id }: Pick<Campaign, 'id'>): Promise<void> {
  await db.execute(sql`SELECT pg_advisory_xact_lock(hot.content_lock(${id}))::text AS locked`);
}

/** Writes the given values, and returns the campaign; its content has a new version. */
export async function writeCampaign(
  db: Queryable,
  { customerId, id }: Pick<Campaign, 'customerId' | 'id'>,
  values: CampaignValues,
): Promise<Campaign> {
  const changes = [
    sql`updated_at = now(), content_version = content_version + 1`,
    ...assignments(campaignFields, values),
  ];
  const [row] = await db.query(
    CAMPAIGN_ROW,
    sql`UPDATE campaign SET ${join(changes)} WHERE customer_id = ${customerId} AND id = ${id} RETURNING ${COLUMNS}`,
  );
  assert(row, 'a campaign that is written is held');
  return row;
}

/** Refusals as unknown do not count until the campaign is resumed. */
export async function countRefusals(db: Queryable, { customerId, campaignId }: CampaignKey): Promise<void> {
  await db.execute(
    sql`UPDATE campaign SET bounce_spike = 'held' WHERE customer_id = ${customerId} AND id = ${campaignId}`,
  );
}

/** Stores the campaign's segment as it is now, or that it has none: the audience snapshot uses only this. */
export async function keepSegment(
  db: Queryable,
  { customerId, id }: Pick<Campaign, 'customerId' | 'id'>,
): Promise<void> {
  await db.execute(sql`
    UPDATE campaign c SET segment_snapshot = (
      SELECT jsonb_build_object('uid', s.uid, 'name', s.name, 'rule', s.rule,
               'asOf', to_char(now() AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'))
        FROM segment s WHERE s.customer_id = c.customer_id AND s.id = c.segment_id)
     WHERE c.customer_id = ${customerId} AND c.id = ${id}`);
}

/** Stores the answers of plugins to the campaign's copy of its segment, made at `asOf`. False: it has some, or another copy. */
export async function keepAnswers(
  db: Queryable,
  { customerId, id }: Pick<Campaign, 'customerId' | 'id'>,
  { asOf, answers }: { readonly asOf: string; readonly answers: AnswersByQuestion },
): Promise<boolean> {
  const ids = JSON.stringify(Object.fromEntries([...answers].map(([question, answer]) => [question, String(answer)])));
  const kept = await db.execute(sql`
    UPDATE campaign SET segment_snapshot = segment_snapshot || jsonb_build_object('answers', ${ids}::jsonb)
     WHERE customer_id = ${customerId} AND id = ${id} AND status = 'queued' AND segment_snapshot ->> 'asOf' = ${asOf}
       AND segment_snapshot -> 'answers' IS NULL`);
  return kept > 0;
}

/** Stores how far the audience is in the ledger. */
export async function moveSnapshotCursor(
  db: Queryable,
  campaign: Campaign,
  cursor: { readonly lastId: bigint | null; readonly isComplete: boolean },
): Promise<void> {
  await db.execute(
    sql`UPDATE campaign SET snapshot_cursor = coalesce(${cursor.lastId}::bigint, snapshot_cursor),
          snapshot_at = CASE WHEN ${cursor.isComplete} THEN now() ELSE snapshot_at END
        WHERE customer_id = ${campaign.customerId} AND id = ${campaign.id}`,
  );
}

/** Resets the snapshot of a campaign with nobody in its ledger, so that it can be run again. */
export async function restartSnapshot(
  db: Queryable,
  { customerId, id }: Pick<Campaign, 'customerId' | 'id'>,
): Promise<void> {
  await db.execute(
    sql`UPDATE campaign SET snapshot_cursor = 0, snapshot_at = NULL WHERE customer_id = ${customerId} AND id = ${id}`,
  );
}

/** Deletes the campaign; a trigger deletes its rows in the hot tables. */
export async function eraseCampaign(db: Queryable, campaign: Campaign): Promise<void> {
  await db.execute(sql`DELETE FROM campaign WHERE customer_id = ${campaign.customerId} AND id = ${campaign.id}`);
}
