/**
 * Drops months that the operator does not keep: of the ledger, and of what came back. Counters and figures stay. Never
 * a long lock: a month is taken off its table beside the running work, then dropped by itself.
 */
import { sql, type Database } from '../../db/database.ts';
import { messageOf } from '../../lib/errors.ts';
import type { Context } from '../context.ts';

/** How many whole months are kept besides the one that runs; 0 keeps everything. */
export interface Retention {
  readonly ledgerMonths: number;
  readonly eventMonths: number;
}

/** What holds where nothing is set. */
export const KEEP_ALL: Retention = { ledgerMonths: 0, eventMonths: 0 };

const EVENTS = ['open_event', 'click_event', 'unsubscribe_event', 'bounce_event', 'feedback_event'];
/** Whoever holds a month for longer than this is asked again tomorrow. */
const LOCK_WAIT = '5s';

interface Month {
  readonly parent: string;
  readonly partition: string;
  /** First day of it, YYYY-MM-DD. */
  readonly month: string;
  /** A detaching that was cut short: it has to be brought to its end first. */
  readonly isHalfDetached: boolean;
}

/** Drops what is older; answers the partitions dropped. A month whose campaigns are not all at their end stays. */
export async function dropPartitions(ctx: Context, { ledgerMonths, eventMonths }: Retention): Promise<string[]> {
  const dropped: string[] = [];
  const due = [
    ...(eventMonths > 0 ? await monthsBefore(ctx.database, EVENTS, eventMonths) : []),
    ...(ledgerMonths > 0 ? await monthsBefore(ctx.database, ['delivery'], ledgerMonths) : []),
  ];
  for (const month of due) {
    if (month.parent === 'delivery' && (await isNeeded(ctx.database, month))) continue;
    try {
      if (month.parent === 'delivery') await forgetReceived(ctx.database, month);
      await drop(ctx.database, month);
      dropped.push(month.partition);
    } catch (error) {
      ctx.log.warn('partitions.not_dropped', { partition: month.partition, message: messageOf(error) });
    }
  }
  if (dropped.length > 0) ctx.log.info('partitions.dropped', { partitions: dropped });
  return dropped;
}

function monthsBefore(database: Database, parents: readonly string[], keep: number): Promise<Month[]> {
  return database.query<Month & Record<string, unknown>>(
    sql`SELECT p.relname AS parent, c.relname AS partition, replace(right(c.relname, 7), '_', '-') || '-01' AS month,
               i.inhdetachpending AS "isHalfDetached"
          FROM pg_inherits i JOIN pg_class p ON p.oid = i.inhparent JOIN pg_class c ON c.oid = i.inhrelid
         WHERE p.relnamespace = 'hot'::regnamespace AND p.relname = ANY(${[...parents]}::text[]) AND c.relname ~ '_[0-9]{4}_[0-9]{2}$'
           AND replace(right(c.relname, 7), '_', '-') < to_char((now() AT TIME ZONE 'UTC') - make_interval(months => ${keep}::int), 'YYYY-MM')
         ORDER BY c.relname`,
  );
}

/** A campaign that is paused or under way needs its rows, however old it is. */
async function isNeeded(database: Database, { month }: Month): Promise<boolean> {
  const rows = await database.query(
    sql`SELECT 1 FROM campaign WHERE planned_on >= ${month}::date AND planned_on < ${month}::date + interval '1 month'
           AND status <> 'done' LIMIT 1`,
  );
  return rows.length > 0;
}

/** What segments know of the month's ledger goes with it. */
async function forgetReceived(database: Database, { month }: Month): Promise<void> {
  const campaigns = sql`SELECT customer_id, id FROM campaign
    WHERE planned_on >= ${month}::date AND planned_on < ${month}::date + interval '1 month'`;
  await database.transaction(async (tx) => {
    await tx.execute(
      sql`UPDATE hot.received_campaign SET people = 0 WHERE (customer_id, campaign_id) IN (${campaigns})`,
    );
    await tx.execute(sql`DELETE FROM hot.received_block WHERE (customer_id, campaign_id) IN (${campaigns})`);
  });
}

async function drop(database: Database, { parent, partition, isHalfDetached }: Month): Promise<void> {
  // One without limits of time: a large month takes long.
  const client = await database.connect('mailwright-months');
  try {
    // Names are of our own making (hot.ensure_partitions). Detaching beside running work cannot be in a transaction.
    await client.query(`SET lock_timeout = '${LOCK_WAIT}'`);
    await client.query(
      `ALTER TABLE hot.${parent} DETACH PARTITION hot.${partition} ${isHalfDetached ? 'FINALIZE' : 'CONCURRENTLY'}`,
    );
    await client.query(`DROP TABLE hot.${partition}`);
  } finally {
    await client.end();
  }
}
