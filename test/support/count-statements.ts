/** Counts what is asked of the database while something runs, whoever asks: every statement goes through the pool. */
import pg from 'pg';
import { LOOKING } from '../../src/domain/tracking/move-tracking-events-store.ts';

/**
 * Not counted: what an idle process asks every few seconds, and the look-up of a token, which is made only for a token that is not
 * remembered.
 */
const NOT_COUNTED = new Set([
  LOOKING,
  'installation.sign-of-life',
  'installation.guard-state',
  'accounts.authenticate',
]);

/** Nor this: it asks every few seconds whether a connection that only listens is still there. */
const IS_THERE = 'SELECT 1';

/** For tests that ask the whole product: now and then it asks something for itself; what a test is about comes each time. */
export const NOISE = { retry: 2 };

/** Runs `act` and answers its result with the texts of all statements; nothing else may run meanwhile. */
export async function countStatements<T>(act: () => Promise<T>): Promise<{ result: T; statements: string[] }> {
  const statements: string[] = [];
  const original = pg.Client.prototype.query;
  pg.Client.prototype.query = function counted(this: pg.Client, ...args: unknown[]) {
    const [config] = args;
    if (config !== IS_THERE && !NOT_COUNTED.has((config as { name?: string }).name ?? ''))
      statements.push(typeof config === 'string' ? config : String((config as { text?: string }).text));
    return Reflect.apply(original, this, args);
  } as typeof original;
  try {
    return { result: await act(), statements };
  } finally {
    pg.Client.prototype.query = original;
  }
}
