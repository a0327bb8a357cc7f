/** What counts of the time for which the main thread has been at the same thing. */
import { expect, test } from 'vitest';
import { lastedLonger, NO_TIME, waitedForProcessorMs, type Lasted } from '../../src/plugin-host/main-thread-time.ts';

const LOOK_MS = 50;

/** Looks, each given by the time since the one before and the waits that ended since then. */
const lasted = (looks: readonly (readonly [gapMs: number, waitedMs: number])[]): Lasted =>
  looks.reduce((before, [gapMs, waitedMs]) => lastedLonger(before, gapMs, waitedMs), NO_TIME);

test('while it has a processor, or waits for something else, all time counts', () => {
  expect(lasted(Array(100).fill([LOOK_MS, 0]))).toEqual({ byClockMs: 5_000, ownMs: 5_000 });
});

test('time in which no processor was free counts by the clock only', () => {
  expect(lasted(Array(100).fill([LOOK_MS, 40]))).toEqual({ byClockMs: 5_000, ownMs: 1_000 });
});

test('a wait that is known only when it is over is taken off whole', () => {
  const looks: [number, number][] = [...Array(9).fill([LOOK_MS, 0]), [LOOK_MS, 450]];
  expect(lasted(looks)).toEqual({ byClockMs: 500, ownMs: 50 });
});

test('a wait that began before is no credit for later', () => {
  expect(lasted([[LOOK_MS, 900], ...Array(9).fill([LOOK_MS, 0])])).toEqual({ byClockMs: 500, ownMs: 450 });
});

test('a look that comes late counts what the main thread had, at most 200 ms', () => {
  expect(lasted([[1_000, 900]])).toEqual({ byClockMs: 200, ownMs: 100 });
  expect(lasted([[60_000, 0]])).toEqual({ byClockMs: 200, ownMs: 200 });
});

test('the time of waiting is known and never becomes less', () => {
  const before = waitedForProcessorMs();
  expect(before).toBeGreaterThanOrEqual(0);
  expect(waitedForProcessorMs()).toBeGreaterThanOrEqual(before);
});
