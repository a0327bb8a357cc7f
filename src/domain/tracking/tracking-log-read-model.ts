/** The tracking log of a campaign: the result for each recipient, from the ledger. */
import { sql, row, type Queryable, type RowOf } from '../../db/database.ts';
import { asciiDomainOf } from '../../lib/mail-domain.ts';
import type { Installation } from '../context.ts';
import { deliveryReasonText } from '../sending/delivery-reason.ts';
import { CAMPAIGN } from '../statistics/source-read-model.ts';
import { deliveryMessageId } from './delivery-message-id.ts';
import { recipientOfCampaign } from './tracking.ts';
import type { LogCell, LoggedCampaign } from './logged-campaign.ts';

export interface TrackingLogRow {
  readonly time: string;
  readonly subscriberId: bigint;
  readonly email: string;
  readonly cells: readonly LogCell[];
}

const LEDGER_ROW = row({
  time: 'text',
  subscriberId: 'bigint',
  email: 'text',
  state: 'text',
  wasHandedOver: 'bool',
  runtimeMessageId: 'text?',
  serverId: 'bigint?',
  reason: 'text?',
  reply: 'text?',
});
type LedgerRow = RowOf<typeof LEDGER_ROW>;

/** Recipients in the order of their subscription, after an id; none before the campaign was started. */
export async function trackingLogPage(
  ctx: { readonly db: Queryable; readonly installation: Installation },
  campaign: LoggedCampaign,
  { afterId, limit }: { afterId: bigint; limit: number },
): Promise<TrackingLogRow[]> {
  const { customerId, id: campaignId, listId, snapshotOn, fromEmail } = campaign;
  if (snapshotOn === null) return [];
  const rows = await ctx.db.query(
    LEDGER_ROW,
    sql`SELECT to_char(updated_at, 'YYYY-MM-DD HH24:MI:SS') AS time, recipient_id AS "subscriberId", email, state::text AS state,
               attempts > 0 OR state IN ('sending', 'sent', 'unknown') AS "wasHandedOver", runtime_message_id AS "runtimeMessageId",
               server_id AS "serverId", reason, reply
          FROM hot.delivery
         WHERE snapshot_on = ${snapshotOn}::date AND customer_id = ${customerId} AND source_kind = ${CAMPAIGN} AND source_id = ${campaignId} AND recipient_id > ${afterId}
         ORDER BY recipient_id LIMIT ${limit}`,
    // Not prepared: a plan for any month cannot use the order of the key, and would sort the whole ledger per page.
  );
  const servers = await namesOfServers(ctx.db, { customerId, rows });
  const domain = asciiDomainOf(fromEmail);
  return rows.map((row) => {
    const { time, subscriberId, email, state, wasHandedOver, runtimeMessageId, serverId } = row;
    const messageId = wasHandedOver
      ? deliveryMessageId(
          ctx.installation,
          recipientOfCampaign({ customerId, campaignId, subscriberId, listId }),
          domain,
        )
      : null;
    const server = serverId === null ? null : (servers.get(serverId) ?? null);
    return { time, subscriberId, email, cells: [state, messageId, runtimeMessageId, server, errorOf(row)] };
  });
}

/** A server may be the customer's own or one of the operator's. There are few. */
async function namesOfServers(
  db: Queryable,
  { customerId, rows }: { customerId: bigint; rows: readonly LedgerRow[] },
): Promise<Map<bigint, string>> {
  const ids = [...new Set(rows.flatMap(({ serverId }) => serverId ?? []))];
  if (ids.length === 0) return new Map();
  const servers = await db.query(
    { id: 'bigint', name: 'text' },
    sql`SELECT id, name FROM sending_server WHERE id = ANY (${ids}::bigint[]) AND (customer_id = ${customerId} OR is_system)`,
  );
  return new Map(servers.map(({ id, name }) => [id, name]));
}

/** The reply to an accepted message is no error. */
function errorOf({ state, reason, reply }: LedgerRow): string | null {
  if (state === 'sent') return null;
  return (
    [reason && deliveryReasonText(reason), reply].filter((text) => text !== null && text !== '').join(': ') || null
  );
}
