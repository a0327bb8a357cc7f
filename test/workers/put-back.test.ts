/** A job that cannot run now through no fault of its own waits again, and its try does not count. */
import { expect, test } from 'vitest';
import { z } from 'zod';
import { defineJob, enqueue, PutBack } from '../../src/jobs/define-job.ts';
import { runWorker } from '../../src/workers/run-worker.ts';
import { defineTask } from '../../src/workers/task.ts';
import { createTestContext } from '../support/test-context.ts';

const TIMES = 3;

test('a job that is put back runs again, also when it has only one try', async () => {
  const ctx = await createTestContext();
  const job = defineJob({ name: 'test.put_back', payload: z.strictObject({}), attemptsMax: 1 });
  const attempts: number[] = [];
  const task = defineTask(job, async (_ctx, _payload, { attempt }) => {
    attempts.push(attempt);
    if (attempts.length <= TIMES) throw new PutBack('Not here, and not now.');
  });
  await using stack = new AsyncDisposableStack();
  const worker = await runWorker({ ctx, tasks: [task], concurrency: 2, crontab: [] });
  stack.defer(() => worker.stop(1_000));
  await enqueue(ctx.db, job, {});
  await expect.poll(() => attempts, { timeout: 120_000 }).toEqual([1, 1, 1, 1]);
});
