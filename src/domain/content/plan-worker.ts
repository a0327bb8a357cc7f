/**
 * The thread that takes messages apart (plan-message.ts). It has no environment, no secret and no database, and can be killed at
 * any moment: customers' html may take very long.
 */
import { parentPort, workerData } from 'node:worker_threads';
import { ValidationError } from '../../lib/errors.ts';
import { planMessage } from './plan-message.ts';
import type { PlanFault } from './message-plan.ts';
import type { PlanAnswer, PlanRequest } from './plan-messages.ts';
import { PROGRESS_JOB } from '../../lib/watched-thread.ts';

const progress = new Int32Array(workerData.progress);

parentPort?.on('message', (request: PlanRequest) => {
  Atomics.store(progress, PROGRESS_JOB, request.id);
  const answer = answerTo(request);
  Atomics.store(progress, PROGRESS_JOB, 0);
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread is no window
  parentPort?.postMessage(answer);
});

function answerTo({ id, source }: PlanRequest): PlanAnswer {
  try {
    return { id, plan: planMessage(source) };
  } catch (error) {
    if (error instanceof ValidationError)
      return { id, fault: { fields: error.fields, code: error.code, message: error.message } };
    if (error instanceof RangeError) return { id, fault: tooDeep() };
    return { id, defect: error instanceof Error ? (error.stack ?? error.message) : String(error) };
  }
}

/** Nesting may exceed the stack despite all limits. */
function tooDeep(): PlanFault {
  const message = 'The html has too many nested elements.';
  return { fields: { html: [message] }, code: 'INVALID_INPUT', message };
}
