/** A message that was handed over, as the ledger knows it: what reports from outside are about. */
import { queryRows } from '../../scripts/support/query-rows.ts';
import { sql } from '../../src/db/database.ts';
import type { Context } from '../../src/domain/context.ts';
import { deliveryMessageId } from '../../src/domain/tracking/delivery-message-id.ts';
import { runtimeMessageKey } from '../../src/domain/tracking/runtime-message.ts';
import { deliveryOf } from './delivery-of.ts';
import { newUid } from '../../src/lib/ids.ts';

interface SentTo {
  readonly customerId: bigint;
  readonly listId: bigint;
  readonly subscriberId: bigint;
  /** What a vendor's API called it. */
  readonly runtimeMessageId?: string;
  readonly state?: string;
  readonly daysAgo?: number;
}

export interface SentMessage {
  readonly campaignId: bigint;
  readonly campaignUid: string;
  readonly messageId: string;
}

/** Writes a finished campaign to one person. */
export async function sentMessage(ctx: Context, to: SentTo): Promise<SentMessage> {
  const { customerId, listId, subscriberId, runtimeMessageId = null, state = 'sent', daysAgo = 0 } = to;
  const campaignUid = newUid();
  const [campaign] = await queryRows<{ id: bigint }>(
    ctx.db,
    sql`
    INSERT INTO campaign (customer_id, uid, list_id, name, from_email, status, snapshot_on, snapshot_at)
    VALUES (${customerId}, ${campaignUid}, ${listId}, 'Sent', 'news@sender.example', 'done', current_date, now()) RETURNING id`,
  );
  const campaignId = campaign?.id ?? 0n;
  await ctx.db.execute(sql`
    INSERT INTO hot.delivery (snapshot_on, customer_id, source_kind, source_id, recipient_id, list_id, state, email, attempts, runtime_message_id, updated_at)
    SELECT current_date, customer_id, 1, ${campaignId}, id, list_id, ${state}::hot.delivery_state, email, 1, ${runtimeMessageId}, now() - make_interval(days => ${daysAgo})
      FROM subscriber WHERE customer_id = ${customerId} AND list_id = ${listId} AND id = ${subscriberId}`);
  await ctx.db.execute(sql`
    INSERT INTO hot.delivery_counter (customer_id, source_kind, source_id, audience, sent, unknown, failed)
    VALUES (${customerId}, 1, ${campaignId}, 1, ${Number(state === 'sent')}, ${Number(state === 'unknown')}, ${Number(state === 'failed')})`);
  if (runtimeMessageId !== null)
    await ctx.db.execute(sql`
      INSERT INTO hot.runtime_message (customer_id, source_kind, source_id, recipient_id, message_key)
      VALUES (${customerId}, 1, ${campaignId}, ${subscriberId}, ${runtimeMessageKey(runtimeMessageId)})`);
  const messageId = deliveryMessageId(
    ctx.installation,
    deliveryOf({ customerId, campaignId, subscriberId }),
    'sender.example',
  );
  return { campaignId, campaignUid, messageId };
}
