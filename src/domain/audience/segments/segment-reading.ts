/**
 * How statements about the people of a rule are run: with a time limit, few at a time per customer, and with the
 * database told how to join. Rules are as large as callers make them; the others must not wait for them.
 */
import { sql, type Queryable } from '../../../db/database.ts';
import { createConcurrencyLimit } from '../../../lib/concurrency-limit.ts';
import type { Context } from '../../context.ts';
import { segmentTooSlow, tooManyCounts } from './segment-errors.ts';
import type { SegmentRule } from './segment.ts';

/** Most rules over a million people take a second or some (decision record 0071); who waits longer is gone. */
export const READING_SECONDS_MAX = 20;
/** SQLSTATE query_canceled: what the time limit says. */
const QUERY_CANCELED = '57014';

const reading = createConcurrencyLimit({
  runningMax: 4,
  runningPerKeyMax: 2,
  waitingPerKeyMax: 20,
  refuse: tooManyCounts,
});

/** A set of a million people is grouped in memory; a campaign's slice needs a hundredth of it. */
const SET_MEMORY_KB = 32_768;
/** All sets of one statement: a rule of a hundred of them must not take the memory of the machine. */
const STATEMENT_MEMORY_KB = 524_288;

/** What each of so many sets may take (`work_mem`). */
export function setMemoryKb(sets: number): number {
  return Math.min(SET_MEMORY_KB, Math.floor(STATEMENT_MEMORY_KB / Math.max(1, sets)));
}

export interface Reading {
  readonly db: Queryable;
  /** The moment that days are counted from: the database's now. */
  readonly asOf: Date;
}

/**
 * Runs `read` in a transaction of its own. Throws ValidationError `SEGMENT_TOO_SLOW`, RateLimitedError
 * `TOO_MANY_COUNTS`.
 */
export async function readPeople<T>(
  ctx: Context,
  { customerId, rule }: { readonly customerId: bigint; readonly rule: SegmentRule },
  read: (reading: Reading) => Promise<T>,
): Promise<T> {
  return reading.run(() => readWithLimits(ctx, rule, read), String(customerId));
}

async function readWithLimits<T>(ctx: Context, rule: SegmentRule, read: (reading: Reading) => Promise<T>): Promise<T> {
  try {
    return await ctx.database.transaction(async (db) => {
      const [row] = await db.query<{ asOf: Date }>(
        sql`SELECT set_config('statement_timeout', ${String(READING_SECONDS_MAX * 1_000)}, true), now() AS "asOf"`,
      );
      await joinByPasses(db, conditionsOf(rule));
      return read({ db, asOf: row?.asOf ?? ctx.clock.now() });
    });
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === QUERY_CANCELED)
      throw segmentTooSlow(READING_SECONDS_MAX);
    throw error;
  }
}

/** Each condition is one set at most. */
function conditionsOf(rule: SegmentRule): number {
  const inner = 'all' in rule ? rule.all : 'any' in rule ? rule.any : 'none' in rule ? rule.none : undefined;
  return inner ? inner.reduce((sum, one) => sum + conditionsOf(one), 0) : 1;
}

/**
 * Until the transaction ends, sets are joined in one pass each. Statistics lag behind tables that grow as fast as
 * these: a plan that takes a set for tiny would read all of it again for every person. Every set is
 * asked of the same people, so there is no better order of joins to be looked for, which takes half a second for twenty
 * of them; and compiling such statements to machine code costs more than it saves.
 */
export async function joinByPasses(db: Queryable, sets = 1): Promise<void> {
  await db.query(
    sql`SELECT set_config('enable_nestloop', 'off', true), set_config('join_collapse_limit', '1', true), set_config('jit', 'off', true),
               set_config('work_mem', ${`${setMemoryKb(sets)}kB`}, true),
               set_config('timezone', 'UTC', true)`,
  );
}

/** Ends what `joinByPasses` began, for a transaction that goes on to other things. */
export async function joinAsUsual(db: Queryable): Promise<void> {
  await db.execute(sql`SET LOCAL enable_nestloop TO DEFAULT`);
  await db.execute(sql`SET LOCAL join_collapse_limit TO DEFAULT`);
  await db.execute(sql`SET LOCAL work_mem TO DEFAULT`);
}
