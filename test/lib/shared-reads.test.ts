/** Whoever asks while a read is under way gets its answer; later ones read anew. */
import { expect, test } from 'vitest';
import { SharedReads } from '../../src/lib/shared-reads.ts';

test('a read is shared while it is under way, by its source and its key, and its failure, too', async () => {
  const reads = new SharedReads<number>();
  const [one, other] = [{}, {}];
  let count = 0;
  const ask = (of: object, key: string) => reads.read(of, key, async () => Promise.resolve((count += 1)));
  expect(await Promise.all([ask(one, 'a'), ask(one, 'a'), ask(one, 'b'), ask(other, 'a')])).toEqual([1, 1, 2, 3]);
  expect(await ask(one, 'a')).toBe(4);
  const fail = () => reads.read(one, 'c', () => Promise.reject(new Error('away')));
  const failed = await Promise.allSettled([fail(), fail()]);
  expect(failed.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
  expect(await reads.read(one, 'c', () => Promise.resolve(7))).toBe(7);
});
