/**
 * Bounces at the entry point: a server that refused a message while it was handed over and said why. Where the reason lies in
 * the mailbox, that is the same news as a bounce that comes back by mail, and is acted on the same way. The message itself
 * has failed in the ledger already; nothing of it changes here.
 */
import { sql, type Queryable } from '../../db/database.ts';
import { emailKey } from '../../lib/text.ts';
import { inTransaction, type Context, type TransactionContext } from '../context.ts';
import { announceCampaignChange } from '../statistics/announce-campaign-change.ts';
import { DESCRIPTION_LENGTH_KEPT, statusCodeIn } from '../tracking/delivery-report.ts';
import { withPartitions } from '../tracking/partitions.ts';
import { queueRefusedAgain } from '../tracking/refused-again-store.ts';
import { actOnBounce } from '../tracking/report-on-delivery.ts';
import { classifyBounce } from './classify-bounce.ts';

export interface Refusals {
  readonly customerId: bigint;
  readonly campaignId: bigint;
  readonly subscriberIds: readonly bigint[];
}

interface RefusedRow {
  subscriberId: bigint;
  /** The address that was refused, as it is compared. */
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

/** Only what the ledger still calls failed, and only people who are still there. */
async function refusedRows(db: Queryable, { customerId, campaignId, subscriberIds }: Refusals): Promise<RefusedRow[]> {
  const rows = await db.query<{ subscriberId: bigint; email: string; reply: string }>(
    sql`SELECT d.subscriber_id AS "subscriberId", d.email, d.reply
          FROM campaign c
          CROSS JOIN unnest(${[...subscriberIds]}::bigint[]) AS i (id)
          JOIN hot.delivery d ON d.snapshot_on = c.snapshot_on AND d.customer_id = c.customer_id AND d.campaign_id = c.id AND d.subscriber_id = i.id
          JOIN subscriber s ON s.customer_id = c.customer_id AND s.list_id = c.list_id AND s.id = d.subscriber_id
         WHERE c.customer_id = ${customerId} AND c.id = ${campaignId} AND d.state = 'failed' AND d.email <> '' AND d.reply ~ '^\\s*[45]\\d\\d'`,
    'bounces.refused',
  );
  return rows.map(({ subscriberId, email, reply }) => ({ subscriberId, emailKey: emailKey(email), reply }));
}

function record(ctx: Context, refusals: Refusals, refused: readonly Refusal[]): Promise<void> {
  return inTransaction(ctx, async (inner) => {
    const bounces = (await isOnHold(inner.db, refusals)) ? await withoutHard(inner.db, refusals, refused) : refused;
    const reported = await write(inner, refusals, bounces);
    // In one order, so that two batches never wait for one another's rows.
    const people = bounces
      .filter(({ subscriberId }) => reported.has(subscriberId))
      .toSorted((a, b) => (a.emailKey < b.emailKey ? -1 : 1));
    for (const { emailKey, type } of people)
      await actOnBounce(inner, { customerId: refusals.customerId, emailKey, type });
    if (reported.size > 0) inner.tx.afterCommit(() => announceCampaignChange(ctx, refusals));
  });
}

/** Paused, because too many were refused. Until this is written down nobody pauses the campaign, or resumes it. */
async function isOnHold(db: Queryable, { customerId, campaignId }: Refusals): Promise<boolean> {
  const [campaign] = await db.query<{ isOnHold: boolean }>(
    sql`SELECT bounce_spike IS NOT DISTINCT FROM 'held' AS "isOnHold" FROM campaign
         WHERE customer_id = ${customerId} AND id = ${campaignId} FOR SHARE`,
    'bounces.on-hold',
  );
  return campaign?.isOnHold === true;
}

/** Those who are said not to be there are tried again. */
async function withoutHard(db: Queryable, refusals: Refusals, refused: readonly Refusal[]): Promise<Refusal[]> {
  const hard = refused.filter(({ type }) => type === 'hard');
  await queueRefusedAgain(db, { ...refusals, subscriberIds: hard.map(({ subscriberId }) => subscriberId) });
  return refused.filter(({ type }) => type !== 'hard');
}

/** Writes the bounces, their events and their counters in one statement, and answers whose were new. */
async function write(
  { db }: TransactionContext,
  { customerId, campaignId }: Refusals,
  bounces: readonly Refusal[],
): Promise<ReadonlySet<bigint>> {
  const messages = bounces.map(({ reply }) => reply.slice(0, DESCRIPTION_LENGTH_KEPT));
  const rows = await db.query<{ id: bigint }>(
    sql`WITH refused AS (
          SELECT * FROM unnest(${bounces.map(({ subscriberId }) => subscriberId)}::bigint[], ${bounces.map(({ type }) => type)}::text[],
                               ${messages.map(statusCodeIn)}::text[], ${messages}::text[]) AS r (id, type, status_code, message)
        ), bounced AS (
          INSERT INTO hot.recipient_activity AS a (customer_id, campaign_id, subscriber_id, bounced_at, bounce_type)
          SELECT ${customerId}, ${campaignId}, id, now(), type FROM refused ORDER BY id
          ON CONFLICT (customer_id, campaign_id, subscriber_id) DO UPDATE SET
            bounced_at = excluded.bounced_at, bounce_type = excluded.bounce_type WHERE a.bounced_at IS NULL
          RETURNING subscriber_id AS id
        ), event AS (
          INSERT INTO hot.bounce_event (at, customer_id, campaign_id, subscriber_id, type, status_code, message)
          SELECT now(), ${customerId}, ${campaignId}, r.id, r.type, r.status_code, r.message FROM refused r JOIN bounced USING (id)
        ), counted AS (
          INSERT INTO hot.tracking_counter AS t (customer_id, campaign_id, bounce_count, refused_bounce_count)
          SELECT ${customerId}, ${campaignId}, count(*), count(*) FROM bounced HAVING count(*) > 0
          ON CONFLICT (customer_id, campaign_id) DO UPDATE SET bounce_count = t.bounce_count + excluded.bounce_count,
            refused_bounce_count = t.refused_bounce_count + excluded.refused_bounce_count
        )
        SELECT id FROM bounced`,
    'bounces.record_refusals',
  );
  return new Set(rows.map(({ id }) => id));
}
