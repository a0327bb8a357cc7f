/** A question is asked once for each key, also when several ask at the same time, and when the answer is an error. */
import { expect, test } from 'vitest';
import { onceFor } from '../../src/lib/once-for.ts';

test('each key is asked once, and an error is an answer', async () => {
  const asked: string[] = [];
  const answer = onceFor(async (key: string) => {
    asked.push(key);
    if (key === 'wrong') throw new Error('refused');
    return key.length;
  });
  expect(await Promise.all([answer('one'), answer('three'), answer('one')])).toEqual([3, 5, 3]);
  await expect(answer('wrong')).rejects.toThrow('refused');
  await expect(answer('wrong')).rejects.toThrow('refused');
  expect(asked).toEqual(['one', 'three', 'wrong']);
});
