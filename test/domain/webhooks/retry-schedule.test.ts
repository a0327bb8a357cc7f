/** When a failed delivery is tried again (decision D43, hard case C3). */
import { expect, test } from 'vitest';
import { retryAfterOf, retryDelaySeconds } from '../../../src/domain/webhooks/retry-schedule.ts';

const schedule = { retryTimes: 6, retryAfterSeconds: 60, retrySecondsMax: 600 };
const NOW = new Date('2026-11-28T12:00:00Z');
const RUNS = 200;

test('each retry waits twice as long as the one before, up to the most, and at most a tenth longer', () => {
  for (const [no, planned] of [60, 120, 240, 480, 600, 600].entries()) {
    const delays = Array.from({ length: RUNS }, () => retryDelaySeconds(schedule, no + 1, 0) ?? NaN);
    expect(Math.min(...delays)).toBeGreaterThanOrEqual(planned);
    expect(Math.max(...delays)).toBeLessThanOrEqual(planned * 1.1);
    expect(new Set(delays).size).toBeGreaterThan(RUNS / 2);
  }
  expect(retryDelaySeconds(schedule, 7, 0)).toBeNull();
  expect(retryDelaySeconds({ ...schedule, retryTimes: 0 }, 1, 0)).toBeNull();
});

test('a receiver that asks for more gets it, also beyond the most, and no retry more', () => {
  expect(retryDelaySeconds(schedule, 1, 3_600)).toBe(3_600);
  expect(retryDelaySeconds(schedule, 7, 3_600)).toBeNull();
  expect(retryDelaySeconds(schedule, 1, 5)).toBeGreaterThanOrEqual(60);
});

test.each([
  ['120', 120],
  [' 120 ', 120],
  ['Sat, 28 Nov 2026 12:05:00 GMT', 300],
  ['Sat, 28 Nov 2026 11:00:00 GMT', 0],
  ['999999999', 172_800],
  ['soon', 0],
  ['-5', 0],
  ['', 0],
  [undefined, 0],
])('Retry-After %j asks for %d seconds', (header, seconds) => {
  expect(retryAfterOf(header, NOW)).toBe(seconds);
});
