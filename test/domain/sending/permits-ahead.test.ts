/** Permits of messages that go before all others: the next free one is theirs, and some are kept while such messages come. */
import { expect, it } from 'vitest';
import { FairPermits } from '../../../src/domain/sending/fair-permits.ts';

it('cost others nothing while no such message comes', () => {
  expect(new FairPermits(16).of(1n).tryTake(20)).toBe(16);
  expect(new FairPermits(1).of(1n).tryTake(20)).toBe(1);
});

it.each([1, 2, 16])('get the next one of %i that is free, before who asks in the same moment', async (capacity) => {
  const all = new FairPermits(capacity);
  const [others, ahead] = [all.of(1n), all.ahead()];
  expect(others.tryTake(capacity)).toBe(capacity);
  expect(ahead.tryTake(1)).toBe(0);
  const free = ahead.whenFree();
  others.give(1);
  // A loop closes a message and asks for the next one in one go.
  expect(others.tryTake(1)).toBe(0);
  await free;
  expect(ahead.tryTake(1)).toBe(1);
});

it('are kept free for the next one, an eighth of them, and never the only one', () => {
  const all = new FairPermits(16);
  const ahead = all.ahead();
  expect(ahead.tryTake(1)).toBe(1);
  ahead.give(1);
  expect(all.of(1n).tryTake(16)).toBe(14);
  expect(all.of(2n).tryTake(16)).toBe(0);
  expect(ahead.tryTake(1)).toBe(1);

  const single = new FairPermits(1);
  expect(single.ahead().tryTake(1)).toBe(1);
  single.ahead().give(1);
  expect(single.of(1n).tryTake(1)).toBe(1);
});

it('others that wait are called when such a message has ended', async () => {
  const all = new FairPermits(1);
  const [others, ahead] = [all.of(1n), all.ahead()];
  expect(ahead.tryTake(1)).toBe(1);
  const free = others.whenFree();
  ahead.give(1);
  await free;
  expect(others.tryTake(1)).toBe(1);
});
