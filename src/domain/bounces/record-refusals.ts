/**
 * Bounces at delivery: a server refused a message during SMTP and said why. If the reason is the mailbox, this means the same as
 * a bounce by mail, and is treated in the same way. The message has failed in the ledger already; nothing of it changes here.
 */
import { sql, row, type Queryable, type RowOf } from '../../db/database.ts';
import { emailKey } from '../../lib/text.ts';
import { inTransaction, type Context, type TransactionContext } from '../context.ts';
import { announceSourceChange } from '../statistics/announce-campaign-change.ts';
import type { SourceKey } from '../source-key.ts';
import { campaignOfSource, inMonthOf, ofSource } from '../statistics/source-read-model.ts';
import { DESCRIPTION_LENGTH_KEPT, statusCodeIn } from '../tracking/delivery-report.ts';
import { withPartitions } from '../tracking/partitions.ts';
import { queueRefusedAgain } from '../tracking/refused-again-store.ts';
import { actOnBounce } from '../tracking/report-on-delivery.ts';
import { classifyBounce } from './classify-bounce.ts';

/** Messages of one source. */
export interface Refusals extends SourceKey {
  readonly messages: readonly RefusedMessage[];
}

const REFUSED_MESSAGE_ROW = row({
  recipientId: 'bigint',
  occurrence: 'bigint',
});
export type RefusedMessage = RowOf<typeof REFUSED_MESSAGE_ROW>;

interface RefusedRow extends RefusedMessage {
  /** The refused address, as it is compared. */
  emailKey: string;
  reply: string;
}

interface Refusal extends RefusedRow {
  readonly type: 'hard' | 'soft';
}

/** Repeating it changes nothing. */
export async function recordRefusals(ctx: Context, refusals: Refusals): Promise<void> {
  const rows = await refusedRows(ctx.db, refusals);
  const bounces = rows.flatMap((row): Refusal[] => {
    const type = classifyBounce({ status: null, text: row.reply });
    return type === 'blocked' ? [] : [{ ...row, type }];
  });
  if (bounces.length > 0) await withPartitions(ctx, () => record(ctx, refusals, bounces));
}

/**
 * Only deliveries that the ledger still calls failed, and only existing people.
 */
async function refusedRows(db: Queryable, refusals: Refusals): Promise<RefusedRow[]> {
  const { messages } = refusals;
  const rows = await db.query(
    { recipientId: 'bigint', occurrence: 'bigint', email: 'text', reply: 'text' },
    sql`SELECT d.recipient_id AS "recipientId", d.occurrence, d.email, d.reply
          FROM unnest(${messages.map(({ recipientId }) => recipientId)}::bigint[], ${messages.map(({ occurrence }) => occurrence)}::bigint[]) AS i (id, occurrence)
         -- OFFSET 0 keeps these look-ups by key: as joins they may read all recipients and all people of the customer.
         CROSS JOIN LATERAL (
           SELECT l.* FROM hot.delivery l
            WHERE ${ofSource('l', refusals)} AND ${inMonthOf('l', refusals)} AND l.recipient_id = i.id AND l.occurrence = i.occurrence OFFSET 0) d
         CROSS JOIN LATERAL (
           SELECT FROM subscriber s WHERE s.customer_id = d.customer_id AND s.list_id = d.list_id AND s.id = d.recipient_id OFFSET 0) s
         WHERE d.state = 'failed' AND d.email <> '' AND d.reply ~ '^\\s*[45]\\d\\d'`,
    campaignOfSource(refusals) ? 'bounces.refused_of_campaign' : 'bounces.refused',
  );
  return rows.map(({ email, ...row }) => ({ ...row, emailKey: emailKey(email) }));
}

function record(ctx: Context, refusals: Refusals, refused: readonly Refusal[]): Promise<void> {
  return inTransaction(ctx, async (inner) => {
    const bounces = (await isOnHold(inner.db, refusals)) ? await withoutHard(inner.db, refusals, refused) : refused;
    const reported = await write(inner, refusals, bounces);
    // In the same order everywhere, so that two batches never wait for each other.
    const people = bounces
      .filter((message) => reported.has(nameOf(message)))
      .toSorted((a, b) => (a.emailKey < b.emailKey ? -1 : 1));
    for (const { emailKey, type } of people)
      await actOnBounce(inner, { customerId: refusals.customerId, emailKey, type });
    if (reported.size > 0) inner.tx.afterCommit(() => announceSourceChange(ctx, refusals));
  });
}

/** The name of a message within its source. */
function nameOf({ recipientId, occurrence }: RefusedMessage): string {
  return `${recipientId}:${occurrence}`;
}

/** Whether the campaign is paused because of a bounce spike. Until this commits nobody can pause or resume it. */
async function isOnHold(db: Queryable, refusals: Refusals): Promise<boolean> {
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

/** Recipients that were refused as unknown are tried again. */
async function withoutHard(db: Queryable, refusals: Refusals, refused: readonly Refusal[]): Promise<Refusal[]> {
  const hard = refused.filter(({ type }) => type === 'hard');
  const campaign = campaignOfSource(refusals);
  if (campaign) await queueRefusedAgain(db, { ...campaign, subscriberIds: hard.map(({ recipientId }) => recipientId) });
  return refused.filter(({ type }) => type !== 'hard');
}

/** Writes the bounces, their events and their counters in one statement, and returns which were new (`nameOf`). */
async function write(
  { db }: TransactionContext,
  { customerId, sourceKind, sourceId }: Refusals,
  bounces: readonly Refusal[],
): Promise<ReadonlySet<string>> {
  const messages = bounces.map(({ reply }) => reply.slice(0, DESCRIPTION_LENGTH_KEPT));
  const source = sql`${customerId}::bigint, ${sourceKind}::smallint, ${sourceId}::bigint`;
  const rows = await db.query(
    REFUSED_MESSAGE_ROW,
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
