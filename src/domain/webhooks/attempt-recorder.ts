/**
 * Group commit of attempts: while one write is under way, the next results of this process gather into one statement. In the same
 * transaction webhooks are paused that failed for too long, and their owners' mail is enqueued.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Queryable } from '../../db/database.ts';
import { pausedWebhookMailJob } from '../../jobs/webhook-jobs.ts';
import { enqueue } from '../../jobs/define-job.ts';
import { messageOf } from '../../lib/errors.ts';
import { createGroupCommit, type GroupCommit } from '../../lib/group-commit.ts';
import { isUnavailable } from '../../lib/is-unavailable.ts';
import type { Context } from '../context.ts';
import { GONE } from './attempt-delivery.ts';
import { recordAttempts, type Attempt, type TakenDelivery } from './delivery-store.ts';
import { moveWaiting } from './move-waiting.ts';
import { RETRY_DELAY_SECONDS_MAX } from './retry-schedule.ts';
import { clearFailing, lockWebhooks, noteFailures } from './webhook-store.ts';
import type { WebhookKey } from './webhook.ts';

export interface EndedAttempt {
  readonly delivery: TakenDelivery;
  readonly attempt: Attempt;
}

/** Decision D93. */
const FAILING_DAYS_MAX = 5;
const BATCH_MAX = 500;
/** More than a process has taken. */
const WAITING_MAX = 1_500;
/** At full load some dozens of results share a transaction; what a lone result has to wait for is nothing. */
const REST_MS = 40;
/** A database that restarts is back soon. */
const AGAIN_MS = 500;

/** Of one process; `owner` is its name in leases. */
export function createAttemptRecorder(ctx: Context, owner: string): GroupCommit<EndedAttempt> {
  return createGroupCommit<EndedAttempt>({
    ...{ batchMax: BATCH_MAX, waitMs: 0, restMs: REST_MS, waitingMax: WAITING_MAX },
    async write(ended) {
      try {
        await writePatiently(ctx, owner, ended);
      } catch (error) {
        if (ended.length === 1) throw error;
        ctx.log.warn('webhooks.record_singly', { message: messageOf(error), attempts: ended.length });
        for (const one of ended) await writeAlone(ctx, owner, one);
      }
    },
  });
}

/** One that cannot be written must not make all others be sent again. It is sent again itself when its lease ends. */
async function writeAlone(ctx: Context, owner: string, ended: EndedAttempt): Promise<void> {
  try {
    await writePatiently(ctx, owner, [ended]);
  } catch (error) {
    ctx.log.warn('webhooks.not_recorded', { message: messageOf(error), deliveryUid: ended.delivery.uid });
  }
}

async function writePatiently(ctx: Context, owner: string, ended: readonly EndedAttempt[]): Promise<void> {
  for (;;) {
    try {
      return await writeEnded(ctx, owner, ended);
    } catch (error) {
      if (!isUnavailable(error)) throw error;
      ctx.log.warn('webhooks.record_again', { message: messageOf(error), attempts: ended.length });
      await sleep(AGAIN_MS);
    }
  }
}

function writeEnded({ database }: Context, owner: string, ended: readonly EndedAttempt[]): Promise<void> {
  const attempts = ended.map(({ attempt }) => attempt);
  const delivered = new Set(ended.filter(({ attempt }) => attempt.state === 'delivered').map(idOf));
  const failed = ended.filter(({ attempt }) => attempt.error !== null);
  return database.transaction(async (tx) => {
    const failing = await lockWebhooks(tx, [...Map.groupBy(ended, idOf).values()].flatMap(keyOf));
    await recordAttempts(tx, owner, attempts);
    const recovered = failing.filter(({ id }) => delivered.has(id));
    if (recovered.length > 0) await clearFailing(tx, recovered);
    if (failed.length > 0) await noteFailed(tx, failed);
  });
}

async function noteFailed(tx: Queryable, failed: readonly EndedAttempt[]): Promise<void> {
  const noted = [...Map.groupBy(failed, idOf).values()].flatMap((all) =>
    keyOf(all).map((key) => ({
      ...key,
      isGone: all.some(({ attempt }) => attempt.status === GONE),
      isRepeated: all.some(isRepeated),
    })),
  );
  const paused = await noteFailures(tx, noted, { days: FAILING_DAYS_MAX, gapSeconds: RETRY_DELAY_SECONDS_MAX });
  if (paused.length === 0) return;
  for (const key of paused) {
    await moveWaiting(tx, key);
    await enqueue(tx, pausedWebhookMailJob, { customerId: String(key.customerId), webhookId: String(key.id) });
  }
}

function isRepeated({ delivery: { attemptsBefore }, attempt: { attempt, state } }: EndedAttempt): boolean {
  return state === 'failed' || attempt - attemptsBefore > 1;
}

const idOf = ({ delivery }: EndedAttempt) => delivery.webhookId;

/** Of the webhook that they all have. */
function keyOf([one]: readonly EndedAttempt[]): WebhookKey[] {
  return one ? [{ customerId: one.delivery.customerId, id: one.delivery.webhookId }] : [];
}
