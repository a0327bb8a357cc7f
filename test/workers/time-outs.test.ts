/** A job that the database ends at a limit of time goes back to the queue and is done at a later try. */
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { z } from 'zod';
import { queryRows } from '../../scripts/support/query-rows.ts';
import { sql } from '../../src/db/database.ts';
import { defineJob, enqueue } from '../../src/jobs/define-job.ts';
import { createLog } from '../../src/lib/log.ts';
import { runWorker } from '../../src/workers/run-worker.ts';
import { defineTask } from '../../src/workers/task.ts';
import { afterFile } from '../support/after-file.ts';
import { createTestContext } from '../support/test-context.ts';

it('is tried again by the queue, and not at once in its place', async () => {
  const root = await createTestContext();
  const lines: string[] = [];
  const log = createLog({ level: 'info', format: 'json', write: (line) => lines.push(line) });
  const limits = { statementMsMax: 5_000, lockMsMax: 300, idleMsMax: 5_000 };
  const database = root.database.besides({ poolSize: 3, applicationName: 'mailwright-test', limits });
  const ctx = { ...root, log, db: database, database };
  await root.db.execute(sql`CREATE TABLE shelf (id int PRIMARY KEY, n int NOT NULL)`);
  await root.db.execute(sql`INSERT INTO shelf VALUES (1, 0)`);
  const job = defineJob({ name: 'test.shelf', payload: z.strictObject({}), attemptsMax: 10 });
  const attempts: number[] = [];
  const task = defineTask(job, async (inner, _payload, { attempt }) => {
    attempts.push(attempt);
    await inner.db.execute(sql`UPDATE shelf SET n = n + 1 WHERE id = 1`);
  });
  await root.database.transaction(async (tx) => {
    await tx.execute(sql`UPDATE shelf SET n = n + 10 WHERE id = 1`);
    await enqueue(root.db, job, {});
    const worker = await runWorker({ ctx, tasks: [task], concurrency: 1, crontab: [] });
    afterFile(() => worker.stop(1_000));
    while (!lines.some((line) => line.includes('job.failed'))) await sleep(50);
  });
  await expect.poll(() => queryRows(root.db, sql`SELECT n FROM shelf`), { timeout: 120_000 }).toEqual([{ n: 11 }]);
  expect(attempts).toEqual(attempts.map((_none, index) => index + 1));
  expect(lines.filter((line) => line.includes('job.again'))).toEqual([]);
});
