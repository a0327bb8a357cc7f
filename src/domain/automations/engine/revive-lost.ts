/**
 * The safety net below the queue: an enrolment, or moves to a version, that are under way and have no job any more (given up after too many tries,
 * or deleted by hand) would hold up the next ones for ever.
 */
import type { Context } from '../../context.ts';
import { enqueueEnrolment } from '../entries/enter-existing.ts';
import { endEnrolment } from '../entries/enrolment-store.ts';
import { enqueueMoves } from '../versions/move-people.ts';
import { enrolmentsWithoutJobs, movesWithoutJobs } from './queued-job-read-model.ts';

/** The job. Moves get a new job, and so does an enrolment whose job is gone. One whose job was given up has failed, and whoever began it sees that. */
export async function reviveLost(ctx: Context): Promise<void> {
  for (const { isGivenUp, ...key } of await enrolmentsWithoutJobs(ctx.db)) {
    ctx.log.warn('automations.enrolment_lost', { ...key, isGivenUp });
    if (isGivenUp) await endEnrolment(ctx.db, key, { status: 'failed', reason: 'failed' });
    else await enqueueEnrolment(ctx.db, key);
  }
  for (const moves of await movesWithoutJobs(ctx.db)) {
    ctx.log.warn('automations.moves_lost', moves);
    await enqueueMoves(ctx.db, { ...moves, afterId: 0n });
  }
}
