/**
 * The states of a campaign (decision D21), the allowed transitions, and the only statements that write them: `status`, its reason
 * (`reason_code`, `reason_params`), and what a campaign that is being sent waits for (`wait_kind`, `wait_until`).
 * `test/architecture/campaign-state.test.ts` refuses any other. One change happens in the database: when a file of a campaign is
 * deleted, the SQL function `hot.reopen_campaigns_without_file` writes the state.
 */
import { empty, sql, type Queryable, type Sql } from '../../db/database.ts';
import { storedParams } from '../../lib/coded-reason.ts';
import { assert } from '../../lib/errors.ts';
import type { CampaignKey } from '../statistics/campaign-key.ts';
import type { ConditionWait, StatusReason, Stall, WaitReason } from './status-reason.ts';

/**
 * new (something needed to send is missing) or ready -> scheduled -> queued (the audience snapshot has not begun) -> sending (from
 * the first slice of the audience on) -> done; paused from scheduled, queued or sending. `error`: nobody would get it (D56), or a
 * plugin has not said who.
 */
export const campaignStatuses = ['new', 'ready', 'scheduled', 'queued', 'sending', 'paused', 'done', 'error'] as const;
export type CampaignStatus = (typeof campaignStatuses)[number];

/**
 * The allowed transitions. A scheduled campaign may be scheduled again; a finished one sends again to recipients that are resent.
 */
const NEXT: Readonly<Record<CampaignStatus, readonly CampaignStatus[]>> = {
  new: ['ready', 'scheduled', 'queued'],
  ready: ['new', 'scheduled', 'queued'],
  scheduled: ['new', 'ready', 'scheduled', 'queued', 'paused', 'error'],
  queued: ['sending', 'paused', 'error'],
  sending: ['paused', 'done', 'error'],
  paused: ['scheduled', 'queued', 'sending'],
  done: ['sending'],
  error: ['scheduled', 'queued'],
};

/** Statuses in which a campaign is under way: it cannot be deleted, its content cannot change. */
export const UNDER_WAY: readonly CampaignStatus[] = ['queued', 'sending'];
/** Statuses that can be paused. */
export const PAUSABLE: readonly CampaignStatus[] = campaignStatuses.filter((status) => NEXT[status].includes('paused'));
/** Statuses in which content may change; a paused one only while nothing was sent (decision D22). */
export const EDITABLE: readonly CampaignStatus[] = ['new', 'ready', 'scheduled', 'paused', 'error'];

export interface Transition {
  readonly from: readonly CampaignStatus[];
  readonly to: CampaignStatus;
  /** The new reason; the old one is replaced. */
  readonly reason?: StatusReason | undefined;
}

/** Moves the campaign from one of `from` to `to`; false when it had another status. Sets starting and finishing times. */
export async function moveCampaign(
  db: Queryable,
  { customerId, id }: { readonly customerId: bigint; readonly id: bigint },
  transition: Transition,
): Promise<boolean> {
  const moved = await moveCampaigns(db, sql`customer_id = ${customerId} AND id = ${id}`, transition);
  return moved.length > 0;
}

/** For `moveCampaigns`: every campaign, of all customers. */
export const EVERY_CAMPAIGN: Sql = sql`true`;

/** Campaigns of a customer that is not active. */
export function campaignsOfDisabled(customerId: bigint): Sql {
  return sql`customer_id = ${customerId} AND EXISTS (SELECT 1 FROM customer c WHERE c.id = ${customerId} AND c.status <> 'active')`;
}

/** Campaigns whose time passed more than so many hours ago. */
export function overdueCampaigns(hours: number): Sql {
  return sql`delivery_at < now() - make_interval(hours => ${hours}::int)`;
}

/** The same for all campaigns `campaign` for which `which` is true; returns the uids of those that were moved. */
export async function moveCampaigns(
  db: Queryable,
  which: Sql,
  { from, to, reason }: Transition,
): Promise<readonly string[]> {
  assert(
    from.every((status) => NEXT[status].includes(to)),
    `a campaign may become ${to} from ${from.join(', ')}`,
  );
  const moved = await db.query(
    { uid: 'text' },
    sql`UPDATE campaign SET status = ${to}, reason_code = ${reason?.code ?? null}, reason_params = ${reason ? storedParams(reason) : null}::jsonb,
          wait_kind = NULL, wait_until = NULL, updated_at = now(),
          started_at = CASE WHEN ${to} = 'queued' THEN coalesce(started_at, now()) ELSE started_at END,
          snapshot_on = CASE WHEN ${to} = 'queued' THEN coalesce(snapshot_on, (now() AT TIME ZONE 'UTC')::date) ELSE snapshot_on END,
          finished_at = CASE WHEN ${to} = 'done' THEN now() END,
          -- Whoever lets it go on believes what the server says: with a new version every process takes the campaign up anew.
          content_version = content_version + CASE WHEN ${to} IN ('queued', 'sending') AND bounce_spike = 'held' THEN 1 ELSE 0 END,
          bounce_spike = CASE WHEN ${to} IN ('queued', 'sending') AND bounce_spike = 'held' THEN 'believed' ELSE bounce_spike END
        WHERE status = ANY(${from}::text[]) AND ${which} RETURNING uid`,
  );
  return moved.map(({ uid }) => uid);
}

export interface CampaignWait {
  readonly reason: WaitReason;
  /** Null: not known. */
  readonly until: Date | null;
}

/** For `beginWait`: the audience is complete, there is no other wait, and the time is in the future. */
export function isIdleUntil(at: Date): Sql {
  return sql`snapshot_at IS NOT NULL AND wait_kind IS NULL AND ${at}::timestamptz > now()`;
}

/** Lets a campaign wait that is being sent and for which `provided` is true; false when there is none. */
export async function beginWait(
  db: Queryable,
  { customerId, campaignId }: CampaignKey,
  { reason, until }: CampaignWait,
  provided: Sql = sql`true`,
): Promise<boolean> {
  const waits = await db.execute(
    sql`UPDATE campaign SET wait_kind = ${reason.code}, wait_until = ${until}, reason_code = NULL, reason_params = ${storedParams(reason)}::jsonb
         WHERE customer_id = ${customerId} AND id = ${campaignId} AND status = 'sending' AND ${provided}`,
  );
  return waits > 0;
}

/** Ends the campaign's wait, or only one that is due; false when there is none. */
export async function endWait(
  db: Queryable,
  { customerId, campaignId }: CampaignKey,
  { isDueOnly = false } = {},
): Promise<boolean> {
  const ended = await db.execute(
    sql`UPDATE campaign SET wait_kind = NULL, wait_until = NULL, reason_params = NULL
         WHERE customer_id = ${customerId} AND id = ${campaignId} AND wait_kind IS NOT NULL ${isDueOnly ? sql`AND wait_until <= now()` : empty}`,
  );
  return ended > 0;
}

/** Records that the campaign makes no progress, unless it has another reason. */
export async function reportStall(db: Queryable, { customerId, campaignId }: CampaignKey, stall: Stall): Promise<void> {
  await db.execute(
    sql`UPDATE campaign SET reason_code = ${stall.code}, reason_params = ${storedParams(stall)}::jsonb
         WHERE customer_id = ${customerId} AND id = ${campaignId} AND status = ANY(${UNDER_WAY}::text[]) AND wait_kind IS NULL
           AND (reason_code IS NULL OR reason_code = ${stall.code})`,
  );
}

/** Records that a campaign whose audience is not planned waits for a plugin. */
export async function reportConditionWait(
  db: Queryable,
  { customerId, campaignId }: CampaignKey,
  wait: ConditionWait,
): Promise<void> {
  await db.execute(
    sql`UPDATE campaign SET reason_code = ${wait.code}, reason_params = ${storedParams(wait)}::jsonb
         WHERE customer_id = ${customerId} AND id = ${campaignId} AND status = 'queued'`,
  );
}

/** Removes the reason of `reportStall` from campaigns that make progress again: those without an alarm. */
export async function clearStalls(db: Queryable): Promise<void> {
  const code: Stall['code'] = 'stalled';
  await db.execute(
    sql`UPDATE campaign c SET reason_code = NULL, reason_params = NULL
         WHERE c.status = ANY(${UNDER_WAY}::text[]) AND c.reason_code = ${code}
           AND NOT EXISTS (SELECT 1 FROM hot.campaign_progress w WHERE w.customer_id = c.customer_id AND w.campaign_id = c.id AND w.alarmed_at IS NOT NULL)`,
  );
}
