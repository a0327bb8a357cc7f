/** How places are shared: slow receivers, however many, leave room for quick ones, and those of one customer for others. */
import { expect, test } from 'vitest';
import type { Attempt, TakenDelivery } from '../../../src/domain/webhooks/delivery-store.ts';
import { ReceiverPlaces, UNRECORDED_MAX } from '../../../src/domain/webhooks/receiver-places.ts';

let id = 0n;

function delivery(receiver: string, { customerId = 1n, bytes = 2 } = {}): TakenDelivery {
  id += 1n;
  return {
    ...{
      id,
      receiver,
      customerId,
      madeOn: '2026-11-28',
      webhookId: 1n,
      uid: String(id),
      event: 'click',
      personId: null,
    },
    ...{ payload: Buffer.alloc(bytes), body: null, attempts: 0, attemptsBefore: 0, isTest: false, webhookUid: 'books' },
    status: 'active',
    method: 'POST',
    ...{ url: `${receiver}/`, headers: {}, bodyTemplate: null },
    ...{ sealedSecret: Buffer.alloc(0), sealedPreviousSecret: null },
    ...{ retryTimes: 0, retryAfterSeconds: 1, retrySecondsMax: 1 },
  };
}

function attemptOf(of: TakenDelivery, status: number | null): Attempt {
  return {
    state: 'delivered',
    ...{ delivery: of, attempt: 1, delaySeconds: null, status, durationMs: 1 },
    ...{ request: { method: 'POST', url: of.url, headers: {} }, answer: null, error: null, body: null },
  };
}

/** Answers of the receiver, which took so long. */
function answer(places: ReceiverPlaces, receiver: string, { count = 1, ms = 20, status = 200, bytes = 2 } = {}): void {
  for (let no = 0; no < count; no++) {
    const one = delivery(receiver, { bytes });
    places.add(one, 0);
    places.start(receiver);
    places.answered(one, attemptOf(one, status), ms);
    places.end(one);
  }
}

/** What is taken of it is under way. */
function begin(places: ReceiverPlaces, receiver: string, customerId = 1n): void {
  places.add(delivery(receiver, { customerId }), 0);
  expect(places.start(receiver)).toBeDefined();
}

test('unknown and slow receivers get 128 places in all, quick ones the others', () => {
  const places = new ReceiverPlaces();
  answer(places, 'quick');
  expect(places.next('others')).toMatchObject({ known: [['quick', 0]], limitOfOthers: 2, wanted: 128, underWay: [] });
  for (let no = 1; no <= 100; no++) begin(places, `slow ${no}`, BigInt(no));
  expect(places.next('others')?.wanted).toBe(28);
  for (let no = 101; no <= 128; no++) begin(places, `slow ${no}`, BigInt(no));
  expect(places.next('others')).toBeUndefined();
  const quick = places.next('quick');
  expect(quick).toMatchObject({ limitOfOthers: 0, wanted: 1_000 - 128 });
  expect(quick?.known.filter(([, limit]) => limit > 0)).toEqual([['quick', 11]]);
});

test('quick receivers with however much leave 128 places to the others', () => {
  const places = new ReceiverPlaces();
  for (let no = 1; no <= 7; no++) answer(places, `quick ${no}`);
  expect(places.next('quick')?.wanted).toBe(1_000 - 128);
  for (let no = 0; no < 1_000 - 128; no++) places.add(delivery(`quick ${1 + (no % 7)}`), 0);
  expect(places.next('quick')).toBeUndefined();
  expect(places.next('others')).toMatchObject({ limitOfOthers: 2, wanted: 128 });
});

test('of a customer 32 wait for receivers that may be dead', () => {
  const places = new ReceiverPlaces();
  for (let no = 1; no <= 20; no++) begin(places, `dead ${no}`, 7n);
  begin(places, 'other', 8n);
  const next = places.next('others');
  expect(next).toMatchObject({ wanted: 107, limitOfCustomer: 32 });
  expect(next?.underWay).toEqual([
    [7n, 20],
    [8n, 1],
  ]);
});

test('the more quick answers in a row, the more is taken ahead; large ones are not, and one slow answer ends it', () => {
  const places = new ReceiverPlaces();
  const limit = () => places.next('quick')?.known.find(([name]) => name === 'quick')?.[1];
  expect(limit()).toBeUndefined();
  answer(places, 'quick', { count: 5 });
  expect(limit()).toBe(15);
  answer(places, 'quick', { count: 500 });
  expect(limit()).toBe(160);
  answer(places, 'quick', { bytes: 100_000 });
  expect(limit()).toBe(10);
  const waiting = [delivery('quick'), delivery('quick')];
  for (const one of waiting) places.add(one, 0);
  answer(places, 'quick', { ms: 1_500 });
  expect(places.isQuick('quick')).toBe(false);
  // The call of `answer` started the first of them, which waited for longer.
  expect(places.drop('quick')).toHaveLength(2);
  expect(places.drop()).toEqual([]);
});

test('a receiver has ten requests open, and 64 with those that are being recorded', () => {
  const places = new ReceiverPlaces();
  for (let no = 0; no < 80; no++) places.add(delivery('quick'), 0);
  const started: TakenDelivery[] = [];
  const startAll = () => {
    for (let next = places.start('quick'); next; next = places.start('quick')) started.push(next.delivery);
  };
  startAll();
  expect(started).toHaveLength(10);
  for (const one of started) {
    places.answered(one, attemptOf(one, 200), 5);
    startAll();
  }
  expect(started).toHaveLength(UNRECORDED_MAX);
  expect(places.count).toBe(UNRECORDED_MAX);
  for (const one of started.slice(0, 3)) places.end(one);
  startAll();
  expect(started).toHaveLength(UNRECORDED_MAX + 3);
});
