/** A driver is told of each sender once, and again after a failure or an hour. */
import { expect, test } from 'vitest';
import { PreparedSenders } from '../../../src/domain/sending/prepared-senders.ts';
import { SendingError } from '../../../src/plugin-api/index.ts';

function senders(answer: (from: string) => Promise<void>) {
  const asked: string[] = [];
  let now = 0;
  const prepareSender = (from: string) => {
    asked.push(from);
    return answer(from);
  };
  return { asked, pass: (ms: number) => void (now += ms), senders: new PreparedSenders({ prepareSender }, () => now) };
}

test('messages that come together wait for one call, later ones for none, and another address has its own', async () => {
  const { asked, senders: prepared, pass } = senders(() => Promise.resolve());
  await Promise.all(Array.from({ length: 100 }, async () => prepared.prepare('a@house.test')));
  expect(prepared.prepare('a@house.test')).toBeUndefined();
  await prepared.prepare('b@house.test');
  expect(asked).toEqual(['a@house.test', 'b@house.test']);
  pass(3_600_001);
  await prepared.prepare('a@house.test');
  expect(asked).toHaveLength(3);
});

test('a failure is that of all who wait, asked again after seconds, and never unknown', async () => {
  let error: Error = new SendingError('refused', 'not verified', { about: 'sender' });
  const { asked, senders: prepared, pass } = senders(() => Promise.reject(error));
  const ends = await Promise.allSettled([prepared.prepare('a@house.test'), prepared.prepare('a@house.test')]);
  expect(ends).toMatchObject(Array.from({ length: 2 }, () => ({ reason: { kind: 'refused', about: 'sender' } })));
  await expect(prepared.prepare('a@house.test')).rejects.toEqual(error);
  expect(asked).toHaveLength(1);
  pass(10_001);
  error = new SendingError('unknown', 'no answer');
  await expect(prepared.prepare('a@house.test')).rejects.toMatchObject({ kind: 'unavailable', message: 'no answer' });
  pass(10_001);
  error = new Error('a fault of the driver');
  await expect(prepared.prepare('a@house.test')).rejects.toMatchObject({ kind: 'unavailable' });
  expect(asked).toHaveLength(3);
});

test('those who waited share an error, and each who comes later has one of its own: each is judged', async () => {
  const failure = new SendingError('unavailable', 'away', { code: 503, about: 'server', retryAfterSeconds: 7 });
  const { asked, senders: prepared } = senders(() => Promise.reject(failure));
  const errorOf = async () => prepared.prepare('a@house.test')?.catch((error: unknown) => error);
  const [first, second] = await Promise.all([errorOf(), errorOf()]);
  expect(second).toBe(first);
  const later = [await errorOf(), await errorOf()];
  expect(new Set([first, ...later]).size).toBe(3);
  for (const error of later)
    expect(error).toMatchObject({
      kind: 'unavailable',
      message: 'away',
      code: 503,
      about: 'server',
      retryAfterSeconds: 7,
    });
  expect(asked).toHaveLength(1);
});

test.each([
  ['deferred', 'rate'],
  ['refused', 'recipient'],
  ['refused', undefined],
  ['unknown', 'sender'],
] as const)('%s about %s is the fault of no recipient and of no campaign: unavailable', async (kind, about) => {
  const { senders: prepared } = senders(() => Promise.reject(new SendingError(kind, 'no', { about })));
  await expect(prepared.prepare('a@house.test')).rejects.toMatchObject({ kind: 'unavailable', about, message: 'no' });
});

test('its memory is bounded: the oldest addresses are asked about again', async () => {
  const { asked, senders: prepared } = senders(() => Promise.resolve());
  for (let no = 0; no <= 1_000; no++) await prepared.prepare(`a${no}@house.test`);
  expect(prepared.prepare('a1000@house.test')).toBeUndefined();
  await prepared.prepare('a0@house.test');
  expect(asked).toHaveLength(1_002);
});

test('a driver without it is asked nothing', () => {
  expect(new PreparedSenders({}).prepare('a@house.test')).toBeUndefined();
});
