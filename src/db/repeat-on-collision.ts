/**
 * Repeats a transaction that the server rolled back because it collided with another one, by a deadlock or a serialization
 * failure (SQLSTATE class 40). This is the only place where this is done.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Log } from '../lib/log.ts';

/** Serialization failure, deadlock. */
const COLLISIONS: ReadonlySet<unknown> = new Set(['40001', '40P01']);
/** Each repeat is less likely; four collisions of one transaction are a defect, not chance. */
const REPEATS_MAX = 3;
/** Longer than most transactions of a request, so that the other one is over. */
const WAIT_MS_MAX = 100;

/** Runs `work`, which is one whole transaction that is rolled back when it throws, and runs it again after a collision. */
export async function repeatOnCollision<T>(work: () => Promise<T>, log: Log): Promise<T> {
  for (let repeats = 0; ; repeats += 1) {
    try {
      return await work();
    } catch (error) {
      if (repeats >= REPEATS_MAX || !isCollision(error)) throw error;
      log.info('database.repeated', { code: error.code, repeats: repeats + 1 });
      // After random delays: otherwise they would collide again.
      await sleep(Math.random() * WAIT_MS_MAX * 2 ** repeats);
    }
  }
}

function isCollision(error: unknown): error is Error & { code: unknown } {
  return error instanceof Error && 'code' in error && COLLISIONS.has(error.code);
}
