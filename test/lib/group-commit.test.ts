import { setImmediate, setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { createGroupCommit } from '../../src/lib/group-commit.ts';

function gate() {
  let open: () => void = () => undefined;
  const passed = new Promise<void>((resolve) => (open = resolve));
  return { passed, open };
}

test('items gather while a batch is written, up to the largest batch', async () => {
  const batches: number[][] = [];
  const first = gate();
  const commits = createGroupCommit<number>({
    batchMax: 3,
    waitMs: 1,
    waitingMax: 100,
    write: async (batch) => {
      batches.push([...batch]);
      if (batches.length === 1) await first.passed;
    },
  });
  const all = [1, 2, 3, 4, 5, 6, 7].map((n) => commits.add(n));
  await new Promise((resume) => setTimeout(resume, 5));
  expect(batches).toEqual([[1, 2, 3]]);
  first.open();
  await Promise.all(all);
  expect(batches).toEqual([[1, 2, 3], [4, 5, 6], [7]]);
});

test('a second batch goes beside the first when it has company enough, and never a third', async () => {
  const batches: number[][] = [];
  const held = gate();
  const commits = createGroupCommit<number>({
    ...{ batchMax: 10, waitMs: 0, waitingMax: 100, anotherAt: 3 },
    write: async (batch) => {
      batches.push([...batch]);
      await held.passed;
    },
  });
  const turn = () => new Promise((resume) => setTimeout(resume, 2));
  const all = [commits.add(1)];
  await turn();
  all.push(commits.add(2), commits.add(3));
  await turn();
  expect(batches).toEqual([[1]]);
  all.push(commits.add(4));
  await turn();
  expect(batches).toEqual([[1], [2, 3, 4]]);
  all.push(...[5, 6, 7, 8, 9].map((n) => commits.add(n)));
  await turn();
  expect(batches).toHaveLength(2);
  held.open();
  await Promise.all(all);
  expect(batches).toEqual([[1], [2, 3, 4], [5, 6, 7, 8, 9]]);
  await commits.close();
});

test('after a batch the writer rests, and a whole batch that waits goes at once', async () => {
  const batches: number[][] = [];
  const first = gate();
  const commits = createGroupCommit<number>({
    ...{ batchMax: 2, waitMs: 0, restMs: 5_000, waitingMax: 100 },
    write: async (batch) => {
      batches.push([...batch]);
      await first.passed;
    },
  });
  const alone = commits.add(1);
  await setImmediate();
  await setImmediate();
  const whole = [commits.add(2), commits.add(3)];
  first.open();
  const beganAt = performance.now();
  await Promise.all([alone, ...whole]);
  expect(performance.now() - beganAt).toBeLessThan(4_900);
  await Promise.all([commits.add(4), sleep(1).then(() => commits.add(5))]);
  expect(batches).toEqual([[1], [2, 3], [4, 5]]);
  await commits.close();
});

test('a batch that fails is told to its own callers only', async () => {
  const commits = createGroupCommit<string>({
    batchMax: 1,
    waitMs: 1,
    waitingMax: 100,
    write: async ([item]) => {
      if (item === 'bad') throw new Error('refused');
    },
  });
  const results = await Promise.allSettled([commits.add('good'), commits.add('bad'), commits.add('good')]);
  expect(results.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
});

test('what waits is bounded, and closing writes it', async () => {
  const written: number[] = [];
  const commits = createGroupCommit<number>({
    batchMax: 10,
    waitMs: 60_000,
    waitingMax: 2,
    write: async (batch) => void written.push(...batch),
  });
  const waiting = [commits.add(1), commits.add(2)];
  await expect(commits.add(3)).rejects.toThrow('Too many');
  await commits.close();
  await Promise.all(waiting);
  expect(written).toEqual([1, 2]);
  await expect(commits.add(4)).rejects.toThrow('Closing');
});

test('an item that comes at the moment at which a writer ends is written', async () => {
  for (let ticks = 0; ticks < 10; ticks += 1) {
    const written: number[] = [];
    const commits = createGroupCommit<number>({
      ...{ batchMax: 200, waitMs: 0, waitingMax: 1_000 },
      write: async (batch) => {
        await setImmediate();
        written.push(...batch);
      },
    });
    await commits.add(1);
    for (let tick = 0; tick < ticks; tick += 1) await Promise.resolve();
    void commits.add(2);
    for (let turn = 0; turn < 10; turn += 1) await setImmediate();
    expect(written, `${ticks} ticks later`).toEqual([1, 2]);
  }
});
