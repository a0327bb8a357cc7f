/**
 * When the operator's ways for bounces and complaints had something for the last time, so that the checks of the installation notice one
 * that has become silent. A vendor posts hundreds of events a second: a time is written at most once a minute.
 */
import { sql, type Queryable, type Sql } from '../../db/database.ts';

export interface ReportSource {
  readonly kind: 'webhook' | 'mailbox' | 'bounce_server';
  /** Of the operator's sending server or bounce handler; empty: the server for bounces. */
  readonly uid: string;
}

export const BOUNCE_SERVER: ReportSource = { kind: 'bounce_server', uid: '' };

/** The times are shown in hours. */
const WRITTEN_EVERY_SECONDS = 60;

/** Notes that a source exists: what is sent from now on counts as silence. A source that is watched stays as it is. */
export async function watchReportSource(db: Queryable, { kind, uid }: ReportSource): Promise<void> {
  await db.execute(
    sql`INSERT INTO hot.report_source (kind, uid, sent) SELECT ${kind}, ${uid}, ${sentOf({ kind, uid })}
         WHERE NOT EXISTS (SELECT 1 FROM hot.report_source WHERE kind = ${kind} AND uid = ${uid}) ON CONFLICT DO NOTHING`,
    'bounces.watch_report_source',
  );
}

/** Notes that a source had something. Concurrent reports do not wait for each other's transactions longer than once a minute. */
export async function noteReport(db: Queryable, source: ReportSource, isComplaint: boolean): Promise<void> {
  const { kind, uid } = source;
  await watchReportSource(db, source);
  await db.execute(
    sql`UPDATE hot.report_source SET reported_at = now(), sent = ${sentOf(source)},
               complained_at = CASE WHEN ${isComplaint} THEN now() ELSE complained_at END
         WHERE kind = ${kind} AND uid = ${uid} AND (coalesce(reported_at, '-infinity') < ${due()}
            OR ${isComplaint} AND coalesce(complained_at, '-infinity') < ${due()})`,
    'bounces.note_report',
  );
}

const due = (): Sql => sql`now() - make_interval(secs => ${WRITTEN_EVERY_SECONDS})`;

/** Messages that were handed over so far: by the vendor's server, or by all servers, because bounces of all come as mail. */
function sentOf({ kind, uid }: ReportSource): Sql {
  return sql`(SELECT coalesce(sum(messages), 0)::bigint FROM hot.sending_total
               WHERE outcome = 'sent' AND (${kind}::text <> 'webhook' OR server = ${uid}))`;
}
