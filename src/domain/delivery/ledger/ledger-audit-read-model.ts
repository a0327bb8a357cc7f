/**
 * The ledger for operators who check it: a campaign's counters and its rows, counted at one moment, and all data about one
 * recipient. Slow; used by no entry point.
 */
import { sql, row, typed, type Queryable, type RowOf } from '../../../db/database.ts';
import { CAMPAIGN } from '../../statistics/source-read-model.ts';
import { deliveryStates, type DeliveryState } from './delivery.ts';

const AUDITED_CAMPAIGN_ROW = row({
  customerId: 'bigint',
  campaignId: 'bigint',
  uid: 'text',
  name: 'text',
  status: 'text',
  snapshotOn: 'text?',
  hasSnapshot: 'bool',
});
export type AuditedCampaign = RowOf<typeof AUDITED_CAMPAIGN_ROW>;

/** The campaign of any customer. */
export async function auditedCampaign(db: Queryable, uid: string): Promise<AuditedCampaign | undefined> {
  const [row] = await db.query(
    AUDITED_CAMPAIGN_ROW,
    sql`SELECT customer_id AS "customerId", id AS "campaignId", uid, name, status,
               snapshot_on::text AS "snapshotOn", snapshot_at IS NOT NULL AS "hasSnapshot" FROM campaign WHERE uid = ${uid}`,
  );
  return row;
}

export type StateCounts = Readonly<Record<DeliveryState, number>>;

export interface LedgerAudit {
  readonly rows: StateCounts;
  /** The counters; `open` is queued, leased and sending together. Undefined: the campaign has none. */
  readonly counters:
    | Readonly<Record<'audience' | 'open' | 'sent' | 'failed' | 'skipped' | 'suppressed' | 'unknown', number>>
    | undefined;
  /** Rows whose outcome was unknown at some time, and the highest count of one row. */
  readonly ambiguousRows: number;
  readonly ambiguousMost: number;
  /** Rows that are still held although the campaign has ended. */
  readonly heldRows: number;
  /** One sentence each; none: it balances. */
  readonly faults: readonly string[];
}

const LEDGER_AUDIT_ROW = row({
  rows: typed<Partial<StateCounts>>('json?'),
  counters: typed<NonNullable<LedgerAudit['counters']>>('json?'),
  ambiguousRows: 'int',
  ambiguousMost: 'int',
});

/** Counts the ledger and compares the counters, in one statement: both are of the same moment. */
export async function auditLedger(db: Queryable, campaign: AuditedCampaign): Promise<LedgerAudit> {
  const { customerId, campaignId, snapshotOn } = campaign;
  const [row] = await db.query(
    LEDGER_AUDIT_ROW,
    sql`WITH d AS (
          SELECT state::text AS state, count(*)::int AS n, count(*) FILTER (WHERE ambiguous_count > 0)::int AS doubted,
                 max(ambiguous_count)::int AS most
            FROM hot.delivery
           WHERE snapshot_on = ${snapshotOn}::date AND customer_id = ${customerId} AND source_kind = ${CAMPAIGN} AND source_id = ${campaignId} GROUP BY 1)
        SELECT (SELECT json_object_agg(state, n) FROM d) AS rows,
               (SELECT coalesce(sum(doubted), 0)::int FROM d) AS "ambiguousRows", (SELECT coalesce(max(most), 0) FROM d) AS "ambiguousMost",
               (SELECT json_build_object('audience', audience, 'open', open, 'sent', sent, 'failed', failed, 'skipped', skipped,
                         'suppressed', suppressed, 'unknown', unknown)
                  FROM hot.delivery_counter WHERE customer_id = ${customerId} AND source_kind = ${CAMPAIGN} AND source_id = ${campaignId}) AS counters`,
  );
  const rows = completed(row?.rows ?? {});
  const counters = row?.counters ?? undefined;
  const heldRows = rows.leased + rows.sending;
  return {
    rows,
    counters,
    ambiguousRows: row?.ambiguousRows ?? 0,
    ambiguousMost: row?.ambiguousMost ?? 0,
    heldRows,
    faults: faultsOf(campaign, rows, counters),
  };
}

function completed(counts: Partial<StateCounts>): StateCounts {
  return {
    ...{ queued: 0, leased: 0, sending: 0, sent: 0 },
    ...{ failed: 0, skipped: 0, suppressed: 0, unknown: 0, ...counts },
  };
}

/** The faults in words: the counters against the rows, and `done` against what is open. */
function faultsOf(
  { status, hasSnapshot }: Pick<AuditedCampaign, 'status' | 'hasSnapshot'>,
  rows: StateCounts,
  counters: LedgerAudit['counters'],
): string[] {
  const open = rows.queued + rows.leased + rows.sending;
  const audience = deliveryStates.reduce((sum, state) => sum + rows[state], 0);
  if (!counters) return audience === 0 ? [] : [`There are ${audience} rows and no counters.`];
  const { sent, failed, skipped, suppressed, unknown } = rows;
  const counted = { audience, open, sent, failed, skipped, suppressed, unknown };
  const faults = Object.entries(counted).flatMap(([name, count]) => {
    const shown = Reflect.get(counters, name);
    return shown === count ? [] : [`The counter ${name} shows ${String(shown)}, and there are ${count} rows.`];
  });
  if (status === 'done' && open > 0) faults.push(`The campaign is done, and ${open} recipients are open.`);
  if (status === 'done' && !hasSnapshot) faults.push('The campaign is done, and its audience was never complete.');
  return faults;
}

const STORY_ROW = row({
  subscriberId: 'bigint',
  email: 'text',
  state: typed<DeliveryState>('text'),
  attempts: 'smallint',
  epoch: 'int',
  ambiguousCount: 'smallint',
  notBefore: 'timestamptz?',
  leaseExpiresAt: 'timestamptz?',
  updatedAt: 'timestamptz',
  reason: 'text?',
  reply: 'text?',
  server: 'text?',
});
export type StoryRow = RowOf<typeof STORY_ROW>;

export interface StoryEvent {
  readonly at: Date;
  readonly kind: string;
  readonly detail: string | null;
}

/** The rows of an address in any case: it may have been imported in two spellings. */
export function storyRows(db: Queryable, campaign: AuditedCampaign, address: string): Promise<StoryRow[]> {
  return db.query(
    STORY_ROW,
    sql`SELECT d.recipient_id AS "subscriberId", d.email, d.state::text AS state, d.attempts, d.epoch, d.ambiguous_count AS "ambiguousCount",
               d.not_before AS "notBefore", d.lease_expires_at AS "leaseExpiresAt", d.updated_at AS "updatedAt", d.reason, d.reply,
               s.name || ' (' || s.uid || ')' AS server
          FROM hot.delivery d LEFT JOIN sending_server s ON s.id = d.server_id
         WHERE d.snapshot_on = ${campaign.snapshotOn}::date AND d.customer_id = ${campaign.customerId} AND d.source_kind = ${CAMPAIGN} AND d.source_id = ${campaign.campaignId}
           AND lower(d.email) = lower(${address}) ORDER BY d.recipient_id`,
  );
}

const EVENTS = [
  ['opened', sql`hot.open_event`, sql`concat_ws(', ', ip, country, CASE WHEN is_machine THEN 'a machine' END)`],
  ['clicked', sql`hot.click_event`, sql`concat_ws(', ', url, ip, CASE WHEN is_machine THEN 'a machine' END)`],
  ['unsubscribed', sql`hot.unsubscribe_event`, sql`reason`],
  ['bounced', sql`hot.bounce_event`, sql`concat_ws(' ', type, status_code, message)`],
  ['complained', sql`hot.feedback_event`, sql`concat_ws(' ', type, message)`],
] as const;

/** Events of the recipient, in order of time. */
export async function storyEvents(
  db: Queryable,
  { customerId, campaignId }: AuditedCampaign,
  subscriberId: bigint,
): Promise<StoryEvent[]> {
  const found = [];
  for (const [kind, table, detail] of EVENTS) {
    const events = await db.query(
      { at: 'timestamptz', detail: 'text?' },
      sql`SELECT at, ${detail} AS detail FROM ${table} WHERE customer_id = ${customerId} AND source_kind = ${CAMPAIGN} AND source_id = ${campaignId} AND recipient_id = ${subscriberId}`,
    );
    found.push(...events.map((event) => ({ ...event, kind })));
  }
  return found.sort((a, b) => a.at.getTime() - b.at.getTime());
}
