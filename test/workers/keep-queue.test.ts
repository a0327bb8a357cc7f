/** A queue's runner that gave up is replaced, and what it held is let go: nothing stands still without a word. */
import type { EventEmitter } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test, vi } from 'vitest';
import { silentLog } from '../../src/lib/log.ts';
import { keepQueue } from '../../src/workers/keep-queue.ts';

/** The runner of the library, with its end in the test's hand. */
function brokenOnDemand() {
  const started: { events: EventEmitter; end: (error?: Error) => void; stop: ReturnType<typeof vi.fn> }[] = [];
  const start = async (events: EventEmitter) => {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    promise.catch(() => undefined);
    const stop = vi.fn(async () => resolve());
    started.push({ events, end: (error) => (error ? reject(error) : resolve()), stop });
    events.emit('pool:create', { workerPool: { id: `pool-${started.length}` } });
    return { promise, stop } as unknown as Awaited<ReturnType<Parameters<typeof keepQueue>[0]['start']>>;
  };
  return { started, start };
}

test('a runner that says it is broken is replaced at once, its jobs are asked to end and then let go', async () => {
  const { started, start } = brokenOnDemand();
  const [abortJobs, unlock] = [vi.fn(), vi.fn(async () => undefined)];
  const queue = await keepQueue({ start, abortJobs, unlock, log: silentLog });
  started[0]?.events.emit('pool:fatalError', { error: new Error('Could not complete a job.') });
  expect([queue.isRunning(), abortJobs.mock.calls.length, unlock.mock.calls.length]).toEqual([false, 1, 0]);
  await expect.poll(() => queue.isRunning()).toBe(true);
  expect(started).toHaveLength(2);
  started[0]?.end(new Error('It says so again at its end.'));
  await expect.poll(() => unlock.mock.calls).toEqual([['pool-1']]);
  expect(started).toHaveLength(2);
  await queue.stop();
  expect(started[1]?.stop).toHaveBeenCalledOnce();
});

test('one that ends by itself is replaced too, and one that was asked to stop is not', async () => {
  const { started, start } = brokenOnDemand();
  const queue = await keepQueue({ start, abortJobs: vi.fn(), unlock: async () => undefined, log: silentLog });
  started[0]?.end();
  await expect.poll(() => started.length).toBe(2);
  await queue.stop();
  await sleep(20);
  expect(started).toHaveLength(2);
});
