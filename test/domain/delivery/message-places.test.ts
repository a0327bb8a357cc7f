/** Places of a process for messages outside of campaigns: other messages of a customer never take those of the first priority. */
import { expect, test } from 'vitest';
import { MessagePlaces } from '../../../src/domain/delivery/messages/message-places.ts';
import { PRIORITIES } from '../../../src/domain/messages/message.ts';

function placesWith(count: number, priority: number, customerId = 1n) {
  const places = new MessagePlaces();
  const gate = Promise.withResolvers<void>();
  const held = Array.from({ length: count }, (_, no) =>
    places.hold({ id: BigInt(no), customerId, priority }, gate.promise),
  );
  const end = async () => {
    gate.resolve();
    await Promise.all(held);
  };
  return { places, end };
}

test('while nobody has much under way, all priorities are taken together', () => {
  const { places } = placesWith(3, PRIORITIES.transactional);
  expect(places.next()).toEqual([{ priorities: Object.values(PRIORITIES), busy: [], perCustomer: 8, wanted: 32 }]);
});

test('a customer with many mails of flows under way is left out for these only', async () => {
  const { places, end } = placesWith(16, PRIORITIES.flow);
  const [first, others] = places.next();
  expect(first).toMatchObject({ priorities: [PRIORITIES.transactional], busy: [] });
  expect(others?.busy).toEqual([1n]);
  expect(others?.priorities).not.toContain(PRIORITIES.transactional);
  await end();
  expect(places.next()).toHaveLength(1);
});

test('a customer with many of the first priority leaves places to others', () => {
  const { places } = placesWith(96, PRIORITIES.transactional);
  const [first, others] = places.next();
  expect([first?.busy, first?.wanted, others?.busy]).toEqual([[1n], 64, []]);
});

test('several customers with many of the first priority leave places, too', () => {
  const { places } = placesWith(96, PRIORITIES.transactional);
  const hold = (count: number, customerId: bigint) => {
    for (let no = 0; no < count; no++)
      void places.hold(
        { id: customerId * 1_000n + BigInt(no), customerId, priority: PRIORITIES.transactional },
        new Promise<void>(() => undefined),
      );
  };
  hold(47, 2n);
  expect(places.next()[0]?.busy).toEqual([1n]);
  hold(1, 3n);
  hold(1, 2n);
  expect(places.next()[0]).toMatchObject({ busy: [1n, 2n], wanted: 48 });
});

test('when a customer had more than was taken of it, the first priority is taken apart, and more of it', () => {
  const { places } = placesWith(3, PRIORITIES.transactional);
  const [first, others] = places.next(true);
  expect(first).toMatchObject({ priorities: [PRIORITIES.transactional], perCustomer: 64, wanted: 64 });
  expect(others).toMatchObject({ perCustomer: 8, wanted: 32 });
});

test('a customer comes above its limit by 16 at most', () => {
  const perCustomer = (count: number) => placesWith(count, PRIORITIES.transactional).places.next(true)[0]?.perCustomer;
  expect([20, 60, 80, 95].map(perCustomer)).toEqual([64, 36, 16, 16]);
});

test('others never fill the process, and nothing is taken when it is full', () => {
  const full = placesWith(64, PRIORITIES.list);
  expect(full.places.next()).toMatchObject([{ priorities: [PRIORITIES.transactional], wanted: 64 }]);
  expect(placesWith(192, PRIORITIES.transactional).places.next()).toEqual([]);
});

test('mails of flows that rest are taken apart from others', () => {
  const { places } = placesWith(0, PRIORITIES.list);
  places.rest(7n, 30);
  const [, others, flows] = places.next();
  expect(others?.priorities).toEqual([PRIORITIES.list, PRIORITIES.test]);
  expect(flows).toMatchObject({ priorities: [PRIORITIES.flow], busy: [7n] });
});
