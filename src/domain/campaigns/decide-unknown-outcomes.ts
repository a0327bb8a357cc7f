/**
 * A worker that died leaves messages in doubt, and as much of its customer's budget stays reserved. The campaign's own
 * jobs decide them, but one that was paused since has none, and its customer's other campaigns must not wait for it.
 */
import { sql } from '../../db/database.ts';
import type { Context } from '../context.ts';
import type { LedgerRange, UnknownPolicy } from '../delivery/delivery.ts';
import { CAMPAIGN } from '../statistics/source-read-model.ts';
import { recoverAmbiguous } from '../delivery/unknown-outcome-store.ts';

/** Decides what dead workers left in doubt in campaigns that are not being sent, by each one's policy. Answers how many. */
export async function decideUnknownOutcomes(ctx: Context): Promise<number> {
  const { sendAttemptsMax: attemptsMax } = ctx.installation.limits;
  const ranges = await ctx.db.query<LedgerRange & { policy: UnknownPolicy }>(
    sql`SELECT s.snapshot_on::text AS "snapshotOn", s.customer_id AS "customerId", s.source_kind AS "sourceKind", s.source_id AS "sourceId",
               s.from_id AS "fromId", s.to_id AS "toId", c.unknown_policy AS policy
          FROM hot.send_slice s JOIN campaign c ON s.source_kind = ${CAMPAIGN} AND c.customer_id = s.customer_id AND c.id = s.source_id
         WHERE s.is_over AND c.status <> 'sending'`,
  );
  let decided = 0;
  for (const { policy, ...range } of ranges) decided += await recoverAmbiguous(ctx.db, range, { policy, attemptsMax });
  return decided;
}
