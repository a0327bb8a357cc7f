import { expect, test } from 'vitest';
import { deepFreeze } from '../../src/lib/deep-freeze.ts';

test('what is within an object that was frozen before is frozen, too', () => {
  const inner = { list: [{ tag: 'a' }] };
  const frozen = Object.freeze({ inner });
  for (const value of [deepFreeze(frozen), deepFreeze({ frozen }).frozen]) {
    expect(Object.isFrozen(value.inner)).toBe(true);
    expect(Object.isFrozen(value.inner.list[0])).toBe(true);
  }
});

test('circles end, also of frozen objects', () => {
  const list: unknown[] = [];
  const circle = { list };
  list.push(circle, { circle });
  Object.freeze(circle);
  Object.freeze(list);
  expect(deepFreeze({ circle }).circle).toBe(circle);
  expect(Object.isFrozen(list[1])).toBe(true);
});

test('objects of classes stay as they are', () => {
  const { at, bytes } = deepFreeze({ at: new Date(0), bytes: Buffer.from('a') });
  bytes[0] = 98;
  at.setTime(1);
  expect([at.getTime(), bytes.toString()]).toEqual([1, 'b']);
});
