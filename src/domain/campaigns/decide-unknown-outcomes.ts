/**
 * A worker that died leaves messages in doubt, and as much of its customer's budget stays reserved. The campaign's own
 * jobs decide them, but one that was paused since has none, and its customer's other campaigns must not wait for it.
 */
import type { Context } from '../context.ts';
import { recoverAmbiguous } from '../delivery/unknown-outcome-store.ts';
import { unknownRanges } from './campaign-read-model.ts';

/** Decides what dead workers left in doubt in campaigns that are not being sent, by each one's policy. Answers how many. */
export async function decideUnknownOutcomes(ctx: Context): Promise<number> {
  const { sendAttemptsMax: attemptsMax } = ctx.installation.limits;
  const ranges = await unknownRanges(ctx.db);
  let decided = 0;
  for (const { policy, ...range } of ranges) decided += await recoverAmbiguous(ctx.db, range, { policy, attemptsMax });
  return decided;
}
