/** Whether people have opened or clicked a mail of their run, and campaigns that flows name. */
import { row, sql, type Queryable } from '../../../db/database.ts';
import { causesOfRun } from '../../delivery/flow-mails/flow-mail.ts';
import { SOURCE_KINDS } from '../../source-key.ts';
import type { AwaitedActivity } from '../flow/asked-activity.ts';
import type { VersionKey } from '../runs/run.ts';

export interface ActivitySearch {
  readonly runId: bigint;
  readonly personId: bigint;
  readonly from: Date;
  /** Null: without end. */
  readonly until: Date | null;
}

const FOUND_ROW = row({ no: 'int', id: 'bigint', at: 'timestamptz' });

/**
 * Clicks of the last seconds may turn out to be a machine's: they come later, by the follower. The same time as in
 * hot.note_activity_for_flows.
 */
export const SETTLED_SECONDS = 5;
const SETTLED = sql`clock_timestamp() - make_interval(secs => ${SETTLED_SECONDS}::int)`;

/** For each search the first open or click that is asked for, if there is one. */
export async function firstActivity<Search extends ActivitySearch>(
  db: Queryable,
  { customerId, automationId }: Pick<VersionKey, 'customerId' | 'automationId'>,
  { asked, searches }: { readonly asked: AwaitedActivity; readonly searches: readonly Search[] },
): Promise<ReadonlyMap<Search, { readonly id: bigint; readonly at: Date }>> {
  const link = asked.type === 'clicked' ? (asked.linkContains ?? null) : null;
  const common = sql`e.customer_id = ${customerId} AND e.source_kind = ${SOURCE_KINDS.automation} AND e.source_id = ${automationId} AND e.recipient_id = w.person
    AND e.at >= w.from_at AND (w.until_at IS NULL OR e.at < w.until_at) AND e.at < ${SETTLED} AND (${asked.machines ?? false} OR NOT e.is_machine)`;
  const rows = await db.query(
    FOUND_ROW,
    sql`SELECT (w.no - 1)::int AS no, a.id, a.at
          FROM unnest(${searches.map(({ personId }) => personId)}::bigint[], ${searches.map(({ from }) => from)}::timestamptz[],
                      ${searches.map(({ until }) => until)}::timestamptz[], ${searches.map(({ runId }) => causesOfRun(runId, asked.mail))}::text[])
               WITH ORDINALITY AS w (person, from_at, until_at, causes, no)
         CROSS JOIN LATERAL (
           SELECT x.id, x.at FROM (
             SELECT e.id, e.at, e.occurrence FROM hot.click_event e WHERE ${common} AND (${link}::text IS NULL OR strpos(hot.fold(e.url), hot.fold(${link})) > 0)
             UNION ALL
             SELECT e.id, e.at, e.occurrence FROM hot.open_event e WHERE ${asked.type === 'opened'} AND ${common}) x
            WHERE EXISTS (SELECT 1 FROM hot.message m WHERE m.customer_id = ${customerId} AND m.id = x.occurrence AND starts_with(m.cause, w.causes) OFFSET 0)
            ORDER BY x.at, x.id LIMIT 1) a`,
    'automations.first_activity',
  );
  return new Map(
    rows.flatMap(({ no, ...found }) => {
      const search = searches[no];
      return search ? [[search, found] as const] : [];
    }),
  );
}

/** Which of these campaigns are to the list. */
export async function campaignsOfList(
  db: Queryable,
  { customerId, id }: { readonly customerId: bigint; readonly id: bigint },
  uids: readonly string[],
): Promise<ReadonlySet<string>> {
  if (uids.length === 0) return new Set();
  const rows = await db.query(
    { uid: 'text' },
    sql`SELECT uid FROM campaign WHERE customer_id = ${customerId} AND list_id = ${id} AND uid = ANY (${[...uids]}::text[])`,
    'automations.campaigns_of_list',
  );
  return new Set(rows.map(({ uid }) => uid));
}
