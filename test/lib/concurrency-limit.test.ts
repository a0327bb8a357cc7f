/** Few run at a time, the others in their order; work that fails lets the next one run. */
import { expect, test } from 'vitest';
import { createConcurrencyLimit } from '../../src/lib/concurrency-limit.ts';

/** Work that ends when told, and notes how many run at once. */
function workshop() {
  const ends: (() => void)[] = [];
  const seen = { now: 0, most: 0, done: [] as string[] };
  const work =
    (name: string, fails = false) =>
    async () => {
      seen.most = Math.max(seen.most, ++seen.now);
      await new Promise<void>((end) => ends.push(end));
      seen.now -= 1;
      seen.done.push(name);
      if (fails) throw new Error('It failed.');
      return name;
    };
  const endAll = async () => {
    for (let idle = 0; idle < 3; idle++) {
      await new Promise((resolve) => setImmediate(resolve));
      while (ends.length > 0) {
        ends.shift()?.();
        idle = 0;
        await new Promise((resolve) => setImmediate(resolve));
      }
    }
  };
  return { seen, work, endAll };
}

test('two of a key and three in all run, and those that wait follow in their order', async () => {
  const limit = createConcurrencyLimit({ runningMax: 3, runningPerKeyMax: 2, waitingPerKeyMax: 10 });
  const { seen, work, endAll } = workshop();
  const all = ['a1', 'a2', 'a3', 'b1', 'b2', 'a4'].map((name) => limit.run(work(name), name.charAt(0)));
  await endAll();
  expect(await Promise.all(all)).toEqual(['a1', 'a2', 'a3', 'b1', 'b2', 'a4']);
  expect(seen.most).toBe(3);
  // b1 does not wait for a3, whose key is full.
  expect(seen.done.indexOf('b1')).toBeLessThan(seen.done.indexOf('a3'));
});

test('refuses whoever would wait behind too many, and nobody of another key', async () => {
  const limit = createConcurrencyLimit({
    ...{ runningMax: 9, runningPerKeyMax: 1, waitingPerKeyMax: 1 },
    refuse: () => new Error('Too many.'),
  });
  const { work, endAll } = workshop();
  const all = ['a1', 'a2', 'a3', 'b1'].map((name) => limit.run(work(name), name.charAt(0)));
  expect([limit.isFull('a'), limit.isFull('b')]).toEqual([true, false]);
  const settled = Promise.allSettled(all);
  await endAll();
  expect(await settled).toMatchObject([
    ...[{ value: 'a1' }, { value: 'a2' }, { reason: { message: 'Too many.' } }, { value: 'b1' }],
  ]);
  expect(limit.isFull('a')).toBe(false);
});

test('goes on after work that failed', async () => {
  const limit = createConcurrencyLimit({ runningMax: 1 });
  const { work, endAll } = workshop();
  const [bad, good] = [limit.run(work('bad', true)), limit.run(work('good'))];
  const failure = expect(bad).rejects.toThrow('It failed.');
  await endAll();
  await failure;
  expect(await good).toBe('good');
  const later = limit.run(work('later'));
  await endAll();
  expect(await later).toBe('later');
});
