/** Counters of what became of messages, by server, for monitoring. Servers of customers are counted together: nobody's name is shown. */
import { sql, row, type Queryable, type RowOf } from '../../db/database.ts';

export interface CountedMessages {
  readonly serverId: bigint;
  readonly outcome: string;
  readonly messages: number;
}

const TOTAL_ROW = row({ server: 'text', outcome: 'text', messages: 'float8' });
export type SendingTotal = RowOf<typeof TOTAL_ROW>;

/** Adds to the counters; in one order, so that two processes never deadlock. */
export async function addSendingTotals(db: Queryable, counted: readonly CountedMessages[]): Promise<void> {
  const [ids, outcomes, messages] = [
    counted.map(({ serverId }) => serverId),
    counted.map(({ outcome }) => outcome),
    counted.map((one) => one.messages),
  ];
  await db.execute(
    sql`INSERT INTO hot.sending_total AS t (server, outcome, messages)
        SELECT coalesce(s.uid, 'customers'), g.outcome, sum(g.messages)
          FROM unnest(${ids}::bigint[], ${outcomes}::text[], ${messages}::bigint[]) AS g (server_id, outcome, messages)
          LEFT JOIN sending_server s ON s.is_system AND s.id = g.server_id
         GROUP BY 1, 2 ORDER BY 1, 2
        ON CONFLICT (server, outcome) DO UPDATE SET messages = t.messages + excluded.messages`,
  );
}

export function sendingTotals(db: Queryable): Promise<SendingTotal[]> {
  return db.query(
    TOTAL_ROW,
    sql`SELECT server, outcome, messages::float8 AS messages FROM hot.sending_total ORDER BY server, outcome LIMIT 10000`,
  );
}
