/** The job of an enrolment: goes through the people who matched when it began, a portion at a time. */
import { messageOf } from '../../../lib/errors.ts';
import { answersTo } from '../../audience/segments/ask-plugins.ts';
import { UnavailableConditionError } from '../../audience/segments/segment-errors.ts';
import { inTransaction, type Context } from '../../context.ts';
import { enqueueEnrolment } from './enter-existing.ts';
import { takePortion } from './enrol-portion.ts';
import { PAUSED_SECONDS } from './enrolment.ts';
import { ruleOfEnrolment, type EnrolmentKey } from './enrolment-read-model.ts';
import { endEnrolment } from './enrolment-store.ts';

interface Working {
  readonly isStopping: () => boolean;
  readonly isLastTry: boolean;
  /** When people enter; absent: by the clock of the database. */
  readonly now?: Date;
}

/** It continues in another job when the process stops, the rate is used up, or the automation is paused: pausing freezes (D85). */
export async function workEnrolment(ctx: Context, key: EnrolmentKey, working: Working): Promise<void> {
  try {
    const waitSeconds = await takePortions(ctx, key, working);
    if (waitSeconds !== undefined) await enqueueEnrolment(ctx.db, key, waitSeconds);
  } catch (error) {
    if (!working.isLastTry) throw error;
    ctx.log.warn('automations.enrolment_failed', { ...key, message: messageOf(error) });
    const reason = error instanceof UnavailableConditionError ? 'condition_unavailable' : 'failed';
    await endEnrolment(ctx.db, key, { status: 'failed', reason });
  }
}

/** In how many seconds it goes on; undefined: it has ended. */
async function takePortions(
  ctx: Context,
  key: EnrolmentKey,
  { isStopping, now }: Working,
): Promise<number | undefined> {
  for (;;) {
    if (isStopping()) return 0;
    const asked = await ruleOfEnrolment(ctx.db, key);
    if (!asked) return undefined;
    const { rule, listId, automationStatus } = asked;
    // What is frozen asks nobody (D85).
    if (automationStatus !== 'active') return PAUSED_SECONDS;
    // Outside of the transaction: it asks plugins.
    const answers = await answersTo(ctx, { customerId: key.customerId, listId, rule });
    const waitSeconds = await inTransaction(ctx, (tx) => takePortion(tx, key, { rule, answers, now }));
    if (waitSeconds !== 0) return waitSeconds;
  }
}
