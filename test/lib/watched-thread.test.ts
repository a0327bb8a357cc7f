/** A thread that is watched while it works. */
import { expect, test } from 'vitest';
import { WatchedThread } from '../../src/lib/watched-thread.ts';

interface Job {
  readonly job: number;
  /** For so long the thread waits before, and the one that watches it is kept from reading what it says. */
  readonly waitMs?: number;
  readonly cpuMs: number;
}

const PROGRAM = `
import { threadCpuUsage } from 'node:process';
import { parentPort, workerData } from 'node:worker_threads';
const progress = new Int32Array(workerData.progress);
const nothing = new Int32Array(new SharedArrayBuffer(4));
parentPort.on('message', ({ job, waitMs = 0, cpuMs }) => {
  Atomics.store(progress, 0, job);
  if (waitMs > 0) Atomics.wait(nothing, 0, 0, waitMs);
  const { user, system } = threadCpuUsage();
  const spent = () => { const now = threadCpuUsage(); return (now.user + now.system - user - system) / 1000; };
  while (spent() < cpuMs);
  Atomics.store(progress, 0, 0);
  parentPort.postMessage(job);
});`;

const BLOCKED_MS = 700;

/** The main thread stands still so many times in a row, each time for longer than it waits for an answer. */
function blockMainThread(times: number): void {
  if (times === 0) return;
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, BLOCKED_MS);
  setImmediate(() => blockMainThread(times - 1));
}

/** Gives the thread these jobs, one after the other; says which were done, and why the thread was ended, if it was. */
async function workedOn(jobs: readonly Job[]) {
  const done: number[] = [];
  const { promise, resolve } = Promise.withResolvers<string | undefined>();
  const thread = new WatchedThread<number>({
    program: new URL(`data:text/javascript,${encodeURIComponent(PROGRAM)}`),
    ...{ resourceLimits: {}, cpuMsMax: 500, silenceMsMax: 60_000 },
    hasWork: () => done.length < jobs.length,
    onAnswer: (job) => {
      done.push(job);
      const next = jobs[done.length];
      if (!next) return resolve(undefined);
      thread.post(next);
      if (next.waitMs !== undefined) blockMainThread(Math.floor(next.waitMs / BLOCKED_MS));
    },
    onLost: resolve,
  });
  thread.post(jobs[0]);
  const why = await promise;
  thread.end();
  return { done, why };
}

test('a thread may take more in all than one job may', async () => {
  const jobs = [1, 2, 3, 4].map((job) => ({ job, cpuMs: 250 }));
  expect(await workedOn(jobs)).toEqual({ done: [1, 2, 3, 4], why: undefined });
});

test('a job that takes too much ends it', async () => {
  expect(await workedOn([{ job: 1, cpuMs: 600_000 }])).toEqual({ done: [], why: 'it takes too long' });
});

test('what a thread took before a job does not count, also when its first answer comes too late', async () => {
  const jobs = [1, 2, 3].map((job) => ({ job, cpuMs: 250 }));
  expect(await workedOn([...jobs, { job: 4, waitMs: 2_200, cpuMs: 250 }])).toEqual({
    done: [1, 2, 3, 4],
    why: undefined,
  });
});
