/** Rows of the health of sending servers and of the providers behind them: states of breakers, shared by all processes. */
import { row, sql, type Queryable, type RowOf } from '../../../db/database.ts';

const GROUP_HEALTH = row({
  group: 'text',
  state: 'text',
  restSeconds: 'float8',
  /** The process that asks is the one that tries. */
  isMine: 'bool',
  slots: 'int',
});
export type GroupHealth = RowOf<typeof GROUP_HEALTH>;

/** What a process has to tell of a group, in the names of hot.record_health. */
export interface GroupReport {
  readonly group: string;
  readonly taken: number;
  readonly troubles: number;
  readonly message: string | null;
  readonly rest_min: number;
  readonly rest_max: number;
  readonly rests_early: boolean;
  readonly failures_max: number;
  readonly openings_max: number | null;
  readonly slots_max: number;
}

/** If a process dies while it tries a server, another may try after this. */
const PROBE_LEASE_SECONDS = 60;

/** Writes what a process has observed, tries for the groups that it wants to try again, and answers what is not well. */
export function syncHealth(
  db: Queryable,
  sync: {
    readonly serverId: bigint;
    /** Names the process. */
    readonly prober: string;
    readonly reports: readonly GroupReport[];
    readonly wanted: readonly string[];
  },
): Promise<GroupHealth[]> {
  return db.query(
    GROUP_HEALTH,
    sql`SELECT mailbox_group AS "group", state, rest_seconds AS "restSeconds", is_mine AS "isMine", slots
          FROM hot.sync_health(${sync.serverId}, ${sync.prober}::uuid, make_interval(secs => ${PROBE_LEASE_SECONDS}),
                               ${JSON.stringify(sync.reports)}::jsonb, ${[...sync.wanted]}::text[])`,
    'sending.sync-health',
  );
}

/** Clears the health of the server and the providers behind it: the next messages are sent as if all were healthy. */
export async function resetHealth(db: Queryable, serverId: bigint): Promise<void> {
  await db.execute(sql`DELETE FROM hot.sending_health WHERE server_id = ${serverId}`);
}

/** Deletes troubles of more than a day ago that hold nobody back: the next one begins anew by then (hot.record_health). */
export function deleteOldTroubles(db: Queryable): Promise<number> {
  return db.execute(
    sql`DELETE FROM hot.sending_health WHERE state = 'closed' AND changed_at < now() - interval '1 day'
           AND (open_until IS NULL OR open_until < now())`,
  );
}
