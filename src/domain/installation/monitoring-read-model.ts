/** Figures of the whole installation for monitoring: no customer's name, address or uid is in them. */
import { sql, row, type Queryable, type RowOf } from '../../db/database.ts';
import { queuedJobs } from '../../jobs/queue-internals-store.ts';
import { PLUGINS_FLAG } from '../../jobs/plugin-work-jobs.ts';
import { SOURCE_KINDS } from '../source-key.ts';

const QUEUE_ROW = row({
  task: 'text',
  due: 'int',
  later: 'int',
  running: 'int',
  failed: 'int',
  /** Of the oldest job that is due and not running. */
  oldestDueSeconds: 'float8',
});
export type TaskQueue = RowOf<typeof QUEUE_ROW>;

/** A job of a plugin that is not active: it waits until the plugin is. */
const waitsForPlugin = sql`(flags ? ${PLUGINS_FLAG} AND NOT EXISTS (
  SELECT FROM plugin p WHERE p.status = 'active' AND flags ? (${PLUGINS_FLAG} || ':' || p.vendor || '/' || p.name)))`;

/** The queue by kind of job; kinds without a job are missing. */
export function queueByTask(db: Queryable): Promise<TaskQueue[]> {
  return db.query(
    QUEUE_ROW,
    sql`SELECT j.name AS task,
               count(*) FILTER (WHERE NOT is_running AND NOT is_given_up AND run_at <= now() AND ${waitsForPlugin} IS NOT TRUE)::int AS due,
               count(*) FILTER (WHERE NOT is_running AND NOT is_given_up AND (run_at > now() OR ${waitsForPlugin}))::int AS later,
               count(*) FILTER (WHERE is_running)::int AS running,
               count(*) FILTER (WHERE NOT is_running AND is_given_up)::int AS failed,
               coalesce(extract(epoch FROM now() - min(run_at) FILTER (WHERE NOT is_running AND NOT is_given_up AND run_at <= now() AND ${waitsForPlugin} IS NOT TRUE)), 0)::float8 AS "oldestDueSeconds"
          FROM ${queuedJobs} j GROUP BY 1 ORDER BY 1`,
  );
}

const CAMPAIGNS_ROW = row({ status: 'text', campaigns: 'int', open: 'float8' });
export type CampaignsByStatus = RowOf<typeof CAMPAIGNS_ROW>;

/** Campaigns that are not finished, and the recipients who still wait in them. */
export function campaignsByStatus(db: Queryable): Promise<CampaignsByStatus[]> {
  return db.query(
    CAMPAIGNS_ROW,
    sql`SELECT c.status, count(*)::int AS campaigns, coalesce(sum(d.open), 0)::float8 AS open
          FROM campaign c LEFT JOIN hot.delivery_counter d
            ON d.customer_id = c.customer_id AND d.source_kind = ${SOURCE_KINDS.campaign} AND d.source_id = c.id
         WHERE c.status IN ('scheduled', 'queued', 'sending', 'paused', 'error') GROUP BY 1 ORDER BY 1`,
  );
}
