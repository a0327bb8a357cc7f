/** Reads and writes of campaigns, but for their state (campaign-state.ts). */
import { empty, sql, type Queryable, type Sql } from '../../db/database.ts';
import { assert } from '../../lib/errors.ts';
import type { UnknownPolicy } from '../delivery/delivery.ts';
import type { CampaignKey } from '../statistics/campaign-key.ts';
import type { Campaign } from './campaign.ts';

const COLUMNS = sql`id, uid, customer_id AS "customerId", list_id AS "listId", segment_id AS "segmentId",
  segment_snapshot AS "segmentSnapshot", name, subject, from_email AS "fromEmail", from_name AS "fromName",
  html, plain, status, delivery_at AS "deliveryAt", planned_on::text AS "plannedOn", plan_cursor AS "planCursor", planned_at AS "plannedAt"`;

type CampaignRow = Campaign & Record<string, unknown>;

/** What may be written about a campaign; undefined leaves alone, null clears. */
export interface CampaignValues {
  readonly listId?: bigint | undefined;
  readonly segmentId?: bigint | null | undefined;
  readonly name?: string | undefined;
  readonly subject?: string | undefined;
  readonly fromEmail?: string | undefined;
  readonly fromName?: string | undefined;
  readonly replyTo?: string | undefined;
  readonly html?: string | undefined;
  readonly plain?: string | undefined;
  readonly trackOpen?: boolean | undefined;
  readonly trackClick?: boolean | undefined;
  readonly signDkim?: boolean | undefined;
  readonly skipFailedMessages?: boolean | undefined;
  readonly embedImages?: boolean | undefined;
  readonly unknownPolicy?: UnknownPolicy | undefined;
  readonly deliveryAt?: Date | null | undefined;
}

/** The campaign with this uid among the customer's, or undefined; `lock` holds it until the transaction ends. */
export async function findCampaign(
  db: Queryable,
  customerId: bigint,
  uid: string,
  options: { lock?: boolean } = {},
): Promise<Campaign | undefined> {
  const [campaign] = await db.query<CampaignRow>(
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
  const [campaign] = await db.query<CampaignRow>(
    sql`SELECT ${COLUMNS} FROM campaign WHERE customer_id = ${customerId} AND id = ${id} ${options.lock ? sql`FOR UPDATE` : empty}`,
  );
  return campaign;
}

/** Whether any customer has a campaign with this uid. */
export async function campaignExists(db: Queryable, uid: string): Promise<boolean> {
  return (await db.query(sql`SELECT 1 FROM campaign WHERE uid = ${uid}`)).length > 0;
}

export interface NewCampaign extends CampaignValues {
  readonly customerId: bigint;
  readonly listId: bigint;
  readonly uid: string;
  readonly name: string;
}

/** Writes the campaign, which is `new`, and answers its id. */
export async function insertCampaign(db: Queryable, values: NewCampaign): Promise<bigint> {
  const [row] = await db.query<{ id: bigint }>(
    sql`INSERT INTO campaign (customer_id, list_id, segment_id, uid, name, subject, from_email, from_name, reply_to, html, plain,
          track_open, track_click, sign_dkim, skip_failed_messages, embed_images, unknown_policy, delivery_at)
        VALUES (${values.customerId}, ${values.listId}, ${values.segmentId ?? null}, ${values.uid}, ${values.name}, ${values.subject ?? ''},
          ${values.fromEmail ?? ''}, ${values.fromName ?? ''}, ${values.replyTo ?? ''}, ${values.html ?? ''}, ${values.plain ?? ''},
          ${values.trackOpen ?? true}, ${values.trackClick ?? true}, ${values.signDkim ?? true}, ${values.skipFailedMessages ?? true}, ${values.embedImages ?? false},
          ${values.unknownPolicy ?? 'park'}, ${values.deliveryAt ?? null})
        RETURNING id`,
  );
  assert(row, 'an insert returns its row');
  return row.id;
}

/**
 * Waits until every mark for the present content has committed, and keeps new ones waiting until the transaction ends:
 * they then find the next version. Taken after the campaign's row.
 */
export async function lockContent(db: Queryable, { id }: Pick<Campaign, 'id'>): Promise<void> {
  await db.query(sql`SELECT pg_advisory_xact_lock(hot.content_lock(${id}))::text AS locked`);
}

/** Writes the values given; the content has a new version then. */
export async function writeCampaign(db: Queryable, campaign: Campaign, values: CampaignValues): Promise<void> {
  const set = (column: string, value: unknown): Sql =>
    value === undefined ? empty : sql`, ${identifier(column)} = ${value}`;
  await db.execute(
    sql`UPDATE campaign SET updated_at = now(), content_version = content_version + 1
          ${set('list_id', values.listId)}${set('segment_id', values.segmentId)}${set('name', values.name)}
          ${set('subject', values.subject)}${set('from_email', values.fromEmail)}${set('from_name', values.fromName)}${set('reply_to', values.replyTo)}
          ${set('html', values.html)}${set('plain', values.plain)}${set('track_open', values.trackOpen)}${set('track_click', values.trackClick)}
          ${set('sign_dkim', values.signDkim)}${set('skip_failed_messages', values.skipFailedMessages)}${set('embed_images', values.embedImages)}${set('unknown_policy', values.unknownPolicy)}
          ${set('delivery_at', values.deliveryAt)}
         WHERE customer_id = ${campaign.customerId} AND id = ${campaign.id}`,
  );
}

/** What its server says of people who are not there counts for nothing until somebody resumes it. */
export async function countRefusals(db: Queryable, { customerId, campaignId }: CampaignKey): Promise<void> {
  await db.execute(
    sql`UPDATE campaign SET hard_refusals = 'held' WHERE customer_id = ${customerId} AND id = ${campaignId}`,
  );
}

/** Keeps the campaign's segment as it is now, or that it has none: the audience is planned by this and nothing later. */
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

/** Remembers how far the audience is in the ledger. */
export async function moveSnapshotCursor(
  db: Queryable,
  campaign: Campaign,
  cursor: { readonly lastId: bigint | null; readonly isComplete: boolean },
): Promise<void> {
  await db.execute(
    sql`UPDATE campaign SET plan_cursor = coalesce(${cursor.lastId}::bigint, plan_cursor),
          planned_at = CASE WHEN ${cursor.isComplete} THEN now() ELSE planned_at END
        WHERE customer_id = ${campaign.customerId} AND id = ${campaign.id}`,
  );
}

/** Removes the campaign; a trigger erases what hangs on it in the hot tables. */
export async function eraseCampaign(db: Queryable, campaign: Campaign): Promise<void> {
  await db.execute(sql`DELETE FROM campaign WHERE customer_id = ${campaign.customerId} AND id = ${campaign.id}`);
}

function identifier(column: string): Sql {
  // Column names of this file only; a value never comes here.
  return sql([column]);
}
