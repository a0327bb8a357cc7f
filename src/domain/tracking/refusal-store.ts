/** What a server refused while a message was handed over, as the ledger has it, and the bounces that are written of it. */
import { row, sql, type Queryable, type RowOf } from '../../db/database.ts';
import { emailKey } from '../../lib/text.ts';
import type { SourceKey } from '../source-key.ts';
import { campaignOfSource, inMonthOf, ofSource } from '../statistics/source-read-model.ts';
import { DESCRIPTION_LENGTH_KEPT, statusCodeIn } from './delivery-report.ts';

/** Messages of one source. */
export interface Refusals extends SourceKey {
  readonly messages: readonly RefusedMessage[];
}

const REFUSED_MESSAGE = row({
  recipientId: 'bigint',
  occurrence: 'bigint',
});
export type RefusedMessage = RowOf<typeof REFUSED_MESSAGE>;

export interface RefusedRecipient extends RefusedMessage {
  /** Null: the recipient is on no list. */
  readonly listId: bigint | null;
  /** The refused address, as it is compared. */
  readonly emailKey: string;
  readonly reply: string;
}

export interface Refusal extends RefusedRecipient {
  readonly type: 'hard' | 'soft';
}

/** The name of a message within its source. */
export function nameOf({ recipientId, occurrence }: RefusedMessage): string {
  return `${recipientId}:${occurrence}`;
}

/** Only deliveries that the ledger still calls failed, and only existing people. */
export async function refusedRecipients(db: Queryable, refusals: Refusals): Promise<RefusedRecipient[]> {
  const { messages } = refusals;
  const rows = await db.query(
    { ...REFUSED_MESSAGE, listId: 'bigint?', email: 'text', reply: 'text' },
    sql`SELECT d.recipient_id AS "recipientId", d.occurrence, d.list_id AS "listId", d.email, d.reply
          FROM unnest(${messages.map(({ recipientId }) => recipientId)}::bigint[], ${messages.map(({ occurrence }) => occurrence)}::bigint[]) AS i (id, occurrence)
         -- OFFSET 0 keeps these look-ups by key: as joins they may read all recipients and all people of the customer.
         CROSS JOIN LATERAL (
           SELECT l.* FROM hot.delivery l
            WHERE ${ofSource('l', refusals)} AND ${inMonthOf('l', refusals)} AND l.recipient_id = i.id AND l.occurrence = i.occurrence OFFSET 0) d
         CROSS JOIN LATERAL (
           SELECT FROM subscriber s WHERE s.customer_id = d.customer_id AND s.list_id = d.list_id AND s.id = d.recipient_id
           UNION ALL
           SELECT FROM hot.message_recipient r WHERE d.list_id IS NULL AND r.customer_id = d.customer_id AND r.id = d.recipient_id OFFSET 0) s
         WHERE d.state = 'failed' AND d.email <> '' AND d.reply ~ '^\\s*[45]\\d\\d'`,
    campaignOfSource(refusals) ? 'bounces.refused_of_campaign' : 'bounces.refused',
  );
  return rows.map(({ email, ...row }) => ({ ...row, emailKey: emailKey(email) }));
}

/** Whether the campaign is paused because of a bounce spike. Until this commits nobody can pause or resume it. */
export async function isHeldForBounces(db: Queryable, refusals: Refusals): Promise<boolean> {
  const campaign = campaignOfSource(refusals);
  if (!campaign) return false;
  const [row] = await db.query(
    { isOnHold: 'bool' },
    sql`SELECT bounce_spike IS NOT DISTINCT FROM 'held' AS "isOnHold" FROM campaign
         WHERE customer_id = ${campaign.customerId} AND id = ${campaign.campaignId} FOR SHARE`,
    'bounces.on-hold',
  );
  return row?.isOnHold === true;
}

/** Writes the bounces, their events and their counters in one statement, and returns which were new (`nameOf`). */
export async function writeRefusals(
  db: Queryable,
  { customerId, sourceKind, sourceId }: Refusals,
  bounces: readonly Refusal[],
): Promise<ReadonlySet<string>> {
  const messages = bounces.map(({ reply }) => reply.slice(0, DESCRIPTION_LENGTH_KEPT));
  const source = sql`${customerId}::bigint, ${sourceKind}::smallint, ${sourceId}::bigint`;
  const rows = await db.query(
    REFUSED_MESSAGE,
    sql`WITH refused AS (
          SELECT * FROM unnest(${bounces.map(({ recipientId }) => recipientId)}::bigint[], ${bounces.map(({ occurrence }) => occurrence)}::bigint[],
                               ${bounces.map(({ type }) => type)}::text[], ${messages.map(statusCodeIn)}::text[], ${messages}::text[])
                 AS r (recipient_id, occurrence, type, status_code, message)
        ), bounced AS (
          INSERT INTO hot.recipient_activity AS a (customer_id, source_kind, source_id, recipient_id, occurrence, bounced_at, bounce_type)
          SELECT ${source}, recipient_id, occurrence, now(), type FROM refused ORDER BY recipient_id, occurrence
          ON CONFLICT (customer_id, source_kind, source_id, recipient_id, occurrence) DO UPDATE SET
            bounced_at = excluded.bounced_at, bounce_type = excluded.bounce_type WHERE a.bounced_at IS NULL
          RETURNING recipient_id, occurrence
        ), event AS (
          INSERT INTO hot.bounce_event (at, customer_id, source_kind, source_id, recipient_id, occurrence, type, status_code, message)
          SELECT now(), ${source}, recipient_id, occurrence, r.type, r.status_code, r.message FROM refused r JOIN bounced USING (recipient_id, occurrence)
        ), counted AS (
          INSERT INTO hot.tracking_counter AS t (customer_id, source_kind, source_id, bounce_count, refused_bounce_count)
          SELECT ${source}, count(*), count(*) FROM bounced HAVING count(*) > 0
          ON CONFLICT (customer_id, source_kind, source_id) DO UPDATE SET bounce_count = t.bounce_count + excluded.bounce_count,
            refused_bounce_count = t.refused_bounce_count + excluded.refused_bounce_count
        )
        SELECT recipient_id AS "recipientId", occurrence FROM bounced`,
    'bounces.record_refusals',
  );
  return new Set(rows.map(nameOf));
}
