/**
 * Group commit of attempts: while one write is under way, the next results of this process gather into one statement. In the same
 * transaction webhooks are paused that failed for too long, and their owners' mail is enqueued.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { pausedWebhookMailJob } from '../../jobs/webhook-jobs.ts';
import { enqueue } from '../../jobs/define-job.ts';
import { messageOf } from '../../lib/errors.ts';
import { createGroupCommit, type GroupCommit } from '../../lib/group-commit.ts';
import { isUnavailable } from '../../lib/is-unavailable.ts';
import type { Context } from '../context.ts';
import { GONE } from './attempt-delivery.ts';
import { recordAttempts, type Attempt, type TakenDelivery } from './delivery-store.ts';
import { clearFailing, noteFailures, parkDeliveries } from './webhook-store.ts';

export interface EndedAttempt {
  readonly delivery: TakenDelivery;
  readonly attempt: Attempt;
}

/** Decision D93. */
const FAILING_DAYS_MAX = 5;
const BATCH_MAX = 500;
/** More than a process has under way. */
const WAITING_MAX = 1_000;
/** A database that restarts is back soon. */
const AGAIN_MS = 500;

/** Of one process; `owner` is its name in leases. */
export function createAttemptRecorder(ctx: Context, owner: string): GroupCommit<EndedAttempt> {
  return createGroupCommit<EndedAttempt>({
    ...{ batchMax: BATCH_MAX, waitMs: 0, waitingMax: WAITING_MAX },
    async write(ended) {
      for (;;) {
        try {
          return await writeEnded(ctx, owner, ended);
        } catch (error) {
          if (!isUnavailable(error)) throw error;
          ctx.log.warn('webhooks.record_again', { message: messageOf(error), attempts: ended.length });
          await sleep(AGAIN_MS);
        }
      }
    },
  });
}

function writeEnded({ database }: Context, owner: string, ended: readonly EndedAttempt[]): Promise<void> {
  return database.transaction(async (tx) => {
    await recordAttempts(
      tx,
      owner,
      ended.map(({ attempt }) => attempt),
    );
    const recovered = ended.filter(({ delivery, attempt }) => delivery.isFailing && attempt.state === 'delivered');
    if (recovered.length > 0) await clearFailing(tx, recovered.map(keyOf));
    const failed = ended.filter(({ attempt }) => attempt.error !== null);
    if (failed.length === 0) return;
    const webhooks = Map.groupBy(failed, ({ delivery }) => delivery.webhookId);
    const noted = [...webhooks.values()].flatMap((all) => {
      const [one] = all;
      return one ? [{ ...keyOf(one), isGone: all.some(({ attempt }) => attempt.status === GONE) }] : [];
    });
    const paused = await noteFailures(tx, noted, FAILING_DAYS_MAX);
    if (paused.length === 0) return;
    await parkDeliveries(tx, paused);
    for (const { customerId, id } of paused)
      await enqueue(tx, pausedWebhookMailJob, { customerId: String(customerId), webhookId: String(id) });
  });
}

function keyOf({ delivery: { customerId, webhookId } }: EndedAttempt) {
  return { customerId, id: webhookId };
}
