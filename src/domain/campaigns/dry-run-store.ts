/** Reads and writes of dry runs. One at a time per campaign; a repeated job finds the previous progress. */
import { row, sql, typed, type Queryable, type RowOf } from '../../db/database.ts';
import { notify } from '../../db/listen.ts';
import { storedParams } from '../../lib/coded-reason.ts';
import type { CampaignKey } from '../statistics/campaign-key.ts';
import type { DryRunReason } from './status-reason.ts';

const ROW = row({
  id: 'bigint',
  customerId: 'bigint',
  campaignId: 'bigint',
  status: typed<DryRunStatus>('text'),
  reason: typed<DryRunReason>('json?'),
  cursor: 'bigint',
  total: 'int',
  checked: 'int',
  composed: 'int',
  faulty: 'int',
  totalBytes: 'bigint',
  largestBytes: 'int',
  workMs: 'float8',
  skipped: typed<Readonly<Record<string, number>>>('json'),
  faults: typed<readonly DryRunFault[]>('json'),
  contentVersion: 'int?',
  createdAt: 'timestamptz',
  startedAt: 'timestamptz?',
  finishedAt: 'timestamptz?',
});

export const dryRunStatuses = ['queued', 'running', 'done', 'cancelled', 'failed'] as const;
export type DryRunStatus = (typeof dryRunStatuses)[number];

/** A person for whom no message could be composed, and why. */
export interface DryRunFault {
  readonly subscriberId: string;
  readonly text: string;
}

export interface DryRun {
  readonly id: bigint;
  readonly customerId: bigint;
  readonly campaignId: bigint;
  readonly status: DryRunStatus;
  readonly reason: DryRunReason | null;
  readonly cursor: bigint;
  /** People on the list when it began. */
  readonly total: number;
  readonly checked: number;
  readonly composed: number;
  readonly faulty: number;
  readonly totalBytes: bigint;
  readonly largestBytes: number;
  /** Time spent on composing, in milliseconds. */
  readonly workMs: number;
  /** How many get no message, by reason. */
  readonly skipped: Readonly<Record<string, number>>;
  readonly faults: readonly DryRunFault[];
  readonly contentVersion: number | null;
  readonly createdAt: Date;
  readonly startedAt: Date | null;
  readonly finishedAt: Date | null;
}

/** The result of one slice of a dry run. */
export interface DryRunStep {
  readonly cursor: bigint;
  readonly checked: number;
  readonly composed: number;
  readonly faulty: number;
  readonly bytes: number;
  readonly largestBytes: number;
  readonly workMs: number;
  readonly skipped: Readonly<Record<string, number>>;
  readonly faults: readonly DryRunFault[];
}

/** Stored faults: more of them have the same cause. */
export const FAULTS_KEPT_MAX = 100;
/** Earlier runs of a campaign that are kept. */
const RUNS_KEPT = 20;

const COLUMNS = sql`id, customer_id AS "customerId", campaign_id AS "campaignId", status, CASE WHEN reason_code IS NOT NULL THEN jsonb_build_object('code', reason_code, 'params', reason_params) END AS reason, cursor, total,
  checked, composed, faulty, total_bytes AS "totalBytes", largest_bytes AS "largestBytes", work_ms AS "workMs", skipped, faults,
  content_version AS "contentVersion", created_at AS "createdAt", started_at AS "startedAt", finished_at AS "finishedAt"`;

/** The channel of changed runs; a payload is `<customer id>:<campaign id>`. */
export const DRY_RUN_CHANNEL = 'dry_run';
const ANNOUNCED = sql`SELECT pg_notify(${DRY_RUN_CHANNEL}, customer_id || ':' || campaign_id) FROM changed`;

/** Writes a new one; undefined when one is open. Deletes the oldest. */
export async function insertDryRun(
  db: Queryable,
  { customerId, campaignId }: CampaignKey,
): Promise<DryRun | undefined> {
  await db.execute(sql`
    DELETE FROM dry_run WHERE customer_id = ${customerId} AND campaign_id = ${campaignId} AND id <= (
      SELECT id FROM dry_run WHERE customer_id = ${customerId} AND campaign_id = ${campaignId} ORDER BY id DESC OFFSET ${RUNS_KEPT - 1} LIMIT 1)`);
  const [run] = await db.query(
    ROW,
    sql`
    INSERT INTO dry_run (customer_id, campaign_id) VALUES (${customerId}, ${campaignId})
    ON CONFLICT (customer_id, campaign_id) WHERE status IN ('queued', 'running') DO NOTHING RETURNING ${COLUMNS}`,
  );
  if (run) await notify(db, DRY_RUN_CHANNEL, `${customerId}:${campaignId}`);
  return run;
}

/** The campaign's latest one. */
export async function latestDryRun(
  db: Queryable,
  { customerId, campaignId }: CampaignKey,
): Promise<DryRun | undefined> {
  const [run] = await latestDryRunOfEach(db, customerId, [campaignId]);
  return run ?? undefined;
}

/** The latest of each of these campaigns, in order; null: there was none. */
export async function latestDryRunOfEach(
  db: Queryable,
  customerId: bigint,
  campaignIds: readonly bigint[],
): Promise<(DryRun | null)[]> {
  const runs = await db.query(
    ROW,
    sql`
    SELECT DISTINCT ON (campaign_id) ${COLUMNS} FROM dry_run
     WHERE customer_id = ${customerId} AND campaign_id = ANY (${[...campaignIds]}::bigint[]) ORDER BY campaign_id, id DESC`,
  );
  const byCampaign = new Map(runs.map((run) => [run.campaignId, run]));
  return campaignIds.map((id) => byCampaign.get(id) ?? null);
}

export interface DryRunKey {
  readonly customerId: bigint;
  readonly id: bigint;
}

const DRY_RUN_WORK_ROW = row({
  id: 'bigint',
  customerId: 'bigint',
  campaignId: 'bigint',
  cursor: 'bigint',
  contentVersion: 'int',
});
/** What it goes on from. */
export type DryRunWork = RowOf<typeof DRY_RUN_WORK_ROW>;

/** Starts or continues it; undefined when it has ended. The campaign's version is that of the start. */
export async function takeDryRun(db: Queryable, { customerId, id }: DryRunKey): Promise<DryRunWork | undefined> {
  const [run] = await db.query(
    DRY_RUN_WORK_ROW,
    sql`
    UPDATE dry_run r SET status = 'running', started_at = coalesce(r.started_at, now()),
           content_version = coalesce(r.content_version, c.content_version),
           total = CASE WHEN r.started_at IS NULL THEN coalesce((
             SELECT n.subscribed + n.unsubscribed + n.pending + n.unconfirmed FROM hot.list_counter n
              WHERE n.customer_id = c.customer_id AND n.list_id = c.list_id), 0) ELSE r.total END
      FROM campaign c
     WHERE r.customer_id = ${customerId} AND r.id = ${id} AND r.status IN ('queued', 'running')
       AND c.customer_id = r.customer_id AND c.id = r.campaign_id
    RETURNING r.id, r.customer_id AS "customerId", r.campaign_id AS "campaignId", r.cursor, r.content_version AS "contentVersion"`,
  );
  return run;
}

/** Adds a slice; false when the run has ended, or another worker did this slice already. */
export async function addDryRunStep(
  db: Queryable,
  { customerId, id, cursor }: DryRunKey & Pick<DryRun, 'cursor'>,
  step: DryRunStep,
): Promise<boolean> {
  const added = await db.execute(sql`
    WITH changed AS (UPDATE dry_run SET cursor = ${step.cursor}, checked = checked + ${step.checked}, composed = composed + ${step.composed},
           faulty = faulty + ${step.faulty}, total_bytes = total_bytes + ${step.bytes}, largest_bytes = greatest(largest_bytes, ${step.largestBytes}),
           work_ms = work_ms + ${step.workMs},
           skipped = (SELECT coalesce(jsonb_object_agg(reason, n), '{}') FROM (
             SELECT reason, sum(n::int) AS n FROM (
               SELECT * FROM jsonb_each_text(skipped) UNION ALL SELECT * FROM jsonb_each_text(${JSON.stringify(step.skipped)}::jsonb)) AS s (reason, n)
              GROUP BY reason) sums),
           faults = CASE WHEN jsonb_array_length(faults) >= ${FAULTS_KEPT_MAX} THEN faults
                         ELSE jsonb_path_query_array(faults || ${JSON.stringify(step.faults)}::jsonb, ${`$[0 to ${FAULTS_KEPT_MAX - 1}]`}::jsonpath) END
     WHERE customer_id = ${customerId} AND id = ${id} AND status = 'running' AND cursor = ${cursor}
     RETURNING customer_id, campaign_id) ${ANNOUNCED}`);
  return added > 0;
}

/** Ends an open one; false when it had ended. */
export async function endDryRun(
  db: Queryable,
  { customerId, id }: DryRunKey,
  { status, reason }: { status: DryRunStatus; reason?: DryRunReason },
): Promise<boolean> {
  const ended = await db.execute(sql`
    WITH changed AS (UPDATE dry_run SET status = ${status}, reason_code = ${reason?.code ?? null}, reason_params = ${reason ? storedParams(reason) : null}::jsonb, finished_at = now()
     WHERE customer_id = ${customerId} AND id = ${id} AND status IN ('queued', 'running')
     RETURNING customer_id, campaign_id) ${ANNOUNCED}`);
  return ended > 0;
}
