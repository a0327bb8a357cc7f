/** Paces in any stretch of time of their period: never more than the number, at most a sixtieth less (issue 13). */
import { describe, expect, it } from 'vitest';
import { sql } from '../../../src/db/database.ts';
import { takePaces } from '../../../src/domain/sending/routing/pace-store.ts';
import { quotaOf, type Bucket } from '../../../src/domain/sending/routing/paces.ts';
import { drawn, fc } from '../../support/property.ts';
import { createTestContext } from '../../support/test-context.ts';

const { db } = await createTestContext();
let bucketNo = 0;

function bucketFor(quota_value: number, quota_base: number, quota_unit: string): Bucket {
  const pace = quotaOf({ quota_value, quota_base, quota_unit });
  if (!pace) throw new Error('It is limited.');
  return { key: `server:test-${++bucketNo}`, pace, burstSeconds: 1, isOuter: true };
}

interface Taken {
  readonly at: number;
  readonly count: number;
}

/** Takes as many as there are, after so many seconds each. Their times are those of the bucket, and the test's own beside them. */
async function takeAll(bucket: Bucket, steps: readonly { seconds: number; wanted: number }[]): Promise<Taken[]> {
  const taken: Taken[] = [];
  let at = 0;
  for (const { seconds, wanted } of steps) {
    const startedAt = performance.now();
    await db.execute(
      sql`UPDATE hot.rate_bucket SET refilled_at = clock_timestamp() - make_interval(secs => ${seconds}) WHERE key = ${bucket.key}`,
    );
    const classes = [{ wanted, bucket: undefined }];
    const question = { buckets: [bucket], classes, warmUp: undefined, returned: new Map(), dayReturned: 0 };
    const { granted } = await takePaces(db, question);
    at += seconds + (performance.now() - startedAt) / 1_000;
    taken.push({ at, count: granted[0] ?? 0 });
  }
  return taken;
}

function mostIn(taken: readonly Taken[], seconds: number): number {
  const sums = taken.map(({ at: end }) =>
    taken.filter(({ at }) => at > end - seconds && at <= end).reduce((sum, { count }) => sum + count, 0),
  );
  return Math.max(...sums);
}

describe("a server's quota", () => {
  it('is not exceeded in any stretch of its length', async () => {
    const step = fc.record({
      gap: fc.double({ min: 0, max: 1, noNaN: true }),
      wanted: fc.integer({ min: 1, max: 400 }),
    });
    const cases = fc.record({
      value: fc.constantFrom(1, 7, 60, 1_000, 36_000),
      unit: fc.constantFrom(['minute', 60] as const, ['hour', 3_600] as const, ['day', 86_400] as const),
      steps: fc.array(step, { minLength: 40, maxLength: 80 }),
    });
    await fc.assert(
      fc.asyncProperty(cases, async ({ value, unit: [unit, seconds], steps }) => {
        const waits = steps.map(({ gap, wanted }) => ({ seconds: (gap ** 4 * seconds) / 2, wanted }));
        expect(mostIn(await takeAll(bucketFor(value, 1, unit), waits), seconds)).toBeLessThanOrEqual(value);
      }),
      { numRuns: drawn(15) },
    );
  });

  it('of 1,000 a minute is not exceeded by a full bucket that is emptied all the time, and nearly reached', async () => {
    const taken = await takeAll(
      bucketFor(1_000, 1, 'minute'),
      Array.from({ length: 150 }, () => ({ seconds: 0.5, wanted: 1_000 })),
    );
    expect(taken[0]?.count).toBe(16);
    expect(mostIn(taken, 60)).toBeLessThanOrEqual(1_000);
    // By the time that the bucket counted: 119 half seconds after the full bucket.
    expect(taken.slice(0, 120).reduce((sum, { count }) => sum + count, 0)).toBeGreaterThan(
      (1_000 * 59.5 * 59) / (60 * 60),
    );
  });
});
