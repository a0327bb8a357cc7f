/** The gate: few pass at a time, the others in turn, whoever they are; who fails lets the next one in. */
import { expect, test } from 'vitest';
import { createGate } from '../../src/lib/gate.ts';

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

test('lets two of a key and three in all pass, and the waiting in their order', async () => {
  const gate = createGate({ runningMax: 2, totalMax: 3, waitingMax: 10 });
  const { seen, work, endAll } = workshop();
  const all = ['a1', 'a2', 'a3', 'b1', 'b2', 'a4'].map((name) => gate.pass(name.charAt(0), work(name)));
  await endAll();
  expect(await Promise.all(all)).toEqual(['a1', 'a2', 'a3', 'b1', 'b2', 'a4'].map((result) => ({ result })));
  expect(seen.most).toBe(3);
  // b1 does not wait for a3, whose key is full.
  expect(seen.done.indexOf('b1')).toBeLessThan(seen.done.indexOf('a3'));
});

test('refuses whoever would wait behind too many, and nobody of another key', async () => {
  const gate = createGate({ runningMax: 1, totalMax: 9, waitingMax: 1 });
  const { work, endAll } = workshop();
  const all = ['a1', 'a2', 'a3', 'b1'].map((name) => gate.pass(name.charAt(0), work(name)));
  await endAll();
  expect(await Promise.all(all)).toEqual([{ result: 'a1' }, { result: 'a2' }, undefined, { result: 'b1' }]);
});

test('goes on after work that failed', async () => {
  const gate = createGate({ runningMax: 1, totalMax: 1, waitingMax: 10 });
  const { work, endAll } = workshop();
  const [bad, good] = [gate.pass('a', work('bad', true)), gate.pass('a', work('good'))];
  const failure = expect(bad).rejects.toThrow('It failed.');
  await endAll();
  await failure;
  expect(await good).toEqual({ result: 'good' });
  const later = gate.pass('a', work('later'));
  await endAll();
  expect(await later).toEqual({ result: 'later' });
});
