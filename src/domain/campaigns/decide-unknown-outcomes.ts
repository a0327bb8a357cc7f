/**
 * A worker that died leaves messages with an unknown outcome, and reserves as much of its customer's budget. The campaign's own
 * jobs decide them, but a paused campaign has none, and the customer's other campaigns must not wait for it.
 */
import type { Context } from '../context.ts';
import { recoverAmbiguous } from '../delivery/ledger/unknown-outcome-store.ts';
import { unknownRanges } from './campaign-read-model.ts';

/**
 * Decides the unknown outcomes of dead workers in campaigns that are not being sent, by each one's policy. Returns their number.
 */
export async function decideUnknownOutcomes(ctx: Context): Promise<number> {
  const { sendAttemptsMax: attemptsMax } = ctx.installation.limits;
  const ranges = await unknownRanges(ctx.db);
  let decided = 0;
  for (const { policy, ...range } of ranges) decided += await recoverAmbiguous(ctx.db, range, { policy, attemptsMax });
  return decided;
}
