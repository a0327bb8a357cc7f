/** A feed whose reading fails: it is tried again, less and less often, and goes on once it works. */
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { openFeed } from '../../src/db/live-feed.ts';
import { createLog } from '../../src/lib/log.ts';

const INTERVAL_MS = 250;

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

test('is read again after growing pauses, whatever is announced, and at its own pace once it works', async () => {
  const readings: number[] = [];
  let works = false;
  let announce: (payload: string | null) => void = () => undefined;
  const feed = openFeed<string, number>(
    {
      channels: ['changes'],
      keyOf: (subject) => subject,
      read: async () => {
        readings.push(Date.now());
        if (!works) throw new Error('The database is away.');
        return readings.length;
      },
      intervalMs: INTERVAL_MS,
    },
    {
      listen: (_channel, heard) => ((announce = heard), () => undefined),
      isListening: () => true,
      close: async () => undefined,
    },
    createLog({ level: 'silent', format: 'json' }),
  );
  const watch = feed.watch('one');
  const first = watch.next();
  for (let no = 0; no < 600; no++) {
    announce('one');
    await vi.advanceTimersByTimeAsync(100);
  }
  // In a minute: the first six pauses double, then one reading every ten seconds.
  expect(readings.length).toBeGreaterThan(6);
  expect(readings.length).toBeLessThan(13);
  works = true;
  await vi.advanceTimersByTimeAsync(10_000);
  expect((await first).done).toBe(false);
  const before = readings.length;
  announce('one');
  await vi.advanceTimersByTimeAsync(INTERVAL_MS);
  expect(readings.length).toBe(before + 1);
  await watch.return?.();
  feed.close();
});
